"""A replay of labelling: hide votes that people gave, buy them back in some order, and see how the consensus improves.

What a consensus is graded by is never for sale: the truth of the sample, or one vote per item that is put aside first.
"""

from dataclasses import dataclass

import numpy as np

from judgekit.data.progress import progress_bar
from judgekit.data.votes import aligned
from judgekit.people.consensus.active import best_first, need
from judgekit.people.consensus.clustered import clustered_mean
from judgekit.stats import Number, holm, t_quantile


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """How often the consensus was right, as votes were bought.

    Attributes
    ----------
    bought : array of int, shape (n_rounds + 1,)
        Votes bought so far.
    right : dict of str to array of float, shape (n_rounds + 1, n_items)
        Strategy to the share of replays in which the consensus on an item was right.
    clusters : tuple of str, length n_items
    """

    bought: np.ndarray
    right: dict
    clusters: tuple[str, ...]


def hold_out(votes, seed):
    """Put one vote of each item aside.

    Parameters
    ----------
    votes : judgekit.data.votes.Votes
        At least two votes on each item.
    seed : int

    Returns
    -------
    pool : judgekit.data.votes.Votes
        The votes that may be bought.
    held : array of int, shape (n_items,)
        The class of the vote put aside, which is not in the pool.

    Raises
    ------
    ValueError
        If an item has fewer than two votes.
    """
    if (lacking := votes.given.sum(1) < 2).any():
        raise ValueError(f"{votes.items[int(np.argmax(lacking))]}: fewer than two votes, none can be put aside")
    drawn = np.where(votes.given, np.random.default_rng(seed).random(votes.codes.shape), -1)
    chosen = drawn.argmax(1)
    held = votes.codes[np.arange(len(chosen)), chosen]
    return votes.masked(np.arange(votes.codes.shape[1]) == chosen[:, None]), held


def consensus(votes, values):
    """The class with most votes on each item, where the judge's probabilities count as one vote."""
    return (votes.counts + values).argmax(1)


def replay(pool, truth, probabilities, strategy, batches, seed):
    """One replay of buying votes.

    Parameters
    ----------
    pool : judgekit.data.votes.Votes
        Every vote that may be bought. Votes on an item come in an order of chance, the same for all strategies.
    truth : array of int, shape (n_items,)
        Classes to grade by.
    probabilities : judgekit.data.votes.ClassProbabilities
    strategy : str
    batches : sequence of int
        Votes to buy in each round; the first batch is bought at random.
    seed : int

    Returns
    -------
    array of bool, shape (n_rounds + 1, n_items)
        Whether the consensus is right: before any vote (the judge alone) and after each round.
    """
    values = aligned(pool, probabilities)
    rng = np.random.default_rng([seed, 0, 2])  # another stream than that of the votes put aside
    # Rank of each vote in the order in which its item's votes come.
    rank = np.where(pool.given, rng.random(pool.codes.shape), np.inf).argsort(1).argsort(1)
    available, taken = pool.given.sum(1), np.zeros(len(values), int)
    right = [values.argmax(1) == truth]
    for number, batch in enumerate(batches):
        seen = pool.masked(rank >= taken[:, None])
        wanted = need(seen, probabilities, strategy if number else "random", [seed, number])
        order = best_first(wanted, [seed, number, 1])
        while batch:  # a second vote on an item in one round only where too few items have one left
            chosen = order[taken[order] < available[order]][:batch]
            if not len(chosen):
                raise ValueError(f"round {number + 1}: {batch} more votes wanted than there are")
            taken[chosen] += 1
            batch -= len(chosen)
        right.append(consensus(pool.masked(rank >= taken[:, None]), values) == truth)
    return np.array(right)


def gain_curves(votes, probabilities, strategies, truth=None, rounds=8, share=0.5, seeds=range(3), progress=False):
    """Replays of buying votes by several strategies, from the same votes.

    Parameters
    ----------
    votes : judgekit.data.votes.Votes
        At least two on each item, unless the truth is given.
    probabilities : judgekit.data.votes.ClassProbabilities
        Of those items in that order.
    strategies : sequence of str
        Of `judgekit.people.consensus.active.STRATEGIES`.
    truth : array of int, shape (n_items,), optional
        Without it a vote put aside is drawn anew for each seed.
    rounds : int
    share : float
        How many of the votes for sale are bought in all.
    seeds : sequence of int
        One replay of each strategy for each.

    Returns
    -------
    Curves
    """
    n = len(votes.items)
    budget = int(share * (votes.given.sum() - (n if truth is None else 0)))
    bought = np.linspace(0, budget, rounds + 1).astype(int)
    sums = {strategy: np.zeros((rounds + 1, n)) for strategy in strategies}
    with progress_bar(len(seeds) * len(strategies), "replays", "replay", progress) as bar:
        for seed in seeds:
            pool, graded = hold_out(votes, seed) if truth is None else (votes, truth)
            for strategy in strategies:
                sums[strategy] += replay(pool, graded, probabilities, strategy, np.diff(bought), seed)
                bar.update()
    return Curves(bought, {name: found / len(seeds) for name, found in sums.items()}, votes.clusters)


def curve_table(curves):
    """Accuracy after each round: columns strategy, bought, votes_per_item, value, low, high (a pandas.DataFrame)."""
    import pandas as pd

    n = len(curves.clusters)
    return pd.DataFrame(
        [
            {
                "strategy": strategy,
                "bought": int(bought),
                "votes_per_item": bought / n,
                **dict(zip(("value", "low", "high"), clustered_mean(row, curves.clusters, 0.0, 1.0), strict=True)),
            }
            for strategy, right in curves.right.items()
            for bought, row in zip(curves.bought, right, strict=True)
        ]
    )


def area_gain(curves, strategy, rival="random"):
    """Mean lead of a strategy's curve over a rival's, from the first choice on, with a paired interval by prompts.

    Returns
    -------
    judgekit.report.Number
        In [-1, 1]; n is the number of items.
    """
    lead = (curves.right[strategy] - curves.right[rival])[2:].mean(0)  # round 1 is bought at random by everybody
    value, low, high = clustered_mean(lead, curves.clusters, -1.0, 1.0)
    return Number(value, low, high, n=len(lead), spec=".1%")


def lead_table(curves, rival="random"):
    """Every strategy against a rival, on every set.

    Parameters
    ----------
    curves : dict of str to Curves
        By set.
    rival : str

    Returns
    -------
    pandas.DataFrame
        Columns set, strategy, lead (`area_gain`), saved (`votes_saved`), p_value (two-sided, Student's t over prompts),
        p_holm (Holm's correction over all rows).
    """
    import pandas as pd
    from scipy.special import stdtr

    rows = []
    for name, found in curves.items():
        for strategy in found.right:
            if strategy != rival:
                lead = area_gain(found, strategy, rival)
                df = len(set(found.clusters)) - 1
                error = (lead.high - lead.low) / (2 * t_quantile(0.975, df))
                p_value = float(2 * stdtr(df, -abs(lead.value) / error)) if error else 1.0
                rows.append([name, strategy, lead, votes_saved(found, strategy, rival), p_value])
    table = pd.DataFrame(rows, columns=["set", "strategy", "lead", "saved", "p_value"])
    return table.assign(p_holm=holm(table["p_value"]))


def votes_saved(curves, strategy, rival="random"):
    """How much earlier a strategy reaches what the rival reaches: mean lead in votes, as a share of those bought.

    The area between two curves is their mean distance across votes times the rise of the rival, so that no crossing of
    a level has to be read off a rough curve.

    Returns
    -------
    judgekit.report.Number or None
        Negative where the strategy needs more votes; None where the rival's own gain is not well known (its interval
        reaches down to half of it), as a ratio to it would then mean little.
    """
    lead = np.trapezoid(curves.right[strategy] - curves.right[rival], curves.bought, axis=0) / curves.bought[-1]
    rise = curves.right[rival][-1] - curves.right[rival][0]
    total, low, _ = clustered_mean(rise, curves.clusters, -1.0, 1.0)
    if low <= total / 2:
        return None
    value = float(lead.mean() / total)
    # The linearised ratio: what each item adds to the lead beyond its part of the rise.
    gap = clustered_mean((lead - value * rise) / total, curves.clusters)
    return Number(value, value + gap[1], value + gap[2], n=len(lead), spec=".2f")
