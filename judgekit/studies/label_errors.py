"""Labels that are probably wrong: judges are annotators beside the label (CROWDLAB, Goh et al. 2022).

Judges share their errors, so that a flag says "look again", never "wrong".
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from judgekit.data.votes import NO_VOTE, ClassProbabilities, Votes, aligned
from judgekit.records import LABELS, ORDERS
from judgekit.scoring.comparison import Contest
from judgekit.scoring.items import stated_probabilities
from judgekit.scoring.protocols import Pairs, Verdicts, forced_verdict, joined_verdict
from judgekit.stats import Array, Floats, Number, interval, ratio, share_of

REFERENCE = "reference label"
METHODS = ("confidence", "confident learning", "CROWDLAB")
REPEATS = 10
TRIVIAL = ("longer", "shorter", "first", "second", "random")  # they say nothing about a label


def evidence(
    contest: Contest, pairs: Pairs, stating: str, labels: Sequence[str] | None = None
) -> tuple[Votes, ClassProbabilities]:
    """Labels of pairs (`REFERENCE`; their own by default) and judges' verdicts as votes, and one judge's probabilities.

    A judge whose verdicts differ with the order votes a tie; where ties are no class that is no vote. Rules of thumb
    do not vote, nor does ``stating`` (a slug), whose probabilities are read.
    """
    ids = {pair.item_id for pair in pairs}
    classes = tuple(label for label in LABELS if any(pair.label == label for pair in contest.pairs))
    given = {judge: [v for v in verdicts if v.item_id in ids] for judge, verdicts in contest.verdicts.items()}
    voters = [judge for judge in given if judge != stating and judge not in TRIVIAL]
    columns = [_one_verdict(given[judge], pairs, "tie" not in classes) for judge in voters]
    codes = [[classes.index(str(label)) for label in labels or [str(pair.label) for pair in pairs]]]
    codes += [[classes.index(label) if label in classes else NO_VOTE for label in column] for column in columns]
    items, clusters = tuple(pair.item_id for pair in pairs), tuple(pair.cluster for pair in pairs)
    votes = Votes(items, (REFERENCE, *voters), np.array(codes).T, classes, clusters)
    return votes, stated_probabilities(given[stating], pairs).only(classes)


def _one_verdict(verdicts: Verdicts, pairs: Pairs, forced: bool) -> list[str | None]:
    """One verdict of a judge per pair, or None."""
    cells = {(v.item_id, v.order): forced_verdict(v) if forced and v.verdict else v.verdict for v in verdicts}
    if len({order for _, order in cells}) < len(ORDERS):
        by_item = {verdict.item_id: verdict.verdict for verdict in verdicts}
        return [by_item[pair.item_id] for pair in pairs]
    return [joined_verdict(cells[pair.item_id, "ab"], cells[pair.item_id, "ba"], "any") for pair in pairs]


def label_quality(votes: Votes, probabilities: ClassProbabilities) -> tuple[dict[str, Floats], dict[str, Array]]:
    """How credible each reference label is, in [0, 1], and whether it is flagged, by three methods; shapes (n_items,).

    ``confidence``: the probability of the label; flagged where the judge's verdict is another. ``confident learning``:
    the same less what the judge gives that class on average (Northcutt et al. 2021); flagged by cleanlab. ``CROWDLAB``:
    its quality as a vote among those of the judges; flagged where the consensus of all is another label. ValueError
    where the probabilities are of other items.
    """
    from cleanlab.filter import find_label_issues
    from cleanlab.multiannotator import get_label_quality_multiannotator
    from cleanlab.rank import get_label_quality_scores

    stated = np.maximum(aligned(votes, probabilities), 1e-6)  # the library takes logarithms
    stated /= stated.sum(1, keepdims=True)
    labels = votes.codes[:, votes.annotators.index(REFERENCE)]
    voting = votes.of([name for column, name in enumerate(votes.annotators) if votes.given[:, column].any()])
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


def suspect_labels(contest: Contest, stating: str) -> pd.DataFrame:
    """How credible the labels of a set are to its judges by CROWDLAB: set, item_id, cluster, quality, flagged."""
    pairs = [pair for pair in contest.pairs if pair.label is not None]
    quality, flagged = label_quality(*evidence(contest, pairs, stating))
    table = pd.DataFrame([(contest.name, p.item_id, p.cluster) for p in pairs], columns=["set", "item_id", "cluster"])
    return table.assign(quality=quality["CROWDLAB"], flagged=flagged["CROWDLAB"])


def planted_errors(labels: Array, rate: float, n_classes: int, seed: int) -> tuple[Array, Array]:
    """Label codes of which a share, ``rate`` in (0, 1), is exchanged for another by seed, and which ones (bool)."""
    rng = np.random.default_rng(seed)
    planted = np.zeros(len(labels), bool)
    planted[rng.choice(len(labels), max(1, round(rate * len(labels))), replace=False)] = True
    shift = rng.integers(1, n_classes, len(labels))
    return np.where(planted, (labels + shift) % n_classes, labels), planted


def detection_area(suspicion: Array, wrong: Array, clusters: Array, n_boot: int = 2000, seed: int = 0) -> Number:
    """Area under the ROC curve: P(a wrong label is more suspect than a sound one); ValueError without both."""
    suspicion, wrong = np.asarray(suspicion, float), np.asarray(wrong, bool)
    if not 0 < wrong.sum() < len(wrong):
        raise ValueError(f"{wrong.sum()} of {len(wrong)} labels are wrong: nothing to tell apart")
    order = np.argsort(suspicion, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(suspicion[order]) != 0])

    def area(weight: Array) -> Floats:
        weight = weight[..., order]
        hit = np.add.reduceat(weight * wrong[order], starts, axis=-1)
        sound = np.add.reduceat(weight * ~wrong[order], starts, axis=-1)
        below = np.cumsum(sound, -1) - sound / 2
        return ratio((hit * below).sum(-1), hit.sum(-1) * sound.sum(-1))

    return interval(area, clusters, n=int(wrong.sum()), spec=".3f", n_boot=n_boot, seed=seed)


def plant_and_find(
    contest: Contest, pairs: Pairs, stating: str, rate: float = 0.05, n_boot: int = 2000, seed: int = 0
) -> list[dict[str, Any]]:
    """How many errors, planted `REPEATS` times among labels beyond doubt, each method finds: rows with `Number`."""
    votes, probabilities = evidence(contest, pairs, stating)
    runs: list[Any] = []
    for repeat in range(REPEATS):
        codes = votes.codes.copy()
        codes[:, 0], planted = planted_errors(codes[:, 0], rate, len(votes.classes), seed * REPEATS + repeat)
        runs.append((planted, *label_quality(replace(votes, codes=codes), probabilities)))
    wrong, clusters, rows = np.concatenate([run[0] for run in runs]), np.tile(votes.clusters, REPEATS), []
    options: Any = {"spec": ".1%", "n_boot": n_boot, "seed": seed}
    for method in METHODS:
        suspicion, hit = (np.concatenate([run[part][method] for run in runs]) for part in (1, 2))
        area = detection_area(-suspicion, wrong, clusters, n_boot, seed)
        precision = interval(share_of, clusters[hit], wrong[hit], **options) if hit.any() else None
        recall = interval(share_of, clusters[wrong], hit[wrong], **options)
        values: Any = {"planted": area.n, "precision": precision, "recall": recall, "area": area}
        rows.append({"set": contest.name, "method": method} | values)
    return rows
