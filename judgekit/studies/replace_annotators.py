"""Labelling replayed: votes that people gave are hidden and bought back in some order, and the consensus improves.

What a consensus is graded by is never for sale: the truth of the sample, or one vote per item that is put aside first.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from judgekit.data.progress import progress_bar
from judgekit.data.votes import ClassProbabilities, Votes, aligned
from judgekit.people.active import best_first, need
from judgekit.people.consensus import hidden_votes
from judgekit.stats import Array, Floats


class Curves(NamedTuple):
    """How often the consensus was right, as votes were bought: votes so far, shape (n_rounds + 1,); by strategy, the
    share of replays in which it was right, shape (n_rounds + 1, n_items); and the prompt of each item."""

    bought: Array
    right: dict[str, Floats]
    clusters: tuple[str, ...]


def hold_out(votes: Votes, seed: int) -> tuple[Votes, Array]:
    """The votes that may be bought, and the class of the vote of each item that is put aside; each needs two."""
    if (lacking := votes.given.sum(1) < 2).any():
        raise ValueError(f"{votes.items[int(np.argmax(lacking))]}: fewer than two votes, none can be put aside")
    hidden = hidden_votes(votes, seed)
    return votes.masked(hidden), votes.codes[hidden]


def _replay(
    pool: Votes, truth: Array, probabilities: ClassProbabilities, strategy: str, batches: Sequence[int], seed: int
) -> Array:
    """Whether the consensus is right before any vote (the judge alone) and after each round, (n_rounds + 1, n_items).

    ``batches``: votes to buy in each round, at random in the first, in an order of chance that strategies share.
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
        bought = pool.masked(rank >= taken[:, None])
        right.append((bought.counts + values).argmax(1) == truth)  # the judge counts as one vote
    return np.array(right)


def gain_curves(
    votes: Votes,
    probabilities: ClassProbabilities,
    strategies: Sequence[str],
    truth: Array | None = None,
    rounds: int = 8,
    share: float = 0.5,
    seeds: Sequence[int] = range(3),
) -> Curves:
    """Replays of buying a ``share`` of the votes by several strategies, one replay of each for every seed.

    ``truth``: class codes, shape (n_items,); without it one of each item's votes is put aside, anew for each seed.
    """
    n = len(votes.items)
    budget = int(share * (votes.given.sum() - (n if truth is None else 0)))
    bought = np.linspace(0, budget, rounds + 1).astype(int)
    sums = {strategy: np.zeros((rounds + 1, n)) for strategy in strategies}
    with progress_bar(len(seeds) * len(strategies), "replays", "replay") as bar:
        for seed in seeds:
            pool, graded = hold_out(votes, seed) if truth is None else (votes, truth)
            for strategy in strategies:
                sums[strategy] += _replay(pool, graded, probabilities, strategy, np.diff(bought).tolist(), seed)
                bar.update()
    return Curves(bought, {name: right / len(seeds) for name, right in sums.items()}, votes.clusters)
