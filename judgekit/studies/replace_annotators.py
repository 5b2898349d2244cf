"""Labelling replayed by several strategies, and items chosen so that a judge's accuracy is known best.

A replay hides votes that people gave, buys them back in some order, and measures how the consensus improves. What a
consensus is graded by is never for sale: the truth of the sample, or one vote per item that is put aside first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtr

from judgekit.data.progress import progress_bar
from judgekit.data.votes import ClassProbabilities, Votes, aligned, matchup_votes, votes_of_pairs
from judgekit.people.active import best_first, need
from judgekit.people.agreement import labels_by_item
from judgekit.people.clustered import clustered_mean, student_interval
from judgekit.people.consensus import hidden_votes
from judgekit.records import PreferencePair, Verdict
from judgekit.stats import Array, Floats, Number, cluster_sums, holm, t_quantile

DESIGNS = ("random", "random, with confidence", "by doubt, with confidence", "naive")


def beside_people(
    pairs: Sequence[PreferencePair],
    verdicts: Mapping[str, Sequence[Verdict]],
    voters: str = "",
    matchups: bool = False,
) -> tuple[Votes, dict[str, dict[str, str]]]:
    """People's votes on the items that every judge labelled, and the labels by judge and item (`labels_by_item`).

    ``voters``: only annotators whose name starts so. ``matchups``: one match is shown as two pairs (MT-bench).
    ValueError where no item was labelled by all, or nobody's name starts so.
    """
    votes = matchup_votes(pairs)[0] if matchups else votes_of_pairs(pairs)
    labels = {judge: labels_by_item(own, pairs, matchups) for judge, own in verdicts.items()}
    common = [all(item in by_item for by_item in labels.values()) for item in votes.items]
    people = [name for name in votes.annotators if name.startswith(voters)]
    if not any(common) or not people:
        raise ValueError(f"{sum(common)} items that all judges labelled, {len(people)} annotators called {voters!r}...")
    return votes.of(people).at(common).voted(), labels


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
        order = best_first(wanted, [seed, number, 1])
        while batch:  # a second vote on an item in one round only where too few items have one left
            chosen = order[taken[order] < available[order]][:batch]
            if not len(chosen):
                raise ValueError(f"round {number + 1}: {batch} more votes wanted than there are")
            taken[chosen] += 1
            batch -= len(chosen)
        bought = pool.masked(rank >= taken[:, None])
        right.append((bought.counts + values).argmax(1) == truth)  # the judge counts as one vote
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


# ---------------------------------------------------------------- a judge's accuracy from few items


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
