"""How far people agree with each other on a set: what one more person would score on it."""

from collections.abc import Sequence
from functools import partial
from itertools import combinations, product
from typing import Any

import pandas as pd

from judgekit.data.votes import matchup_of
from judgekit.records import LABELS, SWAPPED, majority_label
from judgekit.scoring import metrics
from judgekit.scoring.protocols import Pairs, chosen_votes
from judgekit.scoring.scores import N_BOOT
from judgekit.stats import Number, interval, share_of


def agreement_table(pairs: Pairs, n_boot: int = N_BOOT, seed: int = 0) -> pd.DataFrame:
    """Every such agreement that votes allow: columns who, what (parts of a result key), people, quantity, number.

    Where everybody voted on everything (PandaLM), of annotators by name; elsewhere (MT-bench) of any two votes on the
    same comparison. ValueError where there are no votes, or only one on each comparison.
    """
    panels = {frozenset(pair.votes) for pair in pairs}
    one_panel = len(panels) == 1 and len(next(iter(panels))) > 1
    rows = _panel_rows(pairs, n_boot, seed) if one_panel else _voter_rows(pairs, n_boot, seed)
    return pd.DataFrame(rows, columns=["who", "what", "people", "quantity", "number"])


def _panel_rows(pairs: Pairs, n_boot: int, seed: int) -> list[tuple[Any, ...]]:
    """Annotators with the majority, their own vote included; with the others, without it; in twos; together."""
    votes, prompts = pd.DataFrame([pair.votes for pair in pairs]), [pair.cluster for pair in pairs]
    names = [str(name) for name in votes]
    estimate = partial(interval, n_boot=n_boot, seed=seed)

    def share(who: str, labels: Sequence[str | None]) -> Number:
        rows = [(prompt, one == label) for prompt, one, label in zip(prompts, votes[who], labels, strict=True) if label]
        return estimate(share_of, *zip(*rows, strict=True), spec=".1%")

    labels = [majority_label(pair.votes) for pair in pairs]
    rows = [(who, "majority", who, "with the majority", share(who, labels)) for who in names if any(labels)]
    for who in names:
        others = [majority_label({name: vote for name, vote in pair.votes.items() if name != who}) for pair in pairs]
        if any(others):
            rows.append((who, "others", who, "with the others", share(who, others)))
    codes = {who: metrics.label_codes(votes[who]) for who in names}
    for one, other in combinations(codes, 2):
        stems = {name.rstrip("0123456789") for name in (one, other)}
        people = f"{one}, {other.removeprefix(stems.pop() if len(stems) == 1 else '')}"
        matrix, two = metrics.confusion(codes[one], codes[other]), f"{one}_vs_{other}"
        rows.append((two, "agreement", people, "agreement", estimate(metrics.accuracy, prompts, matrix, spec=".1%")))
        if votes[[one, other]].stack().nunique() > 1:  # else chance alone would bring the same
            kappa = estimate(metrics.cohen_kappa, prompts, matrix, spec=".3f")
            rows.append((two, "kappa", people, "Cohen's kappa", kappa))
    if votes.stack().nunique() == 1:
        return rows
    sums = metrics.coincidences(metrics.rating_counts(pd.DataFrame(codes), len(LABELS)))
    fleiss = estimate(metrics.fleiss_kappa, prompts, sums, spec=".3f")
    alpha = estimate(metrics.krippendorff_alpha, prompts, sums, spec=".3f")
    rows += [("", "fleiss_kappa", "all", "Fleiss' kappa", fleiss), ("", "alpha", "all", "Krippendorff's alpha", alpha)]
    return rows


def _voter_rows(pairs: Pairs, n_boot: int, seed: int) -> list[tuple[Any, ...]]:
    several = len({len(pair.turns) for pair in pairs}) > 1
    authors = _meets_once(pairs) and any(name.startswith("author") for pair in pairs for name in pair.votes)
    groups = {"experts": "experts", "all": "experts and authors"} if authors else {"all": "all"}
    turns = {"turn1": 1, "all_turns": None} if several else {"all_turns": None}
    rows = []
    for (voters, people), (turn_key, turn), ties in product(groups.items(), turns.items(), (True, False)):
        number = vote_agreement(pairs, turn, voters, ties, n_boot, seed)
        votes, how = "turn 1" if turn else "both turns" if several else "votes", "with" if ties else "without"
        who = f"{'everyone' if voters == 'all' else voters}_{turn_key}"
        rows.append((who, f"{how}_ties", people, f"{votes}, {how} ties", number))
    return rows


def _meets_once(pairs: Pairs) -> bool:
    """Whether two models meet once for each question and turn, and some voters are the authors, as in MT-bench."""
    return all(pair.benchmark.startswith("mtbench") for pair in pairs)


def vote_agreement(
    pairs: Pairs,
    turn: int | None = None,
    voters: str = "experts",
    ties: bool = True,
    n_boot: int = N_BOOT,
    seed: int = 0,
) -> Number:
    """Share of comparisons of two people's votes on one question, turn and pair of models that agree (MT-bench).

    ``ties``: whether ties count as a verdict (FastChat's S1); otherwise a comparison with a tie on either side is left
    out (S2). The same two models were shown in both orders there, as two items: two people's votes on both meet here.
    """
    once, by_matchup = _meets_once(pairs), dict[tuple[str, str], list[tuple[str, str]]]()
    for pair in (pair for pair in pairs if turn in (None, len(pair.turns) + 1)):
        key, turned = matchup_of(pair) if once else (pair.item_id, False)
        for who, vote in chosen_votes(pair, voters).items():
            cast = (who.split("#")[0] if once else who, SWAPPED[vote] if turned else vote)  # judge#2 is judge
            by_matchup.setdefault((pair.cluster, key), []).append(cast)
    compared = [
        (question, one == other)
        for (question, _), votes in by_matchup.items()
        for (who, one), (rival, other) in combinations(votes, 2)
        if who != rival and (ties or "tie" not in (one, other))
    ]
    if not compared:
        raise ValueError("no two votes on the same comparison")
    clusters, same = zip(*compared, strict=True)
    return interval(share_of, clusters, same, spec=".1%", n_boot=n_boot, seed=seed)
