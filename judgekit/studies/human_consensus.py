"""Which consensus of people's votes predicts a vote that it has not seen, and judges graded by a consensus.

A judge's verdicts are class codes, shape (n_items,), -1 where there is none: `people.agreement.verdicts_on`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from judgekit.data.catalogue import load_set
from judgekit.data.sample import annotators
from judgekit.data.votes import NO_VOTE, TIE_FREE, ClassProbabilities, Votes, aligned, matchup_votes, votes_of_pairs
from judgekit.people.clustered import share_number
from judgekit.people.consensus import Consensus, Method, hidden_votes
from judgekit.people.quality import credits_of
from judgekit.records import LABELS, PreferencePair, Verdict, label_of_gap
from judgekit.scoring.items import stated_probabilities
from judgekit.scoring.metrics import probability_losses
from judgekit.scoring.scores import N_BOOT
from judgekit.stats import (
    Array,
    Floats,
    Number,
    cluster_sums,
    expanded_level,
    holm,
    interval,
    percentile_interval,
    prompt_folds,
    resampled_sums,
    share_of,
    two_sided_p,
)

PARTS: dict[str, dict[str, Any]] = {"turn1": {"turn": 1}, "turn2": {"turn": 2}, "decided": {"classes": TIE_FREE}}
PART_TITLES = {"turn1": ", turn 1", "turn2": ", turn 2", "decided": ", without ties", "": ""}
MEASURES = {"accuracy": ".1%", "nll": ".3f", "brier": ".3f"}


# ---------------------------------------------------------------- sets with votes


@dataclass(frozen=True, eq=False)
class VotedSet:
    """The items of a set, or of a part of one, that have votes.

    ``key``: as in result keys: ``mtbench``, ``mtbench_turn1``, ``mtbench_decided``. ``repeats``: second votes of one
    annotator on an item. ``matchups``: whether items are matches of two models, shown either way.
    """

    key: str
    name: str
    pairs: list[PreferencePair]
    votes: Votes
    repeats: list
    matchups: bool

    def stated(self, verdicts: Sequence[Verdict]) -> ClassProbabilities:
        """A judge's probabilities of the items, both orders, in the rows and classes of the votes."""
        stated = stated_probabilities(verdicts, self.pairs, self.matchups).at(self.votes.items)
        return stated if self.votes.classes == stated.classes else stated.only(self.votes.classes)

    def truth(self) -> Array:
        """The labels of the pairs as class codes, for sets whose labels are no votes: the sample."""
        labels = {pair.item_id: pair.label for pair in self.pairs}
        return np.array([self.votes.classes.index(labels[item]) for item in self.votes.items])


def voted_set(name: str) -> VotedSet:
    """The votes of a set, or of a part of one: ``mtbench``, ``mtbench:turn1``, ``mtbench:decided`` (without ties).

    KeyError where there is no such set or part, ValueError where nobody voted on it.
    """
    name, _, part = name.partition(":")
    if part and part not in PARTS:
        raise KeyError(f"no part is called {part!r}; there are {', '.join(PARTS)}")
    options, matchups = PARTS.get(part, {}), name == "mtbench"
    if "turn" in options and not matchups:
        raise KeyError(f"{name} has no turns")
    pairs = load_set(name)
    votes, repeats = matchup_votes(pairs, options.get("turn")) if matchups else (votes_of_pairs(pairs), [])
    if "classes" in options:
        votes = votes.only(options["classes"])
    if not votes.given.any():
        raise ValueError(f"{name}: nobody voted")
    return VotedSet(f"{name}_{part}" if part else name, name, pairs, votes.voted(), repeats, matchups)


def joined(sets: Sequence[VotedSet], stated: Sequence[ClassProbabilities]) -> tuple[Votes, ClassProbabilities]:
    """The votes of sets with the same classes in one, and a judge's probabilities; items and prompts named by set."""
    annotators = list(dict.fromkeys(name for one in sets for name in one.votes.annotators))
    codes = []
    for one in sets:
        columns = np.full((len(one.votes.items), len(annotators)), NO_VOTE)
        columns[:, [annotators.index(name) for name in one.votes.annotators]] = one.votes.codes
        codes.append(columns)
    items = tuple(f"{one.key}:{name}" for one in sets for name in one.votes.items)
    clusters = tuple(f"{one.key}:{name}" for one in sets for name in one.votes.clusters)
    values = np.concatenate([aligned(one.votes, own) for one, own in zip(sets, stated, strict=True)])
    classes = sets[0].votes.classes
    votes = Votes(items, tuple(annotators), np.concatenate(codes), classes, clusters)
    return votes, ClassProbabilities(items, values, classes)


def consistent_triples(pairs: Sequence[PreferencePair], n_boot: int = N_BOOT, seed: int = 0) -> Number:
    """Share of three responses to one question whose three preferences come from one order, ties allowed.

    Responses are told apart by their text; questions are resampled. Preferences at random would fit in 13 of 27 cases.
    ValueError where no three responses were all compared.
    """
    signs: dict[tuple[str, str, str], int] = {}
    responses: dict[str, dict[str, None]] = {}
    for pair in pairs:
        if pair.label is not None and pair.response_a != pair.response_b:
            sign = {"A": 1, "B": -1, "tie": 0}[pair.label]
            signs[pair.cluster, pair.response_a, pair.response_b] = sign
            signs[pair.cluster, pair.response_b, pair.response_a] = -sign
            responses.setdefault(pair.cluster, {}).update(dict.fromkeys(pair.responses))
    fits, clusters = [], []
    for cluster, texts in responses.items():
        for x, y, z in combinations(texts, 3):
            edges = [signs.get((cluster, *edge)) for edge in ((x, y), (y, z), (z, x))]
            known = [edge for edge in edges if edge is not None]
            if len(known) == 3:
                # Round a circle the differences of any order sum to nothing: all are ties, or some go up and some down.
                fits.append(not any(known) or (max(known) > 0 and min(known) < 0))
                clusters.append(cluster)
    return share_number(fits, [1] * len(fits), clusters, n_boot, seed)


# ---------------------------------------------------------------- votes that a method has not seen


def vote_probabilities(posterior: Floats, codes: Array, folds: Array) -> Floats:
    r"""Probabilities of a vote from probabilities of the label.

    A posterior is about the label, and people err: who is certain of a label must not be certain of a vote. A vote is
    the label with a rate :math:`\lambda`, and otherwise as votes are altogether,
    :math:`P(y = k) = \lambda P(z = k) + (1 - \lambda) s_k`, with the most likely :math:`\lambda` and :math:`s` of
    hidden votes on the prompts of other folds. The likelihood does not change to first order with an error in the rate,
    so that intervals which take it as given hold.
    """
    likely, rows = np.empty_like(posterior), np.arange(len(codes))
    for fold in np.unique(folds):
        here = folds == fold
        share = np.bincount(codes[~here], minlength=posterior.shape[1]) + 1.0
        share /= share.sum()
        by_label, by_share, rate = posterior[rows[~here], codes[~here]], share[codes[~here]], 0.5
        for _ in range(100):  # EM, with one vote that is the label and one that is not
            due = rate * by_label / np.maximum(rate * by_label + (1 - rate) * by_share, 1e-12)
            rate = (due.sum() + 1) / (len(due) + 2)
        likely[here] = rate * posterior[here] + (1 - rate) * share
    return likely


def held_out_losses(
    votes: Votes, methods: Mapping[str, Method], draws: int = 5, seed: int = 0, leak: bool = False
) -> tuple[Floats, list[str]]:
    """What each method loses on hidden votes, as the mean over draws, and the prompts of the scored items.

    Shape (n_scored, n_methods, 3), items with two or more votes, by `MEASURES`: whether the label is the hidden vote,
    and how likely that vote was (`vote_probabilities`). ``draws``: how often a vote is hidden anew in all items.
    With ``leak`` methods see the hidden vote after all, to show what that feigns. ValueError where no item has two
    votes, or a method answers for other items.
    """
    scored = votes.given.sum(1) >= 2
    if not scored.any():
        raise ValueError("no item has two votes: none can be hidden and predicted")
    clusters = [cluster for cluster, keep in zip(votes.clusters, scored, strict=True) if keep]
    folds = prompt_folds(clusters, seed=seed)
    total = np.zeros((int(scored.sum()), len(methods), len(MEASURES)))
    for draw in range(draws):
        hidden = hidden_votes(votes, seed + draw)
        codes = np.where(hidden, votes.codes, NO_VOTE).max(1)[scored]
        seen = votes if leak else votes.masked(hidden)
        for column, (name, method) in enumerate(methods.items()):
            consensus = method(seen)
            if consensus.items != votes.items:
                raise ValueError(f"{name} answers for other items than it was given")
            likely = vote_probabilities(consensus.posterior[scored], codes, folds)
            nll, brier = probability_losses(np.pad(likely, ((0, 0), (0, max(0, 3 - likely.shape[1])))), codes)
            total[:, column] += np.column_stack([consensus.labels[scored] == codes, nll, brier])
    return total / draws, clusters


def held_out_table(
    losses: Floats,
    clusters: Sequence[str],
    methods: Sequence[str],
    baseline: str = "majority",
    n_boot: int = N_BOOT,
    seed: int = 0,
) -> pd.DataFrame:
    """Scores on hidden votes (`held_out_losses`), and what each method gains on a baseline.

    Columns method, accuracy, nll, brier, accuracy_gain, nll_gain, brier_gain (None for the baseline; positive where the
    method is better) and p_holm of the Brier gain, corrected over methods. Prompts are resampled; for few of them the
    percentiles are expanded, so that the interval is as wide as Student's (`stats.expanded_level`).
    """
    flat = np.concatenate([losses.reshape(len(losses), -1), np.ones((len(losses), 1))], 1)
    sums = cluster_sums(flat, clusters)
    drawn = resampled_sums(sums, n_boot, seed)
    level = expanded_level(len(sums))
    means = (drawn[:, :-1] / drawn[:, -1:]).reshape(n_boot, len(methods), len(MEASURES))
    value = losses.mean(0)
    base, sign = list(methods).index(baseline), np.array([1, -1, -1])
    gains, gain = sign * (means - means[:, [base]]), sign * (value - value[base])
    rows, tails = [], {}
    for place, name in enumerate(methods):
        row: dict[str, Any] = {"method": name}
        for ending, values, resampled in (("", value, means), ("_gain", gain, gains)):
            for m, (measure, spec) in enumerate(MEASURES.items()):
                ends = percentile_interval(resampled[:, place, m], level)
                row[measure + ending] = Number(values[place, m], *ends, len(losses), spec)
        if place == base:
            row |= dict.fromkeys((f"{measure}_gain" for measure in MEASURES), None)
        else:
            tails[name] = two_sided_p(gains[:, place, list(MEASURES).index("brier")])
        rows.append(row)
    corrected = dict(zip(tails, map(float, holm(list(tails.values()))), strict=True))
    return pd.DataFrame([row | {"p_holm": corrected.get(row["method"])} for row in rows], dtype=object)


def group_quality(
    votes: Votes, groups: Mapping[str, Sequence[str]], n_boot: int = N_BOOT, seed: int = 0
) -> dict[str, Number]:
    """Agreement of each group of annotators with the majority of everybody else; of two also the ``difference``,
    the first less the second. ``n`` counts votes. ValueError where no vote of a group meets another."""
    credits = credits_of(votes)
    parts = []
    for name, members in groups.items():
        own = credits[:, [votes.annotators.index(member) for member in members]]
        if np.isnan(own).all():
            raise ValueError(f"{name}: no vote meets another")
        parts.append(np.stack([np.nansum(own, 1), (~np.isnan(own)).sum(1)], 1))
    options: Any = {"spec": ".1%", "n_boot": n_boot, "seed": seed}
    sizes = [int(part[:, 1].sum()) for part in parts]
    numbers = {
        name: interval(share_of, votes.clusters, part, n=n, **options)
        for name, part, n in zip(groups, parts, sizes, strict=True)
    }
    if len(groups) == 2:
        both = np.stack(parts, 1)
        numbers["difference"] = interval(
            lambda s: share_of(s[..., 0, :]) - share_of(s[..., 1, :]), votes.clusters, both, n=sum(sizes), **options
        )
    return numbers


# ---------------------------------------------------------------- judges graded by a consensus


def with_voter(votes: Votes, name: str, codes: Array) -> Votes:
    """Votes with one more annotator: a judge's verdicts, as if it were a person."""
    joined = np.column_stack([votes.codes, np.asarray(codes, int)])
    return Votes(votes.items, (*votes.annotators, name), joined, votes.classes, votes.clusters)


def judged_against(
    consensus: Consensus, codes: Array, clusters: Sequence, chosen: Array = True, n_boot: int = N_BOOT, seed: int = 0
) -> Number:
    """Share of the items with a verdict and a label on which the two agree; ``chosen`` further limits the items."""
    kept = (np.asarray(codes) != NO_VOTE) & (consensus.labels != NO_VOTE) & chosen
    return share_number((consensus.labels == codes) & kept, kept, clusters, n_boot, seed)


def own_vote_table(
    votes: Votes,
    codes: Array,
    methods: Mapping[str, Method],
    alone: Mapping[str, Consensus] | None = None,
    n_boot: int = N_BOOT,
    seed: int = 0,
) -> pd.DataFrame:
    """A judge's score under each consensus: columns method, left_out, own_vote (with its vote in it), inflation, the
    mean rise from one to the other. ``votes`` are of people only; ``alone``: what the methods made of them."""
    joined, rows = with_voter(votes, "the judge", codes), []
    for name, method in methods.items():
        people, own = alone[name] if alone else method(votes), method(joined)
        left_out, own_vote = (
            judged_against(one, codes, votes.clusters, n_boot=n_boot, seed=seed) for one in (people, own)
        )
        kept = (np.asarray(codes) != NO_VOTE) & (people.labels != NO_VOTE) & (own.labels != NO_VOTE)
        rise = ((own.labels == codes).astype(float) - (people.labels == codes))[kept]
        clusters = np.asarray(votes.clusters)[kept]
        inflation = interval(share_of, clusters, rise, spec=".1%", n_boot=n_boot, seed=seed)
        rows.append({"method": name, "left_out": left_out, "own_vote": own_vote, "inflation": inflation})
    return pd.DataFrame(rows)


def sample_rates(pairs: Sequence[PreferencePair]) -> dict[str, float]:
    """How often each annotator of the sample is right, by construction: readers and others as planted."""
    longer = float(np.mean([label_of_gap(len(pair.response_a) - len(pair.response_b)) == pair.label for pair in pairs]))
    first = float(np.mean([pair.label == "A" for pair in pairs]))
    unread = {"reader": 0.0, "length": longer, "position": first, "spammer": 1 / len(LABELS)}
    return {who.name: float(who.bias * unread[who.kind] + (1 - who.bias) * who.accuracy) for who in annotators()}
