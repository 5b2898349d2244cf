"""A black-box search: edits are tried one after another, and those that help are kept and built upon.

A bandit over edits (Thompson sampling): which edit is tried on a pair is drawn by what the edits brought so far, on any
pair. The attacker sees verdicts and, where the judge gives them, probabilities; nothing else. In the manner of BITE
(arXiv:2605.26156), with the edits of `judgekit.bias.tampering` as arms.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from judgekit.bias.attacks.pairs import worse_side
from judgekit.bias.tampering import EDITS, REPLACING, tampered
from judgekit.records import ORDERS, SWAPPED, PreferencePair, Verdict

ARMS = tuple(name for name in EDITS if name not in REPLACING and name != "combined")
PRIOR = 0.2  # standard deviation of what an edit is thought to bring before it was tried


@dataclass(frozen=True)
class SearchBudget:
    """How far a search may go."""

    queries: int = 12  # verdicts asked for on each pair; a trial needs two, one in either order
    arms: tuple[str, ...] = ARMS  # edits that may be tried, each once per pair

    def __post_init__(self) -> None:
        if self.queries < 2 or not self.arms:
            raise ValueError("a search needs two queries a pair at least, and an edit to try")


@dataclass
class Target:
    """A pair under attack: as it is now, how it stands, what was tried and kept, and after how many queries it won."""

    pair: PreferencePair
    value: float
    verdicts: dict
    tried: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    queries: int | None = None

    @property
    def won(self) -> bool:
        """Whether the attacked response wins in both orders."""
        return all(self.verdicts[order].verdict == SWAPPED[self.pair.label] for order in ORDERS)


def value_of(pair: PreferencePair, verdicts: Mapping[str, Verdict]) -> float:
    """How the attacked response stands: mean over the orders of its probability and half that of a tie, in [0, 1].

    A judge without probabilities is read by its verdicts.
    """
    side = SWAPPED[pair.label]
    found = []
    for verdict in verdicts.values():
        if verdict.p_a is not None:
            found.append((verdict.p_a if side == "A" else verdict.p_b) + (verdict.p_tie or 0) / 2)
        else:
            found.append({side: 1.0, "tie": 0.5}.get(verdict.verdict, 0.0))
    return float(np.mean(found))


class Bandit:
    """What each edit brought, and which one to try next."""

    def __init__(self, arms: Sequence[str], seed: int = 0) -> None:
        self.arms, self.rng = arms, np.random.default_rng(seed)
        self.gains = {arm: [] for arm in arms}

    def choose(self, tried: Sequence[str]) -> str | None:
        """An edit that was not tried on this pair; None when all were."""
        left = [arm for arm in self.arms if arm not in tried]
        if not left:
            return None
        counts = np.array([len(self.gains[arm]) for arm in left])
        means = np.array([sum(self.gains[arm]) for arm in left]) / (counts + 1)
        return left[int(np.argmax(means + PRIOR / np.sqrt(counts + 1) * self.rng.normal(size=len(left))))]

    def learn(self, arm: str, gain: float) -> None:
        """Note what a trial brought."""
        self.gains[arm].append(gain)

    def table(self) -> dict[str, tuple[int, float]]:
        """Edit to trials and mean gain in the attacked response's value."""
        return {arm: (len(gains), float(np.mean(gains)) if gains else 0.0) for arm, gains in self.gains.items()}


def search(
    ask: Callable[[list[PreferencePair]], Mapping[str, dict[str, Verdict]]],
    pairs: Sequence[PreferencePair],
    clean: Mapping[str, dict[str, Verdict]],
    budget: SearchBudget | None = None,
    part: str = "tested",
    seed: int = 0,
) -> tuple[list[Target], Bandit]:
    """Pairs (with a label A or B) attacked by searching, as targets in their order, and the bandit.

    Pairs that the worse response had not lost in both orders are left as they are. ``ask`` gives verdicts by item and
    order, ``clean`` what the judge said before. ``part``: whose wordings are used, ``"tested"`` or ``"trained"``.
    """
    budget = budget or SearchBudget()
    bandit = Bandit(budget.arms, seed)
    targets = [Target(pair, value_of(pair, clean[pair.item_id]), clean[pair.item_id]) for pair in pairs]
    lost = [t for t in targets if all(t.verdicts[order].verdict == t.pair.label for order in ORDERS)]
    for spent in range(2, budget.queries + 1, 2):
        trials = []
        for target in lost:
            arm = None if target.won else bandit.choose(target.tried)
            if arm is not None:
                trials.append((target, arm, edited(target.pair, arm, part, seed)))
        said = ask([pair for _, _, pair in trials]) if trials else {}
        for target, arm, pair in trials:
            verdicts = said[pair.item_id]
            value = value_of(pair, verdicts)
            bandit.learn(arm, value - target.value)
            target.tried = (*target.tried, arm)
            if value > target.value:
                target.pair, target.value, target.verdicts, target.kept = pair, value, verdicts, (*target.kept, arm)
            if target.won and target.queries is None:
                target.queries = spent
    return targets, bandit


def edited(pair: PreferencePair, arm: str, part: str, seed: int) -> PreferencePair:
    """The pair with one edit more on its worse response."""
    worse = worse_side(pair)
    return replace(pair, **{worse: tampered(arm, pair.asked, getattr(pair, worse), part, seed)})


def success_by_queries(
    targets: Sequence[Target], clean: Mapping[str, Mapping[str, Verdict]], budget: SearchBudget
) -> dict[int, float]:
    """Share of the pairs that were lost in both orders and are won in both, after so many queries a pair."""
    lost = [t for t in targets if all(clean[t.pair.item_id][order].verdict == t.pair.label for order in ORDERS)]
    spent = range(2, budget.queries + 1, 2)
    return {q: float(np.mean([t.queries is not None and t.queries <= q for t in lost])) for q in spent} if lost else {}
