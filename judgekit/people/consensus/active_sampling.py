r"""Which items people should label so that a judge's accuracy is known best, and an estimate that allows for it.

Items about which the judge is in doubt are asked more often, and every answer counts by one over its chance of being
asked. Zrnic and Candès (2024), Active statistical inference, arXiv:2403.03208.
"""

import numpy as np

from judgekit.people.consensus.clustered import student_interval
from judgekit.stats import Number, cluster_sums

DESIGNS = ("random", "random, with confidence", "by doubt, with confidence")


def asking_chances(confidence, share, mixed=0.3):
    """The chance with which each item is asked, higher where the judge is in doubt.

    Parameters
    ----------
    confidence : array of float, shape (n_items,)
        The judge's probability that its verdict is right, in [0, 1].
    share : float
        Items asked on average, in (0, 1].
    mixed : float
        Part of the budget that is spread evenly, in (0, 1]: a judge may be sure and wrong, and an item that was hardly
        ever asked would then count for very much. 1 is random sampling.

    Returns
    -------
    array of float, shape (n_items,)
        In (0, 1], with mean `share`.

    Raises
    ------
    ValueError
        If the share, the mixture or a confidence is out of range.

    Examples
    --------
    >>> [round(float(x), 2) for x in asking_chances([0.5, 0.9, 1.0], 0.4)]
    [0.65, 0.43, 0.12]
    """
    confidence = np.asarray(confidence, float)
    if not (0 < share <= 1 and 0 < mixed <= 1):
        raise ValueError(f"a share of {share} and a mixture of {mixed}: both lie above 0 and up to 1")
    if not ((confidence >= 0) & (confidence <= 1)).all():
        raise ValueError("a confidence is not in [0, 1]")
    doubt = np.sqrt(confidence * (1 - confidence))
    doubt = doubt / doubt.mean() if doubt.any() else np.ones_like(doubt)
    chances = np.minimum(1.0, share * (mixed + (1 - mixed) * doubt))
    for _ in range(100):  # what is cut at 1 goes to the others
        free = chances < 1
        if not free.any() or abs(chances.mean() - share) < 1e-12:
            break
        chances[free] *= (share * len(chances) - (~free).sum()) / chances[free].sum()
        chances = np.minimum(1.0, chances)
    return chances


def estimated_accuracy(right, asked, chances, confidence=None, clusters=None):
    r"""A judge's accuracy from the items that people were asked about.

    Parameters
    ----------
    right : array, shape (n_items,)
        Whether the judge was right; what stands where nobody was asked is not read.
    asked : array of bool, shape (n_items,)
    chances : array of float, shape (n_items,)
        With which each item was asked, independently of the others.
    confidence : array of float, shape (n_items,), optional
        The judge's, for all items.
    clusters : sequence, length n_items, optional
        Prompts.

    Returns
    -------
    judgekit.report.Number
        With the interval for prompts like these; n is the number of items asked.

    Raises
    ------
    ValueError
        If fewer than two clusters were asked.

    Notes
    -----
    The mean of :math:`y_i\xi_i/\pi_i`, less multiples of the mean of :math:`1-\xi_i/\pi_i` and, where the confidence
    :math:`\mu_i` is given, of :math:`\mu_i(1-\xi_i/\pi_i)`: both are zero on average whatever the judge is worth, and
    the multiples are those of least variance (the generalised regression estimator; a multiple of one for the second
    is the estimator of Zrnic and Candès). They are fitted on the answers, which costs a degree of freedom each.
    """
    asked, chances = np.asarray(asked, bool), np.asarray(chances, float)
    names = np.arange(len(asked)) if clusters is None else np.asarray(clusters, dtype=str)
    if len(set(names[asked].tolist())) < 2:
        raise ValueError("fewer than two prompts were asked about")
    weight = asked / chances
    answers = np.where(asked, right, 0.0) * weight
    known = np.ones((len(asked), 1)) if confidence is None else np.column_stack([np.ones(len(asked)), confidence])
    controls = known * (1 - weight)[:, None]
    # Multiples by weighted least squares of the answers on what is known: those of least variance for such designs.
    spread = weight * np.maximum(1 - chances, 1e-9) / chances
    gram = (known * spread[:, None]).T @ known
    slopes = np.linalg.lstsq(gram, (known * spread[:, None]).T @ np.where(asked, right, 0.0), rcond=None)[0]
    terms = answers + controls @ slopes
    value = float(terms.mean())
    sums = cluster_sums(np.column_stack([terms, np.ones(len(terms))]), names)
    parts = (sums[:, 0] - value * sums[:, 1]) / len(terms)
    asked_clusters = len(set(names[asked].tolist()))
    loss = asked_clusters / max(asked_clusters - known.shape[1], 1)
    low, high = student_interval(value, parts * np.sqrt(loss), 0.0, 1.0)
    return Number(min(max(value, 0.0), 1.0), low, high, n=int(asked.sum()), spec=".1%")


def sampling_table(right, confidence, clusters, share=0.2, draws=500, seed=0):
    """Designs beside each other: how wide is the interval, and how far off the estimate, over many draws of items.

    Parameters
    ----------
    right : array of bool, shape (n_items,)
        Of all items: what every draw reads a part of.
    confidence : array of float, shape (n_items,)
    clusters : sequence, length n_items
    share : float
        Items asked, on average.
    draws : int
    seed : int

    Returns
    -------
    pandas.DataFrame
        One row per design of `DESIGNS` and for the share among items asked by doubt as it stands (``naive``): columns
        design, estimate (mean over draws), width (mean), error (root mean square from the accuracy on all items),
        held (share of draws whose interval holds that accuracy), saved (share of labels that random choice would need
        more for this width: one less the squared ratio of widths).
    """
    import pandas as pd

    right, rng = np.asarray(right, float), np.random.default_rng(seed)
    even, doubt = np.full(len(right), share), asking_chances(confidence, share)
    found = {design: [] for design in (*DESIGNS, "naive")}
    for _ in range(draws):
        chance = rng.random(len(right))
        random, doubted = chance < even, chance < doubt
        found[DESIGNS[0]].append(estimated_accuracy(right, random, even, None, clusters))
        found[DESIGNS[1]].append(estimated_accuracy(right, random, even, confidence, clusters))
        found[DESIGNS[2]].append(estimated_accuracy(right, doubted, doubt, confidence, clusters))
        found["naive"].append(estimated_accuracy(right, doubted, even, None, clusters))
    widths = {design: np.mean([number.high - number.low for number in numbers]) for design, numbers in found.items()}
    return pd.DataFrame(
        [
            {
                "design": design,
                "estimate": np.mean([number.value for number in numbers]),
                "width": widths[design],
                "error": np.sqrt(np.mean([(number.value - right.mean()) ** 2 for number in numbers])),
                "held": np.mean([number.low <= right.mean() <= number.high for number in numbers]),
                "saved": 1 - (widths[design] / widths["random"]) ** 2,
            }
            for design, numbers in found.items()
        ]
    )
