"""Labels that are probably wrong, how well they are found where it is known, and what is to be done with each item.

The judges of a set are annotators beside the reference label, and CROWDLAB (Goh et al. 2022) weighs their votes with
one judge's probabilities. Judges share their errors, so that a flag says "look again", never "wrong".
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from judgekit.data.votes import NO_VOTE, ClassProbabilities, Votes, aligned
from judgekit.records import LABELS, ORDERS, PreferencePair, Verdict, majority_label
from judgekit.report import load_data
from judgekit.scoring.comparison import Contest
from judgekit.scoring.items import stated_probabilities
from judgekit.scoring.protocols import forced_verdict, joined_verdict
from judgekit.stats import Array, Floats, Number, ratio, weighted_bootstrap
from judgekit.studies.audit_benchmarks import N_BOOT, share

REFERENCE = "reference label"
METHODS = ("confidence", "confident learning", "CROWDLAB")
TRIVIAL = ("longer", "shorter", "first", "second", "random")  # they say nothing about a label

# ---------------------------------------------------------------- how credible a label is


def label_votes(
    pairs: Sequence[PreferencePair], judges: Mapping[str, Sequence[Verdict]], classes: Sequence[str]
) -> Votes:
    """The reference label (`REFERENCE`, the first) and the verdicts of judges, as votes of as many annotators.

    A judge that saw both orders votes what it says in both, and a tie where these differ; where ties are no class that
    is no vote. ValueError where a label is no class.
    """
    if odd := [pair for pair in pairs if pair.label not in classes]:
        raise ValueError(f"{odd[0].where}: label {odd[0].label!r} is none of {', '.join(classes)}")
    columns = [[pair.label for pair in pairs]]
    columns += [_one_verdict(verdicts, pairs, "tie" not in classes) for verdicts in judges.values()]
    codes = [[classes.index(label) if label in classes else NO_VOTE for label in column] for column in columns]
    items, clusters = tuple(pair.item_id for pair in pairs), tuple(pair.cluster for pair in pairs)
    return Votes(items, (REFERENCE, *judges), np.array(codes).T, tuple(classes), clusters)


def _one_verdict(verdicts: Sequence[Verdict], pairs: Sequence[PreferencePair], forced: bool) -> list[str | None]:
    """One verdict of a judge per pair, or None."""
    cells = {(v.item_id, v.order): v for v in verdicts}
    if len({order for _, order in cells}) < len(ORDERS):
        by_item = {verdict.item_id: verdict.verdict for verdict in verdicts}
        return [by_item[pair.item_id] for pair in pairs]
    read = {key: forced_verdict(v) if forced and v.verdict else v.verdict for key, v in cells.items()}
    return [joined_verdict(read[pair.item_id, "ab"], read[pair.item_id, "ba"], "any") for pair in pairs]


def label_quality(votes: Votes, probabilities: ClassProbabilities) -> tuple[dict[str, Floats], dict[str, Array]]:
    """How credible each reference label is, in [0, 1], and whether it is flagged, by three methods; shapes (n_items,).

    ``confidence``: the probability of the label; flagged where the judge's verdict is another. ``confident learning``:
    the same less what the judge gives that class on average (Northcutt et al. 2021); flagged by cleanlab. ``CROWDLAB``:
    its quality as a vote among those of the judges; flagged where the consensus of all is another label.

    ``votes``: as `label_votes`; ``probabilities``: of a judge that was not trained on these labels, for the same items
    in the same order (ValueError otherwise).
    """
    from cleanlab.filter import find_label_issues
    from cleanlab.multiannotator import get_label_quality_multiannotator
    from cleanlab.rank import get_label_quality_scores

    stated = np.maximum(aligned(votes, probabilities), 1e-6)  # the library takes logarithms
    stated = stated / stated.sum(1, keepdims=True)
    labels = votes.codes[:, votes.annotators.index(REFERENCE)]
    voting = votes.of([name for place, name in enumerate(votes.annotators) if votes.given[:, place].any()])
    crowd = get_label_quality_multiannotator(voting.wide().reset_index(drop=True), stated, verbose=False)
    quality = {
        "confidence": get_label_quality_scores(labels, stated),
        "confident learning": get_label_quality_scores(labels, stated, adjust_pred_probs=True),
        "CROWDLAB": crowd["detailed_label_quality"][f"quality_annotator_{REFERENCE}"].to_numpy(float),
    }
    flagged = {
        "confidence": stated.argmax(1) != labels,
        "confident learning": find_label_issues(labels, stated, n_jobs=1),
        "CROWDLAB": crowd["label_quality"]["consensus_label"].to_numpy(int) != labels,
    }
    return quality, flagged


def evidence(contest: Contest, pairs: Sequence[PreferencePair], stating: str) -> tuple[Votes, ClassProbabilities]:
    """Votes of all judges but rules of thumb, and the probabilities of one (its slug), on labelled pairs."""
    ids = {pair.item_id for pair in pairs}
    classes = tuple(label for label in LABELS if any(pair.label == label for pair in contest.pairs))
    chosen = {judge: [v for v in given if v.item_id in ids] for judge, given in contest.verdicts.items()}
    voters = {judge: given for judge, given in chosen.items() if judge != stating and judge not in TRIVIAL}
    return label_votes(pairs, voters, classes), stated_probabilities(chosen[stating], pairs).only(classes)


def suspect_labels(contest: Contest, stating: str = "minilm") -> pd.DataFrame:
    """How credible the labels of a set are to its judges: columns set, item_id, cluster, quality (CROWDLAB), flagged.

    ``stating``: slug of the judge whose probabilities are read; it must not have been trained on the set.
    """
    pairs = [pair for pair in contest.pairs if pair.label is not None]
    quality, flagged = label_quality(*evidence(contest, pairs, stating))
    rows = [(contest.name, pair.item_id, pair.cluster) for pair in pairs]
    table = pd.DataFrame(rows, columns=["set", "item_id", "cluster"])
    return table.assign(quality=quality["CROWDLAB"], flagged=flagged["CROWDLAB"])


# ---------------------------------------------------------------- where it is known


def planted_errors(labels: Array, rate: float, n_classes: int, seed: int = 0) -> tuple[Array, Array]:
    """Label codes of which a share, ``rate`` in (0, 1), is exchanged for another by seed, and which ones (bool)."""
    rng = np.random.default_rng(seed)
    planted = np.zeros(len(labels), bool)
    planted[rng.choice(len(labels), max(1, round(rate * len(labels))), replace=False)] = True
    shift = rng.integers(1, n_classes, len(labels))
    return np.where(planted, (labels + shift) % n_classes, labels), planted


def area(suspicion: Array, planted: Array, weight: Array) -> Floats:
    """Area under the ROC curve of weighted items, in [0, 1], shape (...); equal suspicion shares the credit.

    ``suspicion``, ``planted``: shape (n_items,); ``weight``: (..., n_items), a row for each resample.
    """
    order = np.argsort(suspicion, kind="stable")
    values, weight = np.asarray(suspicion)[order], weight[..., order]
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
    wrong = np.add.reduceat(weight * planted[order], starts, axis=-1)
    sound = np.add.reduceat(weight * ~planted[order], starts, axis=-1)
    below = np.cumsum(sound, -1) - sound / 2
    return ratio((wrong * below).sum(-1), wrong.sum(-1) * sound.sum(-1))


def detection_area(suspicion: Array, wrong: Array, clusters: Array, n_boot: int = N_BOOT, seed: int = 0) -> Number:
    """Probability that a wrong label looks more suspect than a sound one; ValueError where there are none of either."""
    suspicion, wrong = np.asarray(suspicion, float), np.asarray(wrong, bool)
    if not 0 < wrong.sum() < len(wrong):
        raise ValueError(f"{wrong.sum()} of {len(wrong)} labels are wrong: nothing to tell apart")
    ends = weighted_bootstrap(lambda weight: area(suspicion, wrong, weight), clusters, n_boot, seed)
    return Number(*ends, n=int(wrong.sum()), spec=".3f")


def plant_and_find(
    contest: Contest,
    pairs: Sequence[PreferencePair],
    stating: str = "minilm",
    rate: float = 0.05,
    repeats: int = 10,
    n_boot: int = N_BOOT,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """How many planted errors each method finds: rows of set, method, planted, precision, recall, area (`Number`).

    ``pairs``: those of the contest whose labels are beyond doubt; ``repeats``: how often errors are planted anew, since
    a twentieth of a small set is a handful; all are counted together. Precision is None where nothing is flagged.
    """
    votes, probabilities = evidence(contest, pairs, stating)
    suspicion, called, planted = {m: [] for m in METHODS}, {m: [] for m in METHODS}, []  # type: ignore[var-annotated]
    for repeat in range(repeats):
        codes = votes.codes.copy()
        codes[:, 0], chosen = planted_errors(codes[:, 0], rate, len(votes.classes), seed * repeats + repeat)
        quality, flagged = label_quality(replace(votes, codes=codes), probabilities)
        planted.append(chosen)
        for method in METHODS:
            suspicion[method].append(-quality[method])
            called[method].append(flagged[method])
    wrong, clusters, rows = np.concatenate(planted), np.tile(votes.clusters, repeats), []
    for method in METHODS:
        hit = np.concatenate(called[method])
        found = detection_area(np.concatenate(suspicion[method]), wrong, clusters, n_boot, seed)
        precision = share(wrong[hit], clusters[hit], n_boot, seed) if hit.any() else None
        recall = share(hit[wrong], clusters[wrong], n_boot, seed)
        rows.append({"set": contest.name, "method": method, "planted": found.n, "precision": precision})
        rows[-1] |= {"recall": recall, "area": found}
    return rows


def held_out_people(
    contest: Contest, stating: str = "minilm", n_boot: int = N_BOOT, seed: int = 0
) -> dict[str, Number]:
    """Whether suspicion of one annotator's vote foretells that the others contradict it: `detection_area` by method.

    Over the votes of all annotators, the same people throughout; a vote is wrong where the others have a majority for
    another label.
    """
    suspicion, wrong, clusters = {method: [] for method in METHODS}, [], []  # type: ignore[var-annotated]
    for name in contest.pairs[0].votes:
        others = [majority_label({w: vote for w, vote in p.votes.items() if w != name}) for p in contest.pairs]
        decided = [(p, other) for p, other in zip(contest.pairs, others, strict=True) if other is not None]
        pairs = [replace(pair, label=pair.votes[name]) for pair, _ in decided]
        quality, _ = label_quality(*evidence(contest, pairs, stating))
        for method in METHODS:
            suspicion[method] += (-quality[method]).tolist()
        wrong += [pair.label != other for pair, (_, other) in zip(pairs, decided, strict=True)]
        clusters += [pair.cluster for pair in pairs]
    return {method: detection_area(suspicion[method], wrong, clusters, n_boot, seed) for method in METHODS}


# ---------------------------------------------------------------- what is to be done with an item

# Finding to the reason that a file of suggestions gives; a copy with the votes of other people is no fault.
REASONS = {
    "repeated": "repeats an earlier item",
    "near_repeated": "nearly repeats an item",
    "contradicted": "contradicted by another item",
    "identical_decided": "identical responses",
    "empty": "empty response",
    "damaged": "damaged characters",
    "disputed": "annotators disagree",
    "suspect": "judges say otherwise",
}
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
ACTIONS = ("drop", "relabel", "review", "keep")


def suggest(
    pairs: Sequence[PreferencePair],
    reasons: Mapping[str, Collection[str]],
    quality: Mapping[str, float],
    training: bool = False,
) -> pd.DataFrame:
    """Suggestions for the items of a set: columns set, item_id, was, label, action, reasons, quality.

    ``reasons``: reason (a key of `SUGGESTS`, ValueError otherwise) to the ids it holds for; ``quality``: id to
    credibility in [0, 1]; ``training``: the set is to train on, so what it shares with a test set is to be dropped, and
    items without a reason, which are to be kept, are left out. Identical responses become a tie where the set has ties,
    and are dropped where it has none.
    """
    if unknown := [reason for reason in reasons if reason not in SUGGESTS]:
        raise ValueError(f"no reason is called {unknown[0]!r}; there are {', '.join(SUGGESTS)}")
    same = "relabel" if any(pair.label == "tie" for pair in pairs) else "drop"
    actions = SUGGESTS | {"identical responses": same} | ({"question in a test set": "drop"} if training else {})
    rows = []
    for pair in pairs:
        why = [reason for reason in SUGGESTS if pair.item_id in reasons.get(reason, ())]
        action = min((actions[reason] for reason in why), key=ACTIONS.index, default="keep")
        label = {"drop": None, "relabel": "tie"}.get(action, pair.label)
        known = f"{quality[pair.item_id]:.3f}" if pair.item_id in quality else ""
        if why or not training:
            row = (pair.benchmark, pair.item_id, pair.label or "", label or "", action, "; ".join(why), known)
            rows.append(row)
    return pd.DataFrame(rows, columns=["set", "item_id", "was", "label", "action", "reasons", "quality"])


def load_clean_labels(name: str, run: str = "laptop") -> pd.DataFrame:
    """The suggestions for a set, by item id: columns was, label, action, reasons, quality.

    Of training corpora only items with a reason are named. FileNotFoundError where the audit has not been run, KeyError
    where the file has nothing on the set.
    """
    frame = load_data(run, "clean_labels")
    if name not in set(frame["set"]):
        raise KeyError(f"run {run!r} has nothing on {name!r}; it has {', '.join(sorted(set(frame['set'])))}")
    return frame[frame["set"] == name].astype({"item_id": str}).set_index("item_id")


def cleaned(
    pairs: Sequence[PreferencePair], labels: pd.DataFrame, left_out: Collection[str] = ("drop",)
) -> list[PreferencePair]:
    """The pairs of a set as the suggestions (`load_clean_labels`) have them; an item not named stays as it is.

    ``left_out``: actions whose items are left out; add ``"review"`` to keep what is beyond suspicion only. ValueError
    where an item's label is not the one that was audited, or an action is unknown.
    """
    if odd := [action for action in left_out if action not in ACTIONS]:
        raise ValueError(f"no action is called {odd[0]!r}; there are {', '.join(ACTIONS)}")
    known, remaining = labels[["was", "label", "action"]].to_dict("index"), []
    for pair in pairs:
        row: Any = known.get(pair.item_id, {"action": "keep", "was": pair.label or ""})
        if row["was"] != (pair.label or ""):
            raise ValueError(f"{pair.where}: audited with label {row['was']!r}, and it has {pair.label!r}")
        if row["action"] not in left_out:  # votes speak for themselves: a protocol that reads them reads no label
            remaining.append(replace(pair, label=row["label"]) if row["action"] == "relabel" else pair)
    return remaining
