"""What a judge's verdicts are worth beside people's.

Whether its probabilities can be believed (measured, repaired, carried to other sets, used to abstain), and estimates of
win rates and strengths that are made of people's votes and a judge's verdicts together.
"""

from judgekit.people.calibration.cases import Cases, cases_of
from judgekit.people.calibration.measures import measures, paired, reliability_table

__all__ = ["Cases", "cases_of", "measures", "paired", "reliability_table"]
