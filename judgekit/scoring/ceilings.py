"""The human ceilings of a set as one table: what a judge can be expected to reach at most."""

from itertools import product

import pandas as pd

from judgekit.scoring.humans import (
    annotators_against_majority,
    annotators_against_others,
    annotators_with_each_other,
    chance_corrected,
    have_one_panel,
    vote_agreement,
)
from judgekit.scoring.scores import N_BOOT

COLUMNS = ["key", "people", "quantity", "number"]


def ceiling_table(pairs, n_boot=N_BOOT, seed=0):
    """Every ceiling that the votes of a set allow.

    Parameters
    ----------
    pairs : list of PreferencePair
        With votes. Where everybody voted on everything (PandaLM), annotators are held against each other by name;
        elsewhere (MT-bench) any two votes on the same comparison are.
    n_boot, seed : int
        Prompts are resampled.

    Returns
    -------
    pandas.DataFrame
        Columns key (end of a result key), people, quantity (words), number (a `Number`).

    Raises
    ------
    ValueError
        If there are no votes, or only one on each comparison.
    """
    rows = panel_rows(pairs, n_boot, seed) if have_one_panel(pairs) else voter_rows(pairs, n_boot, seed)
    return pd.DataFrame(rows, columns=COLUMNS)


def panel_rows(pairs, n_boot, seed):
    """Ceilings of a set with the same annotators on every item."""
    rows = []
    for name, number in annotators_against_majority(pairs, n_boot, seed).items():
        rows.append((f"{name}.majority", name, "with the majority", number))
    for name, number in annotators_against_others(pairs, n_boot, seed).items():
        rows.append((f"{name}.others", name, "with the others", number))
    for (one, other), numbers in annotators_with_each_other(pairs, n_boot, seed).items():
        for quantity, words in (("agreement", "agreement"), ("kappa", "Cohen's kappa")):
            rows.append(
                (
                    f"{one}_vs_{other}.{quantity}",
                    f"{one}, {other.removeprefix(shared_stem([one, other]))}",
                    words,
                    numbers[quantity],
                )
            )
    together = chance_corrected(pairs, n_boot, seed)
    for quantity, words in (("fleiss_kappa", "Fleiss' kappa"), ("alpha", "Krippendorff's alpha")):
        rows.append((quantity, "all", words, together[quantity]))
    return rows


def shared_stem(names):
    """The name less its number, where all names share it; nothing otherwise.

    Examples
    --------
    >>> shared_stem(["annotator1", "annotator2"]), shared_stem(["ann", "bob"]), shared_stem(["a10", "a12"])
    ('annotator', '', 'a')
    """
    stems = {name.rstrip("0123456789") for name in names}
    return stems.pop() if len(stems) == 1 else ""


def voter_rows(pairs, n_boot, seed):
    """Ceilings of a set on which each item had voters of its own; turns and voters as far as there are any."""
    several = len({len(pair.turns) for pair in pairs}) > 1
    authors = any(name.startswith("author") for pair in pairs for name in pair.votes)
    groups = {"experts": "experts", "all": "experts and authors"} if authors else {"all": "all"}
    turns = {"turn1": 1, "all_turns": None} if several else {"all_turns": None}
    rows = []
    for (voters, people), (turn_key, turn), ties in product(groups.items(), turns.items(), (True, False)):
        number = vote_agreement(pairs, turn, voters, ties, n_boot, seed)
        words = ("turn 1" if turn else "both turns" if several else "votes") + (
            ", with ties" if ties else ", without ties"
        )
        who = {"all": "everyone"}.get(voters, voters)
        rows.append((f"{who}_{turn_key}.{'with' if ties else 'without'}_ties", people, words, number))
    return rows
