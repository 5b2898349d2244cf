"""How often an annotator says what the others say, and how often votes are right where the truth is known."""

import numpy as np

from judgekit.intervals import clustered_error, proportion_interval, t_quantile
from judgekit.results import Number

LEAST_PROMPTS = 20  # with fewer, an interval says nothing


def agreement_with_others(votes, annotator):
    """Share of an annotator's meetings with others on the same item in which both said the same.

    Parameters
    ----------
    votes : judgekit.votes.Votes
    annotator : str

    Returns
    -------
    judgekit.results.Number or None
        In [0, 1] with a 95 % interval, n meetings; None where shared items have fewer than `LEAST_PROMPTS` prompts.

    Notes
    -----
    Meetings on one item share the annotator's vote, and items share prompts: the interval is Wilson's with n divided
    by the design effect (the ratio's variance over prompts to that of independent meetings, at least one), and with
    Student's t for n prompts in place of the normal quantile. Korn and Graubard (1998), Survey Methodology 24.

    Examples
    --------
    >>> from judgekit.votes import Votes
    >>> codes = [[0, 0]] * 15 + [[1, 0]] * 5
    >>> str(agreement_with_others(Votes([f"i{n}" for n in range(20)], ("ann", "bob"), codes), "ann"))
    '75.0'
    """
    if annotator not in votes.annotators:
        return None
    own = votes.codes[:, votes.annotators.index(annotator)]
    others = votes.without(annotator).codes
    met = (others >= 0) & (own >= 0)[:, None]
    same = met & (others == own[:, None])
    shared = met.any(1)
    _, prompts = np.unique(np.asarray(votes.clusters, dtype=str)[shared], return_inverse=True)
    meetings, equal = (np.bincount(prompts, weights=each[shared].sum(1)) for each in (met, same))
    if len(meetings) < LEAST_PROMPTS:
        return None
    return share_of(equal, meetings)


def share_right(right, clusters):
    """Share of votes (or consensus labels) that are right, one per item.

    Parameters
    ----------
    right : array of bool, shape (n_items,)
    clusters : sequence of str, length n_items
        The prompt of each item.

    Returns
    -------
    judgekit.results.Number
        In [0, 1], with a 95 % interval as for `agreement_with_others`; n items.

    Raises
    ------
    ValueError
        If there are fewer than two prompts: nothing says then how far the share is from chance.

    Examples
    --------
    >>> number = share_right([True, True, False, True], ["p", "q", "r", "s"])
    >>> str(number), number.interval
    ('75.0', '13.1-98.4')
    """
    _, prompts = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)
    hits, counts = np.bincount(prompts, weights=np.asarray(right, float)), np.bincount(prompts).astype(float)
    if len(counts) < 2:
        raise ValueError(f"{len(counts)} prompt: an interval needs two or more")
    return share_of(hits, counts)


def share_of(hits, counts):
    """A share whose hits and counts come by cluster, as a `Number`."""
    low, high = share_interval(hits, counts)
    return Number(hits.sum() / counts.sum(), low, high, n=int(counts.sum()), spec=".1%")


def share_interval(hits, counts):
    """95 % interval of a share whose hits and counts come by cluster.

    Parameters
    ----------
    hits, counts : array, shape (n_clusters,)
        At least two clusters, every count positive.

    Returns
    -------
    low, high : float
        In [0, 1].
    """
    n = counts.sum()
    share = hits.sum() / n
    variance = clustered_error(np.column_stack([hits, counts])) ** 2
    independent = share * (1 - share) / n
    effect = max(1.0, variance / independent) if independent else max(1.0, (counts**2).sum() / n)
    low, high = proportion_interval(share, n / effect, quantile=float(t_quantile(0.975, len(counts) - 1)))
    return max(0.0, float(low)), min(1.0, float(high))
