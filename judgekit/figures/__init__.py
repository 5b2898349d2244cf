"""The pictures: one function per kind, one style, one colour and marker per judge in every figure.

Each takes a tidy table with named columns and an optional ``ax``, draws, and returns the axes. Figures are made at the
width they are printed (``COLUMN`` or ``TEXT`` inches), so that nothing is scaled and letters have the size of the
report's. Drawing sets the style (``use_style``) for the session.
"""

from judgekit.figures.cascades import plot_cascades
from judgekit.figures.consensus import plot_annotators, plot_planted
from judgekit.figures.data import plot_label_counts, plot_training_curve, plot_waterfall
from judgekit.figures.domains import plot_categories, plot_styles
from judgekit.figures.matrices import plot_correlations, plot_effects, plot_significance
from judgekit.figures.replacing import plot_alt_test, plot_gain_curves
from judgekit.figures.scores import plot_forest, plot_reliability, plot_tradeoff
from judgekit.figures.style import COLUMN, TEXT, judge_style, use_style

__all__ = [
    "COLUMN",
    "TEXT",
    "judge_style",
    "plot_alt_test",
    "plot_annotators",
    "plot_cascades",
    "plot_categories",
    "plot_correlations",
    "plot_effects",
    "plot_forest",
    "plot_gain_curves",
    "plot_label_counts",
    "plot_planted",
    "plot_reliability",
    "plot_significance",
    "plot_styles",
    "plot_tradeoff",
    "plot_training_curve",
    "plot_waterfall",
    "use_style",
]
