"""A cheap judge first, a strong one where the cheap one is unsure: the whole curve of agreement against calls.

No threshold is chosen on the labels of a test: the curve is shown for every share of items sent on, the least confident
first, beside the line of sending items at random and the oracle that knows where the strong judge does better.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from judgekit.judges.replay import replays_on
from judgekit.scoring import N_BOOT
from judgekit.stats import Array, Floats, Number, Statistic, interval_of, ratio, repeated_draws
from judgekit.studies.panel import Panel
from judgekit.studies.prompt_strategies import Evaluator, call_table

KINDS = ("max_probability", "margin", "consistency")
SHARES = tuple(np.linspace(0, 1, 41).round(3).tolist())
_BLOCK = 250_000  # weights of items worked on at once: 2 MB, which a processor keeps at hand


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
    column = panel.members.index(member)
    votes = np.stack([panel.votes[order][:, column] for order in panel.orders])
    read = votes.sum(2).all(0)
    if kind == "consistency":
        if len(panel.orders) < 2:
            raise ValueError(f"{member} was shown one order only: consistency needs both")
        return (votes[0] == votes[1]).all(1) * read.astype(float)
    if not panel.states_probabilities(member):
        raise ValueError(f"{member} states no probabilities: measure its confidence by 'consistency'")
    highest = np.sort(np.mean([panel.beliefs[order][:, column] for order in panel.orders], axis=0), axis=1)
    # Sums in another sequence differ in the last digits, which must not tell equal confidences apart.
    return np.round((highest[:, -1] - (highest[:, -2] if kind == "margin" else 0)) * read, 12)


@dataclass(frozen=True)
class Cascade:
    """A cheap judge, a strong one, and how sure the cheap one is."""

    panel: Panel  # holds both; its check is what joins them
    cheap: str
    strong: str
    kind: str = ""  # of `confidence_of`; by default max_probability where it is stated, else consistency

    def __post_init__(self) -> None:
        object.__setattr__(self, "panel", self.panel.seated(list(dict.fromkeys([self.cheap, self.strong]))))
        if self.cheap == self.strong:
            raise ValueError(f"a cascade from {self.cheap} to itself sends nothing on")
        stated = self.panel.states_probabilities(self.cheap)
        object.__setattr__(self, "kind", self.kind or ("max_probability" if stated else "consistency"))

    @cached_property
    def confidence(self) -> Floats:
        """Of the cheap judge, shape (n_items,)."""
        return confidence_of(self.panel, self.cheap, self.kind)

    @cached_property
    def items(self) -> Floats:
        """Per item: what cheap and strong earn, and how many labels it is scored against; shape (n_items, 3)."""
        rows = np.column_stack([self.panel.credits, np.ones(len(self.panel.clusters))])
        sums = np.zeros((len(self.panel.pairs), 3))
        np.add.at(sums, self.panel.references[0], rows)
        return sums

    def rated(self) -> "Cascade":
        """The cascade on the items that have a label: another one costs a call and earns nothing."""
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


def area_above_random(share: Floats, credit: Floats) -> Floats:
    """Area between a path and the straight line from its first point to its last; shapes (..., n) to (...)."""
    area = (np.diff(share, axis=-1) * (credit[..., 1:] + credit[..., :-1]) / 2).sum(-1)
    return area - (credit[..., 0] + credit[..., -1]) / 2


def _statistics(cascade: Cascade, weights: Array, shares: Array) -> Floats:
    """Credit at each share and area above random, of the cascade and then of the oracle, in the last axis."""
    oracle, columns = cascade.items[:, 1] - cascade.items[:, 0], []
    for urgency in (-cascade.confidence, oracle):
        share, credit = path_of(cascade.items, urgency, weights)
        paths = zip(share.reshape(-1, share.shape[-1]), credit.reshape(-1, share.shape[-1]), strict=True)
        at_shares = np.array([np.interp(shares, x, y) for x, y in paths])
        columns += [at_shares.reshape(*share.shape[:-1], len(shares)), area_above_random(share, credit)[..., None]]
    return np.concatenate(columns, -1)


def _resampled(cascade: Cascade, shares: Array, n_boot: int, seed: int) -> Floats:
    """`_statistics` over resampled prompts, shape (n_boot, ...)."""
    prompts, index = np.unique(cascade.panel.prompts, return_inverse=True)
    rows, drawn = max(1, _BLOCK // len(index)), []
    for draws in repeated_draws(len(prompts), n_boot, seed):
        for start in range(0, len(draws), rows):
            drawn.append(_statistics(cascade, draws[start : start + rows, index].astype(float), shares))
    return np.concatenate(drawn)


def cascade_curve(
    cascade: Cascade, shares: Sequence[float] = SHARES, n_boot: int = N_BOOT, seed: int = 0
) -> tuple[pd.DataFrame, dict[str, Number]]:
    """The whole curve, and the numbers it is quoted by; prompts are resampled, the confidence of an item is not.

    Columns share, value, low, high, random, oracle (rates). Numbers ``cheap``, ``strong`` (the ends of the curve),
    ``at_half``, ``gain_at_half`` (above sending half at random), ``area`` (between the cascade and the random line,
    over all shares), ``area_share`` (of the area that the oracle has; left out where the oracle gains nothing).

    ``shares``: of items sent on, in [0, 1] (ValueError otherwise); 0 and 1 are the two judges alone.
    """
    at = np.asarray(shares, float)
    if not len(at) or at.min() < 0 or at.max() > 1:
        raise ValueError("shares of items sent on are between 0 and 1")
    cascade = cascade.rated()
    wanted = np.concatenate([at, [0, 0.5, 1]])
    value = _statistics(cascade, np.ones(len(cascade.items)), wanted)
    drawn = _resampled(cascade, wanted, n_boot, seed)
    n, k, n_prompts = int(cascade.items[:, 2].sum()), len(at), len(set(cascade.panel.prompts))
    start, half, end, area, best = k, k + 1, k + 2, k + 3, -1
    bounds = np.array([interval_of(value[column], drawn[:, column], n_prompts) for column in range(k)])
    curve = pd.DataFrame({"share": at, "value": value[:k], "low": bounds[:, 0], "high": bounds[:, 1]})
    curve["random"] = value[start] + at * (value[end] - value[start])
    curve["oracle"] = value[area + 1 : area + 1 + k]

    def number(statistic: Statistic, spec: str = ".1%") -> Number:
        one = float(statistic(value))
        return Number(one, *interval_of(one, statistic(drawn), n_prompts, signed=True), n=n, spec=spec)

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


def verdict_costs(asked: Mapping[str, Sequence[str]], names: Mapping[str, str]) -> pd.DataFrame:
    """Columns calls and characters written for a verdict, by set and judge (slug).

    Of published judges what LLMBar's owners stored, else one call and NaN characters; a judge that runs here writes
    nothing. ``asked``: set to judges; ``names``: judge to slug.
    """
    judges = dict.fromkeys(judge for chosen in asked.values() for judge in chosen)
    stored = [Evaluator(names[judge], "", judge) for judge in judges if judge in replays_on("llmbar_natural")]
    known = {(row["set"], row["model"]): row for row in call_table(stored).to_dict("records")}
    rows = {
        (name, names[judge]): {"calls": 1.0, "characters": np.nan if judge.startswith("replay/") else 0.0}
        | {unit: known[name, names[judge]][unit] for unit in ("calls", "characters") if (name, names[judge]) in known}
        for name, chosen in asked.items()
        for judge in chosen
    }
    return pd.DataFrame.from_dict(rows, orient="index")
