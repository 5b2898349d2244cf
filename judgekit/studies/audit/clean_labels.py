"""A file of suggestions by item: keep, drop, relabel or review, with reasons, and how to score with it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from judgekit.records import PreferencePair
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
    """What the file suggests for one item."""

    was: str | None
    label: str | None
    action: str  # one of ACTIONS
    reasons: tuple[str, ...] = ()  # keys of `SUGGESTS`
    quality: float | None = None  # how credible the published label is to the judges, in [0, 1]


def suggest(
    pairs: Sequence[PreferencePair],
    reasons: Mapping[str, Collection[str]],
    quality: Mapping[str, float] | None = None,
    training: bool = False,
) -> pd.DataFrame:
    """Suggestions for the items of a set: columns `COLUMNS`, in the order of the pairs.

    ``reasons``: reason (a key of `SUGGESTS`) to the ids it holds for; ``quality``: id to credibility in [0, 1];
    ``training``: the set is to train on, so what it shares with a test set is to be dropped, and items without a reason
    are left out: an item that the file does not name is to be kept. Identical responses become a tie where the set has
    ties, and are dropped where it has none. ValueError where a reason is unknown.
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


def load_clean_labels(name: str, run: str = "laptop") -> dict[str, CleanLabel]:
    """The suggestions for a set (as `judgekit.data.catalogue.load_set` knows it), by item id.

    Of training corpora only items with a reason are named. FileNotFoundError where the audit has not been run, KeyError
    where the file has nothing on the set.

    Score a judge without the items that repeat others, and with ties where both responses are one text::

        pairs = cleaned(load_set("pandalm"), load_clean_labels("pandalm"))
        verdicts = run_judge(judge, pairs, store)
        score(verdicts, pairs, "pandalm")
    """
    frame: Any = load_data(run, FILE)
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


def cleaned(
    pairs: Sequence[PreferencePair], labels: Mapping[str, CleanLabel], left_out: Collection[str] = ("drop",)
) -> list[PreferencePair]:
    """The pairs of a set as the suggestions (`load_clean_labels`) have them; an item not named stays as it is.

    ``left_out``: actions whose items are left out; add ``"review"`` to keep what is beyond suspicion only. ValueError
    where an item's label is not the one that was audited, or an action is unknown.
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
