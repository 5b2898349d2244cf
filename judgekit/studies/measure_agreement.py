"""How far people agree with each other on a set: the ceiling of every judge that is scored on it."""

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import pandas as pd

from judgekit.records import LABELS, SWAPPED, PreferencePair, majority_label
from judgekit.scoring import metrics
from judgekit.scoring.metrics import MISSING, coincidences, fleiss_kappa, krippendorff_alpha, rating_counts
from judgekit.scoring.protocols import chosen_votes
from judgekit.scoring.scores import N_BOOT
from judgekit.stats import Number, interval, share_of

Pairs = Sequence[PreferencePair]


def _annotators_of(pairs: Pairs) -> list[str]:
    """The annotators of a set on which every item has the same ones; ValueError otherwise (`vote_agreement`)."""
    if not pairs:
        raise ValueError("no pairs")
    names = list(pairs[0].votes)
    for pair in pairs:
        if set(pair.votes) != set(names):
            raise ValueError(f"{pair.where}: votes of {', '.join(pair.votes) or 'nobody'}, not of {', '.join(names)}")
    return names


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
    """Every ceiling that the votes of a set allow: columns who, what (parts of a result key), people, quantity, number.

    Where everybody voted on everything (PandaLM), annotators are held against each other by name; elsewhere (MT-bench)
    any two votes on the same comparison are. ValueError where there are no votes, or only one on each comparison.
    """
    panels = {frozenset(pair.votes) for pair in pairs}
    one_panel = len(panels) == 1 and len(next(iter(panels))) > 1
    rows = _panel_rows(pairs, n_boot, seed) if one_panel else _voter_rows(pairs, n_boot, seed)
    return pd.DataFrame(rows, columns=["who", "what", "people", "quantity", "number"])


def _panel_rows(pairs: Pairs, n_boot: int, seed: int) -> list[tuple[Any, ...]]:
    majority, others = annotators_against_majority(pairs, n_boot, seed), annotators_against_others(pairs, n_boot, seed)
    rows: list[tuple[Any, ...]] = [(who, "majority", who, "with the majority", one) for who, one in majority.items()]
    rows += [(who, "others", who, "with the others", one) for who, one in others.items()]
    for (one, other), numbers in annotators_with_each_other(pairs, n_boot, seed).items():
        stems = {name.rstrip("0123456789") for name in (one, other)}
        people = f"{one}, {other.removeprefix(stems.pop() if len(stems) == 1 else '')}"
        rows.append((f"{one}_vs_{other}", "agreement", people, "agreement", numbers["agreement"]))
        rows.append((f"{one}_vs_{other}", "kappa", people, "Cohen's kappa", numbers["kappa"]))
    together = chance_corrected(pairs, n_boot, seed)
    rows.append(("", "fleiss_kappa", "all", "Fleiss' kappa", together["fleiss_kappa"]))
    return [*rows, ("", "alpha", "all", "Krippendorff's alpha", together["alpha"])]


def _voter_rows(pairs: Pairs, n_boot: int, seed: int) -> list[tuple[Any, ...]]:
    several = len({len(pair.turns) for pair in pairs}) > 1
    authors = any(name.startswith("author") for pair in pairs for name in pair.votes)
    groups = {"experts": "experts", "all": "experts and authors"} if authors else {"all": "all"}
    turns = {"turn1": 1, "all_turns": None} if several else {"all_turns": None}
    rows = []
    for (voters, people), (turn_key, turn), ties in product(groups.items(), turns.items(), (True, False)):
        number = vote_agreement(pairs, turn, voters, ties, n_boot, seed)
        votes, how = "turn 1" if turn else "both turns" if several else "votes", "with" if ties else "without"
        who = f"{'everyone' if voters == 'all' else voters}_{turn_key}"
        rows.append((who, f"{how}_ties", people, f"{votes}, {how} ties", number))
    return rows
