"""How often two voters of one item agree, and a judge's verdicts as votes on the items that people voted on."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from judgekit.data.votes import NO_VOTE, TIE_FREE, Votes, matchup_of
from judgekit.people.clustered import share_number
from judgekit.records import SWAPPED, PreferencePair, Verdict
from judgekit.scoring.protocols import joined_verdict
from judgekit.scoring.scores import N_BOOT
from judgekit.stats import Array, Number

if TYPE_CHECKING:
    import pandas as pd


def people_with_people(votes: Votes, classes: Sequence[str] = TIE_FREE, n_boot: int = N_BOOT) -> Number:
    """Share of pairs of votes on one item that agree; ``n`` counts the pairs, prompts are resampled.

    Votes for other classes are left out: the published tie-free variant by default. ValueError where no item has two.
    """
    counts = votes.only(classes).counts
    total = counts.sum(1)
    return share_number((counts * (counts - 1)).sum(1) / 2, total * (total - 1) / 2, votes.clusters, n_boot)


def judge_with_people(votes: Votes, codes: Array, classes: Sequence[str] = TIE_FREE, n_boot: int = N_BOOT) -> Number:
    """Share of people's votes that a judge's verdict on the item agrees with; ``n`` counts the votes.

    ``codes``: the judge's verdicts (`verdicts_on`), shape (n_items,). Votes and verdicts for other classes are left
    out; ValueError where nothing is left.
    """
    codes = np.asarray(codes)
    chosen = np.isin(codes, [votes.classes.index(name) for name in classes])
    counts = np.stack([votes.counts[:, votes.classes.index(name)] for name in classes], 1)
    agree = np.where(chosen, votes.counts[np.arange(len(codes)), np.maximum(codes, 0)], 0)
    return share_number(agree, counts.sum(1) * chosen, votes.clusters, n_boot)


# ---------------------------------------------------------------- a judge's verdicts by item


def verdicts_by_judge(table: "pd.DataFrame", partial: Collection[str] = ()) -> dict[tuple[str, str], list[Verdict]]:
    """Rows of `scoring.verdicts` as records, by set and judge (slug).

    ``partial``: published judges that have verdicts on part of a set: what they never judged is left out.
    """
    judged = table[(table["status"] != "error") | ~table["judge"].isin(list(partial))]
    found: dict[tuple[str, str], list[Verdict]] = {}
    for row in judged.to_dict("records"):
        p_a, p_b, p_tie = (None if row[part] != row[part] else row[part] for part in ("p_a", "p_b", "p_tie"))  # NaN
        given = (row["item"], row["judge"], row["order"], row["verdict"], p_a, p_b, p_tie)
        found.setdefault((row["set"], row["judge"]), []).append(Verdict(*given, status=row["status"]))
    return found


def verdicts_on(
    votes: Votes, verdicts: Sequence[Verdict], pairs: Sequence[PreferencePair], matchups: bool = True
) -> Array:
    """A judge's verdicts as class codes, shape (n_items,); -1 where it has none, or one that is no class of the votes.

    Where it judged an item more than once (both orders, or a match that was shown both ways) and contradicts itself,
    that is a tie; replies without a verdict are left out. ``matchups``: items are those of `data.votes.matchup_votes`.
    """
    by_id = {pair.item_id: pair for pair in pairs}
    labels: dict[str, set[str]] = {}
    for verdict in verdicts:
        if verdict.verdict is not None and verdict.item_id in by_id:
            key, turned = _key_of(by_id[verdict.item_id], matchups)
            labels.setdefault(key, set()).add(SWAPPED[verdict.verdict] if turned else verdict.verdict)
    final = {key: both.pop() if len(both) == 1 else "tie" for key, both in labels.items()}
    codes = {label: code for code, label in enumerate(votes.classes)}
    return np.array([codes.get(final.get(item, ""), NO_VOTE) for item in votes.items], int)


def labels_by_item(
    verdicts: Sequence[Verdict], pairs: Sequence[PreferencePair], matchups: bool = False
) -> dict[str, str]:
    """One label of a judge per item that it judged, as a person who stood in would have to give.

    A tie where the judge contradicts itself, in the two orders or on two showings of one match, and where its reply
    holds no verdict. One order is enough where there is no other. ValueError where a verdict is an error.
    """
    orders_of: dict[str, dict[str, str | None]] = {}
    for verdict in verdicts:
        if verdict.status == "error":
            raise ValueError(f"{verdict.item_id}: {verdict.judge} failed on it, and has no label")
        orders_of.setdefault(verdict.item_id, {})[verdict.order] = verdict.verdict
    labels: dict[str, str] = {}
    for pair in pairs:
        if orders := [*orders_of.get(pair.item_id, {}).values()]:
            label = joined_verdict(orders[0], orders[-1], "any") or "tie"
            key, turned = _key_of(pair, matchups)
            label = SWAPPED[label] if turned else label
            labels[key] = label if labels.get(key, label) == label else "tie"
    return labels


def _key_of(pair: PreferencePair, matchups: bool) -> tuple[str, bool]:
    """The item of a pair, and whether its sides are turned in it."""
    return matchup_of(pair) if matchups else (pair.item_id, False)
