"""Pictures of scores from layers: layer by layer, and order against size."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd

from judgekit.figures.scores import plot_tradeoff
from judgekit.figures.style import BLUE, GREY, ORANGE, RED, TEXT, required, use_style
from judgekit.stats import Array

COLOURS = (GREY, BLUE, ORANGE, RED, "#117733", "#882255", "#332288", "#6E6E00")  # of methods, dark enough for letters
READ = {"as it is": (BLUE, "o"), "normed": (ORANGE, "s")}  # without the final norm, and with it


def plot_layer_curves(
    table: pd.DataFrame, lines: pd.DataFrame, measures: Mapping[str, str], *, width: float = TEXT
) -> Array:
    """Measures of each layer by itself, one column per set and one row per measure.

    Columns ``set, read, layer, measure, value, low, high``; ``read`` is a key of `READ`. ``lines`` has ``set, method,
    measure, value``: dashed lines, of all layers together. ``measures``: measure to the label of its axis.
    """
    required(table, "set", "read", "layer", "measure", "value", "low", "high")
    use_style()
    sets = list(dict.fromkeys(table["set"]))
    axes = plt.subplots(
        len(measures),
        len(sets),
        figsize=(width, 1.35 * len(measures) + 0.35),
        sharex="col",
        sharey="row",
        squeeze=False,
    )[1]
    for row, (measure, label) in zip(axes, measures.items(), strict=True):
        for ax, name in zip(row, sets, strict=True):
            part = table[(table["set"] == name) & (table["measure"] == measure)]
            for read, (colour, marker) in READ.items():
                own = part[part["read"] == read].sort_values("layer")
                ax.plot(own["layer"], own["value"], color=colour, marker=marker, ms=3, label=read)
                ax.fill_between(own["layer"], own["low"], own["high"], color=colour, alpha=0.15, lw=0)
            drawn = lines[(lines["set"] == name) & (lines["measure"] == measure)]
            for style, line in zip((":", "--"), drawn.itertuples(), strict=False):
                ax.axhline(line.value, color=GREY, lw=0.9, ls=style, label=line.method, zorder=1)
            ax.set_xticks(sorted(set(part["layer"])))
        row[0].set_ylabel(label)
    for ax, name in zip(axes[0], sets, strict=True):
        ax.set_title(name)
    for ax in axes[-1]:
        ax.set_xlabel("layer (0: embeddings)")
    axes[0, 0].legend(loc="best")
    return axes


def plot_order_and_size(table: pd.DataFrame, *, correlation: str = "spearman", width: float = TEXT) -> Array:
    """Rank correlation (a measure) against calibration error, a point per method and a panel per set.

    Columns ``set, method, measure, value, low, high``.
    """
    required(table, "set", "method", "measure", "value", "low", "high")
    use_style()
    sets = list(dict.fromkeys(table["set"]))
    styles = {name: (colour, "o") for name, colour in zip(table["method"].unique(), cycle(COLOURS), strict=False)}
    axes = plt.subplots(1, len(sets), figsize=(width, 2.5), squeeze=False)[1][0]
    for ax, name in zip(axes, sets, strict=True):
        part = table[table["set"] == name].set_index(["method", "measure"])[["value", "low", "high"]]
        x, y = (part.xs(measure, level="measure") for measure in (correlation, "calibration_error"))
        points = x.set_axis(["x", "x_low", "x_high"], axis=1).join(y.set_axis(["y", "y_low", "y_high"], axis=1))
        points = points.reset_index(names="judge")
        points["label"] = points["judge"].str.replace("_", " ")
        labels: dict[str, Any] = {"xlabel": f"{correlation.title()} correlation", "ylabel": "calibration error"}
        plot_tradeoff(points, ax=ax, percent=False, styles=styles, **labels)
        ax.set_title(name)
    return axes
