"""Attacks on judges: a suite of edits and a black-box search that run against any judge, and what counts as success.

An attack on a pair succeeds where the response that people preferred less lost before and, once edited, wins. Cells
(pair, order) that it had won or tied before say nothing of the attack and do not count. A judge that follows a position
hardly ever prefers a response in both orders: whether it is turned is read from its probability, averaged over them.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd

from judgekit.bias.edits import CONTROLS, EDITS, REPLACING, Part, tampered
from judgekit.data.paths import known_names
from judgekit.judges.base import Judge
from judgekit.records import ORDERS, SWAPPED, PreferencePair, Verdict, unique_items
from judgekit.scoring import run_judge
from judgekit.scoring.protocols import Pairs
from judgekit.scoring.store import VerdictStore
from judgekit.stats import Floats, Number, interval, share_of

OUTCOMES = (
    *("item_id", "cluster", "attack", "lost_ab", "lost_ba", "won_ab", "won_ba", "tied_ab", "tied_ba"),
    *("lost_averaged", "won_averaged", "tried"),  # by `value_of`; whether this attack was tried on the pair
)
MEASURES = ("success", "success_one_order", "tied", "averaged")
Measure = Literal["success", "averaged"]  # whether a pair is turned: by the verdicts of both orders, or `value_of`
ARMS = tuple(name for name in EDITS if name not in REPLACING and name != "combined")
PRIOR = 0.2  # standard deviation of what an edit is thought to bring before it was tried
ByOrder: TypeAlias = Mapping[str, Verdict]  # verdicts on one pair
Asking: TypeAlias = Callable[[Pairs], Sequence[ByOrder]]


def worse_side(pair: PreferencePair) -> str:
    """The field of the response that people preferred less; KeyError where no response is."""
    return {"A": "response_b", "B": "response_a"}[str(pair.label)]


def attackable(pairs: Pairs, limit: int | None = None) -> list[PreferencePair]:
    """The pairs with a decided label, two different responses and a worse one to edit, in the order given; at most
    ``limit``, drawn by a hash of their ids, a second one of a prompt after one of all."""
    usable = [pair for pair in pairs if pair.label in ("A", "B") and pair.response_a.strip() != pair.response_b.strip()]
    usable = [pair for pair in usable if getattr(pair, worse_side(pair)).strip()]
    if limit is None or len(usable) <= limit:
        return usable
    drawn = sorted(usable, key=lambda pair: hashlib.sha256(f"attack:{pair.item_id}".encode()).hexdigest())
    nth = pd.Series([pair.cluster for pair in drawn]).groupby([pair.cluster for pair in drawn]).cumcount()
    chosen = {drawn[place].item_id for place in nth.sort_values(kind="stable").index[:limit]}
    return [pair for pair in usable if pair.item_id in chosen]


@dataclass(frozen=True)
class Suite:
    """A list of attacks."""

    edits: tuple[str, ...] = tuple(EDITS)  # names of `judgekit.bias.edits.EDITS`, or of its controls
    part: Part = "tested"  # of the wordings
    queries: int | None = 12  # verdicts a search may ask for on each pair, two for a trial of an edit; None: no search
    seed: int = 0  # of the wordings drawn
    measure: Measure = "success"  # what a search aims at, and the mean is taken of

    def __post_init__(self) -> None:
        if unknown := [name for name in self.edits if name not in EDITS and name not in CONTROLS]:
            raise KeyError(f"no edit {unknown[0]!r}; {known_names(unknown[0], [*EDITS, *CONTROLS])}")
        if len(set(self.edits)) < len(self.edits):
            raise ValueError(f"an attack is named twice among {', '.join(self.edits)}")
        if not self.edits and self.queries is None:
            raise ValueError("a suite without attacks")
        if self.queries is not None and self.queries < 2:
            raise ValueError("a search needs two queries a pair at least")
        if self.measure not in get_args(Measure):
            raise ValueError(f"an attack is measured by {' or '.join(get_args(Measure))}, not by {self.measure!r}")

    def attacked(self, pair: PreferencePair, name: str) -> PreferencePair:
        worse = worse_side(pair)
        changed: Any = {worse: tampered(name, pair.asked, getattr(pair, worse), self.part, self.seed)}
        return replace(pair, **changed)

    def standing(self, pair: PreferencePair, verdicts: ByOrder) -> int:
        """1 where the worse response wins, -1 where it loses, else 0."""
        if self.measure == "averaged":
            return _side(value_of(pair, verdicts))
        given = {verdicts[order].verdict for order in ORDERS}
        return {pair.label: -1, SWAPPED[pair.label]: 1}.get(given.pop(), 0) if len(given) == 1 else 0


def _side(value: float) -> int:
    """1 where the worse response wins by a value of `value_of`, -1 where it loses; 0 where rounding alone decides."""
    return int(np.sign(round(value - 0.5, 6)))


def _outcome(pair: PreferencePair, name: str, clean: ByOrder, after: ByOrder, tried: bool = True) -> tuple[Any, ...]:
    """A row of `OUTCOMES`: what the worse response got before and after an attack on the ``pair``, by order."""
    parts = ((clean, pair.label), (after, SWAPPED[pair.label]), (after, "tie"))
    got = [verdicts[order].verdict == wanted for verdicts, wanted in parts for order in ORDERS]
    averaged = (_side(value_of(pair, clean)) < 0, _side(value_of(pair, after)) > 0)
    return (pair.item_id, pair.cluster, name, *got, *averaged, tried)


def _counts_of(outcomes: pd.DataFrame) -> Floats:
    """What each pair adds to every measure, as (hits, cases): shape (n_rows, 4, 2), in the order of `MEASURES`."""
    lost, won, tied = (outcomes[[f"{what}_ab", f"{what}_ba"]].to_numpy(bool) for what in ("lost", "won", "tied"))
    both = lost.all(1)
    parts = [(both & won.all(1), both), ((lost & won).sum(1), lost.sum(1)), ((lost & tied).sum(1), lost.sum(1))]
    right, turned = (outcomes[f"{what}_averaged"].to_numpy(bool) for what in ("lost", "won"))
    parts.append((right & turned, right))
    return np.stack([np.stack(part, -1) for part in parts], 1) * outcomes["tried"].to_numpy(float)[:, None, None]


def success_of(outcomes: pd.DataFrame, n_boot: int = 10_000, seed: int = 0) -> dict[str, Number]:
    """Success of one attack, from a row of `OUTCOMES` per pair; a measure without a case is left out.

    ``success`` (of the pairs lost in both orders, those won in both), ``success_one_order`` (of the cells lost, those
    won), ``tied`` (those that now tie) and ``averaged`` (of the pairs lost by `value_of`, those won by it). All count
    pairs that the attack was tried on.
    """
    counts = _counts_of(outcomes)
    return {
        measure: interval(share_of, outcomes["cluster"], counts[:, i], n=cases, spec=".1%", n_boot=n_boot, seed=seed)
        for i, measure in enumerate(MEASURES)
        if (cases := int(counts[:, i, 1].sum()))
    }


def mean_success(
    outcomes: pd.DataFrame, measure: str = "success", n_boot: int = 10_000, seed: int = 0
) -> Number | None:
    """Mean of the attacks' success, each weighing the same, ``n`` being pairs with a case; None if one has none."""
    counts, once, _ = _by_attack(outcomes, measure)
    if not counts[..., 1].sum(0).all():
        return None
    n = int(counts[..., 1].any(1).sum())
    return interval(
        lambda sums: share_of(sums).mean(-1), once["cluster"], counts, n=n, spec=".1%", n_boot=n_boot, seed=seed
    )


def success_reduction(
    before: pd.DataFrame, after: pd.DataFrame, measure: str = "success", n_boot: int = 10_000, seed: int = 0
) -> Number:
    """One less the ratio of the mean success after and before a defence, below 0 where it is worse than none.
    ValueError if pairs or attacks differ, or nothing succeeded before."""
    (first, once, names), (second, _, others) = (_by_attack(table, measure) for table in (before, after))
    if names != others or set(before["item_id"]) != set(after["item_id"]):
        raise ValueError("the two tables are not of the same attacks on the same pairs")
    counts = np.stack([first, second], 1)
    if not share_of(counts.sum(0)).mean(-1)[0]:
        raise ValueError("no attack succeeded before: there is nothing to reduce")

    def share_taken(sums: Floats) -> Floats:
        means = share_of(sums).mean(-1)
        return 1 - means[..., 1] / np.maximum(means[..., 0], 1e-12)

    taken = interval(share_taken, once["cluster"], counts, spec=".0%", n_boot=n_boot, seed=seed)
    return taken if taken.low is None else replace(taken, low=max(taken.low, -1.0))


def _by_attack(outcomes: pd.DataFrame, measure: str) -> tuple[Floats, pd.DataFrame, list[str]]:
    """(hits, cases) by pair and attack, shape (n_pairs, n_attacks, 2); a row of each pair; the attacks."""
    parts = {str(name): part for name, part in outcomes.groupby("attack", sort=False)}
    counts = [_counts_of(part)[:, MEASURES.index(measure)] for part in parts.values()]
    return np.stack(counts, 1), next(iter(parts.values())), list(parts)


def _clean(outcomes: pd.DataFrame) -> pd.DataFrame:
    """A row of each pair, with the share of orders in which the better response was preferred before any attack."""
    once = outcomes.drop_duplicates("item_id")
    return once[["item_id", "cluster"]].assign(right=once[["lost_ab", "lost_ba"]].to_numpy(float).mean(1))


def clean_accuracy(outcomes: pd.DataFrame, n_boot: int = 10_000, seed: int = 0) -> Number:
    """Share of (pair, order) cells in which the judge preferred the better response before any attack."""
    once = _clean(outcomes)
    return interval(share_of, once["cluster"], once["right"], spec=".1%", n_boot=n_boot, seed=seed)


def clean_cost(before: pd.DataFrame, after: pd.DataFrame, n_boot: int = 10_000, seed: int = 0) -> Number:
    """Clean accuracy without a defence less that with it, on the same pairs; ValueError if the pairs differ."""
    first, second = _clean(before), _clean(after)
    if first["item_id"].tolist() != second["item_id"].tolist():
        raise ValueError("the two tables are not of the same pairs")
    lost = first["right"].to_numpy() - second["right"].to_numpy()
    return interval(share_of, first["cluster"], lost, spec=".1%", n_boot=n_boot, seed=seed, signed=True)


@dataclass
class Target:
    """A pair under attack: as it is now, how it stands, what was tried, and after how many queries it won."""

    pair: PreferencePair
    value: float
    verdicts: ByOrder
    tried: tuple[str, ...] = ()
    queries: int | None = None


def value_of(pair: PreferencePair, verdicts: ByOrder) -> float:
    """Mean over the orders of the attacked response's probability and half that of a tie, else of its credit."""
    side, values = SWAPPED[pair.label], []
    for one in verdicts.values():
        p = one.p_a if side == "A" else one.p_b
        values.append({side: 1.0, "tie": 0.5}.get(one.verdict, 0.0) if p is None else p + (one.p_tie or 0) / 2)
    return float(np.mean(values))


def _next_edit(gains: Mapping[str, list[float]], tried: Sequence[str], rng: np.random.Generator) -> str | None:
    """Thompson sampling, by what each edit brought so far on any pair, of those not tried on this one; None if none."""
    left = [arm for arm in ARMS if arm not in tried]
    if not left:
        return None
    counts = np.array([len(gains[arm]) for arm in left])
    means = np.array([sum(gains[arm]) for arm in left]) / (counts + 1)
    return left[int(np.argmax(means + PRIOR / np.sqrt(counts + 1) * rng.normal(size=len(left))))]


def search(ask: Asking, pairs: Pairs, clean: Sequence[ByOrder], suite: Suite) -> list[Target]:
    """Pairs attacked by searching, in their order; those that the worse response had not lost stay as they are.

    Edits are tried one after another, and those that help are built upon, in the manner of BITE (arXiv:2605.26156).
    ``ask`` gives the verdicts on each pair, ``clean`` those before.
    """
    rng, gains = np.random.default_rng(suite.seed), {arm: list[float]() for arm in ARMS}
    targets = [Target(pair, value_of(pair, given), given) for pair, given in zip(pairs, clean, strict=True)]
    lost = [one for one in targets if suite.standing(one.pair, one.verdicts) < 0]
    for spent in range(2, (suite.queries or 0) + 1, 2):  # a trial asks in both orders
        trials = []
        for target in lost:
            arm = None if target.queries else _next_edit(gains, target.tried, rng)
            if arm is not None:
                trials.append((target, arm, suite.attacked(target.pair, arm)))
        given = ask([pair for _, _, pair in trials]) if trials else []
        for (target, arm, pair), verdicts in zip(trials, given, strict=True):
            value = value_of(pair, verdicts)
            gains[arm].append(value - target.value)
            target.tried = (*target.tried, arm)
            if value > target.value:
                target.pair, target.value, target.verdicts = pair, value, verdicts
            if suite.standing(target.pair, target.verdicts) > 0:
                target.queries = spent
    return targets


@dataclass(frozen=True)
class AttackReport:
    """What a suite did to a judge."""

    judge: str
    outcomes: pd.DataFrame  # one row per attack and pair: `OUTCOMES`
    success: dict[str, dict[str, Number]]  # attack to those of `MEASURES` that have a case
    mean_success: Number | None  # by the suite's measure
    mean_success_one_order: Number | None
    clean_accuracy: Number  # same pairs, before any attack: a judge that never changes its mind has to show it has one
    by_queries: dict[int, float]  # share of the pairs that the search had won after so many queries a pair


def attack(
    judge: Judge,
    pairs: Pairs,
    suite: Suite | None = None,
    store: VerdictStore | None = None,
    n_boot: int = 10_000,
    seed: int = 0,
    progress: bool = True,
) -> AttackReport:
    """The report of a suite of attacks (all by default) on the pairs that are `attackable`.

    With a ``store`` of verdicts an interrupted run goes on where it was. ``n_boot`` and ``seed`` are of the intervals.
    ValueError if the judge looks items up (replays, yardsticks), no pair can be attacked, two share an id
    (as of several sets they may), or the judge failed on one: that is no verdict that an attack did not turn.
    """
    if judge.sees_item:
        raise ValueError(f"{judge.name} looks items up: it would not see what an attack changes")
    suite, opened = suite or Suite(), store or VerdictStore(":memory:")
    chosen = unique_items(attackable(pairs))
    if not chosen:
        raise ValueError("no pair can be attacked: each needs a label A or B, and responses that differ")

    def ask(changed: Pairs) -> list[ByOrder]:
        given = run_judge(judge, changed, opened, ORDERS, progress)
        for one in given:
            if one.status == "error":
                raise ValueError(f"{judge.name} failed on {one.item_id} ({one.order}): {one.raw}")
        return [{one.order: one for one in both} for both in zip(given[::2], given[1::2], strict=True)]

    clean = ask(chosen)
    edited = [(name, k, suite.attacked(pair, name)) for name in suite.edits for k, pair in enumerate(chosen)]
    # Asked together: prompts of a pair begin alike, and what they share is read once.
    rows = [
        _outcome(chosen[k], name, clean[k], after)
        for (name, k, _), after in zip(edited, ask([pair for *_, pair in edited]), strict=True)
    ]
    by_queries: dict[int, float] = {}
    if suite.queries is not None:
        targets = search(ask, chosen, clean, suite)
        found = list(zip(targets, clean, strict=True))
        rows += [_outcome(one.pair, "search", before, one.verdicts, bool(one.tried)) for one, before in found]
        needed = [one.queries or np.inf for one, before in found if suite.standing(one.pair, before) < 0]
        by_queries = {q: float(np.mean([n <= q for n in needed])) for q in range(2, suite.queries + 1, 2) if needed}
    outcomes = pd.DataFrame(rows, columns=list(OUTCOMES))
    success = {str(name): success_of(part, n_boot, seed) for name, part in outcomes.groupby("attack", sort=False)}
    mean, in_one_order = (mean_success(outcomes, measure, n_boot, seed) for measure in (suite.measure, MEASURES[1]))
    right_before = clean_accuracy(outcomes, n_boot, seed)
    return AttackReport(judge.name, outcomes, success, mean, in_one_order, right_before, by_queries)
