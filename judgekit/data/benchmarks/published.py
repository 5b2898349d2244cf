"""Scores that papers and repositories published, each with its source and the words of its protocol.

They are kept in ``published.json`` as printed, table by table; here they become one row per judge, set and metric.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import pandas as pd

from judgekit.data.benchmarks import llmbar
from judgekit.data.benchmarks.outputs import published_of
from judgekit.data.sources import read_document

STATISTICS = {"accuracy": "correct_average", "same": "equal"}


@dataclass(frozen=True, slots=True)
class PublishedScore:
    """One published figure.

    Attributes
    ----------
    table : str
        The table it stands in, e.g. ``"figure4"``.
    judge, title : str
        Slug, and the name as printed.
    set, metric : str
        As in result keys; ``judgelm_test`` is a set of which only published figures are here.
    value : float
        In [0, 1].
    printed : str
        The percentage as printed: its digits say how far it was rounded.
    protocol : str
        How verdicts became this score, as far as the source and its code tell.
    scored_as : str or None
        Name of the same protocol in `judgekit.scoring` (``"primary"`` for the set's own); None where there is none.
    source : str
        Paper or repository, and the table.
    """

    table: str
    judge: str
    title: str
    set: str
    metric: str
    value: float
    printed: str
    protocol: str
    scored_as: str | None
    source: str

    @property
    def decimals(self):
        """Digits after the point, as printed."""
        return len(self.printed.partition(".")[2])


@dataclass(frozen=True, slots=True)
class Counterpart:
    """Which stored verdicts a published row can be recomputed from, and what differs.

    Attributes
    ----------
    table, judge, set : str
        The published row; ``llmbar`` stands for all of its subsets.
    ours : str
        Slug of the judge whose verdicts are stored.
    why : str
        What differs, in a sentence.
    """

    table: str
    judge: str
    set: str
    ours: str
    why: str


@lru_cache(maxsize=1)
def document():
    """The data file, as read."""
    return json.loads(
        resources.files("judgekit.data.benchmarks").joinpath("published.json").read_text(encoding="utf-8")
    )


def published_scores(table=None):
    """The published figures.

    Parameters
    ----------
    table : str, optional
        One table's only.

    Returns
    -------
    list of PublishedScore
        In the order of the file: tables, judges, columns.

    Raises
    ------
    KeyError
        If there is no such table; the message lists those there are.

    Examples
    --------
    >>> [score.printed for score in published_scores("figure4") if score.judge == "pandalm_7b"]
    ['65.24', '47.42', '67.57', '57.49', '40.0']
    """
    tables = {entry["name"]: entry for entry in document()["tables"]}
    if table is not None and table not in tables:
        raise KeyError(f"no published table {table!r}; there are {', '.join(tables)}")
    chosen = tables.values() if table is None else [tables[table]]
    return [score for entry in chosen for score in scores_of(entry)]


def scores_of(entry):
    """The figures of one table of the file."""
    words, titles = document()["protocols"], document()["judges"]
    found = []
    for judge, printed in entry["rows"].items():
        exceptions = entry.get("exceptions", {}).get(judge, {})
        for column, protocol, text in zip(entry["columns"], entry["protocols"], printed, strict=True):
            if text is not None:
                name, _, metric = column.partition(".")
                rule = exceptions.get(column, protocol)
                known = (words[rule], document()["scored_as"].get(rule), entry["source"])
                value = round(float(text) / 100, 6)
                found.append(PublishedScore(entry["name"], judge, titles[judge], name, metric, value, text, *known))
    return found


def counterparts():
    """Which published rows can be recomputed, from whose verdicts, and what differs: list of Counterpart."""
    return [Counterpart(**entry) for entry in document()["counterparts"]]


def counterpart_of(score):
    """The `Counterpart` of a published figure, or None where no verdicts are stored."""
    family = "llmbar" if score.set.startswith("llmbar") else score.set
    wanted = (score.table, score.judge, family)
    return next((entry for entry in counterparts() if (entry.table, entry.judge, entry.set) == wanted), None)


def published_table():
    """All published figures as a table: one row each, columns as the attributes of `PublishedScore`."""
    names = PublishedScore.__slots__
    return pd.DataFrame([[getattr(score, name) for name in names] for score in published_scores()], columns=names)


def fitting_counts(printed, n, step=1.0):
    """Counts of right verdicts that a printed percentage can stand for.

    Parameters
    ----------
    printed : str
        The percentage, with the digits it was printed with.
    n : int
        Items.
    step : float, default 1
        What an item can add: 1 in one order, 1/2 in the mean of two.

    Returns
    -------
    list of float
        Every multiple of ``step`` whose percentage rounds to what was printed (a half may have been rounded either
        way); empty when the figure is impossible.

    Examples
    --------
    >>> fitting_counts("64.2", 134, 0.5), fitting_counts("76.6", 92), fitting_counts("16.5", 134)
    ([86.0], [], [])
    """
    half = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    middle, width = float(printed) * n / 100, half * n / 100
    first = int((middle - width) / step)
    counts = [k * step for k in range(max(first - 1, 0), int((middle + width) / step) + 2)]
    return [count for count in counts if abs(count - middle) <= width + 1e-9 and count <= n]


def owner_statistics(model):
    """What LLMBar's owner published of one evaluator, set by set.

    Parameters
    ----------
    model : str
        A key of `judgekit.data.benchmarks.outputs.PUBLISHED`, such as ``"gpt-4-vanilla"``.

    Returns
    -------
    dict of str to dict
        Set (``llmbar_natural``) to ``accuracy`` (mean of both orders) and ``same`` (same verdict in both), in [0, 1],
        and ``kappa`` of the given order.
    """
    found = {}
    for name, subsets in llmbar.SETS.items():
        folder = next(iter(subsets.values())).removesuffix("dataset.json")
        for file in published_of(model).files if len(subsets) == 1 else ():
            if file.startswith(folder):
                found[name] = statistics_of(json.loads(read_document(file.replace("/result.json", "/statistics.json"))))
    return found


def statistics_of(values):
    """The statistics of one file as rates.

    Examples
    --------
    >>> statistics_of({"correct_average": "93.5%", "equal": "97 / 100 = 97.0%", "kappa_False": 0.25})
    {'accuracy': 0.935, 'same': 0.97, 'kappa': 0.25}
    """
    rates = {name: float(values[key].rpartition("=")[2].strip(" %")) / 100 for name, key in STATISTICS.items()}
    return {**rates, "kappa": float(values["kappa_False"])}
