"""What judges and raters say of labelled pairs: a score per pair, high where the label looks right."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from judgekit.judges import Judge
from judgekit.records import ORDERS, PreferencePair, Verdict
from judgekit.scoring import run_judge
from judgekit.scoring.store import VerdictStore
from judgekit.stats import Array, Floats
from judgekit.training.bank import share_of

if TYPE_CHECKING:  # it brings torch
    from judgekit.studies.selection.views import Views


def of_label(p_a: Array, prefers_a: Array) -> Floats:
    """The probability of the label, from the probability of A and whether the label is A; shape (n_pairs,) each."""
    return np.where(prefers_a, p_a, 1 - np.asarray(p_a))


def decided(pair: PreferencePair) -> bool:
    """Whether a pair's label is A; ValueError for a tie or no label: there is no preferred response."""
    if pair.label not in ("A", "B"):
        raise ValueError(f"{pair.where}: the label is {pair.label!r}; only pairs labelled A or B can be selected")
    return pair.label == "A"


def judge_scores(verdicts: Sequence[Verdict], pairs: Sequence[PreferencePair]) -> Floats:
    """A judge's probability of each pair's label (A or B), averaged over both orders: shape (n_pairs,), in [0, 1].

    The judge must not have been trained on these pairs. Half of the probability of a tie goes to either side; a verdict
    without probabilities counts as certain, and a verdict "tie" as one half. ValueError where a pair lacks a usable
    verdict in one of the orders (`judgekit.scoring.run_judge` gives both), or is not labelled A or B.
    """
    said = {(verdict.item_id, verdict.order): verdict for verdict in verdicts if verdict.verdict is not None}
    scores = []
    for pair in pairs:
        missing = [order for order in ORDERS if (pair.item_id, order) not in said]
        if missing:
            raise ValueError(f"{pair.where}: no usable verdict in order {missing[0]}; judge it again, or leave it out")
        p_a = np.mean([first_share(said[pair.item_id, order]) for order in ORDERS])
        scores.append(p_a if decided(pair) else 1 - p_a)
    return np.array(scores)


def first_share(verdict: Verdict) -> float:
    """Probability that A is better by one verdict, a tie shared between A and B."""
    if verdict.p_a is None:
        return {"A": 1.0, "B": 0.0, "tie": 0.5}[verdict.verdict]  # type: ignore[index]  # a verdict that was read
    return verdict.p_a + (verdict.p_tie or 0.0) / 2


def rater_scores(
    rater: Callable[[list[tuple[str, str]]], Array], pairs: Sequence[PreferencePair], by: str = "margin"
) -> Floats:
    """Scores of pairs labelled A or B by a rater of single responses, on the rater's own scale: shape (n_pairs,).

    ``rater``: (question, response) to scores, higher for better; ``by``: margin, the preferred response's score less
    the other's, or chosen, the preferred response's alone. ValueError where the rater gives another number of scores
    than it was asked for, or one that is not finite.
    """
    if by not in ("margin", "chosen"):
        raise ValueError(f"by={by!r} is neither 'margin' nor 'chosen'")
    sides = [pair.responses if decided(pair) else pair.responses[::-1] for pair in pairs]
    asked = [(pair.asked, side[0]) for pair, side in zip(pairs, sides, strict=True)]
    if by == "margin":
        asked += [(pair.asked, side[1]) for pair, side in zip(pairs, sides, strict=True)]
    found = np.asarray(rater(asked), float)
    if found.shape != (len(asked),):
        raise ValueError(f"the rater gave scores of shape {found.shape} for {len(asked)} responses")
    if not np.isfinite(found).all():
        place = int(np.flatnonzero(~np.isfinite(found))[0]) % len(pairs)
        raise ValueError(f"{pairs[place].where}: the rater's score of a response is {found[~np.isfinite(found)][0]}")
    return found[: len(pairs)] - found[len(pairs) :] if by == "margin" else found


def by_judge(judge: Judge) -> Callable[["Views"], Floats]:
    """A judge from elsewhere as a scorer; it must not have been trained on what it scores."""
    store = VerdictStore(":memory:")

    def scores(views: "Views") -> Floats:
        found, sources = np.zeros(len(views)), np.asarray(views.sources)
        for name in np.unique(sources):  # ids are unique within a set
            own = np.flatnonzero(sources == name)
            pairs = [views.pairs[i] for i in own]
            found[own] = judge_scores(run_judge(judge, pairs, store, progress=False), pairs)
        return found

    return scores


def by_rater(rater: Callable[[list[tuple[str, str]]], Array], by: str = "margin") -> Callable[["Views"], Floats]:
    """A rater of single responses as a scorer (`rater_scores`)."""
    return lambda views: rater_scores(rater, views.pairs, by)


def folds_of(questions: Sequence[str], n_folds: int, seed: int = 0) -> npt.NDArray[np.int_]:
    """The fold of each question, by its words alone: equal questions stand in one fold, wherever they occur.

    In [0, n_folds); other seeds give other folds. ValueError for fewer than two folds.
    """
    if n_folds < 2:
        raise ValueError(f"{n_folds} folds: what scores a pair would have learnt from it")
    return np.array([int(share_of(question, f"fold {seed}") * n_folds) for question in questions], int)
