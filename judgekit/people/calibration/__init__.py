"""Whether a judge's stated probabilities can be believed: measured, repaired, and used to abstain."""

from judgekit.people.calibration import maps, selective
from judgekit.people.calibration.measures import Cases, cases_of, measures, paired, reliability_table, verdict_cells

__all__ = ["Cases", "cases_of", "maps", "measures", "paired", "reliability_table", "selective", "verdict_cells"]
