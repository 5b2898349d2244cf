"""How often two voters of the same item agree: people with people, and a judge with people."""

import numpy as np

from judgekit.data.votes import NO_VOTE, TIE_FREE, matchup_of
from judgekit.records import SWAPPED
from judgekit.scoring.scores import N_BOOT
from judgekit.stats import Number, cluster_bootstrap, cluster_sums, share_of


def people_with_people(votes, classes=TIE_FREE, n_boot=N_BOOT, seed=0):
    """Share of meetings of two votes on one item that agree.

    Parameters
    ----------
    votes : Votes
    classes : sequence of str
        Votes for others are left out: the published tie-free variant by default.
    n_boot, seed : int

    Returns
    -------
    Number
        ``n`` is the number of meetings; prompts are resampled.

    Raises
    ------
    ValueError
        If no two votes meet.
    """
    counts = votes.only(classes).counts
    total = counts.sum(1)
    return share_number((counts * (counts - 1)).sum(1) / 2, total * (total - 1) / 2, votes.clusters, n_boot, seed)


def judge_with_people(votes, said, classes=TIE_FREE, n_boot=N_BOOT, seed=0):
    """Share of people's votes that a judge's verdict agrees with.

    Parameters
    ----------
    votes : Votes
        Of people only.
    said : array of int, shape (n_items,)
        The judge's verdicts as `Votes.classes` has them, -1 where there is none (`verdicts_on`).
    classes : sequence of str
        Votes and verdicts for others are left out.
    n_boot, seed : int

    Returns
    -------
    Number
        ``n`` is the number of votes that a verdict meets.

    Raises
    ------
    ValueError
        If a verdict meets no vote.
    """
    said = np.asarray(said)
    chosen = np.isin(said, [votes.classes.index(name) for name in classes])
    counts = np.stack([votes.counts[:, votes.classes.index(name)] for name in classes], 1)
    met = counts.sum(1) * chosen
    agree = np.where(chosen, votes.counts[np.arange(len(said)), np.maximum(said, 0)], 0)
    return share_number(agree, met, votes.clusters, n_boot, seed)


def verdicts_on(votes, verdicts, pairs, matchups=True):
    """A judge's verdicts on the items of votes, as class codes.

    Parameters
    ----------
    votes : Votes
    verdicts : list of Verdict
        Of one judge. Where it judged an item more than once (both orders, or a match that was shown both ways) and
        contradicts itself, that is a tie.
    pairs : list of PreferencePair
        That the verdicts are on; pairs without a verdict are left alone.
    matchups : bool
        Items are those of `judgekit.data.votes.matchup_votes`.

    Returns
    -------
    array of int, shape (n_items,)
        -1 where the judge has no verdict, or one that is no class of the votes.
    """
    said = {}
    by_id = {pair.item_id: pair for pair in pairs}
    for verdict in verdicts:
        if verdict.verdict is not None and verdict.item_id in by_id:
            pair = by_id[verdict.item_id]
            key, turned = matchup_of(pair) if matchups else (pair.item_id, False)
            said.setdefault(key, set()).add(SWAPPED[verdict.verdict] if turned else verdict.verdict)
    final = {key: labels.pop() if len(labels) == 1 else "tie" for key, labels in said.items()}
    codes = {label: code for code, label in enumerate(votes.classes)}
    return np.array([codes.get(final.get(item), NO_VOTE) for item in votes.items], int)


def share_number(hits, total, clusters, n_boot=N_BOOT, seed=0):
    """Sum of hits over sum of totals as a `Number`, with prompts resampled.

    Parameters
    ----------
    hits, total : array of float, shape (n_items,)
    clusters : sequence, length n_items

    Raises
    ------
    ValueError
        If the totals sum to nothing.
    """
    rows, kept = np.column_stack([hits, total]).astype(float), np.asarray(total) > 0
    if not kept.any():
        raise ValueError("nothing to compare: no item has two votes that meet")
    sums = cluster_sums(rows[kept], np.asarray(clusters)[kept])
    value, low, high = cluster_bootstrap(sums, share_of, n_boot, seed)
    return Number(value, low, high, n=round(float(rows[:, 1].sum())), spec=".1%")
