"""Verdicts from single scores, single scores from verdicts, and the conflicts between the two."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pandas as pd

from judgekit.records import SWAPPED, PreferencePair, Verdict, label_of_gap

CREDIT = {"A": (1.0, 0.0), "B": (0.0, 1.0), "tie": (0.5, 0.5)}


def verdicts_from_scores(verdicts: Iterable[Verdict], margin: float = 0.0) -> list[Verdict]:
    """Verdicts that follow from the scores of the two responses, without probabilities.

    Scores that differ by no more than ``margin`` (at least 0, in the judge's own units) are a tie. A verdict without
    both scores is ``unparsed``; a failed one stays as it is.
    """
    if margin < 0:
        raise ValueError(f"margin {margin} is negative")
    return [_derived(verdict, margin) for verdict in verdicts]


def _derived(verdict: Verdict, margin: float) -> Verdict:
    if verdict.status == "error":
        return verdict
    bare = replace(verdict, p_a=None, p_b=None, p_tie=None)
    if verdict.score_a is None or verdict.score_b is None:
        return replace(bare, verdict=None, status="unparsed")
    return replace(bare, verdict=label_of_gap(verdict.score_a - verdict.score_b, margin), status="ok")


def scores_from_verdicts(verdicts: Iterable[Verdict], pairs: Iterable[PreferencePair]) -> pd.DataFrame:
    """Scores of single responses: the share of their comparisons that they won, ties counting half.

    One row per response of a prompt: cluster, response, score in [0, 1], n (comparisons; both orders count as two).
    KeyError where a verdict is on an item that is not among the pairs.
    """
    by_id = {pair.item_id: pair for pair in pairs}
    credits: dict[tuple[str, str], list[float]] = {}
    for verdict in verdicts:
        pair = by_id[verdict.item_id]
        if verdict.verdict is not None:
            for response, credit in zip(pair.responses, CREDIT[verdict.verdict], strict=True):
                credits.setdefault((pair.cluster, response), []).append(credit)
    rows = [(*key, sum(values) / len(values), len(values)) for key, values in credits.items()]
    return pd.DataFrame(rows, columns=["cluster", "response", "score", "n"])


def conflict_table(pairwise: Sequence[Verdict], scored: Sequence[Verdict]) -> pd.DataFrame:
    """How often two kinds of judgement of the same pairs contradict each other: columns kind, n, rate (of all).

    Kinds are ``same``, ``opposite`` (one says A, the other B), ``tie_against_choice`` and ``unread`` (one of them has
    no verdict). ValueError where the two are not on the same items and orders.
    """
    cells = [{(v.item_id, v.order): v for v in verdicts} for verdicts in (pairwise, scored)]
    if cells[0].keys() != cells[1].keys() or len(cells[0]) != len(pairwise) or len(cells[1]) != len(scored):
        raise ValueError("the two kinds of judgement are not on the same items and orders, each once")
    counts = Counter(_kind_of(cells[0][cell].verdict, cells[1][cell].verdict) for cell in cells[0])
    kinds = ("same", "opposite", "tie_against_choice", "unread")
    rows = [(kind, counts[kind], counts[kind] / len(pairwise) if pairwise else 0.0) for kind in kinds]
    return pd.DataFrame(rows, columns=["kind", "n", "rate"])


def _kind_of(one: str | None, other: str | None) -> str:
    if one is None or other is None:
        return "unread"
    if one == other:
        return "same"
    return "opposite" if one == SWAPPED[other] else "tie_against_choice"
