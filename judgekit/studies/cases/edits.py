"""What an attack edited: in words, and only where it turned a verdict."""

from difflib import SequenceMatcher

import pandas as pd

COLUMNS = ["set", "item_id", "cluster", "judge", "attack", "sure", "removed", "added"]


def changed_words(before, after):
    """Words that an edit removed and added.

    Returns
    -------
    removed, added : int

    Examples
    --------
    >>> changed_words("It may rain today.", "It will surely rain today.")
    (1, 2)
    """
    before, after = before.split(), after.split()
    kept = sum(block.size for block in matching_blocks(before, after))
    return len(before) - kept, len(after) - kept


def matching_blocks(before, after):
    """Runs of words that two lists share, as `difflib.SequenceMatcher` gives them."""
    return SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()


def added_text(before, after):
    """What an edit added, its places told apart by an ellipsis.

    Examples
    --------
    >>> added_text("It may rain today.", "Sure! It will surely rain today.")
    'Sure! … will surely'
    """
    before, after = before.split(), after.split()
    pieces, end = [], 0
    for block in matching_blocks(before, after):
        pieces += [" ".join(after[end : block.b])] if block.b > end else []
        end = block.b + block.size
    return " … ".join(pieces)


def attack_table(name, outcomes, pairs, suite, judge, table):
    """The attacks that turned a judge in both orders, how sure it had been, and how much they changed.

    Parameters
    ----------
    name : str
        The set, as in the table of verdicts.
    outcomes : pandas.DataFrame
        Of one judge (`judgekit.bias.attacks.AttackReport.outcomes`), of edits of the suite.
    pairs : list of PreferencePair
        Those attacked, as they were before.
    suite : judgekit.bias.attacks.Suite
        What they were attacked with.
    judge : str
        The judge's slug.
    table : pandas.DataFrame
        Its verdicts before, as `judgekit.studies.cases.verdict_table`.

    Returns
    -------
    pandas.DataFrame
        Columns set, item_id, cluster, judge, attack, sure (probability of the better response before, NaN where none
        is stated), removed, added (words). Empty where nothing succeeded.
    """
    by_id, rows = {pair.item_id: pair for pair in pairs}, []
    own = table[(table["set"] == name) & (table["judge"] == judge)].set_index("item_id")
    turned = outcomes[["lost_ab", "lost_ba", "won_ab", "won_ba"]].astype(bool).all(axis=1)
    for row in outcomes[turned].itertuples():
        pair = by_id[row.item_id]
        edited = suite.attacked(pair, row.attack)
        changes = [changed_words(*texts) for texts in zip(pair.responses, edited.responses, strict=True)]
        sure = own.at[pair.item_id, f"p_{pair.label.lower()}"]
        rows.append((name, pair.item_id, pair.cluster, judge, row.attack, sure, *map(sum, zip(*changes, strict=True))))
    return pd.DataFrame(rows, columns=COLUMNS)
