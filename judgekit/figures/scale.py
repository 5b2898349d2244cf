"""Pictures of how time and memory grow."""

import pandas as pd

from judgekit.figures.style import TEXT, judge_style, required, short, use_style
from judgekit.stats import Array

SHOWN = {"longer": "longer", "encoder": "minilm"}  # part of the measurement: judge whose colour it has


def plot_growth(table: pd.DataFrame, *, width: float = TEXT) -> Array:
    """Processor time and memory beyond the model against the number of rows, both axes logarithmic.

    Columns ``part`` (``longer`` or ``encoder``), ``rows, cpu_seconds, peak_mb, model_mb``.
    """
    import matplotlib.pyplot as plt

    use_style()
    table = required(table, "part", "rows", "cpu_seconds", "peak_mb", "model_mb").sort_values("rows")
    _, panels = plt.subplots(1, 2, figsize=(width, 2.3), layout="constrained")
    measures = (table["cpu_seconds"], table["peak_mb"] - table["model_mb"])
    for panel, values, label in zip(
        panels, measures, ("processor time (s)", "memory beyond the model (MiB)"), strict=True
    ):
        for part in dict.fromkeys(table["part"]):
            here = table["part"] == part
            colour, marker = judge_style(SHOWN[part])[:2]
            panel.plot(table["rows"][here], values[here], color=colour, marker=marker, ms=4, lw=1, label=SHOWN[part])
        panel.set(xscale="log", yscale="log", xlabel="pairs in the file", ylabel=label)
        # Powers of ten would be set with exponents too small to read.
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_major_formatter(lambda value, _: short(value))
    panels[1].set_ylim(10, 10 * max(measures[1]))
    panels[0].legend()
    return panels
