r"""Consensus held against a truth that is known: the authored sample, and annotators whose skill was planted.

A planted annotator of rate :math:`a` votes the truth of an item with probability :math:`1/K + s (a - 1/K)`, where
:math:`s` is 1 for an ordinary item and smaller for a hard one, and the log odds of the rate are moved by what the
prompt adds. Wrong votes are spread over the other classes, or all fall on one of them where an item misleads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from judgekit.data.progress import progress_over
from judgekit.data.sample import annotators
from judgekit.data.votes import NO_VOTE, ClassProbabilities, Votes
from judgekit.people.consensus.agreement import share_number
from judgekit.people.consensus.methods import Consensus, methods_with
from judgekit.records import LABELS, PreferencePair, label_of_gap
from judgekit.stats import Array, Floats, Number, ratio, spearman, t_quantile, weighted_bootstrap

# ---------------------------------------------------------------- against the truth


def auroc(score: Array, right: Array, weight: Array | None = None) -> Floats:
    """Probability that an item with a right label has the higher score than one with a wrong label; ties count half.

    ``weight``, shape (..., n_items): how often each item counts. 0 where all labels are right, or all wrong.

    >>> float(auroc([0.9, 0.8, 0.4], [True, False, True]))
    0.5
    """
    score, right = np.asarray(score, float), np.asarray(right, bool)
    weight = np.ones(len(score)) if weight is None else np.asarray(weight, float)
    above = (1 + np.sign(score[right][:, None] - score[~right][None, :])) / 2
    good, bad = weight[..., right], weight[..., ~right]
    return ratio(((good @ above) * bad).sum(-1), good.sum(-1) * bad.sum(-1))


def against_truth(
    consensus: Consensus, truth: Array, clusters: Sequence, n_boot: int = 2000, seed: int = 0
) -> dict[str, Number]:
    """``accuracy`` of the labels (none counts as wrong), and ``auroc``: whether their quality tells right from wrong.

    ``truth``: class codes, shape (n_items,). The area is left out where all labels are right or all wrong.
    """
    right = consensus.labels == np.asarray(truth)
    numbers = {"accuracy": share_number(right, np.ones(len(right)), clusters, n_boot, seed)}
    if 0 < right.sum() < len(right):
        quality = consensus.quality
        area = weighted_bootstrap(lambda weight: auroc(quality, right, weight), clusters, n_boot, seed)
        numbers["auroc"] = Number(*area, n=len(right), spec=".3f")
    return numbers


def rank_agreement(skill: Mapping[str, float], rates: Mapping[str, float]) -> float:
    """Spearman's correlation of a method's skills with the true rates; NaN for fewer than three annotators in both."""
    both = [name for name in rates if name in skill]
    if len(both) < 3:
        return np.nan
    return float(spearman([skill[name] for name in both], [rates[name] for name in both]))


def sample_rates(pairs: Sequence[PreferencePair]) -> dict[str, float]:
    """How often each annotator of the sample is right, by construction.

    A reader's rate is its accuracy; who votes for the longer response or for A is right as often as that is, and a
    spammer by chance.
    """
    longer = float(np.mean([label_of_gap(len(pair.response_a) - len(pair.response_b)) == pair.label for pair in pairs]))
    first = float(np.mean([pair.label == "A" for pair in pairs]))
    unread = {"reader": 0.0, "length": longer, "position": first, "spammer": 1 / len(LABELS)}
    return {who.name: float(who.bias * unread[who.kind] + (1 - who.bias) * who.accuracy) for who in annotators()}


# ---------------------------------------------------------------- planted annotators


@dataclass(frozen=True)
class Panel:
    """Who votes on what.

    ``rates``: of right votes on an ordinary item, by annotator, in (0, 1); ``1 / 3`` is a spammer. ``votes``: fewest
    and most of an item, annotators drawn at random. ``hard``: share of items on which three tenths of a skill are left.
    ``misleading``: share of items whose wrong votes all fall on the same class: errors are then correlated.
    ``prompt_spread``: standard deviation of what a prompt adds to the log odds of all rates. ``judge``: how often the
    judge is right; its probabilities are calibrated.
    """

    rates: tuple[float, ...]
    prompts: int = 100
    per_prompt: int = 3
    votes: tuple[int, int] = (1, 4)
    hard: float = 0.0
    misleading: float = 0.0
    prompt_spread: float = 0.0
    judge: float = 0.65


@dataclass(frozen=True, eq=False)
class Planted:
    """Votes with the truth behind them, class codes of shape (n_items,); a judge beside them; rates by annotator."""

    votes: Votes
    truth: Array
    judge: ClassProbabilities
    rates: dict[str, float]


def planted_votes(panel: Panel, seed: int) -> Planted:
    """Votes of a panel on new items, the same at every call with the same seed."""
    rng = np.random.default_rng(seed)
    n_items, n_people, n_classes = panel.prompts * panel.per_prompt, len(panel.rates), len(LABELS)
    truth = rng.integers(n_classes, size=n_items)
    prompt = np.repeat(np.arange(panel.prompts), panel.per_prompt)
    moved = rng.normal(0, panel.prompt_spread, panel.prompts)[prompt] if panel.prompt_spread else np.zeros(n_items)
    left = np.where(rng.random(n_items) < panel.hard, 0.3, 1.0)
    rates = expit(logit(np.array(panel.rates))[None, :] + moved[:, None])
    rates = 1 / n_classes + left[:, None] * (rates - 1 / n_classes)
    wrong = _other_class(rng, truth[:, None], (n_items, n_people))
    wrong = np.where((rng.random(n_items) < panel.misleading)[:, None], wrong[:, :1], wrong)
    codes = np.where(rng.random((n_items, n_people)) < rates, truth[:, None], wrong)
    rank = rng.random((n_items, n_people)).argsort(1).argsort(1)
    given = rank < rng.integers(panel.votes[0], panel.votes[1] + 1, size=n_items)[:, None]
    names = tuple(f"annotator-{j}" for j in range(n_people))
    items = tuple(f"item-{i}" for i in range(n_items))
    clusters = tuple(f"prompt-{p}" for p in prompt)
    votes = Votes(items, names, np.where(given, codes, NO_VOTE), LABELS, clusters)
    judge = ClassProbabilities(items, _judge_probabilities(rng, truth, panel.judge), LABELS)
    return Planted(votes, truth, judge, dict(zip(names, panel.rates, strict=True)))


def _other_class(rng: np.random.Generator, truth: Array, shape: int | tuple[int, int]) -> Array:
    """A class that is not the true one, each alike."""
    return (truth + rng.integers(1, len(LABELS), size=shape)) % len(LABELS)


def _judge_probabilities(rng: np.random.Generator, truth: Array, accuracy: float) -> Floats:
    """Calibrated probabilities of a judge that is surer of half of the items, shape (n_items, n_classes)."""
    swing = np.where(rng.random(len(truth)) < 0.5, 0.15, -0.15)
    sure = np.clip(accuracy + swing, 1 / len(LABELS), 0.99)
    verdicts = np.where(rng.random(len(truth)) < sure, truth, _other_class(rng, truth, len(truth)))
    values = np.repeat((1 - sure)[:, None] / (len(LABELS) - 1), len(LABELS), 1)
    values[np.arange(len(truth)), verdicts] = sure
    return values


GOOD = (0.95, 0.9, 0.9, 0.85, 0.85, 0.8, 0.8, 0.75, 0.75, 0.7, 0.65, 0.6)
SPAMMED = (0.95, 0.9, 0.85, 0.8, 0.8, 0.75, 0.7, 0.65, 1 / 3, 1 / 3, 1 / 3, 1 / 3)
REGIMES = {
    "one to three votes": Panel(GOOD, votes=(1, 3)),
    "five votes": Panel(GOOD, votes=(5, 5)),
    "a third spams": Panel(SPAMMED, votes=(2, 4)),
    "half are hard": Panel(GOOD, votes=(2, 4), hard=0.5),
    "shared errors": Panel(GOOD, votes=(2, 4), misleading=0.5, prompt_spread=1.0),
    "a weak judge": Panel(GOOD, votes=(1, 3), judge=0.4),
    "a strong judge": Panel(GOOD, votes=(1, 3), judge=0.85),
}


def simulated(regimes: Mapping[str, Panel], simulations: int, seed: int = 0, prompts: int = 100) -> pd.DataFrame:
    """Every method on planted annotators: columns regime, simulation, method, accuracy, gain (over majority), auroc (of
    the quality for being right) and rank (`rank_agreement` of the skills with the planted rates)."""
    cells = [(name, panel, number) for name, panel in regimes.items() for number in range(simulations)]
    rows: list[dict[str, object]] = []
    known: dict[tuple[Panel, int], dict[str, Consensus]] = {}
    for name, panel, number in progress_over(cells, "planted annotators", "panel"):
        planted = planted_votes(replace(panel, prompts=prompts), seed + number)
        methods = methods_with({"crowdlab": planted.judge})
        with_judge = {"crowdlab": methods.pop("crowdlab")(planted.votes)}
        same = replace(panel, judge=0.5), number  # panels that differ in the judge only have the same votes
        if same not in known:
            known[same] = {key: method(planted.votes) for key, method in methods.items()}
        consensuses = known[same] | with_judge
        right = {key: consensus.labels == planted.truth for key, consensus in consensuses.items()}
        for key, consensus in consensuses.items():
            row = {"regime": name, "simulation": number, "method": key, "accuracy": right[key].mean()}
            row["gain"] = right[key].mean() - right["majority"].mean()
            row["auroc"] = float(auroc(consensus.quality, right[key]))
            rows.append(row | {"rank": rank_agreement(consensus.skill, planted.rates)})
    return pd.DataFrame(rows)


def simulated_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Means of `simulated` over two simulations or more with Student's interval, by regime and method.

    The gain of majority over itself is None.
    """
    rows = []
    for (regime, method), part in table.groupby(["regime", "method"], sort=False):
        row = {"regime": regime, "method": method}
        for quantity in ("accuracy", "gain", "auroc", "rank"):
            values = part[quantity].to_numpy(float)
            half = t_quantile(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
            spec = ".3f" if quantity in ("auroc", "rank") else ".1%"
            mean = float(values.mean())
            row[quantity] = Number(mean, mean - half, mean + half, len(values), spec)
        if method == "majority":
            row["gain"] = None
        rows.append(row)
    return pd.DataFrame(rows, dtype=object)
