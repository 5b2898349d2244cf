"""The one style (seaborn's, with small letters for print) and the colours of judges and of all else that is drawn."""

import hashlib
import re
from collections.abc import Iterable
from itertools import cycle
from pathlib import Path
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib import font_manager
from matplotlib.axis import Axis
from matplotlib.ticker import MaxNLocator

from judgekit.data.files import load_plain

COLUMN, SLIDE, TEXT = 3.4, 5.5, 7.0  # widths in inches: of a column and of the text of the report, of a slide's text
GREY, LIGHT, DARK = "#6b6b6b", "#d9d9d9", "#444444"
# Okabe and Ito's colours, which colour-blind readers can tell apart.
BLUE, ORANGE, RED = "#0072B2", "#E69F00", "#D55E00"
_COLOURS = load_plain(Path(__file__).with_name("colours.yaml").read_text(encoding="utf-8"))
JUDGES: dict[str, tuple[str, str]] = {judge: tuple(style) for judge, style in _COLOURS.items()}
# What is no judge, in the order it is drawn.
SERIES = (BLUE, ORANGE, "#009E73", RED, "#CC79A7", "#56B4E9")
OTHER_COLOURS = ("#332288", "#88CCEE", "#117733", "#AA4499", "#882255", "#DDCC77", "#44AA99", "#999933")
OTHER_MARKERS = ("p", "h", "X", "*", "d", "8", "H")
LABELS = {"A": BLUE, "B": ORANGE, "tie": "#b8b8b8"}
STYLE = load_plain(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


def use_style() -> None:
    """Set the one style for the session: seaborn's grid, letters of 7 pt and more in print, fonts embedded whole."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    # DejaVu Sans comes with matplotlib (the same picture everywhere); one CJK family stands beside it if there is one.
    families = ["DejaVu Sans", *[family for family in STYLE["cjk_families"] if family in installed][:1]]
    sns.set_theme(context="paper", style="whitegrid", rc=STYLE["rc"] | {"font.family": families})


def judge_style(judge: str) -> tuple[str, str]:
    """Colour and marker of a judge (slug, or name as printed): the same in every figure of every run.

    A prompt or a variant of a judge that is named here has its judge's (``gpt_4_vanilla_norules`` and ``GPT-4-0613,
    published`` that of ``gpt_4``); others get theirs from a hash.

    >>> judge_style("minilm"), judge_style("gpt_4_pair") == judge_style("gpt_4")
    (('#0072B2', 'o'), True)
    """
    judge = re.sub("[^a-z0-9]+", "_", judge.lower()).strip("_")
    if named := [name for name in JUDGES if judge == name or judge.startswith(f"{name}_")]:
        return JUDGES[max(named, key=len)]
    digest = hashlib.sha256(judge.encode()).digest()
    return OTHER_COLOURS[digest[0] % len(OTHER_COLOURS)], OTHER_MARKERS[digest[1] % len(OTHER_MARKERS)]


def required(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The table; ValueError where it is empty or lacks a column."""
    if missing := [column for column in columns if column not in table.columns]:
        raise ValueError(f"the table lacks {', '.join(missing)}; it has {', '.join(map(str, table.columns))}")
    if table.empty:
        raise ValueError("the table is empty: nothing to draw")
    return table


def style_of(names: Iterable[Any]) -> dict[Any, tuple[str, str]]:
    """Colour and marker of what is no judge (methods, strategies, factors), in the order of the names."""
    colours, markers = (*SERIES, *OTHER_COLOURS), ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")
    return dict(zip(dict.fromkeys(names), zip(cycle(colours), cycle(markers), strict=False), strict=False))


def percent_axis(axis: Axis) -> None:
    """Rates as whole percentages; where ticks stand closer, with a decimal."""
    axis.set_major_locator(MaxNLocator(4, min_n_ticks=3))
    axis.set_major_formatter(lambda value, _: f"{100 * value:.3g}".replace("-", "−"))


def short(value: float) -> str:
    """A count or a time as a tick prints it.

    >>> short(7_000_000_000), short(1500), short(0.25)
    ('7B', '1.5k', '0.25')
    """
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
