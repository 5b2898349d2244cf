"""Pictures of what is read from inside a frozen model."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from judgekit.figures.style import SERIES, TEXT, required

MARKS = {
    "probe": ("o", 4.5),
    "encoder": ("D", 3.5),
    "lora": ("v", 3.5),
    "prompt": ("s", 3.5),
    "length": ("^", 3.5),
    "majority": ("|", 7),
}


def plot_layer_curves(table: pd.DataFrame, *, ylabel: str = "macro F1", width: float = TEXT) -> Figure:
    """How much each layer by itself tells, one panel per set, one line per aspect.

    Columns ``set, aspect, layer, value, deviation``; ``set`` and ``aspect`` as they are printed.
    """
    import matplotlib.pyplot as plt

    table = required(table, "set", "aspect", "layer", "value", "deviation")
    sets, aspects = list(dict.fromkeys(table["set"])), list(dict.fromkeys(table["aspect"]))
    size: Any = {"figsize": (width, 2.4), "layout": "constrained"}
    figure, panels = plt.subplots(1, len(sets), sharey=True, squeeze=False, **size)
    for panel, name in zip(panels[0], sets, strict=True):
        for number, aspect in enumerate(aspects):
            part = table[(table["set"] == name) & (table["aspect"] == aspect)].sort_values("layer")
            if part.empty:
                continue
            style = {"marker": "osD^v"[number % 5], "ms": 3, "lw": 0.9, "color": SERIES[number % len(SERIES)]}
            shift = (number - len(aspects) / 2) * 0.06  # bars of different aspects side by side
            panel.errorbar(
                part["layer"] + shift, part["value"], yerr=part["deviation"], elinewidth=0.5, label=aspect, **style
            )
        panel.set(title=name, xlabel="layer")
        panel.set_xticks(sorted(set(table["layer"])))
    panels[0][0].set_ylabel(ylabel)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def plot_methods(
    table: pd.DataFrame, methods: Mapping[str, str], *, xlabel: str = "weighted F1", width: float = TEXT
) -> Figure:
    """Methods side by side, one panel per set, one row per aspect; intervals for the first method.

    Columns ``set, aspect, method, number`` (`Number`), as printed. ``methods``: method to its printed name, in the
    order of the legend; those that a set lacks are left out.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import PercentFormatter

    table = required(table, "set", "aspect", "method", "number")
    sets, aspects = list(dict.fromkeys(table["set"])), list(dict.fromkeys(table["aspect"]))
    size: Any = {"figsize": (width, 0.9 + 0.26 * len(aspects)), "layout": "constrained"}
    figure, panels = plt.subplots(1, len(sets), sharey=True, sharex=True, squeeze=False, **size)
    first, drawn = next(iter(methods)), {}
    for panel, name in zip(panels[0], sets, strict=True):
        found = table[table["set"] == name].set_index(["aspect", "method"])["number"]
        for row, aspect in enumerate(aspects):
            for number, method in enumerate(methods):
                if (aspect, method) not in found.index:
                    continue
                value, (mark, size) = found[aspect, method], MARKS.get(method, ("x", 4))
                colour = SERIES[number % len(SERIES)]
                if method == first:
                    panel.plot([value.low, value.high], [row, row], color=colour, lw=1.1, zorder=1)
                style = {
                    "ms": size,
                    "color": colour,
                    "ls": "none",
                    "mfc": colour if number == 0 else "none",
                }
                drawn[method] = panel.plot(value.value, row, mark, **style)[0]
        panel.set(title=name, xlabel=xlabel)
        panel.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        panel.grid(axis="y", lw=0.3)
        panel.set_ylim(-0.5, len(aspects) - 0.5)
    panels[0][0].set_yticks(range(len(aspects)), aspects)
    panels[0][0].invert_yaxis()
    shown = [method for method in methods if method in drawn]
    figure.legend(
        [drawn[method] for method in shown],
        [methods[method] for method in shown],
        loc="outside lower center",
        ncols=len(shown),
        frameon=False,
    )
    return figure
