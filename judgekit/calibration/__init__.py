"""Whether a judge's probabilities can be believed: measured, repaired, carried to other sets, and used to abstain."""

from judgekit.calibration.cases import Cases, cases_of
from judgekit.calibration.measures import measures, paired, reliability_table

__all__ = ["Cases", "cases_of", "measures", "paired", "reliability_table"]
