"""Mistakes in published evaluation code, and what they move: the same stored verdicts read with them and without."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from judgekit.data.votes import matchup_of
from judgekit.records import SWAPPED, majority_label
from judgekit.scoring import metrics
from judgekit.scoring.comparison import Contest
from judgekit.scoring.items import credits_of, item_table
from judgekit.scoring.metrics import label_codes
from judgekit.scoring.protocols import paper5_labels, protocol_of
from judgekit.stats import Array, Floats, Number, cluster_sums, share_of
from judgekit.studies.audit.estimates import N_BOOT, change, over_prompts
from judgekit.studies.audit.findings import Finding

POINTS = "+.1%"


def moved(
    contest: Contest, judge: str, wrong: str | None, right: str | None = None, n_boot: int = N_BOOT, seed: int = 0
) -> Number:
    """A judge's score under one protocol less that under another, on the same draws of prompts.

    ``wrong``, ``right``: as `judgekit.scoring.protocol_of` takes them; None is the set's primary one.
    """
    credit = []
    for name in (right, wrong):
        protocol = protocol_of(contest.benchmark, name)
        table = item_table(contest.verdicts[judge], contest.pairs, protocol)
        credit.append(credits_of(table, protocol))
    clusters = table["cluster"].tolist()
    return change(*credit, np.ones(len(clusters), bool), clusters, n_boot, seed)  # type: ignore[call-arg, arg-type] # credit holds two


def found(
    contest: Contest, name: str, what: str, odd: Sequence[str], n: int, effect: Number | None, on: str
) -> Finding:
    """A `Finding` of this kind."""
    return Finding(contest.name, "code", name, what, len(odd), n, effect, on, odd)


def drawn_gold(contest: Contest, judge: str, n_boot: int = N_BOOT, seed: int = 0) -> Finding:
    """PandaLM's labels where a comparison is made twice and another never (`scoring.protocols.paper5_labels`)."""
    drawn = paper5_labels(contest.pairs)
    odd = [pair.item_id for pair in contest.pairs if drawn[pair.item_id] != pair.label]
    effect = moved(contest, judge, "paper5", None, n_boot, seed)
    what = "label drawn at random where annotators one and three agree"
    return found(contest, "drawn_gold", what, odd, len(contest.pairs), effect, f"accuracy of {judge}")


def unread_word(contest: Contest, judge: str, n_boot: int = N_BOOT, seed: int = 0) -> Finding:
    """Verdicts whose word for a tie is not the code for it: counted as wrong, or read.

    ``judge``: one whose stored replies name the verdict (PandaLM's file of GPT-3.5).
    """
    protocol = protocol_of(contest.benchmark)
    table = item_table(contest.verdicts[judge], contest.pairs, protocol)
    replies = {v.item_id: json.loads(v.raw)["result"] for v in contest.verdicts[judge] if v.order == "ab"}  # type: ignore[arg-type] # kept replies
    unread = table["item_id"].map(lambda item: replies[item] not in ("0", "1", "2")).to_numpy(bool)
    credit = credits_of(table, protocol)
    effect = change(credit, np.where(unread, 0, credit), np.ones(len(credit), bool), table["cluster"], n_boot, seed)
    what = "a tie in words, and replies without a verdict, counted as wrong"
    odd = table["item_id"][unread].tolist()
    return found(contest, "unread_tie", what, odd, len(table), effect, f"accuracy of {judge}")


def classes_present(contest: Contest, judge: str, n_boot: int = N_BOOT, seed: int = 0) -> Finding | None:
    """Macro-F1 over the labels that occur, where one stray tie of a judge costs a class; None without such a tie."""
    protocol = protocol_of(contest.benchmark, "paper5")
    table = item_table(contest.verdicts[judge], contest.pairs, protocol)
    odd = table["item_id"][table["said"] == "tie"].tolist()
    if not odd:
        return None
    confusion = metrics.confusion(label_codes(table["reference"]), label_codes(table["said"]))
    sums = cluster_sums(confusion, table["cluster"].tolist())
    effect = over_prompts(sums, lost_class, len(table), n_boot, seed, POINTS)
    what = "macro-F1 over labels that occur: a tie adds an empty class"
    return found(contest, "classes_present", what, odd, len(table), effect, f"macro-F1 of {judge}")


def lost_class(sums: Floats) -> Floats:
    """Macro-F1 over two labels and a third that no item has, less that over the two."""
    return metrics.macro(sums)[2] - metrics.macro(sums, ("A", "B"))[2]


def recoded_kappa(contest: Contest, judge: str, n_boot: int = N_BOOT, seed: int = 0) -> Finding:
    """Cohen's kappa after a recoding that knows labels 0 and 1 and meets 1 and 2: one label becomes a class of its own.

    ``contest``: of an LLMBar set.
    """
    protocol = protocol_of(contest.benchmark, "single_order")
    table = item_table(contest.verdicts[judge], contest.pairs, protocol)
    confusion = metrics.confusion(label_codes(table["reference"]), label_codes(table["ab"]))
    sums = cluster_sums(confusion, table["cluster"].tolist())
    effect = over_prompts(sums, lambda s: mistaken_kappa(s) - metrics.cohen_kappa(s), len(table), n_boot, seed, "+.3f")
    odd = table["item_id"][table["reference"] == "B"].tolist()
    what = "recoding misses one of two labels"
    return found(contest, "recoded_kappa", what, odd, len(table), effect, f"kappa of {judge}")


def mistaken_kappa(sums: Array) -> Floats:
    """Kappa where reference label B is read as a third class that nobody says.

    On the published verdicts of GPT-4 on LLMBar Natural this gives the published 0.2517 and not the right 0.837.
    """
    moved = np.array(sums, float)
    moved[..., 2, :] += moved[..., 1, :]
    moved[..., 1, :] = 0
    return metrics.cohen_kappa(moved)


def self_in_consensus(contest: Contest, judge: str, n_boot: int = N_BOOT, seed: int = 0) -> Finding:
    """A judge scored against a majority that it voted in, less its score against that of the people alone.

    ``contest``: MT-bench, turn one without ties, as published; a draw of votes goes to the model named first.
    """
    said, people, prompts = {}, {}, {}  # type: ignore[var-annotated] # three at once
    verdicts = {v.item_id: v.verdict for v in contest.verdicts[judge] if v.order == "ab"}
    for pair in contest.pairs:
        key, turned = matchup_of(pair)
        votes = [label for label in pair.votes.values() if label != "tie"]
        if pair.turns or not votes or verdicts[pair.item_id] in (None, "tie"):
            continue
        own = verdicts[pair.item_id]
        said[key] = SWAPPED[own] if turned else own
        people.setdefault(key, []).extend(SWAPPED[label] if turned else label for label in votes)
        prompts[key] = pair.cluster
    rows = []
    for key, votes in people.items():
        alone = majority_label(dict(enumerate(votes)))  # type: ignore[arg-type] # keys play no part
        joined = majority_label(dict(enumerate([*votes, said[key]])), "A")  # type: ignore[arg-type, list-item] # keys play no part
        rows.append([joined == said[key], 1, alone == said[key], alone is not None])
    sums = cluster_sums(np.array(rows, float), list(prompts.values()))
    effect = over_prompts(sums, lambda s: share_of(s[..., :2]) - share_of(s[..., 2:]), len(rows), n_boot, seed, POINTS)
    turned_round = [key for key, row in zip(people, rows, strict=True) if row[0] and not row[2]]
    what = "the judge votes in the consensus it is scored by"
    return found(contest, "self_in_consensus", what, turned_round, len(rows), effect, f"agreement of {judge}")


def file_order(contest: Contest, judge: str) -> set[str]:
    """Ids of the items whose models stand in the order of the judge's own file.

    Its replies name ``model_a`` or ``model_b`` of that file, so that a decided verdict tells the order; two models
    stand in one order throughout, which tells it for their ties.
    """
    verdicts = {v.item_id: v for v in contest.verdicts[judge] if v.order == "ab"}
    straight: dict[Any, list[bool]] = {}
    for pair in contest.pairs:
        verdict = verdicts[pair.item_id]
        if verdict.verdict in ("A", "B"):
            as_named = (verdict.raw == "model_a") == (verdict.verdict == "A")
            straight.setdefault((pair.model_a, pair.model_b), []).append(as_named)
    return {
        pair.item_id
        for pair in contest.pairs
        if (told := straight.get((pair.model_a, pair.model_b))) and sum(told) * 2 > len(told)
    }


def unmatched_order(contest: Contest, judge: str, n_boot: int = N_BOOT, seed: int = 0) -> Finding:
    """Votes that never meet the judge's, since two models in the other order are taken for another item.

    ``contest``: MT-bench, on the items that the judge covers in either order.
    """
    protocol, named = protocol_of(contest.benchmark), file_order(contest, judge)
    table = item_table(contest.verdicts[judge], contest.pairs, protocol)
    met = table["item_id"].isin(list(named)).to_numpy(bool)
    credit = credits_of(table, protocol)
    effect = change(credit, credit, met, table["cluster"].tolist(), n_boot, seed)
    what = "votes lost: the same two models in the other order"
    on = f"accuracy of {judge}"
    return found(contest, "unmatched_order", what, table["item_id"][~met].tolist(), len(table), effect, on)


def one_order(contest: Contest, judge: str, n_boot: int = N_BOOT, seed: int = 0) -> Finding:
    """The score from the given order alone where the owner's protocol reads both."""
    by_item: dict[str, set[str | None]] = {}
    for verdict in contest.verdicts[judge]:
        by_item.setdefault(verdict.item_id, set()).add(verdict.verdict)
    odd = [item for item, said in by_item.items() if len(said) > 1]
    effect = moved(contest, judge, "single_order", None, n_boot, seed)
    what = "one order scored where both are to be read"
    return found(contest, "one_order", what, odd, len(contest.pairs), effect, f"score of {judge}")
