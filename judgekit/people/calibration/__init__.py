"""Whether a judge's stated probabilities can be believed: measured, repaired, and used to abstain."""

from judgekit.people.calibration.cases import Cases, cases_of
from judgekit.people.calibration.measures import measures, paired, reliability_table

__all__ = ["Cases", "cases_of", "measures", "paired", "reliability_table"]
