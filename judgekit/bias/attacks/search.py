"""A black-box search: edits are tried one after another, and those that help are kept and built upon.

A bandit over edits (Thompson sampling): which edit is tried on a pair is drawn by what the edits brought so far, on any
pair. The attacker sees verdicts and, where the judge gives them, probabilities; nothing else. In the manner of BITE
(arXiv:2605.26156), with the edits of `judgekit.bias.tampering` as arms.
"""

from dataclasses import dataclass, replace

import numpy as np

from judgekit.bias.attacks.pairs import worse_side
from judgekit.bias.tampering import EDITS, REPLACING, tampered
from judgekit.records import ORDERS, SWAPPED

ARMS = tuple(name for name in EDITS if name not in REPLACING and name != "combined")
PRIOR = 0.2  # standard deviation of what an edit is thought to bring before it was tried


@dataclass(frozen=True)
class SearchBudget:
    """How far a search may go.

    Attributes
    ----------
    queries : int
        Verdicts asked for on each pair; a trial needs two, one in either order.
    arms : tuple of str
        Edits that may be tried, each once per pair.
    """

    queries: int = 12
    arms: tuple[str, ...] = ARMS

    def __post_init__(self):
        if self.queries < 2 or not self.arms:
            raise ValueError("a search needs two queries a pair at least, and an edit to try")


@dataclass
class Target:
    """A pair under attack: as it is now, how it stands, what was tried and kept, and after how many queries it won."""

    pair: object
    value: float
    verdicts: dict
    tried: tuple = ()
    kept: tuple = ()
    queries: int | None = None

    @property
    def won(self):
        """Whether the attacked response wins in both orders."""
        return all(self.verdicts[order].verdict == SWAPPED[self.pair.label] for order in ORDERS)


def value_of(pair, verdicts):
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
    """What each edit brought, and which one to try next.

    Parameters
    ----------
    arms : tuple of str
    seed : int
    """

    def __init__(self, arms, seed=0):
        self.arms, self.rng = arms, np.random.default_rng(seed)
        self.gains = {arm: [] for arm in arms}

    def choose(self, tried):
        """An edit that was not tried on this pair; None when all were."""
        left = [arm for arm in self.arms if arm not in tried]
        if not left:
            return None
        counts = np.array([len(self.gains[arm]) for arm in left])
        means = np.array([sum(self.gains[arm]) for arm in left]) / (counts + 1)
        return left[int(np.argmax(means + PRIOR / np.sqrt(counts + 1) * self.rng.normal(size=len(left))))]

    def learn(self, arm, gain):
        """Note what a trial brought."""
        self.gains[arm].append(gain)

    def table(self):
        """Edit to trials and mean gain in the attacked response's value."""
        return {arm: (len(gains), float(np.mean(gains)) if gains else 0.0) for arm, gains in self.gains.items()}


def search(ask, pairs, clean, budget=None, part="tested", seed=0):
    """Attack pairs by searching.

    Parameters
    ----------
    ask : callable
        Pairs to item, order and verdict (dict of dict).
    pairs : list of PreferencePair
        With a label A or B.
    clean : dict of str to dict of str to Verdict
        What the judge said of them before, by item and order.
    budget : SearchBudget, optional
    part : {"tested", "trained"}
        Whose wordings are used.
    seed : int

    Returns
    -------
    targets : list of Target
        In the order of the pairs. Pairs that the worse response had not lost in both orders are left as they are.
    bandit : Bandit
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


def edited(pair, arm, part, seed):
    """The pair with one edit more on its worse response."""
    worse = worse_side(pair)
    return replace(pair, **{worse: tampered(arm, pair.asked, getattr(pair, worse), part, seed)})


def success_by_queries(targets, clean, budget):
    """Share of the pairs that were lost in both orders and are won in both, after so many queries a pair.

    Returns
    -------
    dict of int to float
    """
    lost = [t for t in targets if all(clean[t.pair.item_id][order].verdict == t.pair.label for order in ORDERS)]
    spent = range(2, budget.queries + 1, 2)
    return {q: float(np.mean([t.queries is not None and t.queries <= q for t in lost])) for q in spent} if lost else {}
