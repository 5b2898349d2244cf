"""Verdicts from single scores, single scores from verdicts, and the conflicts between the two."""

from collections import Counter
from dataclasses import replace

import pandas as pd

from judgekit.records import SWAPPED, label_of_gap

CREDIT = {"A": (1.0, 0.0), "B": (0.0, 1.0), "tie": (0.5, 0.5)}


def verdicts_from_scores(verdicts, margin=0.0):
    """Verdicts that follow from the scores of the two responses.

    Parameters
    ----------
    verdicts : list of Verdict
        With ``score_a`` and ``score_b``.
    margin : float, at least 0
        Scores that differ by no more are a tie, in the judge's own units.

    Returns
    -------
    list of Verdict
        In the same order, without probabilities; one without both scores is ``unparsed``, a failed one stays as it is.

    Raises
    ------
    ValueError
        If the margin is negative.
    """
    if margin < 0:
        raise ValueError(f"margin {margin} is negative")
    return [derived(verdict, margin) for verdict in verdicts]


def derived(verdict, margin):
    """One verdict of `verdicts_from_scores`."""
    if verdict.status == "error":
        return verdict
    bare = replace(verdict, p_a=None, p_b=None, p_tie=None)
    if verdict.score_a is None or verdict.score_b is None:
        return replace(bare, verdict=None, status="unparsed")
    gap = verdict.score_a - verdict.score_b
    return replace(bare, verdict=label_of_gap(gap, margin), status="ok")


def scores_from_verdicts(verdicts, pairs):
    """Scores of single responses: the share of their comparisons that they won.

    Parameters
    ----------
    verdicts : list of Verdict
        Both orders, if there are, count as two comparisons.
    pairs : list of PreferencePair

    Returns
    -------
    pandas.DataFrame
        One row per response of a prompt: cluster, response, score (ties count half, in [0, 1]), n (comparisons).

    Raises
    ------
    KeyError
        If a verdict is on an item that is not among the pairs.
    """
    by_id, credits = {pair.item_id: pair for pair in pairs}, {}
    for verdict in verdicts:
        pair = by_id[verdict.item_id]
        if verdict.status == "ok":
            for response, credit in zip(pair.responses, CREDIT[verdict.verdict], strict=True):
                credits.setdefault((pair.cluster, response), []).append(credit)
    rows = [(*key, sum(values) / len(values), len(values)) for key, values in credits.items()]
    return pd.DataFrame(rows, columns=["cluster", "response", "score", "n"])


def conflict_table(pairwise, scored):
    """How often two kinds of judgement of the same pairs contradict each other.

    Parameters
    ----------
    pairwise, scored : list of Verdict
        Of the same items in the same orders: said directly, and derived from single scores.

    Returns
    -------
    pandas.DataFrame
        One row per kind: ``same``, ``opposite`` (one says A, the other B), ``tie_against_choice``, ``unread`` (one of
        them has no verdict); columns kind, n, rate (of all, in [0, 1]).

    Raises
    ------
    ValueError
        If the two are not on the same items and orders.
    """
    cells = [{(v.item_id, v.order): v for v in verdicts} for verdicts in (pairwise, scored)]
    if cells[0].keys() != cells[1].keys() or len(cells[0]) != len(pairwise) or len(cells[1]) != len(scored):
        raise ValueError("the two kinds of judgement are not on the same items and orders, each once")
    counts = Counter(kind_of(cells[0][cell].verdict, cells[1][cell].verdict) for cell in cells[0])
    kinds = ("same", "opposite", "tie_against_choice", "unread")
    rows = [(kind, counts[kind], counts[kind] / len(pairwise) if pairwise else 0.0) for kind in kinds]
    return pd.DataFrame(rows, columns=["kind", "n", "rate"])


def kind_of(one, other):
    """Kind of agreement of two verdicts.

    Examples
    --------
    >>> kind_of("A", "B"), kind_of("A", "tie"), kind_of("tie", "tie"), kind_of(None, "A")
    ('opposite', 'tie_against_choice', 'same', 'unread')
    """
    if one is None or other is None:
        return "unread"
    if one == other:
        return "same"
    return "opposite" if one == SWAPPED[other] else "tie_against_choice"
