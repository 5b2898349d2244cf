"""Consensus of votes: counting, the annotator models of crowd-kit, and CROWDLAB, which also reads a judge."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from judgekit.data.votes import NO_VOTE, ClassProbabilities, Votes, aligned
from judgekit.stats import Array, Floats

TIE_RULES = ("frequent", "none")


@dataclass(frozen=True, slots=True, eq=False)
class Consensus:
    """A label and a distribution for every item, and a skill for every annotator; ValueError where it is none."""

    items: tuple[str, ...]
    classes: tuple[str, ...]
    posterior: Floats  # shape (n_items, n_classes), rows sum to one
    labels: Array  # index into the classes, -1 where the tie rule leaves an item without one
    skill: Mapping[str, float] = field(default_factory=dict)  # on the method's own scale

    def __post_init__(self) -> None:
        stated = ClassProbabilities(self.items, self.posterior, self.classes)
        object.__setattr__(self, "posterior", stated.values)
        object.__setattr__(self, "labels", np.asarray(self.labels, int))

    @property
    def quality(self) -> Floats:
        """Probability of the label, shape (n_items,); the largest one where there is no label."""
        rows = np.arange(len(self.items))
        return np.where(self.labels == NO_VOTE, self.posterior.max(1), self.posterior[rows, self.labels])


Method: TypeAlias = Callable[[Votes], Consensus]


def majority(votes: Votes, ties: str = "frequent") -> Consensus:
    """Consensus by counting votes; its posterior is (n_ik + s_k) / (n_i + 1) with s_k the class's share of all votes.

    ``ties``: what an evenly split item gets: of the classes in front the one with more votes in the whole set
    (``frequent``; then the earlier one), or no label (``none``). An annotator's own vote is part of the label that its
    skill is measured by, which makes it too high (`agreement.annotator_quality` leaves it out).
    """
    if ties not in TIE_RULES:
        raise ValueError(f"no tie rule {ties!r}; there are {', '.join(TIE_RULES)}")
    counts, share = votes.counts, class_shares(votes)
    front = counts == counts.max(1, keepdims=True)
    labels = np.where(front, share, -1.0).argmax(1)
    labels = np.where((front.sum(1) > 1) & (ties == "none"), NO_VOTE, labels)
    posterior = (counts + share) / (counts.sum(1, keepdims=True) + 1)
    agree = (votes.codes == labels[:, None]) & votes.given
    n_votes = votes.given.sum(0)
    skill = {name: float(agree[:, j].sum() / n_votes[j]) for j, name in enumerate(votes.annotators) if n_votes[j]}
    return Consensus(votes.items, votes.classes, posterior, labels, skill)


def hidden_votes(votes: Votes, seed: int) -> Array:
    """One vote, drawn at random, of every item that has two or more: a mask for `Votes.masked`."""
    rng = np.random.default_rng(seed)
    drawn = np.where(votes.given, rng.random(votes.codes.shape), -1.0).argmax(1)
    return (np.arange(votes.codes.shape[1]) == drawn[:, None]) & (votes.given.sum(1) >= 2)[:, None]


def class_shares(votes: Votes) -> Floats:
    """Share of each class in all votes, each counted once more than it was given; shape (n_classes,)."""
    totals = votes.counts.sum(0) + 1.0
    return totals / totals.sum()


def dawid_skene(votes: Votes, one_coin: bool = False) -> Consensus:
    r"""Dawid and Skene (1979), Applied Statistics 28: a confusion matrix for every annotator, by EM.

    ``one_coin``: one rate of right votes per annotator, errors spread evenly (Zhang et al. 2016, JMLR 17). The skill is
    the expected rate of right votes over the labels that it met. Matrices from few votes are fitted to noise.
    """
    from crowdkit.aggregation import DawidSkene, OneCoinDawidSkene

    def right_rates(model: Any) -> Any:
        (task, _), (worker, _) = map(pd.factorize, np.nonzero(votes.given))
        share = (pd.crosstab(worker, model.labels_.loc[task].to_numpy()) > 0) * model.priors_
        right = pd.Series({key: column[key[1]] for key, column in model.errors_.iterrows()}).unstack()
        return (share * right).sum(axis=1) / share.sum(axis=1)

    if one_coin:
        return _fitted(votes, OneCoinDawidSkene(n_iter=100), lambda model: model.skills_)
    return _fitted(votes, DawidSkene(n_iter=100), right_rates)


def glad(votes: Votes) -> Consensus:
    r"""Whitehill et al. (2009), NIPS 22: annotators have a skill (alpha, which is returned) and items a difficulty.

    :math:`P(y_{ij} = z_i) = 1 / (1 + e^{-\alpha_j \beta_i})`, priors :math:`N(1, 1)` on :math:`\alpha_j, \log \beta_i`.
    """
    from crowdkit.aggregation import GLAD

    return _fitted(votes, GLAD(n_iter=30, silent=True), lambda model: model.alphas_)


def mace(votes: Votes) -> Consensus:
    """Hovy et al. (2013), NAACL-HLT, by variational Bayes: annotators know the label, at a rate that is their skill
    (geometric posterior mean, not normalised), or spam. crowd-kit draws every restart from one seed: one is asked for.
    """
    from crowdkit.aggregation import MACE

    return _fitted(votes, MACE(n_restarts=1, n_iter=50, random_state=0), lambda model: model.spamming_[:, 1])


def _fitted(votes: Votes, model: Any, skill: Callable[[Any], Any]) -> Consensus:
    """The consensus of a model of crowd-kit and its skills, by number of annotator; ValueError without any vote.

    Everything is named by the number of its first appearance, which is the order that crowd-kit reads things in:
    otherwise results depend on names. Items without votes get the shares of the classes.
    """
    rows, columns = np.nonzero(votes.given)
    if not len(rows):
        raise ValueError("no votes: there is nothing to agree on")
    (task, tasks), (worker, workers), (label, labels) = map(pd.factorize, (rows, columns, votes.codes[rows, columns]))
    with warnings.catch_warnings():  # pandas tells crowd-kit what its next version will drop
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        model = model.fit(pd.DataFrame({"task": task, "worker": worker, "label": label}))
    likely, values = model.probas_, np.tile(class_shares(votes), (len(votes.items), 1))
    named = tasks[likely.index.to_numpy(int)]
    values[named] = 0.0
    values[np.ix_(named, labels[likely.columns.to_numpy(int)])] = likely.to_numpy(float)
    posterior, by_number = values / values.sum(1, keepdims=True), skill(model)
    skills = {votes.annotators[column]: float(by_number[number]) for number, column in enumerate(workers)}
    return Consensus(votes.items, votes.classes, posterior, posterior.argmax(1), skills)


class CrowdLab(NamedTuple):
    """CROWDLAB's consensus (skills are cleanlab's, without who shares no item), and the weights of judge and votes."""

    consensus: Consensus
    model_weight: float
    annotator_weight: dict[str, float]


def crowdlab(votes: Votes, probabilities: ClassProbabilities, seed: int = 0) -> CrowdLab:
    r"""Consensus of votes and a judge's probabilities: Goh, Tkachenko and Mueller (2022), arXiv:2210.06812.

    .. math:: P(z_i = k) = \frac{w_M p_{ik} + \sum_j w_j q_{ijk}}{w_M + \sum_j w_j}

    with :math:`q_{ijk} = P` where annotator :math:`j` voted :math:`k` and :math:`(1 - P) / (K - 1)` elsewhere,
    :math:`P` the mean agreement with the consensus on items of several votes; cleanlab gives the weights. ValueError
    where the probabilities are not of the items of the votes in their order, an item has no vote, or none has two.
    """
    from cleanlab.multiannotator import get_label_quality_multiannotator

    values = aligned(votes, probabilities)
    if not votes.given.any(1).all():
        raise ValueError(f"{votes.items[int(np.argmin(votes.given.any(1)))]}: no vote; keep `Votes.voted()` only")
    if not (votes.given.sum(1) > 1).any():
        raise ValueError("no item has two votes: CROWDLAB has nothing to weigh people and the judge by")
    votes = votes.voted()
    with seeded(seed):
        table = get_label_quality_multiannotator(
            votes.wide(), values, return_detailed_quality=False, return_weights=True, verbose=False
        )
    quality, weights = table["label_quality"], table["annotator_weight"]
    posterior = _posterior_of(votes, values, quality, table["model_weight"], weights)
    labels = quality["consensus_label"].to_numpy(int)
    rebuilt = posterior[np.arange(len(labels)), labels]
    if not np.allclose(rebuilt, quality["consensus_quality_score"], atol=1e-8):
        raise ValueError("cleanlab's label quality is not what its weights give: another version of CROWDLAB?")
    skill = table["annotator_stats"]["annotator_quality"].dropna().to_dict()
    named = dict(zip(votes.annotators, map(float, weights), strict=True))
    consensus = Consensus(votes.items, votes.classes, posterior, labels, skill)
    return CrowdLab(consensus, float(table["model_weight"]), named)


def _posterior_of(votes: Votes, values: Floats, quality: pd.DataFrame, judge: float, annotators: Floats) -> Floats:
    """The distribution that cleanlab's weights of the judge and of annotators imply, shape (n_items, n_classes)."""
    several = quality["num_annotations"].to_numpy() > 1
    agree = quality["annotator_agreement"].to_numpy(float)[several].mean()
    voted = votes.codes[:, :, None] == np.arange(len(votes.classes))
    likely = np.where(voted, agree, (1 - agree) / (len(votes.classes) - 1))
    weights = np.where(votes.given, annotators, 0.0)
    total = judge * values + (weights[:, :, None] * likely).sum(1)
    return total / (judge + weights.sum(1))[:, None]


@contextmanager
def seeded(seed: Any) -> Iterator[None]:
    """numpy's global generator, which cleanlab draws from, at a seed; afterwards as it was."""
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002


def methods_with(judges: Mapping[str, ClassProbabilities]) -> dict[str, Method]:
    """Methods by name: those that read votes only, CROWDLAB with each judge's probabilities, and with a judge that
    knows nothing (``crowdlab_uniform``). The probabilities are of all items that the votes will be on, found by key."""

    def with_judge(votes: Votes, stated: ClassProbabilities) -> Consensus:
        stated = stated if stated.classes == votes.classes else stated.only(votes.classes)
        return crowdlab(votes, stated.at(votes.items)).consensus

    def uniform(votes: Votes) -> Consensus:
        values = np.full((len(votes.items), len(votes.classes)), 1 / len(votes.classes))
        return crowdlab(votes, ClassProbabilities(votes.items, values, votes.classes)).consensus

    methods: dict[str, Method] = {"majority": majority, "dawid_skene": dawid_skene}
    methods |= {"dawid_skene_one_coin": partial(dawid_skene, one_coin=True), "glad": glad, "mace": mace}
    methods |= {name: partial(with_judge, stated=stated) for name, stated in judges.items()}
    return methods | {"crowdlab_uniform": uniform}
