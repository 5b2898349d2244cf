"""The pictures: a few kinds on seaborn, one style, one colour and marker per judge in every figure.

``draw(kind, table, panel)`` makes a figure of a tidy table, a panel for each value of a column, at the width at which
it is printed (``COLUMN`` or ``TEXT`` inches): nothing is scaled, and letters have the size of the report's. A kind
alone draws into axes, ``forest(ax, table)``; ``legend(figure)`` and ``place_names(figure)`` then end a figure of many.
"""

from judgekit.figures.cascades import plot_cascades
from judgekit.figures.consensus import plot_annotators, plot_planted
from judgekit.figures.data import plot_label_counts, plot_training_curve, plot_waterfall
from judgekit.figures.domains import plot_categories, plot_styles
from judgekit.figures.kinds import bars, curve, forest, heat, scatter, waterfall
from judgekit.figures.matrices import plot_correlations, plot_effects, plot_significance
from judgekit.figures.panels import draw, legend, place_names
from judgekit.figures.replacing import plot_alt_test, plot_gain_curves
from judgekit.figures.scores import plot_forest, plot_reliability, plot_tradeoff
from judgekit.figures.style import COLUMN, TEXT, judge_style, percent_axis, style_of, use_style

__all__ = [
    "COLUMN",
    "TEXT",
    "bars",
    "curve",
    "draw",
    "forest",
    "heat",
    "judge_style",
    "legend",
    "percent_axis",
    "place_names",
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
    "scatter",
    "style_of",
    "use_style",
    "waterfall",
]
