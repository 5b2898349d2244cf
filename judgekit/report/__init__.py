"""What a notebook hands to the report: numbers, frames, tables and figures, each with one owner.

The text of a number is formatted once, beside its value; the report quotes it by key (``judgekit.report.latex``).
"""

from judgekit.report.results import load_data, load_results, save_data, save_figure, save_frame, save_results
from judgekit.report.tables import Stacked, escaped, save_table, shown_table
from judgekit.stats import Number

__all__ = [
    "Number", "Stacked", "escaped", "load_data", "load_results", "save_data", "save_figure", "save_frame",
    "save_results", "save_table", "shown_table",
]  # fmt: skip
