"""What a notebook hands to the report: numbers, tables and figures, each with one owner.

The text of a number is formatted here, once, beside its value; the report quotes it by key (``judgekit.latex``).
Files are written under a temporary name and renamed, so that a killed notebook leaves no half a file, and an
unchanged result is an unchanged file.
"""

from judgekit.results.data import load_data, save_data
from judgekit.results.figures import save_figure
from judgekit.results.files import load_provenance, load_results, save_results
from judgekit.results.numbers import Number, slug, unique_slugs
from judgekit.results.provenance import git_state, versions
from judgekit.results.tables import Excerpt, Stacked, save_table

__all__ = [
    "Excerpt",
    "Number",
    "Stacked",
    "git_state",
    "load_data",
    "load_provenance",
    "load_results",
    "save_data",
    "save_figure",
    "save_results",
    "save_table",
    "slug",
    "unique_slugs",
    "versions",
]
