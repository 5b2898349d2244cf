"""What mistakes in published evaluation code move, and repairs of a set: the same stored verdicts, read both ways."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from judgekit.data.votes import matchup_of
from judgekit.records import SWAPPED, Verdict, majority_label
from judgekit.scoring import metrics
from judgekit.scoring.comparison import Contest
from judgekit.scoring.metrics import label_codes
from judgekit.scoring.protocols import paper5_labels
from judgekit.stats import Array, Floats, Number
from judgekit.studies.audit_benchmarks import N_BOOT, Finding, difference, earned, finding, over_prompts

# Name of the finding, what is wrong, ids it is wrong for, items, the figure it moves, and by how much.
Moved = tuple[str, str, Sequence[str], int, str, Number]


def mistake(name: str, contest: Contest, judge: str, n_boot: int = N_BOOT, seed: int = 0) -> list[Finding]:
    """The finding on a mistake, by a judge's stored verdicts; KeyError where it is none of `MISTAKES`."""
    if name not in MISTAKES:
        raise KeyError(f"no mistake is called {name!r}; there are {', '.join(MISTAKES)}")
    moved = MISTAKES[name](contest, judge, {"n_boot": n_boot, "seed": seed})
    if moved is None:
        return []
    key, what, odd, n, figure, effect = moved
    return [finding(contest.name, "code", key, what, len(odd), n, effect, f"{figure} of {judge}", odd)]


def _change(wrong: Floats, right: Floats, table: Any, options: dict[str, int], among: Array = None) -> Number:
    """Score with the mistake, on the items that it keeps (all by default), less the score without, on all."""
    everything = np.ones(len(right), bool)
    kept = everything if among is None else among
    return difference(wrong, kept, right, everything, table["cluster"].tolist(), **options)


def drawn_gold(contest: Contest, judge: str, options: dict[str, int]) -> Moved:
    """PandaLM's labels where a comparison is made twice and another never (`scoring.protocols.paper5_labels`)."""
    drawn = paper5_labels(contest.pairs)
    odd = [pair.item_id for pair in contest.pairs if drawn[pair.item_id] != pair.label]
    table, right = earned(contest, judge)
    effect = _change(earned(contest, judge, "paper5")[1], right, table, options)
    what = "label drawn at random where annotators one and three agree"
    return "drawn_gold", what, odd, len(contest.pairs), "accuracy", effect


def unread_word(contest: Contest, judge: str, options: dict[str, int]) -> Moved:
    """Verdicts whose word for a tie is not the code for it, counted as wrong (PandaLM's file of GPT-3.5)."""
    table, right = earned(contest, judge)
    replies = {v.item_id: json.loads(v.raw or "{}")["result"] for v in _given(contest, judge).values()}
    unread = table["item_id"].map(lambda item: replies[item] not in ("0", "1", "2")).to_numpy(bool)
    effect = _change(np.where(unread, 0, right), right, table, options)
    what = "a tie in words, and replies without a verdict, counted as wrong"
    return "unread_tie", what, table["item_id"][unread].tolist(), len(table), "accuracy", effect


def classes_present(contest: Contest, judge: str, options: dict[str, int]) -> Moved | None:
    """Macro-F1 over the labels that occur, where one stray tie of a judge adds a class that no item has."""
    table, _ = earned(contest, judge, "paper5")
    odd = table["item_id"][table["said"] == "tie"].tolist()
    if not odd:
        return None
    counts = metrics.confusion(label_codes(table["reference"]), label_codes(table["said"]))
    effect = over_prompts(
        lambda sums: metrics.macro(sums)[2] - metrics.macro(sums, ("A", "B"))[2],
        table["cluster"].tolist(),
        counts,
        spec="+.1%",
        **options,
    )
    what = "macro-F1 over labels that occur: a tie adds an empty class"
    return "classes_present", what, odd, len(table), "macro-F1", effect


def recoded_kappa(contest: Contest, judge: str, options: dict[str, int]) -> Moved:
    """Cohen's kappa after a recoding that knows labels 0 and 1 and meets 1 and 2 (LLMBar's)."""
    table, _ = earned(contest, judge, "single_order")
    counts = metrics.confusion(label_codes(table["reference"]), label_codes(table["ab"]))
    effect = over_prompts(
        lambda sums: mistaken_kappa(sums) - metrics.cohen_kappa(sums),
        table["cluster"].tolist(),
        counts,
        spec="+.3f",
        **options,
    )
    odd = table["item_id"][table["reference"] == "B"].tolist()
    return "recoded_kappa", "recoding misses one of two labels", odd, len(table), "kappa", effect


def mistaken_kappa(sums: Array) -> Floats:
    """Kappa where reference label B is read as a third class that nobody says.

    On the published verdicts of GPT-4 on LLMBar Natural this gives the published 0.2517 and not the right 0.837.
    """
    moved = np.array(sums, float)
    moved[..., 2, :] += moved[..., 1, :]
    moved[..., 1, :] = 0
    return metrics.cohen_kappa(moved)


def self_in_consensus(contest: Contest, judge: str, options: dict[str, int]) -> Moved:
    """A judge scored against a majority that it voted in, less its score against that of the people alone.

    ``contest``: MT-bench, turn one without ties, as published; a draw of votes goes to the model named first.
    """
    given, own, people, prompts = _given(contest, judge), {}, {}, {}  # type: ignore[var-annotated] # three at once
    for pair in contest.pairs:
        (key, turned), verdict = matchup_of(pair), given[pair.item_id].verdict
        votes = [label for label in pair.votes.values() if label != "tie"]
        if not pair.turns and votes and verdict not in (None, "tie"):
            own[key], prompts[key] = SWAPPED[verdict] if turned else verdict, pair.cluster
            people.setdefault(key, []).extend(SWAPPED[label] if turned else label for label in votes)
    rows = []
    for key, votes in people.items():
        alone, joined = (majority_label(dict(enumerate(v)), d) for v, d in ((votes, None), ([*votes, own[key]], "A")))  # type: ignore[arg-type] # keys play no part
        rows.append((joined == own[key], True, alone == own[key], alone is not None))
    with_it, everybody, without, decided = np.array(rows).T
    effect = difference(with_it, everybody, without, decided, list(prompts.values()), **options)
    turned_round = [str(key) for key, row in zip(people, rows, strict=True) if row[0] and not row[2]]
    what = "the judge votes in the consensus it is scored by"
    return "self_in_consensus", what, turned_round, len(rows), "agreement", effect


def unmatched_order(contest: Contest, judge: str, options: dict[str, int]) -> Moved:
    """Votes that never meet the judge's, since two models in the other order are taken for another item (MT-bench).

    A decided verdict names a model of the judge's own file, which tells the order there; two models stand in one order
    throughout, which tells it for their ties.
    """
    given, straight = _given(contest, judge), {}  # type: ignore[var-annotated] # two at once
    for pair in contest.pairs:
        verdict = given[pair.item_id]
        if verdict.verdict in ("A", "B"):
            as_named = (verdict.raw == "model_a") == (verdict.verdict == "A")
            straight.setdefault((pair.model_a, pair.model_b), []).append(as_named)
    mostly = {models for models, told in straight.items() if sum(told) * 2 > len(told)}
    matched = {pair.item_id for pair in contest.pairs if (pair.model_a, pair.model_b) in mostly}
    table, right = earned(contest, judge)
    met = table["item_id"].isin(list(matched)).to_numpy(bool)
    effect = _change(right, right, table, options, met)
    what = "votes lost: the same two models in the other order"
    return "unmatched_order", what, table["item_id"][~met].tolist(), len(table), "accuracy", effect


def one_order(contest: Contest, judge: str, options: dict[str, int]) -> Moved:
    """The score from the given order alone where the owner's protocol reads both."""
    by_item: dict[str, set[str | None]] = {}
    for verdict in contest.verdicts[judge]:
        by_item.setdefault(verdict.item_id, set()).add(verdict.verdict)
    odd = [item for item, labels in by_item.items() if len(labels) > 1]
    table, right = earned(contest, judge)
    effect = _change(earned(contest, judge, "single_order")[1], right, table, options)
    return "one_order", "one order scored where both are to be read", odd, len(contest.pairs), "score", effect


def _given(contest: Contest, judge: str) -> dict[str, Verdict]:
    """Verdicts in the given order, by item."""
    return {verdict.item_id: verdict for verdict in contest.verdicts[judge] if verdict.order == "ab"}


MISTAKES: dict[str, Callable[[Contest, str, dict[str, int]], Moved | None]] = {
    one.__name__: one
    for one in (
        drawn_gold,
        unread_word,
        classes_present,
        recoded_kappa,
        self_in_consensus,
        unmatched_order,
        one_order,
    )
}


def rescored(
    contest: Contest, left_out: Collection[str], labels: Mapping[str, str], n_boot: int = N_BOOT, seed: int = 0
) -> pd.DataFrame:
    """Every judge's primary figure without some items and with other labels of some (by id).

    Columns set, judge, before, after, change (a `Number`, on the same draws of prompts), rank_before, rank_after (equal
    ones share the better rank). ValueError where no item is left.
    """
    repaired = replace(contest, pairs=[replace(p, label=labels.get(p.item_id, p.label)) for p in contest.pairs])
    rows = []
    for judge in contest.verdicts:
        (table, before), (_, after) = earned(contest, judge), earned(repaired, judge)
        kept = ~table["item_id"].isin(list(left_out)).to_numpy(bool)
        effect = _change(after, before, table, {"n_boot": n_boot, "seed": seed}, kept)
        rows.append((contest.name, judge, before.mean(), after[kept].mean(), effect))
    board = pd.DataFrame(rows, columns=["set", "judge", "before", "after", "change"])
    ranks = board[["before", "after"]].rank(ascending=False, method="min").astype(int).add_prefix("rank_")
    return board.join(ranks)
