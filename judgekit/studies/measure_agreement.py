"""How far people, and judges, agree with each other: the ceiling of every table, and raters without labels."""

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from judgekit.records import LABELS, ORDERS, SWAPPED, PreferencePair, Verdict, majority_label
from judgekit.scoring import metrics
from judgekit.scoring.metrics import MISSING, coincidences, fleiss_kappa, krippendorff_alpha, rating_counts
from judgekit.scoring.protocols import chosen_votes, joined_verdict
from judgekit.scoring.scores import N_BOOT
from judgekit.stats import Number, interval, share_of

Pairs = Sequence[PreferencePair]
Judges = Mapping[str, Sequence[Verdict]]


def _annotators_of(pairs: Pairs) -> list[str]:
    """The annotators of a set on which every item has the same ones; ValueError otherwise (`vote_agreement`)."""
    if not pairs:
        raise ValueError("no pairs")
    names = list(pairs[0].votes)
    for pair in pairs:
        if set(pair.votes) != set(names):
            raise ValueError(f"{pair.where}: votes of {', '.join(pair.votes) or 'nobody'}, not of {', '.join(names)}")
    return names


def have_one_panel(pairs: Pairs) -> bool:
    """Whether every item was annotated by the same people, two or more."""
    panels = {frozenset(pair.votes) for pair in pairs}
    return len(panels) == 1 and len(next(iter(panels))) > 1


def annotators_against_majority(pairs: Pairs, n_boot: int = N_BOOT, seed: int = 0) -> dict[str, Number]:
    """Share of items, by annotator, on which they say what the majority says, their own vote included.

    Items without a majority are left out.
    """
    pairs = [pair for pair in pairs if pair.label is not None]
    clusters = [pair.cluster for pair in pairs]
    return {
        name: interval(
            share_of, clusters, [pair.votes[name] == pair.label for pair in pairs], spec=".1%", n_boot=n_boot, seed=seed
        )
        for name in _annotators_of(pairs)
    }


def annotators_against_others(pairs: Pairs, n_boot: int = N_BOOT, seed: int = 0) -> dict[str, Number]:
    """Share of items, by annotator, on which they say what the majority of the others says (of two: what both say).

    Unlike `annotators_against_majority` no annotator helps to make the label they are held against. But the items
    are the easier ones, those on which the others agree, and they differ from annotator to annotator.
    """
    shares = {}
    for name in _annotators_of(pairs):
        others = [majority_label({who: label for who, label in pair.votes.items() if who != name}) for pair in pairs]
        scored = [(pair, label) for pair, label in zip(pairs, others, strict=True) if label is not None]
        if not scored:
            raise ValueError(f"the annotators beside {name} never have a majority")
        same, clusters = [pair.votes[name] == label for pair, label in scored], [pair.cluster for pair, _ in scored]
        shares[name] = interval(share_of, clusters, same, spec=".1%", n_boot=n_boot, seed=seed)
    return shares


def annotators_with_each_other(
    pairs: Pairs, n_boot: int = N_BOOT, seed: int = 0
) -> dict[tuple[str, str], dict[str, Number]]:
    """``agreement`` and Cohen's ``kappa`` of every two annotators."""
    clusters = [pair.cluster for pair in pairs]
    codes = {name: metrics.label_codes(pair.votes[name] for pair in pairs) for name in _annotators_of(pairs)}
    return {
        (one, other): {
            "agreement": interval(metrics.accuracy, clusters, matrix, spec=".1%", n_boot=n_boot, seed=seed),
            "kappa": interval(metrics.cohen_kappa, clusters, matrix, spec=".3f", n_boot=n_boot, seed=seed),
        }
        for one, other in combinations(codes, 2)
        for matrix in [metrics.confusion(codes[one], codes[other])]
    }


def chance_corrected(pairs: Pairs, n_boot: int = N_BOOT, seed: int = 0) -> dict[str, Number]:
    """Krippendorff's ``alpha`` over all votes; and ``fleiss_kappa`` where every item has equally many."""
    voted = [pair for pair in pairs if pair.votes]
    if not voted:
        raise ValueError("no pair has votes")
    clusters = [pair.cluster for pair in voted]
    widest = max(len(pair.votes) for pair in voted)
    ratings = [[*metrics.label_codes(pair.votes.values()), *[MISSING] * (widest - len(pair.votes))] for pair in voted]
    sums = coincidences(rating_counts(ratings, len(LABELS)))
    numbers = {"alpha": interval(krippendorff_alpha, clusters, sums, spec=".3f", n_boot=n_boot, seed=seed)}
    if widest > 1 and all(len(pair.votes) == widest for pair in voted):
        numbers["fleiss_kappa"] = interval(fleiss_kappa, clusters, sums, spec=".3f", n_boot=n_boot, seed=seed)
    return numbers


def vote_agreement(
    pairs: Pairs,
    turn: int | None = None,
    voters: str = "experts",
    ties: bool = True,
    n_boot: int = N_BOOT,
    seed: int = 0,
) -> Number:
    """Share of comparisons of two people's votes on the same thing that agree (MT-bench).

    ``ties``: whether ties count as a verdict (FastChat's S1); otherwise a comparison with a tie on either side is left
    out (S2). The same two models were shown in both orders, as two items; votes on both meet here. Every two votes on
    one question, turn and pair of models are one comparison (``n``); questions are resampled.
    """
    by_matchup: dict[tuple[Any, ...], list[str]] = {}
    for pair in pairs:
        n_turn = len(pair.turns) + 1
        if turn not in (None, n_turn):
            continue
        if pair.model_a is None or pair.model_b is None:
            raise ValueError(f"{pair.where}: the models are not named")
        turned = pair.model_a > pair.model_b
        votes = chosen_votes(pair, voters).values()
        key = (pair.cluster, *sorted((pair.model_a, pair.model_b)), n_turn)
        by_matchup.setdefault(key, []).extend(SWAPPED[vote] if turned else vote for vote in votes)
    compared = [
        (question, one == other)
        for (question, *_), votes in by_matchup.items()
        for one, other in combinations(votes, 2)
        if ties or "tie" not in (one, other)
    ]
    if not compared:
        raise ValueError("no two votes on the same comparison")
    clusters, same = zip(*compared, strict=True)
    return interval(share_of, clusters, same, spec=".1%", n_boot=n_boot, seed=seed)


def ceiling_table(pairs: Pairs, n_boot: int = N_BOOT, seed: int = 0) -> pd.DataFrame:
    """Every ceiling that the votes of a set allow: columns key (end of a result key), people, quantity (words), number.

    Where everybody voted on everything (PandaLM), annotators are held against each other by name; elsewhere (MT-bench)
    any two votes on the same comparison are. ValueError where there are no votes, or only one on each comparison.
    """
    rows = _panel_rows(pairs, n_boot, seed) if have_one_panel(pairs) else _voter_rows(pairs, n_boot, seed)
    return pd.DataFrame(rows, columns=["key", "people", "quantity", "number"])


def _panel_rows(pairs: Pairs, n_boot: int, seed: int) -> list[tuple[Any, ...]]:
    majority, others = annotators_against_majority(pairs, n_boot, seed), annotators_against_others(pairs, n_boot, seed)
    rows: list[tuple[Any, ...]] = [(f"{who}.majority", who, "with the majority", one) for who, one in majority.items()]
    rows += [(f"{who}.others", who, "with the others", one) for who, one in others.items()]
    for (one, other), numbers in annotators_with_each_other(pairs, n_boot, seed).items():
        stems = {name.rstrip("0123456789") for name in (one, other)}
        words = f"{one}, {other.removeprefix(stems.pop() if len(stems) == 1 else '')}"
        rows.append((f"{one}_vs_{other}.agreement", words, "agreement", numbers["agreement"]))
        rows.append((f"{one}_vs_{other}.kappa", words, "Cohen's kappa", numbers["kappa"]))
    together = chance_corrected(pairs, n_boot, seed)
    rows.append(("fleiss_kappa", "all", "Fleiss' kappa", together["fleiss_kappa"]))
    return [*rows, ("alpha", "all", "Krippendorff's alpha", together["alpha"])]


def _voter_rows(pairs: Pairs, n_boot: int, seed: int) -> list[tuple[Any, ...]]:
    several = len({len(pair.turns) for pair in pairs}) > 1
    authors = any(name.startswith("author") for pair in pairs for name in pair.votes)
    groups = {"experts": "experts", "all": "experts and authors"} if authors else {"all": "all"}
    turns = {"turn1": 1, "all_turns": None} if several else {"all_turns": None}
    rows = []
    for (voters, people), (turn_key, turn), ties in product(groups.items(), turns.items(), (True, False)):
        number = vote_agreement(pairs, turn, voters, ties, n_boot, seed)
        votes = "turn 1" if turn else "both turns" if several else "votes"
        key = f"{'everyone' if voters == 'all' else voters}_{turn_key}.{'with' if ties else 'without'}_ties"
        rows.append((key, people, f"{votes}, {'with' if ties else 'without'} ties", number))
    return rows


# ---------------------------------------------------------------- judges


def verdicts_by_order(verdicts: Sequence[Verdict], pairs: Pairs) -> list[tuple[str | None, ...]]:
    """What one judge says of each pair in the given and the exchanged order; None where the reply has no verdict.

    ValueError where there are no pairs, or a pair was not shown in both orders.
    """
    if not pairs:
        raise ValueError("no pairs")
    cells = {(verdict.item_id, verdict.order): verdict.verdict for verdict in verdicts}
    for pair in pairs:
        if lacking := [order for order in ORDERS if (pair.item_id, order) not in cells]:
            who = verdicts[0].judge if verdicts else "nobody"
            raise ValueError(f"{pair.where}: {who} was not shown it in order {lacking[0]}")
    return [tuple(cells[pair.item_id, order] for order in ORDERS) for pair in pairs]


def final_verdicts(verdicts: Sequence[Verdict], pairs: Pairs) -> list[str | None]:
    """One verdict of a judge per pair: that of both orders, a tie where these differ, None where one lacks."""
    return [joined_verdict(ab, ba, "any") for ab, ba in verdicts_by_order(verdicts, pairs)]


def judge_with_itself(
    verdicts: Sequence[Verdict], pairs: Pairs, n_boot: int = N_BOOT, seed: int = 0
) -> dict[str, Number]:
    """How steady a judge is when the two responses change places; labels are not read, prompts are resampled.

    ``consistency``: the same verdict in both orders, among pairs read in both; ``first_rate``: share of decided
    verdicts that go to the response shown first; ``tie_rate``: share of ties among single verdicts; ``coverage``:
    share of replies that hold a verdict. A share of nothing is left out.
    """
    counted: dict[str, list[list[int]]] = {"consistency": [], "first_rate": [], "tie_rate": [], "coverage": []}
    for ab, ba in verdicts_by_order(verdicts, pairs):
        read = [label for label in (ab, ba) if label is not None]
        counted["consistency"].append([ab == ba, 1] if len(read) == 2 else [0, 0])
        counted["first_rate"].append([(ab == "A") + (ba == "B"), sum(label != "tie" for label in read)])
        counted["tie_rate"].append([read.count("tie"), len(read)])
        counted["coverage"].append([len(read), len(ORDERS)])
    totals = {name: sum(n for _, n in rows) for name, rows in counted.items()}
    if not totals["tie_rate"]:
        raise ValueError(f"{verdicts[0].judge}: no reply holds a verdict")
    clusters = [pair.cluster for pair in pairs]
    return {
        name: interval(share_of, clusters, rows, n=totals[name], spec=".1%", n_boot=n_boot, seed=seed)
        for name, rows in counted.items()
        if totals[name]
    }


def judges_with_each_other(
    judges: Judges, pairs: Pairs, n_boot: int = N_BOOT, seed: int = 0
) -> dict[tuple[str, str], dict[str, Number]]:
    """``agreement`` and Cohen's ``kappa`` of every two judges in their final verdicts, over the pairs that both have.

    ``decided``: agreement over those that neither calls a tie; left out where there are none. A judge that wavers on
    swapping says "tie" here, so position bias lowers ``kappa``; ``decided`` tells what the judges say where they are
    steady. ValueError where two judges share no pair with a verdict.
    """
    final = {name: np.array(final_verdicts(verdicts, pairs), dtype=object) for name, verdicts in judges.items()}
    prompts, agreements = np.array([pair.cluster for pair in pairs]), {}
    for one, other in combinations(final, 2):
        both = np.array([None not in labels for labels in zip(final[one], final[other], strict=True)])
        if not both.any():
            raise ValueError(f"{one} and {other} have no pair in common with a final verdict")
        codes, clusters = [metrics.label_codes(final[name][both]) for name in (one, other)], prompts[both]
        matrix, tie = metrics.confusion(*codes), LABELS.index("tie")
        numbers = {
            "agreement": interval(metrics.accuracy, clusters, matrix, spec=".1%", n_boot=n_boot, seed=seed),
            "kappa": interval(metrics.cohen_kappa, clusters, matrix, spec=".2f", n_boot=n_boot, seed=seed),
        }
        decided = (codes[0] != tie) & (codes[1] != tie)
        if decided.any():
            same = (codes[0] == codes[1])[decided]
            numbers["decided"] = interval(share_of, clusters[decided], same, spec=".1%", n_boot=n_boot, seed=seed)
        agreements[one, other] = numbers
    return agreements


def judges_together(judges: Judges, pairs: Pairs, n_boot: int = N_BOOT, seed: int = 0) -> dict[str, Number]:
    """Krippendorff's ``alpha`` over all judges' final verdicts; ``alpha_one_order`` over those in the given order.

    A habit that the judges share raises or lowers the second. ``n`` counts the pairs that two judges or more have a
    verdict on.
    """
    given = [[ab for ab, _ in verdicts_by_order(verdicts, pairs)] for verdicts in judges.values()]
    final = [final_verdicts(verdicts, pairs) for verdicts in judges.values()]
    clusters, numbers = [pair.cluster for pair in pairs], {}
    for name, labels in (("alpha", final), ("alpha_one_order", given)):
        codes = np.array([metrics.label_codes(one) for one in labels]).T
        counts = rating_counts(np.where(codes == metrics.NO_VERDICT, MISSING, codes), len(LABELS))
        n, rows = int((counts.sum(1) > 1).sum()), coincidences(counts)
        numbers[name] = interval(krippendorff_alpha, clusters, rows, n=n, spec=".2f", n_boot=n_boot, seed=seed)
    return numbers


def matrix_rows(
    between: Mapping[tuple[str, str], Mapping[str, Number]],
    itself: Mapping[str, Mapping[str, Number]],
    above: str = "kappa",
    below: str = "decided",
) -> list[dict[Any, Any]]:
    """Everybody against everybody: one quantity above the diagonal, another below it; each judge's own as columns.

    From `judges_with_each_other` and, by judge, `judge_with_itself`; None on the diagonal and where there is no number.
    """
    own = list(dict.fromkeys(quantity for numbers in itself.values() for quantity in numbers))
    rows = []
    for i, judge in enumerate(itself):
        row: dict[Any, Any] = {("", "judge"): judge}
        for j, other in enumerate(itself):
            pair, quantity = ((judge, other), above) if i < j else ((other, judge), below)
            row["with", other] = None if i == j else between[pair].get(quantity)
        rows.append(row | {("with itself", name.replace("_", " ")): itself[judge].get(name) for name in own})
    return rows
