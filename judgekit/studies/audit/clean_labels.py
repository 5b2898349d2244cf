"""A file of suggestions by item: keep, drop, relabel or review, with reasons, and how to score with it."""

from dataclasses import dataclass, replace

import pandas as pd

from judgekit.report import load_data

FILE = "clean_labels"
ACTIONS = ("keep", "drop", "relabel", "review")
COLUMNS = ["set", "item_id", "was", "label", "action", "reasons", "quality"]
# Reason to what it suggests; the first of drop, relabel, review that any reason suggests is the action.
SUGGESTS = {
    "repeats an earlier item": "drop",
    "contradicted by another item": "drop",
    "identical responses": "relabel",
    "empty response": "review",
    "damaged characters": "review",
    "judges say otherwise": "review",
    "nearly repeats an item": "keep",
    "annotators disagree": "keep",
    "question in a training set": "keep",
    "question in a test set": "keep",  # of a training set: drop
}
PRECEDENCE = ("drop", "relabel", "review")


@dataclass(frozen=True, slots=True)
class CleanLabel:
    """What the file suggests for one item.

    Attributes
    ----------
    was, label : str or None
        The published label, and the suggested one.
    action : {"keep", "drop", "relabel", "review"}
    reasons : tuple of str
        Keys of `SUGGESTS`.
    quality : float or None
        How credible the published label is to the judges, in [0, 1]; None where none was asked.
    """

    was: str | None
    label: str | None
    action: str
    reasons: tuple[str, ...] = ()
    quality: float | None = None


def suggest(pairs, reasons, quality=None, training=False):
    """Suggestions for the items of a set.

    Parameters
    ----------
    pairs : list of PreferencePair
    reasons : dict of str to collection of str
        Reason (a key of `SUGGESTS`) to the ids it holds for.
    quality : dict of str to float, optional
        Id to credibility in [0, 1].
    training : bool
        The set is to train on: what it shares with a test set is to be dropped, and items without a reason are left
        out, so that an item that the file does not name is to be kept.

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`, in the order of the pairs.

    Raises
    ------
    ValueError
        If a reason is unknown.

    Notes
    -----
    Identical responses become a tie where the set has ties, and are dropped where it has none.
    """
    if unknown := [reason for reason in reasons if reason not in SUGGESTS]:
        raise ValueError(f"no reason is called {unknown[0]!r}; there are {', '.join(SUGGESTS)}")
    ties = any(pair.label == "tie" for pair in pairs)
    rows = []
    for pair in pairs:
        why = [reason for reason in SUGGESTS if pair.item_id in reasons.get(reason, ())]
        if training and not why:
            continue
        wanted = {SUGGESTS[reason] for reason in why}
        wanted |= {"drop"} if training and "question in a test set" in why else set()
        action = next((one for one in PRECEDENCE if one in wanted), "keep")
        action = "drop" if action == "relabel" and not ties else action
        label = {"drop": None, "relabel": "tie"}.get(action, pair.label)
        known = None if quality is None else quality.get(pair.item_id)
        rows.append(
            [pair.benchmark, pair.item_id, pair.label or "", label or "", action, "; ".join(why),
             "" if known is None else f"{known:.3f}"]
        )  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)


def load_clean_labels(name, run="laptop"):
    """The suggestions for a set.

    Parameters
    ----------
    name : str
        A set, as `judgekit.data.catalogue.load_set` knows it.
    run : str

    Returns
    -------
    dict of str to CleanLabel
        By item id. Of training corpora only items with a reason are named.

    Raises
    ------
    FileNotFoundError
        If the audit has not been run.
    KeyError
        If the file has nothing on the set.

    Examples
    --------
    Score a judge without the items that repeat others, and with ties where both responses are one text::

        pairs = cleaned(load_set("pandalm"), load_clean_labels("pandalm"))
        verdicts = run_judge(judge, pairs, store)
        score(verdicts, pairs, "pandalm")
    """
    frame = load_data(run, FILE)
    rows = frame[frame["set"] == name]
    if rows.empty:
        raise KeyError(f"{FILE} of run {run!r} has nothing on {name!r}; it has {', '.join(sorted(set(frame['set'])))}")
    return {
        str(row.item_id): CleanLabel(
            row.was or None,
            row.label or None,
            row.action,
            tuple(row.reasons.split("; ")) if row.reasons else (),
            float(row.quality) if row.quality != "" else None,
        )
        for row in rows.itertuples()
    }


def cleaned(pairs, labels, left_out=("drop",)):
    """The pairs of a set as the suggestions have them.

    Parameters
    ----------
    pairs : list of PreferencePair
    labels : dict of str to CleanLabel
        As `load_clean_labels`; an item that is not named stays as it is.
    left_out : collection of str
        Actions whose items are left out; add ``"review"`` to keep what is beyond suspicion only.

    Returns
    -------
    list of PreferencePair

    Raises
    ------
    ValueError
        If an item's label is not the one that was audited, or an action is unknown.
    """
    if odd := [action for action in left_out if action not in ACTIONS]:
        raise ValueError(f"no action is called {odd[0]!r}; there are {', '.join(ACTIONS)}")
    kept = []
    for pair in pairs:
        found = labels.get(pair.item_id)
        if found is None:
            kept.append(pair)
            continue
        if found.was != pair.label:
            raise ValueError(f"{pair.where}: audited with label {found.was!r}, and it has {pair.label!r}")
        if found.action not in left_out:
            # Votes speak for themselves, and a protocol that reads them does not read the label.
            kept.append(replace(pair, label=found.label) if found.action == "relabel" else pair)
    return kept
