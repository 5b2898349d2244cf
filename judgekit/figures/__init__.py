"""The pictures: a few kinds on seaborn, one style, one colour and marker per judge in every figure.

``draw(kind, table, panel)`` makes a figure of a tidy table, a panel for each value of a column, at the width at which
it is printed (``COLUMN``, ``SLIDE`` or ``TEXT`` inches): nothing is scaled, and letters have the size of the report's.
A kind alone draws into axes, ``forest(ax, table)``; ``legend(figure)`` and ``place_names(figure)`` end a figure.
"""

from judgekit.figures.kinds import curve, forest, heat, scatter
from judgekit.figures.panels import draw, legend, place_names, save_chinese
from judgekit.figures.style import COLUMN, SLIDE, TEXT, judge_style, percent_axis, style_of, use_style

__all__ = [
    "COLUMN", "SLIDE", "TEXT", "curve", "draw", "forest", "heat", "judge_style", "legend",
    "percent_axis", "place_names", "save_chinese", "scatter", "style_of", "use_style",
]  # fmt: skip
