"""Do probes on a teacher's scores say what people say? Raters held against people's ratings of other responses."""

import numpy as np

from judgekit.stats import Number, spearman, weighted_bootstrap


def transfer_numbers(raters, ratings, reader, n_boot=2000, seed=0):
    """Rank correlation of raters' totals, and of length, with what people say.

    Parameters
    ----------
    raters : dict of str to judgekit.inside.rating.Rater
    ratings : dict of str to dict of str to list of Response
        Sets that people rated: set to what was rated to responses. None of their questions may stand in what the
        raters were fitted on.
    reader : judgekit.inside.representations.reader.StateReader
    n_boot, seed : int

    Returns
    -------
    dict of (set, aspect, rater or "length") to Number
        Spearman's correlation; questions are resampled.
    """
    found = {}
    for name, aspects in ratings.items():
        for aspect, items in aspects.items():
            said = np.array([item.score for item in items])
            scores = {"length": np.array([len(item.response) for item in items], float)}
            for title, rater in raters.items():
                rated = rater.rate([(item.question, item.response) for item in items], reader)
                scores[title] = np.array([sum(expected.values()) for _, expected in rated])
            for title, values in scores.items():
                groups = [item.cluster for item in items]
                value = weighted_bootstrap(lambda w, v=values, s=said: spearman(v, s, w), groups, n_boot, seed)
                found[name, aspect, title] = Number(*map(float, value), n=len(items), spec=".2f")
    return found


def check_unseen(raters_sets, ratings):
    """Refuse a check on questions that a rater was fitted on.

    Parameters
    ----------
    raters_sets, ratings : dict of str to dict of str to list of Response
        What raters were fitted on, and what they are held against.

    Raises
    ------
    ValueError
        Names a response whose question stands on both sides.
    """
    fitted = {item.cluster for aspects in raters_sets.values() for items in aspects.values() for item in items}
    for aspects in ratings.values():
        for items in aspects.values():
            for item in items:
                if item.cluster in fitted:
                    raise ValueError(f"{item.where}: its question is among those that the probes were fitted on")
