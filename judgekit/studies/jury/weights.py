"""How much each member's vote should count, learnt where that is no cheating.

Weights are learnt on items that are no test (`learn_weights`, which refuses test sets), or, where only a test set was
ever judged, by cross-fitting over prompts: the weights of a prompt come from the other prompts (`cross_fitted`).
`weighted_vote` refuses prompts that the weights were learnt on, whoever made the weights.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from judgekit.data.benchmarks import BENCHMARKS
from judgekit.data.catalogue import SAMPLE_TESTS
from judgekit.records import LABELS, PreferencePair, Verdict
from judgekit.stats import Array, Floats
from judgekit.studies.jury.panel import Panel
from judgekit.studies.jury.voting import ruled

TESTS = frozenset([*BENCHMARKS, *SAMPLE_TESTS])
RIDGE = 1.0  # penalty on logistic weights, in items: a prior that a few hundred labels outweigh
TIE = LABELS.index("tie")


class LabelLeak(ValueError):
    """Weights were about to be learnt from labels that judges are tested with, or applied where they were learnt."""


@dataclass(frozen=True)
class Weights:
    """Weights of a jury's members."""

    rule: str  # one of `FITS`
    # Member to weight; 0 is a vote that does not count. Only under ``signed-logistic`` can one be negative: it counts
    # against what the member says.
    values: dict
    tie_bias: float = 0.0  # added to *tie* (logistic only)
    n: int = 0  # labels they were learnt from
    # Set and cluster of every prompt they were learnt on.
    prompts: frozenset[tuple[str, str]] = field(default=frozenset(), repr=False)


def validation_panel(
    panel: Panel, benchmark: str, pairs: Sequence[PreferencePair], verdicts: Mapping[str, Sequence[Verdict]]
) -> Panel:
    """A panel's members on labelled pairs that are no test, read by the panel's own protocol.

    ``panel``: on the set that the weights are meant for; ``benchmark``: the other set, which is refused when weights
    are learnt on it if it is a test set. Single votes play no part. ValueError where a member has no verdicts there.
    """
    if lacking := [member for member in panel.members if member not in verdicts]:
        raise ValueError(f"{benchmark}: no verdicts of {lacking[0]} to learn a weight from")
    protocol = replace(panel.protocol, votes=False, gold="label")
    return Panel(benchmark, tuple(pairs), {member: verdicts[member] for member in panel.members}, protocol)


def learn_weights(panel: Panel, rule: str) -> Weights:
    """Weights from labels of pairs that are no test: of a corpus, a validation set or a part of one.

    ``rule``: log-odds, logistic or signed-logistic. LabelLeak where the panel's set, or the set that one of its pairs
    belongs to, is a test set.
    """
    if tests := sorted({panel.benchmark, *(pair.benchmark for pair in panel.pairs)} & TESTS):
        raise LabelLeak(
            f"{tests[0]} is a test set: learn weights on other pairs, or cross-fit them ('cross_fitted') and quote the "
            "score as jury_crossfit.*"
        )
    return fitted(panel, rule)


def fitted(panel: Panel, rule: str) -> Weights:
    """`learn_weights` without its question where the labels come from: for folds only."""
    if rule not in FITS:
        raise ValueError(f"rule {rule!r} is not one of {', '.join(FITS)}")
    places, labels = panel.references
    if not len(places):
        raise ValueError(f"{panel.benchmark}: no item has a reference label to learn weights from")
    values, tie_bias = FITS[rule](panel, places, labels)
    n = len(places) * len(panel.orders)
    weights = {member: float(value) for member, value in zip(panel.members, values, strict=True)}
    return Weights(rule, weights, float(tie_bias), n, frozenset(panel.prompts))


def log_odds(panel: Panel, places: Array, labels: Array) -> tuple[Floats, float]:
    """Log of the odds that a member is right, less that of a guess: what is best if members err independently.

    Nitzan and Paroush (1982), International Economic Review 23. Shares are smoothed by one right and one wrong
    verdict; a reply without a verdict says nothing about the member. Who is right less often than a guess is not heard
    rather than turned round.
    """
    votes = np.concatenate([panel.votes[order][places] for order in panel.orders])
    right = votes[np.arange(len(votes)), :, np.tile(labels, len(panel.orders))].sum(0)
    share = (right + 1) / (votes.sum((0, 2)) + 2)
    return np.maximum(np.log(share / (1 - share)) + np.log(len(panel.protocol.labels) - 1), 0), 0.0


def logistic(panel: Panel, places: Array, labels: Array, lowest: float | None = 0) -> tuple[Floats, float]:
    """Weights of a log-linear pool: P(label) is proportional to exp(sum of weight times the member's probability).

    One weight per member, whatever the label, and a bias for *tie* where ties are allowed: exchanging A and B
    exchanges the outcome and does nothing else. Learnt by penalised likelihood, which has one optimum, so that members
    who say the same share a weight. Weights are at least ``lowest`` (None for any): where people wrote pairs to mislead
    judges, a negative weight learns that a judge was misled and turns it round, which is knowledge of the set and no
    judgement of a pair.
    """
    beliefs = np.concatenate([panel.beliefs[order][places] for order in panel.orders])
    tie = np.zeros((len(beliefs), 1, len(LABELS)))
    tie[:, :, TIE] = 1
    inputs, wanted = np.concatenate([beliefs, tie], 1), np.tile(labels, len(panel.orders))
    allowed = [LABELS.index(label) for label in panel.protocol.labels]
    closed = np.setdiff1d(np.arange(len(LABELS)), allowed)
    if set(wanted) & set(closed):
        raise ValueError(f"{panel.benchmark}: a reference label is not one of {', '.join(panel.protocol.labels)}")

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = np.einsum("j,njk->nk", weights, inputs)
        scores[:, closed] = -np.inf
        logs = scores - logsumexp(scores, axis=1, keepdims=True)
        chosen = inputs[np.arange(len(wanted)), :, wanted].sum(0)
        slope = np.einsum("nk,njk->j", np.exp(logs), inputs) - chosen + RIDGE * weights
        return -logs[np.arange(len(wanted)), wanted].sum() + RIDGE / 2 * weights @ weights, slope

    bounds = [(lowest, None)] * len(panel.members) + [(None, None)]
    start = np.zeros(inputs.shape[1])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-12}).x
    return found[:-1], found[-1] if not len(closed) else 0.0


FITS: dict[str, Callable[..., Any]] = {
    "log-odds": log_odds,
    "logistic": logistic,
    "signed-logistic": partial(logistic, lowest=None),
}


def weighted_vote(panel: Panel, weights: Weights) -> list[Verdict]:
    """The jury's verdicts with weights learnt elsewhere: of ``jury/<rule>``, with probabilities under logistic rules.

    LabelLeak where a prompt of the panel is one of those the weights were learnt on, ValueError where the weights are
    not of exactly the panel's members.
    """
    if set(weights.values) != set(panel.members):
        raise ValueError(f"weights of {', '.join(sorted(weights.values))} for the jury {', '.join(panel.members)}")
    if seen := sorted(weights.prompts & set(panel.prompts)):
        raise LabelLeak(f"the weights were learnt on {len(seen)} of these prompts, such as {'/'.join(seen[0])}")
    return weighted(panel, weights, weights.rule)


def weighted(panel: Panel, weights: Weights, name: str) -> list[Verdict]:
    """Verdicts under a name."""
    values = np.array([weights.values[member] for member in panel.members])
    logs = weights.rule != "log-odds"
    totals, inputs = {}, panel.beliefs if logs else panel.votes
    for order in panel.orders:
        total = np.einsum("j,njk->nk", values, inputs[order])
        total[:, TIE] += weights.tie_bias
        if "tie" not in panel.protocol.labels:
            total[:, TIE] = -np.inf
        totals[order] = total
    if not logs:
        return ruled(panel, name, totals)
    chances = {order: np.exp(total - logsumexp(total, axis=1, keepdims=True)) for order, total in totals.items()}
    return ruled(panel, name, totals, chances)


def cross_fitted(panel: Panel, rule: str, n_folds: int = 5, seed: int = 0) -> list[Verdict]:
    """The weighted jury where only test items were judged: each prompt by weights from the other folds' prompts.

    Verdicts of the judge ``jury/crossfit-<rule>``. Their scores are ``jury_crossfit.*``, never ``scores.*``: labels of
    the same test set, though of other prompts, went into them. ``seed``: of the division of prompts into folds; neither
    the order of items nor the names of members play a part.
    """
    said: dict[tuple[str, str], Verdict] = {}
    for fold in folds_of(panel.prompts, n_folds, seed):
        part = panel.on(fold)
        weights = fitted(panel.on(~fold), rule)
        if weights.prompts & set(part.prompts):
            raise LabelLeak("a fold shares a prompt with the others")  # folds_of keeps prompts whole
        said |= {(v.item_id, v.order): v for v in weighted(part, weights, f"crossfit-{rule}")}
    return [said[pair.item_id, order] for pair in panel.pairs for order in panel.orders]


def folds_of(prompts: Sequence[tuple[str, str]], n_folds: int, seed: int) -> list[Array]:
    """Items of each fold, prompts kept whole: arrays of bool, shape (n_items,).

    ValueError where there are fewer prompts than folds, or fewer than two folds.
    """
    names = sorted(set(prompts))
    if not 2 <= n_folds <= len(names):
        raise ValueError(f"n_folds is {n_folds}: two at least, and at most one for each of {len(names)} prompts")
    dealt = np.random.default_rng(seed).permutation(len(names)) % n_folds
    fold = dict(zip(names, dealt, strict=True))
    of_item = np.array([fold[prompt] for prompt in prompts])
    return [of_item == number for number in range(n_folds)]
