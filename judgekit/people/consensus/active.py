"""What people should label next: items in the order in which another vote tells most, by several rules."""

import contextlib
import io

import numpy as np

from judgekit.data.votes import aligned
from judgekit.people.consensus.crowdlab import seeded

STRATEGIES = ("activelab", "crowdlab", "entropy", "margin", "disagreement", "fewest", "random")


def label_next(votes, probabilities, n=None, strategy="activelab", seed=0):
    """The items whose next vote tells most, best first.

    Parameters
    ----------
    votes : judgekit.data.votes.Votes
        So far. Items nobody voted on are candidates too.
    probabilities : judgekit.data.votes.ClassProbabilities
        A judge's, of the same items in the same order.
    n : int, optional
        How many items; all by default.
    strategy : str
        One of `STRATEGIES`: see `need`.
    seed : int
        Items that are equally wanted stand in an order of chance, not of the file.

    Returns
    -------
    list of str
        Keys of items.

    Raises
    ------
    ValueError
        If votes and probabilities are not of the same items, or there is no such strategy.

    Examples
    --------
    >>> from judgekit.data.votes import ClassProbabilities, Votes
    >>> votes = Votes(("i", "j"), ("ann", "bob"), [[0, 0], [0, 1]], ("A", "B"))
    >>> label_next(votes, ClassProbabilities(("i", "j"), [[0.9, 0.1], [0.5, 0.5]], ("A", "B")))
    ['j', 'i']
    """
    wanted = need(votes, probabilities, strategy, seed)
    return [votes.items[i] for i in best_first(wanted, seed)[:n]]


def best_first(wanted, seed):
    """Positions by falling need; equals in an order of chance."""
    return np.lexsort((np.random.default_rng(seed).random(len(wanted)), -wanted))


def need(votes, probabilities, strategy="activelab", seed=0):
    """How much each item wants another vote, by one rule; only the order has a meaning.

    Parameters
    ----------
    votes, probabilities, strategy, seed
        As for `label_next`.

    Returns
    -------
    array of float, shape (n_items,)

    Notes
    -----
    ``activelab``: Goh and Mueller (2023), arXiv:2301.11856, by cleanlab: low trust in the consensus, and few votes
    behind it. ``crowdlab``: low trust alone. ``entropy``, ``margin``: the judge's doubt, blind to votes.
    ``disagreement``: entropy of the votes so far, one added to each class. ``fewest``: the fewest votes.
    """
    values = aligned(votes, probabilities)
    if strategy not in STRATEGIES:
        raise ValueError(f"no strategy {strategy!r}; there are {', '.join(STRATEGIES)}")
    if strategy in ("activelab", "crowdlab"):
        with seeded(seed):
            return -trust(votes, values, strategy)
    if strategy == "entropy":
        return entropy(values)
    if strategy == "margin":
        top = np.sort(values, axis=1)
        return top[:, -2] - top[:, -1]
    if strategy == "disagreement":
        counts = votes.counts + 1.0
        return entropy(counts / counts.sum(1, keepdims=True))
    if strategy == "fewest":
        return -votes.given.sum(1).astype(float)
    return np.random.default_rng(seed).random(len(values))


def entropy(values):
    """Shannon's entropy of rows, in nats."""
    return -(values * np.log(np.clip(values, 1e-300, None))).sum(1)


def trust(votes, values, strategy):
    """cleanlab's scores of items with and without votes, which it wants apart; low is little trust."""
    voted = votes.given.any(1)
    scores = np.empty(len(values))
    if not voted.any():
        return values.max(1)
    labels = votes.at(voted).voted().wide()
    alone = (votes.given[voted].sum(1) == 1).all()
    from cleanlab import multiannotator

    with contextlib.redirect_stdout(io.StringIO()):  # it prints a warning a call about annotators who meet nobody
        if strategy == "activelab":
            rest = None if voted.all() else values[~voted]
            scores[voted], found = multiannotator.get_active_learning_scores(labels, values[voted], rest)
            scores[~voted] = found
        elif alone:  # then there is nothing to weigh people by: the judge's probability of what they say
            scores[voted] = values[voted][np.arange(voted.sum()), votes.codes[voted].max(1)]
            scores[~voted] = values[~voted].max(1)
        else:
            found = multiannotator.get_label_quality_multiannotator(
                labels, values[voted], return_detailed_quality=False, return_annotator_stats=False
            )
            scores[voted] = found["label_quality"]["consensus_quality_score"]
            scores[~voted] = values[~voted].max(1)
    # Where no two people agree there is nothing to weigh them by, and cleanlab says so by NaN: the judge alone is left.
    return np.where(np.isfinite(scores), scores, values.max(1))
