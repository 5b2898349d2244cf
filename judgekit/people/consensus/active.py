"""What people should label next, by several rules, and a replay of labelling that shows what each rule is worth.

The replay hides votes that people gave, buys them back in some order, and looks how the consensus improves. What a
consensus is graded by is never for sale: the truth of the sample, or one vote per item that is put aside first.
"""

import contextlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from judgekit.data.progress import progress_bar
from judgekit.data.votes import ClassProbabilities, Votes, aligned
from judgekit.people.consensus.clustered import clustered_mean
from judgekit.people.consensus.held_out import hidden_votes
from judgekit.people.consensus.methods import seeded
from judgekit.stats import Array, Floats, Number, holm, t_quantile

STRATEGIES = ("activelab", "crowdlab", "entropy", "margin", "disagreement", "fewest", "random")


def label_next(
    votes: Votes,
    probabilities: ClassProbabilities,
    n: int | None = None,
    strategy: str = "activelab",
    seed: int = 0,
) -> list[str]:
    """Keys of the items (all by default) whose next vote tells most by `need`, best first; equals by the seed.

    Items nobody voted on are candidates too. ValueError where the votes and a judge's probabilities are not of the same
    items in the same order, or there is no such strategy.

    >>> from judgekit.data.votes import ClassProbabilities, Votes
    >>> votes = Votes(("i", "j"), ("ann", "bob"), [[0, 0], [0, 1]], ("A", "B"))
    >>> label_next(votes, ClassProbabilities(("i", "j"), [[0.9, 0.1], [0.5, 0.5]], ("A", "B")))
    ['j', 'i']
    """
    return [votes.items[i] for i in _best_first(need(votes, probabilities, strategy, seed), seed)[:n]]


def _best_first(wanted: Floats, seed: int | list[int]) -> Array:
    """Positions by falling need; equals in an order of chance."""
    return np.lexsort((np.random.default_rng(seed).random(len(wanted)), -wanted))


def need(votes: Votes, probabilities: ClassProbabilities, strategy: str = "activelab", seed: Any = 0) -> Floats:
    """How much each item wants another vote, shape (n_items,); only the order has a meaning.

    ``activelab``: Goh and Mueller (2023), arXiv:2301.11856, by cleanlab: low trust in the consensus, and few votes
    behind it. ``crowdlab``: low trust alone. ``entropy``, ``margin``: the judge's doubt, blind to votes.
    ``disagreement``: entropy of the votes so far, one added to each class. ``fewest``: the fewest votes.
    """
    values = aligned(votes, probabilities)
    if strategy not in STRATEGIES:
        raise ValueError(f"no strategy {strategy!r}; there are {', '.join(STRATEGIES)}")
    if strategy in ("activelab", "crowdlab"):
        with seeded(seed):
            return -_trust(votes, values, strategy)
    if strategy == "entropy":
        return _entropy(values)
    if strategy == "margin":
        top = np.sort(values, axis=1)
        return top[:, -2] - top[:, -1]
    if strategy == "disagreement":
        counts = votes.counts + 1.0
        return _entropy(counts / counts.sum(1, keepdims=True))
    if strategy == "fewest":
        return -votes.given.sum(1).astype(float)
    return np.random.default_rng(seed).random(len(values))


def _entropy(values: Floats) -> Floats:
    """Shannon's entropy of rows, in nats."""
    return -(values * np.log(np.clip(values, 1e-300, None))).sum(1)


def _trust(votes: Votes, values: Floats, strategy: str) -> Floats:
    """cleanlab's scores of items with and without votes, which it wants apart; low is little trust."""
    from cleanlab import multiannotator

    voted = votes.given.any(1)
    scores = values.max(1)  # of items without votes, unless ActiveLab knows better
    if not voted.any():
        return scores
    labels = votes.at(voted).voted().wide()
    with contextlib.redirect_stdout(io.StringIO()):  # it prints a warning a call about annotators who meet nobody
        if strategy == "activelab":
            rest = None if voted.all() else values[~voted]
            scores[voted], scores[~voted] = multiannotator.get_active_learning_scores(labels, values[voted], rest)
        elif (votes.given[voted].sum(1) == 1).all():
            # Nothing to weigh people by: the judge's probability of what they say.
            scores[voted] = values[voted][np.arange(voted.sum()), votes.codes[voted].max(1)]
        else:
            quality = multiannotator.get_label_quality_multiannotator(
                labels, values[voted], return_detailed_quality=False, return_annotator_stats=False
            )
            scores[voted] = quality["label_quality"]["consensus_quality_score"]
    # Where no two people agree there is nothing to weigh them by, and cleanlab says so by NaN: the judge alone is left.
    return np.where(np.isfinite(scores), scores, values.max(1))


# ---------------------------------------------------------------- a replay of labelling


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """How often the consensus was right, as votes were bought.

    ``bought``: votes so far, shape (n_rounds + 1,). ``right``: by strategy, the share of replays in which the consensus
    on an item was right, shape (n_rounds + 1, n_items).
    """

    bought: Array
    right: dict[str, Floats]
    clusters: tuple[str, ...]


def hold_out(votes: Votes, seed: int) -> tuple[Votes, Array]:
    """The votes that may be bought, and the class of one vote per item that is put aside; ValueError where an item has
    fewer than two."""
    if (lacking := votes.given.sum(1) < 2).any():
        raise ValueError(f"{votes.items[int(np.argmax(lacking))]}: fewer than two votes, none can be put aside")
    hidden = hidden_votes(votes, seed)
    return votes.masked(hidden), votes.codes[hidden]


def consensus(votes: Votes, values: Floats) -> Array:
    """The class with most votes on each item, where the judge's probabilities count as one vote."""
    return (votes.counts + values).argmax(1)


def _replay(
    pool: Votes, truth: Array, probabilities: ClassProbabilities, strategy: str, batches: Sequence[int], seed: int
) -> Array:
    """Whether the consensus is right before any vote (the judge alone) and after each round, (n_rounds + 1, n_items).

    ``batches``: votes to buy in each round, at random in the first. Votes on an item come in an order of chance, the
    same for all strategies.
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
        order = _best_first(wanted, [seed, number, 1])
        while batch:  # a second vote on an item in one round only where too few items have one left
            chosen = order[taken[order] < available[order]][:batch]
            if not len(chosen):
                raise ValueError(f"round {number + 1}: {batch} more votes wanted than there are")
            taken[chosen] += 1
            batch -= len(chosen)
        right.append(consensus(pool.masked(rank >= taken[:, None]), values) == truth)
    return np.array(right)


def gain_curves(
    votes: Votes,
    probabilities: ClassProbabilities,
    strategies: Sequence[str],
    truth: Array | None = None,
    rounds: int = 8,
    share: float = 0.5,
    seeds: Sequence[int] = range(3),
    progress: bool = False,
) -> Curves:
    """Replays of buying votes by several strategies, from the same votes, one replay of each for every seed.

    ``truth``: class codes, shape (n_items,); without it each item needs two votes, and one of them is put aside, drawn
    anew for each seed. ``share``: how many of the votes for sale are bought in all.
    """
    n = len(votes.items)
    budget = int(share * (votes.given.sum() - (n if truth is None else 0)))
    bought = np.linspace(0, budget, rounds + 1).astype(int)
    sums = {strategy: np.zeros((rounds + 1, n)) for strategy in strategies}
    with progress_bar(len(seeds) * len(strategies), "replays", "replay", progress) as bar:
        for seed in seeds:
            pool, graded = hold_out(votes, seed) if truth is None else (votes, truth)
            for strategy in strategies:
                sums[strategy] += _replay(pool, graded, probabilities, strategy, np.diff(bought).tolist(), seed)
                bar.update()
    return Curves(bought, {name: right / len(seeds) for name, right in sums.items()}, votes.clusters)


def curve_table(curves: Curves) -> pd.DataFrame:
    """Accuracy after each round: columns strategy, bought, votes_per_item, value, low, high."""
    rows = [
        (strategy, int(bought), bought / len(curves.clusters), *clustered_mean(row, curves.clusters, 0.0, 1.0))
        for strategy, right in curves.right.items()
        for bought, row in zip(curves.bought, right, strict=True)
    ]
    return pd.DataFrame(rows, columns=["strategy", "bought", "votes_per_item", "value", "low", "high"])


def area_gain(curves: Curves, strategy: str, rival: str = "random") -> Number:
    """Mean lead of a strategy's curve over a rival's, in [-1, 1], with a paired interval by prompts."""
    lead = (curves.right[strategy] - curves.right[rival])[2:].mean(0)  # round 1 is bought at random by everybody
    return Number(*clustered_mean(lead, curves.clusters, -1.0, 1.0), n=len(lead), spec=".1%")


def lead_table(curves: Mapping[str, Curves], rival: str = "random") -> pd.DataFrame:
    """Every strategy against a rival, on every set.

    Columns set, strategy, lead (`area_gain`), saved (`votes_saved`), p_value (two-sided, Student's t over prompts),
    p_holm (Holm's correction over all rows).
    """
    from scipy.special import stdtr

    rows = []
    for name, one in curves.items():
        for strategy in one.right:
            if strategy != rival:
                lead, df = area_gain(one, strategy, rival), len(set(one.clusters)) - 1
                error = (lead.high - lead.low) / (2 * t_quantile(0.975, df))
                p_value = float(2 * stdtr(df, -abs(lead.value) / error)) if error else 1.0
                rows.append([name, strategy, lead, votes_saved(one, strategy, rival), p_value])
    table = pd.DataFrame(rows, columns=["set", "strategy", "lead", "saved", "p_value"])
    return table.assign(p_holm=holm(table["p_value"]))


def votes_saved(curves: Curves, strategy: str, rival: str = "random") -> Number | None:
    """How much earlier a strategy reaches what the rival reaches: mean lead in votes, as a share of those bought.

    The area between two curves is their mean distance across votes times the rise of the rival, so that no crossing has
    to be read off a rough curve. None where the rival's own gain is not well known (its interval reaches down to half
    of it), as a ratio to it would then mean little.
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
