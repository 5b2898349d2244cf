"""What an attack edited: in words, and only where it turned a verdict."""

from collections.abc import Sequence
from difflib import Match, SequenceMatcher
from typing import TYPE_CHECKING, Any

import pandas as pd

from judgekit.records import PreferencePair

if TYPE_CHECKING:
    from judgekit.bias.attacks import Suite

COLUMNS = ["set", "item_id", "cluster", "judge", "attack", "sure", "removed", "added"]


def changed_words(before: str, after: str) -> tuple[int, int]:
    """Words that an edit removed and added.

    >>> changed_words("It may rain today.", "It will surely rain today.")
    (1, 2)
    """
    before, after = before.split(), after.split()  # type: ignore[assignment] # texts become words
    kept = sum(block.size for block in matching_blocks(before, after))
    return len(before) - kept, len(after) - kept


def matching_blocks(before: Sequence[str], after: Sequence[str]) -> list[Match]:
    """Runs of words that two lists share, as `difflib.SequenceMatcher` gives them."""
    return SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()


def added_text(before: str, after: str) -> str:
    """What an edit added, its places told apart by an ellipsis.

    >>> added_text("It may rain today.", "Sure! It will surely rain today.")
    'Sure! … will surely'
    """
    before, after = before.split(), after.split()  # type: ignore[assignment] # texts become words
    pieces, end = [], 0
    for block in matching_blocks(before, after):
        pieces += [" ".join(after[end : block.b])] if block.b > end else []
        end = block.b + block.size
    return " … ".join(pieces)


def attack_table(
    name: str,
    outcomes: Any,
    pairs: Sequence[PreferencePair],
    suite: "Suite",
    judge: str,
    table: pd.DataFrame,
) -> pd.DataFrame:
    """The attacks that turned a judge in both orders, how sure it had been, and how much they changed.

    Columns set, item_id, cluster, judge, attack, sure (probability of the better response before, NaN where none is
    stated), removed, added (words). Empty where nothing succeeded.

    ``name``: the set, as in the table of verdicts; ``outcomes``: of one judge
    (`judgekit.bias.attacks.AttackReport.outcomes`), of edits of the suite; ``pairs``: those attacked, as they were
    before; ``judge``: its slug; ``table``: its verdicts before, as `judgekit.studies.cases.verdict_table`.
    """
    by_id, rows = {pair.item_id: pair for pair in pairs}, []
    own = table[(table["set"] == name) & (table["judge"] == judge)].set_index("item_id")
    turned = outcomes[["lost_ab", "lost_ba", "won_ab", "won_ba"]].astype(bool).all(axis=1)
    for row in outcomes[turned].itertuples():
        pair = by_id[row.item_id]
        edited = suite.attacked(pair, row.attack)
        changes = [changed_words(*texts) for texts in zip(pair.responses, edited.responses, strict=True)]
        sure = own.at[pair.item_id, f"p_{pair.label.lower()}"]  # type: ignore[union-attr] # what is attacked has a label
        rows.append((name, pair.item_id, pair.cluster, judge, row.attack, sure, *map(sum, zip(*changes, strict=True))))
    return pd.DataFrame(rows, columns=COLUMNS)
