"""A cheap judge first, a strong one where the cheap one is unsure: the whole curve of agreement against calls.

No threshold is chosen on the labels of a test: the curve is shown for every share of items sent on, the least confident
first, beside the line of sending items at random and the oracle that knows where the strong judge does better. Where
one point is wanted, the share is fixed beforehand (half), or cross-fitted over prompts (`cross_fitted_point`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from judgekit.records import Verdict
from judgekit.scoring import N_BOOT, compare
from judgekit.stats import Array, Floats, Number, Statistic, percentile_interval, ratio, repeated_draws
from judgekit.studies.jury.diversity import mean_of
from judgekit.studies.jury.panel import Panel
from judgekit.studies.jury.weights import folds_of

KINDS = ("max_probability", "margin", "consistency")
BLOCK = 250_000  # weights of items worked on at once: 2 MB, which a processor keeps at hand
SHARES = tuple(np.linspace(0, 1, 41).round(3).tolist())


def confidence_of(panel: Panel, member: str, kind: str) -> Floats:
    """How sure a member is of its verdict on every item, from nothing but what it said, in [0, 1], shape (n_items,).

    0 where the member has no verdict in some order. ``kind``, one of `KINDS`: the highest probability, its lead over
    the second (both of the mean over the orders), or whether both orders brought the same verdict (1 or 0), which a
    judge without probabilities has too. ValueError where the kind is unknown, the member states no probabilities, or it
    was shown one order only.
    """
    if kind not in KINDS:
        raise ValueError(f"confidence {kind!r} is not one of {', '.join(KINDS)}")
    if member not in panel.verdicts:
        raise ValueError(f"{panel.benchmark}: {member} is no member; there are {', '.join(panel.verdicts)}")
    place = panel.members.index(member)
    votes = np.stack([panel.votes[order][:, place] for order in panel.orders])
    read = votes.sum(2).all(0)
    if kind == "consistency":
        if len(panel.orders) < 2:
            raise ValueError(f"{member} was shown one order only: consistency needs both")
        return (votes[0] == votes[1]).all(1) * read.astype(float)
    if not panel.states_probabilities(member):
        raise ValueError(f"{member} states no probabilities: measure its confidence by 'consistency'")
    mean = np.mean([panel.beliefs[order][:, place] for order in panel.orders], axis=0)
    highest = np.sort(mean, axis=1)
    # Sums in another sequence differ in the last digits, which must not tell equal confidences apart.
    return np.round((highest[:, -1] - (highest[:, -2] if kind == "margin" else 0)) * read, 12)


@dataclass(frozen=True)
class Cascade:
    """A cheap judge, a strong one, and how sure the cheap one is."""

    panel: Panel  # holds both; its check is what joins them
    cheap: str
    strong: str
    kind: str | None = None  # of `confidence_of`; by default max_probability where it is stated, else consistency

    def __post_init__(self) -> None:
        object.__setattr__(self, "panel", self.panel.seated(list(dict.fromkeys([self.cheap, self.strong]))))
        if self.cheap == self.strong:
            raise ValueError(f"a cascade from {self.cheap} to itself sends nothing on")
        stated = self.panel.states_probabilities(self.cheap)
        object.__setattr__(self, "kind", self.kind or ("max_probability" if stated else "consistency"))

    @cached_property
    def confidence(self) -> Floats:
        """Of the cheap judge, shape (n_items,)."""
        return confidence_of(self.panel, self.cheap, self.kind)  # type: ignore[arg-type] # set when it is made

    @cached_property
    def items(self) -> Floats:
        """Per item: what cheap and strong earn, and how many labels it is scored against; shape (n_items, 3).

        An item without a label costs a call and earns nothing, so it is left out of the curve.
        """
        rows = np.column_stack([self.panel.credits, np.ones(len(self.panel.clusters))])
        sums = np.zeros((len(self.panel.pairs), 3))
        np.add.at(sums, self.panel.references[0], rows)
        return sums

    @cached_property
    def prompts(self) -> tuple[Array, int]:
        """Place of every item's prompt among the sorted names, and how many prompts there are."""
        names, index = np.unique(np.array(["\t".join(p) for p in self.panel.prompts]), return_inverse=True)
        return index, len(names)

    def rated(self) -> "Cascade":
        """The cascade on the items that have a label."""
        scored = self.items[:, 2] > 0
        return self if scored.all() else replace(self, panel=self.panel.on(scored))


def path_of(items: Floats, urgency: Array, weights: Array) -> tuple[Floats, Floats]:
    """Share of items sent on and mean credit, as items are sent on, the most urgent first; shapes (..., n_groups + 1).

    ``items``: `Cascade.items`; ``urgency``: shape (n_items,). Items of equal urgency are sent on together: between two
    points the mean over their sequences is a straight line, so the sequence of the items in a file plays no part.
    ``weights``: how often each item counts, shape (..., n_items).
    """
    order = np.argsort(-urgency, kind="stable")
    steps = np.flatnonzero(np.diff(-urgency[order], append=np.inf))
    base = (weights * items[:, 0]).sum(-1, keepdims=True)
    gains = np.cumsum((weights * (items[:, 1] - items[:, 0]))[..., order], -1)[..., steps]
    calls = np.cumsum(weights[..., order], -1)[..., steps]
    total = (weights * items[:, 2]).sum(-1, keepdims=True)
    start = np.zeros((*weights.shape[:-1], 1))
    share = ratio(np.concatenate([start, calls], -1), calls[..., -1:])
    return share, ratio(base + np.concatenate([start, gains], -1), total)


def area_above_random(share: Floats, credit: Floats) -> Any:
    """Area between a path and the straight line from its first point to its last; shapes (..., n) to (...)."""
    area = (np.diff(share, axis=-1) * (credit[..., 1:] + credit[..., :-1]) / 2).sum(-1)
    return area - (credit[..., 0] + credit[..., -1]) / 2


def at_shares(share: Floats, credit: Floats, shares: Array) -> Floats:
    """Credit of paths at given shares, shape (..., n_shares)."""
    flat_x, flat_y = share.reshape(-1, share.shape[-1]), credit.reshape(-1, credit.shape[-1])
    found = np.array([np.interp(shares, x, y) for x, y in zip(flat_x, flat_y, strict=True)])
    return found.reshape(*share.shape[:-1], len(shares))


def oracle_urgency(items: Floats) -> Floats:
    """Gain of sending an item on: who knows it gets the most at every share."""
    return items[:, 1] - items[:, 0]


def statistics_of(cascade: Cascade, weights: Array, shares: Array) -> Floats:
    """Everything a curve is quoted by, for weights of shape (..., n_items): the cascade and the oracle at shares,
    and the areas above random routing of both, in the last axis."""
    found = []
    for urgency in (-cascade.confidence, oracle_urgency(cascade.items)):
        share, credit = path_of(cascade.items, urgency, weights)
        found += [at_shares(share, credit, shares), area_above_random(share, credit)[..., None]]
    return np.concatenate(found, -1)


def resampled(cascade: Cascade, shares: Array, n_boot: int, seed: int) -> Floats:
    """`statistics_of` over resampled prompts, shape (n_boot, ...)."""
    index, n_prompts = cascade.prompts
    rows, found = max(1, BLOCK // len(index)), []
    for draws in repeated_draws(n_prompts, n_boot, seed):
        for start in range(0, len(draws), rows):
            found.append(statistics_of(cascade, draws[start : start + rows, index].astype(float), shares))
    return np.concatenate(found)


def cascade_curve(
    cascade: Cascade, shares: Array = SHARES, n_boot: int = N_BOOT, seed: int = 0
) -> tuple[pd.DataFrame, dict[str, Number]]:
    """The whole curve, and the numbers it is quoted by; prompts are resampled, the confidence of an item is not.

    Columns share, value, low, high, random, oracle (rates). Numbers ``cheap``, ``strong`` (the ends of the curve),
    ``at_half``, ``gain_at_half`` (above sending half at random), ``area`` (between the cascade and the random line,
    over all shares), ``area_share`` (of the area that the oracle has; left out where the oracle gains nothing).

    ``shares``: of items sent on, in [0, 1] (ValueError otherwise); 0 and 1 are the two judges alone.
    """
    shares = np.asarray(shares, float)
    if not len(shares) or shares.min() < 0 or shares.max() > 1:
        raise ValueError("shares of items sent on are between 0 and 1")
    cascade = cascade.rated()
    wanted = np.concatenate([shares, [0, 0.5, 1]])
    value = statistics_of(cascade, np.ones(len(cascade.items)), wanted)
    drawn = resampled(cascade, wanted, n_boot, seed)
    n, k = int(cascade.items[:, 2].sum()), len(shares)
    start, half, end, area, best = k, k + 1, k + 2, k + 3, -1
    bounds = np.array([percentile_interval(drawn[:, place]) for place in range(k)])
    curve = pd.DataFrame({"share": shares, "value": value[:k], "low": bounds[:, 0], "high": bounds[:, 1]})
    curve["random"] = value[start] + shares * (value[end] - value[start])
    curve["oracle"] = value[area + 1 : area + 1 + k]

    def number(statistic: Statistic, spec: str = ".1%") -> Number:
        return Number(float(statistic(value)), *percentile_interval(statistic(drawn)), n=n, spec=spec)

    numbers = {
        "cheap": number(lambda s: s[..., start]),
        "strong": number(lambda s: s[..., end]),
        "at_half": number(lambda s: s[..., half]),
        "gain_at_half": number(lambda s: s[..., half] - (s[..., start] + s[..., end]) / 2),
        "area": number(lambda s: s[..., area]),
    }
    if value[best] > 0:
        numbers["area_share"] = number(lambda s: ratio(s[..., area], s[..., best]), ".2f")
    return curve, numbers


def routed(cascade: Cascade, sent: Array, name: str | None = None) -> list[Verdict]:
    """The verdicts of the cascade when some items are sent on; ``sent``: bool, shape (n_items,).

    ``name``: last part of the name of the judge ``cascade/...``.
    """
    name = f"cascade/{name or f'{cascade.cheap}-to-{cascade.strong}'}"
    sent = np.asarray(sent)
    if sent.shape != (len(cascade.panel.pairs),) or sent.dtype != bool:
        raise ValueError(f"sent: expected {len(cascade.panel.pairs)} booleans, one for each item")
    chosen = np.repeat(sent, len(cascade.panel.orders))
    cheap, strong = (cascade.panel.verdicts[member] for member in (cascade.cheap, cascade.strong))
    return [replace(b if on else a, judge=name) for a, b, on in zip(cheap, strong, chosen, strict=True)]


def smallest_share(cascade: Cascade, slack: float) -> float:
    """The confidence up to which items must be sent on, for a mean credit at most ``slack`` below the strong judge's.

    -1 (nothing is sent on) where the cheap judge alone is as good as that.
    """
    items, confidence = cascade.items, cascade.confidence
    _, credit = path_of(items, -confidence, np.ones(len(items)))
    reached = credit >= credit[-1] - slack - 1e-12
    return float(np.concatenate([[-1.0], np.unique(confidence)])[np.argmax(reached)])


def cross_fitted_point(
    cascade: Cascade, slack: float = 0.01, n_folds: int = 5, seed: int = 0, n_boot: int = N_BOOT
) -> dict[str, Any]:
    """The fewest calls that keep the strong judge's score but for ``slack``; every threshold from other prompts.

    Numbers ``share_sent``, ``accuracy`` and ``loss`` (strong less cascade, paired); ``verdicts`` of the cascade.
    ``slack``: what may be lost, e.g. 0.01 for a point. Prompts are divided into folds; a fold's threshold is chosen on
    the others. Labels of the same set, though of other prompts, chose the thresholds: these numbers are
    ``cascade_crossfit.*``. The intervals take the chosen thresholds as given.
    """
    cascade = cascade.rated()
    sent = np.zeros(len(cascade.panel.pairs), bool)
    for fold in folds_of(cascade.panel.prompts, n_folds, seed):
        threshold = smallest_share(replace(cascade, panel=cascade.panel.on(~fold)), slack)
        sent[fold] = cascade.confidence[fold] <= threshold
    verdicts, panel = routed(cascade, sent, "crossfit"), cascade.panel
    gap = compare(panel.verdicts[cascade.strong], verdicts, panel.pairs, panel.benchmark, panel.protocol, n_boot, seed)
    accuracy = mean_of(panel.credits_of(verdicts), panel.clusters, n_boot, seed)
    share = mean_of(sent.astype(float), [pair.cluster_id or pair.item_id for pair in panel.pairs], n_boot, seed)
    return {"share_sent": share, "accuracy": accuracy, "loss": gap.difference, "verdicts": verdicts}


def cost_of(verdicts: Sequence[Verdict]) -> dict[str, float]:
    """What a verdict took on average, in the units that every verdict states.

    Some of ``calls`` (1 where none is stated: a verdict is a call), ``tokens`` and ``seconds``.
    """
    found = {"calls": float(np.mean([1 if v.calls is None else v.calls for v in verdicts]))}
    tokens = [(v.tokens_in or 0) + (v.tokens_out or 0) for v in verdicts if v.tokens_in is not None]
    seconds = [v.seconds for v in verdicts if v.seconds is not None]
    for unit, values in (("tokens", tokens), ("seconds", seconds)):
        if len(values) == len(verdicts):
            found[unit] = float(np.mean(values))
    return found


def cost_at(share: float, cheap: Mapping[str, float], strong: Mapping[str, float]) -> dict[str, float]:
    """Cost of an item, cheap first and a share of them sent on, in the units that both judges state.

    >>> cost_at(0.5, {"calls": 1, "seconds": 0.25}, {"calls": 2})
    {'calls': 2.0}
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share {share} of items sent on is not in [0, 1]")
    return {unit: float(cheap[unit] + share * strong[unit]) for unit in cheap if unit in strong}


def cost_together(costs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Cost of asking several judges, in the units that all of them state.

    >>> cost_together([{"calls": 1, "characters": 20}, {"calls": 2}])
    {'calls': 3}
    """
    return {unit: sum(cost[unit] for cost in costs) for unit in costs[0] if all(unit in cost for cost in costs)}
