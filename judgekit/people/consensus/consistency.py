"""Whether single preferences fit together, for sets in which nobody voted twice on the same pair."""

from itertools import combinations

from judgekit.people.consensus.agreement import share_number
from judgekit.scoring.scores import N_BOOT

SIGNS = {"A": 1, "B": -1, "tie": 0}


def consistent_triples(pairs, n_boot=N_BOOT, seed=0):
    """Share of three responses to one question whose three preferences come from one order, ties allowed.

    Parameters
    ----------
    pairs : list of PreferencePair
        With labels; responses are told apart by their text.
    n_boot, seed : int

    Returns
    -------
    Number
        Questions are resampled. Preferences at random would fit in 13 of 27 cases.

    Raises
    ------
    ValueError
        If no three responses were all compared.
    """
    signs, responses = {}, {}
    for pair in pairs:
        if pair.label is not None and pair.response_a != pair.response_b:
            signs[pair.cluster, pair.response_a, pair.response_b] = SIGNS[pair.label]
            signs[pair.cluster, pair.response_b, pair.response_a] = -SIGNS[pair.label]
            responses.setdefault(pair.cluster, {}).update(dict.fromkeys(pair.responses))
    fits, clusters = [], []
    for cluster, texts in responses.items():
        for x, y, z in combinations(texts, 3):
            edges = [signs.get((cluster, *edge)) for edge in ((x, y), (y, z), (z, x))]
            if None not in edges:
                fits.append(fits_an_order(edges))
                clusters.append(cluster)
    return share_number(fits, [1] * len(fits), clusters, n_boot, seed)


def fits_an_order(edges):
    """Whether the signs of x-y, y-z and z-x come from one order of three.

    Round a circle the differences of any order sum to nothing: all three are ties, or some go up and some go down.
    """
    return not any(edges) or (max(edges) > 0 and min(edges) < 0)
