r"""Which items people should label so that a judge's accuracy is known best, and an estimate that allows for it.

Items about which the judge is in doubt are asked more often, and every answer counts by one over its chance of being
asked. Zrnic and Candès (2024), Active statistical inference, arXiv:2403.03208.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from judgekit.people.consensus.clustered import student_interval
from judgekit.stats import Array, Floats, Number, cluster_sums

DESIGNS = ("random", "random, with confidence", "by doubt, with confidence", "naive")


def asking_chances(confidence: Array, share: float) -> Floats:
    """The chance with which each item is asked, in (0, 1] with mean ``share``, higher where the judge is in doubt.

    ``confidence``: the judge's probability that its verdict is right, shape (n_items,). Three tenths of the budget are
    spread evenly: a judge may be sure and wrong, and an item that was hardly ever asked would then count for very much.
    ValueError where the share or a confidence is out of range.

    >>> [round(float(x), 2) for x in asking_chances([0.5, 0.9, 1.0], 0.4)]
    [0.65, 0.43, 0.12]
    """
    confidence = np.asarray(confidence, float)
    if not 0 < share <= 1:
        raise ValueError(f"a share of {share}, which is not above 0 and up to 1")
    if not ((confidence >= 0) & (confidence <= 1)).all():
        raise ValueError("a confidence is not in [0, 1]")
    doubt = np.sqrt(confidence * (1 - confidence))
    doubt = doubt / doubt.mean() if doubt.any() else np.ones_like(doubt)
    mixed = 0.3
    chances = np.minimum(1.0, share * (mixed + (1 - mixed) * doubt))
    for _ in range(100):  # what is cut at 1 goes to the others
        free = chances < 1
        if not free.any() or abs(chances.mean() - share) < 1e-12:
            break
        chances[free] *= (share * len(chances) - (~free).sum()) / chances[free].sum()
        chances = np.minimum(1.0, chances)
    return chances


def estimated_accuracy(
    right: Array, asked: Array, chances: Array, confidence: Array | None = None, clusters: Sequence | None = None
) -> Number:
    r"""A judge's accuracy from the items that people were asked about, with the interval for prompts like these.

    ``right``: whether the judge was right, shape (n_items,); what stands where nobody was asked is not read.
    ``chances``: with which each item was asked, independently of the others. ``confidence``: the judge's, for all
    items. n is the number of items asked. ValueError where fewer than two clusters were asked.

    The mean of :math:`y_i\xi_i/\pi_i`, less multiples of the mean of :math:`1-\xi_i/\pi_i` and, where the confidence
    :math:`\mu_i` is given, of :math:`\mu_i(1-\xi_i/\pi_i)`: both are zero on average whatever the judge is worth, and
    the multiples are those of least variance (the generalised regression estimator; a multiple of one for the second
    is the estimator of Zrnic and Candès). They are fitted on the answers, which costs a degree of freedom each.
    """
    asked, chances = np.asarray(asked, bool), np.asarray(chances, float)
    names = np.arange(len(asked)) if clusters is None else np.asarray(clusters, dtype=str)
    asked_clusters = len(set(names[asked].tolist()))
    if asked_clusters < 2:
        raise ValueError("fewer than two prompts were asked about")
    weight, answers = asked / chances, np.where(asked, right, 0.0)
    known = np.ones((len(asked), 1)) if confidence is None else np.column_stack([np.ones(len(asked)), confidence])
    controls = known * (1 - weight)[:, None]
    # Multiples by weighted least squares of the answers on what is known: those of least variance for such designs.
    spread = weight * np.maximum(1 - chances, 1e-9) / chances
    gram = (known * spread[:, None]).T @ known
    slopes = np.linalg.lstsq(gram, (known * spread[:, None]).T @ answers, rcond=None)[0]
    terms = answers * weight + controls @ slopes
    value = float(terms.mean())
    sums = cluster_sums(np.column_stack([terms, np.ones(len(terms))]), names)
    parts = (sums[:, 0] - value * sums[:, 1]) / len(terms)
    loss = asked_clusters / max(asked_clusters - known.shape[1], 1)
    low, high = student_interval(value, parts * np.sqrt(loss), 0.0, 1.0)
    return Number(min(max(value, 0.0), 1.0), low, high, n=int(asked.sum()), spec=".1%")


def sampling_table(
    right: Array, confidence: Array, clusters: Sequence, share: float = 0.2, draws: int = 500, seed: int = 0
) -> pd.DataFrame:
    """Designs beside each other: how wide is the interval, and how far off the estimate, over many draws of items.

    ``right``, of all items: what every draw reads a ``share`` of. One row for each of `DESIGNS`; ``naive`` takes the
    share among items asked by doubt as it stands. Columns design, estimate (mean over draws), width (mean), error (root
    mean square from the accuracy on all items), held (share of draws whose interval holds that accuracy), saved (share
    of labels that random choice would need more for this width: one less the squared ratio of widths).
    """
    right, rng = np.asarray(right, float), np.random.default_rng(seed)
    even, doubt = np.full(len(right), share), asking_chances(confidence, share)
    estimates = []
    for _ in range(draws):
        chance = rng.random(len(right))
        designs = ((even, None), (even, confidence), (doubt, confidence), (doubt, None))
        drawn = [
            # The naive estimate counts items that were chosen by doubt as if each had had the same chance.
            estimated_accuracy(right, chance < asked, even if name == "naive" else asked, known, clusters)
            for name, (asked, known) in zip(DESIGNS, designs, strict=True)
        ]
        estimates.append([(number.value, number.low, number.high) for number in drawn])
    value, low, high = np.array(estimates).transpose(2, 1, 0).copy()  # each of shape (n_designs, draws)
    truth = right.mean()
    table = pd.DataFrame({"design": DESIGNS, "estimate": value.mean(1), "width": (high - low).mean(1)})
    table["error"] = np.sqrt(((value - truth) ** 2).mean(1))
    table["held"] = ((low <= truth) & (truth <= high)).mean(1)
    return table.assign(saved=1 - (table["width"] / table["width"][0]) ** 2)
