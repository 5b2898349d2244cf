"""Power: how large a difference between two judges must be for a test set to show it."""

import numpy as np
from scipy.special import ndtri

POWER, LEVEL = 0.8, 0.05


def paired_standard_error(sums):
    """Standard error of a mean paired difference whose items come in clusters.

    Parameters
    ----------
    sums : array, shape (n_clusters, 2)
        By cluster: sum of the items' differences, and number of items.

    Returns
    -------
    float

    Notes
    -----
    The linearised variance of a ratio: residuals ``d_c - mean * n_c`` summed in squares over clusters, with the
    factor C / (C - 1). Cameron and Miller (2015), Journal of Human Resources 50, Section II.
    """
    sums = np.asarray(sums, float)
    n_clusters, (total, n_items) = len(sums), sums.sum(0)
    if n_clusters < 2:
        raise ValueError("a variance between clusters needs at least two of them")
    residuals = sums[:, 0] - total / n_items * sums[:, 1]
    return float(np.sqrt((residuals**2).sum() * n_clusters / (n_clusters - 1)) / n_items)


def detectable_difference(sums, power=POWER, level=LEVEL):
    """The smallest true difference that a two-sided test on this set finds with the given power.

    Parameters
    ----------
    sums : array, shape (n_clusters, 2)
        As for `paired_standard_error`, from two judges like those to be told apart.
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
    return float(ndtri(1 - level / 2) + ndtri(power)) * paired_standard_error(sums)
