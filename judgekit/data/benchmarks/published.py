"""Published scores of judges, each with its source and the words of its protocol.

They are kept in ``published.json`` as printed, table by table; here they become one row per judge, set and metric.
"""

import json
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from typing import Any, NamedTuple


class PublishedScore(NamedTuple):
    """One published figure."""

    table: str  # the table it stands in, e.g. "figure4"
    judge: str  # slug
    title: str  # the judge's name as printed
    set: str  # as in result keys; ``judgelm_test`` is a set of which only published figures are here
    metric: str
    value: float  # in [0, 1]
    printed: str  # the percentage as printed: its digits say how far it was rounded
    protocol: str  # how verdicts became this score, as far as the source and its code tell
    scored_as: str | None  # the same protocol in `judgekit.scoring` ("primary": the set's own); None if there is none
    source: str  # paper or repository, and the table
    ours: str | None  # slug of the judge whose stored verdicts it can be recomputed from; None if there are none
    why: str | None  # what differs between the two, in a sentence

    @property
    def decimals(self) -> int:
        """Digits after the point, as printed."""
        return len(self.printed.partition(".")[2])


@lru_cache(maxsize=1)
def _document() -> dict[str, Any]:
    return json.loads(resources.files(__package__).joinpath("published.json").read_text(encoding="utf-8"))


def published_scores(table: str | None = None) -> list[PublishedScore]:
    """The published figures, of one table where given, in the order of the file; KeyError lists the tables.

    >>> [score.printed for score in published_scores("figure4") if score.judge == "pandalm_7b"]
    ['65.24', '47.42', '67.57', '57.49', '40.0']
    """
    tables = {entry["name"]: entry for entry in _document()["tables"]}
    if table is not None and table not in tables:
        raise KeyError(f"no published table {table!r}; there are {', '.join(tables)}")
    chosen = tables if table is None else [table]
    return [score for name in chosen for score in _scores_of(tables[name])]


def _scores_of(entry: dict[str, Any]) -> Iterator[PublishedScore]:
    words, titles, scored_as = (_document()[key] for key in ("protocols", "judges", "scored_as"))
    counterparts = [one for one in _document()["counterparts"] if one["table"] == entry["name"]]
    stored = {(one["judge"], one["set"]): (one["ours"], one["why"]) for one in counterparts}
    for judge, printed in entry["rows"].items():
        exceptions = entry.get("exceptions", {}).get(judge, {})
        for column, protocol, text in zip(entry["columns"], entry["protocols"], printed, strict=True):
            if text is not None:
                name, _, metric = column.partition(".")
                rule = exceptions.get(column, protocol)
                family = "llmbar" if name.startswith("llmbar") else name  # which stands for all of its subsets
                ours, why = stored.get((judge, family), (None, None))
                known = (words[rule], scored_as.get(rule), entry["source"], ours, why)
                value = round(float(text) / 100, 6)
                yield PublishedScore(entry["name"], judge, titles[judge], name, metric, value, text, *known)
