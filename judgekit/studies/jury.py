"""Juries of judges whose verdicts are stored: votes, averaged probabilities, weights from other prompts.

The label with the highest total is the jury's, *tie* where the highest are level (where a set allows none, its protocol
reads that as the response shown first). A reply without a verdict abstains; where all abstain, so does the jury.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from judgekit.records import LABELS, ORDERS, PreferencePair, Verdict
from judgekit.scoring.items import cells_of, credits_of, item_table
from judgekit.scoring.metrics import NO_VERDICT, label_codes
from judgekit.scoring.protocols import Protocol, protocol_of, read_verdict, references_of
from judgekit.scoring.scores import decided_probabilities
from judgekit.stats import Array, Floats, prompt_folds, ratio

RIDGE = 1.0  # penalty on weights, in items: few against hundreds; members who say the same share a weight
_LEVEL = 1e-9  # totals closer than this are level: sums of probabilities in another order differ in the last digits
_TIE = LABELS.index("tie")
ByOrder = Mapping[str, Floats]
Cells = dict[tuple[str, str], Verdict]  # by item and order


@dataclass(frozen=True)
class Panel:
    """Judges who all judged the same pairs, matched by item and order.

    ValueError where a member lacks an item or failed on one, has a stranger or one twice, or saw the exchanged order of
    some items only; or where the set's protocol drops items, for members would be scored on different ones.
    """

    benchmark: str  # the set whose primary protocol applies
    pairs: Sequence[PreferencePair]
    verdicts: Mapping[str, list[Verdict]]  # by member (slug)

    def __post_init__(self) -> None:
        if not self.pairs or not self.verdicts:
            raise ValueError(f"{self.benchmark}: {len(self.pairs)} pairs and {len(self.verdicts)} members are no panel")
        if self.protocol.drops:
            raise ValueError(f"{self.benchmark}: '{self.protocol.name}' drops items, for each member others")
        assert self.cells

    @property
    def protocol(self) -> Protocol:
        """The set's primary one."""
        return protocol_of(self.benchmark)

    @property
    def members(self) -> list[str]:
        """Slugs, in the order given."""
        return list(self.verdicts)

    @cached_property
    def cells(self) -> dict[str, Cells]:
        """Member to its verdicts by item and order."""
        return {member: _whole(member, cells_of(given), self.pairs) for member, given in self.verdicts.items()}

    @cached_property
    def orders(self) -> list[str]:
        """The orders that every member has."""
        first = self.pairs[0].item_id
        return [order for order in ORDERS if all((first, order) in cells for cells in self.cells.values())]

    def _by_order(self, rows_of: Callable[[list[Verdict]], Floats]) -> dict[str, Floats]:
        """Order to what some rows of every member's verdicts hold, shape (n_items, n_members, 3)."""
        items = [pair.item_id for pair in self.pairs]
        return {
            order: np.stack([rows_of([cells[item, order] for item in items]) for cells in self.cells.values()], 1)
            for order in self.orders
        }

    def _votes(self, given: list[Verdict]) -> Floats:
        read = [read_verdict(verdict, self.protocol) if verdict.status == "ok" else None for verdict in given]
        return np.eye(NO_VERDICT + 1)[label_codes(read)][:, : len(LABELS)]

    def _beliefs(self, given: list[Verdict]) -> Floats:
        stated = np.array([(one.p_a, one.p_b, one.p_tie) for one in given], float)
        if self.protocol.forced:  # the mass of ties is split in the proportion of the other two
            stated = np.column_stack([decided_probabilities(stated), np.where(np.isnan(stated[:, 0]), np.nan, 0)])
        unread = np.array([one.status != "ok" or one.p_a is None for one in given])
        return np.where(unread[:, None], self._votes(given), stated)

    @cached_property
    def votes(self) -> dict[str, Floats]:
        """Order to votes, shape (n_items, n_members, 3): one at the label given, zeros where none was read."""
        return self._by_order(self._votes)

    @cached_property
    def beliefs(self) -> dict[str, Floats]:
        """Order to probabilities, shape (n_items, n_members, 3): of a member that states none, its votes."""
        return self._by_order(self._beliefs)

    @cached_property
    def references(self) -> tuple[Array, Array]:
        """Reference labels of every scored item or vote: positions of the items and label codes, shape (n_rows,)."""
        labels = references_of(self.pairs, self.protocol)
        rows = [(item, label) for item, pair in enumerate(self.pairs) for label in labels[pair.item_id]]
        return np.array([item for item, _ in rows], int), label_codes(label for _, label in rows)

    @cached_property
    def clusters(self) -> list[str]:
        """The prompt of every row of `credits`."""
        return [self.pairs[item].cluster for item in self.references[0]]

    def credits_of(self, verdicts: Sequence[Verdict]) -> Floats:
        """What verdicts on all of the panel's pairs earn, shape (n_rows,)."""
        return credits_of(item_table(verdicts, self.pairs, self.protocol), self.protocol)

    @cached_property
    def credits(self) -> Floats:
        """What every member earns, shape (n_rows, n_members)."""
        wanted = [(pair.item_id, order) for pair in self.pairs for order in self.orders]
        return np.stack([self.credits_of([cells[cell] for cell in wanted]) for cells in self.cells.values()], 1)


def _whole(member: str, cells: Cells, pairs: Sequence[PreferencePair]) -> Cells:
    """A member's verdicts, where there is one for each item in each of its orders, and none failed."""
    orders = ORDERS if any(order == "ba" for _, order in cells) else ("ab",)
    wanted = {(pair.item_id, order) for pair in pairs for order in orders}
    if wanted != set(cells):
        item, order = min(wanted ^ set(cells))
        which = "no" if (item, order) in wanted else "a stray"
        raise ValueError(f"{member}: {which} verdict for {item} in order {order}")
    if failed := [verdict.item_id for verdict in cells.values() if verdict.status == "error"]:
        raise ValueError(f"{member}: no reply for item {failed[0]}")
    return cells


def majority(panel: Panel) -> list[Verdict]:
    """A vote for every member: verdicts of ``jury/majority``, whose scores are the votes."""
    return _ruled(panel, "majority", {order: votes.sum(1) for order, votes in panel.votes.items()})


def mean_probability(panel: Panel) -> list[Verdict]:
    """The members' probabilities averaged: verdicts of ``jury/mean-probability``; a member without any is certain."""
    totals = {order: beliefs.sum(1) for order, beliefs in panel.beliefs.items()}
    shares = {order: ratio(total, total.sum(1, keepdims=True)) for order, total in totals.items()}
    return _ruled(panel, "mean-probability", totals, shares)


def cross_fitted(panel: Panel, n_folds: int = 5, seed: int = 0) -> list[Verdict]:
    """Probabilities pooled with weights learnt on other folds' prompts: verdicts of ``jury/crossfit``, no scores."""
    folds = prompt_folds([f"{pair.benchmark}/{pair.cluster}" for pair in panel.pairs], n_folds, seed)
    totals = {order: np.empty((len(panel.pairs), len(LABELS))) for order in panel.orders}
    for fold in range(n_folds):
        weights, tie_bias = pool_weights(panel, folds != fold)
        for order, total in totals.items():
            pooled = np.einsum("j,njk->nk", weights, panel.beliefs[order]) + tie_bias * np.eye(len(LABELS))[_TIE]
            total[folds == fold] = pooled[folds == fold]
    if "tie" not in panel.protocol.labels:
        for total in totals.values():
            total[:, _TIE] = -np.inf
    return _ruled(panel, "crossfit", totals, {order: softmax(total, axis=1) for order, total in totals.items()})


def pool_weights(panel: Panel, chosen: Array) -> tuple[Floats, float]:
    """Weights (at least 0) and bias of *tie* of the pool P(label) ~ exp(sum of weight times probability)."""
    items, labels = panel.references
    items, labels = items[chosen[items]], labels[chosen[items]]
    beliefs = np.concatenate([panel.beliefs[order][items] for order in panel.orders])
    tie = np.broadcast_to(np.eye(len(LABELS))[_TIE], (len(beliefs), 1, len(LABELS)))
    inputs, wanted = np.concatenate([beliefs, tie], 1), np.tile(labels, len(panel.orders))
    closed = [code for code, label in enumerate(LABELS) if label not in panel.protocol.labels]

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = np.einsum("j,njk->nk", weights, inputs)
        scores[:, closed] = -np.inf
        logs = scores - logsumexp(scores, axis=1, keepdims=True)
        right = inputs[np.arange(len(wanted)), :, wanted].sum(0)
        slope = np.einsum("nk,njk->j", np.exp(logs), inputs) - right + RIDGE * weights
        return -logs[np.arange(len(wanted)), wanted].sum() + RIDGE / 2 * weights @ weights, slope

    start, bounds = np.zeros(inputs.shape[1]), [(0, None)] * len(panel.members) + [(None, None)]
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-12}).x
    return best[:-1], 0.0 if closed else float(best[-1])


def _ruled(panel: Panel, rule: str, totals: ByOrder, shares: ByOrder | None = None) -> list[Verdict]:
    """Verdicts of ``jury/<rule>`` from totals by order, shape (n_items, 3): the highest wins."""
    verdicts = []
    for row, pair in enumerate(panel.pairs):
        for order in panel.orders:
            total, cell = totals[order][row], (pair.item_id, f"jury/{rule}", order)
            if not panel.votes[order][row].any():
                verdicts.append(Verdict(*cell, None, status="unparsed"))
                continue
            level = (total >= total.max() - _LEVEL).sum() > 1
            stated = dict(zip(("p_a", "p_b", "p_tie"), shares[order][row].tolist(), strict=True)) if shares else {}
            label = "tie" if level else LABELS[total.argmax()]
            verdicts.append(Verdict(*cell, label, score_a=float(total[0]), score_b=float(total[1]), **stated))
    return verdicts
