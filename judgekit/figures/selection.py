"""Pictures of data selection: what filtering a pool has over drawing from it."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from judgekit.figures.style import BLUE, DARK, ORANGE, PALE, RED, TEXT, required, use_style

SCORERS = {"features": (ORANGE, "s"), "probe": (BLUE, "o"), "relevance": ("#009E73", "^"), "longer": ("#56B4E9", "<")}
SCORERS |= {"truth": (DARK, "*")}


def plot_selection(tables: Mapping[str, pd.DataFrame], *, table: str = "ordinary", width: float = TEXT) -> Figure:
    """Difference from a random sample of the same size, by the share kept: a row per student, a column per pool.

    ``tables``, by title, have columns ``student, scorer, rule, share, table, difference`` (`Number`), as
    `studies.selection.study.comparison_table` makes them; ``table`` says which validation pairs. The best-scored are
    drawn in full, the worst-scored dashed; thresholds, which have no share, are left out.
    """
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D
    from matplotlib.ticker import PercentFormatter

    found = {
        title: frame[(frame["table"] == table) & frame["rule"].isin(["top", "bottom"])]
        for title, frame in (
            (title, required(frame, "student", "scorer", "rule", "share", "table", "difference"))
            for title, frame in tables.items()
        )
    }
    students = list(dict.fromkeys(name for frame in found.values() for name in frame["student"]))
    use_style()
    figure, panels = plt.subplots(
        len(students),
        len(found),
        figsize=(width, 0.5 + 1.55 * len(students)),
        layout="constrained",
        squeeze=False,
        sharex=True,
        sharey="row",
    )
    drawn = {}
    for row, student in zip(panels, students, strict=True):
        for panel, (title, frame) in zip(row, found.items(), strict=True):
            own = frame[frame["student"] == student]
            scorers = list(dict.fromkeys(own["scorer"]))
            for place, scorer in enumerate(scorers):
                color, marker = SCORERS.get(scorer, (PALE, "D"))
                drawn[scorer] = Line2D([], [], color=color, marker=marker, ms=3.5, label=scorer)
                for rule, style in (("top", "-"), ("bottom", "--")):
                    line = own[(own["scorer"] == scorer) & (own["rule"] == rule)].sort_values("share")
                    # Beside each other, so that no interval hides another.
                    x = line["share"].astype(float) + 0.012 * (place - (len(scorers) - 1) / 2)
                    panel.plot(x, [gap.value for gap in line["difference"]], style, color=color, marker=marker, ms=3.5)
                    for at, gap in zip(x, line["difference"], strict=True):
                        panel.plot([at, at], [gap.low, gap.high], color=color, lw=0.7)
            panel.axhline(0, color=RED, lw=0.7)
            panel.set(title=f"{title}; student: {student}" if len(students) > 1 else title)
            panel.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
            panel.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
            panel.set_xticks(sorted(set(own["share"].astype(float))))
    for panel in panels[-1]:
        panel.set_xlabel("share of the pool kept")
    for row in panels:
        row[0].set_ylabel("difference from random")
    rules = [
        Line2D([], [], color=DARK, ls=style, label=f"{name} kept") for name, style in (("best", "-"), ("worst", "--"))
    ]
    figure.legend(handles=[*drawn.values(), *rules], loc="outside lower center", ncols=len(drawn) + 2)
    return figure
