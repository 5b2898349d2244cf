"""What people should label next, by several rules."""

import contextlib
import io
from typing import Any

import numpy as np
from scipy.special import entr

from judgekit.data.votes import ClassProbabilities, Votes, aligned
from judgekit.people.consensus import seeded
from judgekit.stats import Array, Floats

STRATEGIES = ("activelab", "crowdlab", "entropy", "margin", "disagreement", "fewest", "random")


def label_next(votes: Votes, probabilities: ClassProbabilities, n: int | None = None, seed: int = 0) -> list[str]:
    """Keys of the items (all by default), voted on or not, whose next vote tells most by ActiveLab, best first.

    ValueError where votes and probabilities are not of the same items in the same order; other rules are in `need`.
    """
    return [votes.items[i] for i in best_first(need(votes, probabilities, seed=seed), seed)[:n]]


def best_first(wanted: Floats, seed: int | list[int]) -> Array:
    """Positions by falling need; equals in an order of chance."""
    return np.lexsort((np.random.default_rng(seed).random(len(wanted)), -wanted))


def need(votes: Votes, probabilities: ClassProbabilities, strategy: str = "activelab", seed: Any = 0) -> Floats:
    """How much each item wants another vote, shape (n_items,); only the order has a meaning.

    ``activelab``: Goh and Mueller (2023), arXiv:2301.11856, by cleanlab: low trust in the consensus, and few votes
    behind it. ``crowdlab``: low trust alone. ``entropy``, ``margin``: the judge's doubt. ``disagreement``: entropy of
    the votes so far, one added to each class.
    """
    values = aligned(votes, probabilities)
    if strategy not in STRATEGIES:
        raise ValueError(f"no strategy {strategy!r}; there are {', '.join(STRATEGIES)}")
    if strategy in ("activelab", "crowdlab"):
        with seeded(seed):
            return -_trust(votes, values, strategy)
    if strategy == "entropy":
        return entr(values).sum(1)
    if strategy == "margin":
        top = np.sort(values, axis=1)
        return top[:, -2] - top[:, -1]
    if strategy == "disagreement":
        counts = votes.counts + 1.0
        return entr(counts / counts.sum(1, keepdims=True)).sum(1)
    if strategy == "fewest":
        return -votes.given.sum(1).astype(float)
    return np.random.default_rng(seed).random(len(values))


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
