"""Power: how large a difference between two judges must be for a test set to show it."""

from scipy.special import ndtri

from judgekit.intervals import clustered_error

POWER, LEVEL = 0.8, 0.05


def detectable_difference(sums, power=POWER, level=LEVEL):
    """The smallest true difference that a two-sided test on this set finds with the given power.

    Parameters
    ----------
    sums : array, shape (n_clusters, 2)
        As for `judgekit.intervals.clustered_error`: differences of two judges like those to be told apart.
    power, level : float

    Returns
    -------
    float
        On the scale of the differences; 0 where the two judges agree on every item.

    Notes
    -----
    ``(z_{1 - level/2} + z_{power})`` standard errors, 2.80 with the defaults. It is a property of the set and of how
    much two judges differ item by item, not of the difference that was observed: it takes the variance at the
    observed difference for that at the difference sought.

    Examples
    --------
    >>> sums = [[1, 1], [-1, 1]] * 50  # 100 items, each won by one of the two judges
    >>> round(detectable_difference(sums), 3)
    0.282
    """
    return float(ndtri(1 - level / 2) + ndtri(power)) * clustered_error(sums)
