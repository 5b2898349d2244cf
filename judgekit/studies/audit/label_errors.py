"""Labels that are probably wrong, by judges that were not trained on them; and how well that is told where it is known.

The judges of a set are annotators beside the reference label, and CROWDLAB (Goh et al. 2022) weighs their votes with
one judge's probabilities. Judges share their errors, so that a flag says "look again", never "wrong".
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from judgekit.data.votes import NO_VOTE, ClassProbabilities, Votes, aligned
from judgekit.records import LABELS, PreferencePair, Verdict
from judgekit.scoring.items import stated_probabilities
from judgekit.scoring.protocols import forced_verdict, joined_verdict
from judgekit.stats import Array, Floats, Number
from judgekit.studies.audit.estimates import N_BOOT, detection_area, share
from judgekit.studies.measure_agreement import verdicts_by_order

REFERENCE = "reference label"
REPEATS = 10
METHODS = ("confidence", "confident learning", "CROWDLAB")


def label_votes(
    pairs: Sequence[PreferencePair], judges: Mapping[str, Sequence[Verdict]], classes: Sequence[str]
) -> Votes:
    """The reference label and the verdicts of judges, as votes of as many annotators; the first is `REFERENCE`.

    Items are ids, ``classes`` the labels of the set. A judge that saw both orders votes what it says in both, and a tie
    where these differ; where ties are no class that is no vote. ValueError where a pair has no label, or a label is no
    class.
    """
    columns = [[pair.label for pair in pairs]]
    if odd := [pair for pair in pairs if pair.label not in classes]:
        raise ValueError(f"{odd[0].where}: label {odd[0].label!r} is none of {', '.join(classes)}")
    columns += [said_of(verdicts, pairs, "tie" not in classes) for verdicts in judges.values()]
    codes = [[classes.index(label) if label in classes else NO_VOTE for label in column] for column in columns]
    items = [pair.item_id for pair in pairs]
    return Votes(items, [REFERENCE, *judges], np.array(codes).T, tuple(classes), [pair.cluster for pair in pairs])  # type: ignore[arg-type] # it makes tuples


def said_of(verdicts: Sequence[Verdict], pairs: Sequence[PreferencePair], forced: bool) -> list[str | None]:
    """One verdict of a judge per pair, or None."""
    if {verdict.order for verdict in verdicts} == {"ab", "ba"}:
        if forced:
            verdicts = [v if v.verdict is None else replace(v, verdict=forced_verdict(v)) for v in verdicts]
        return [joined_verdict(ab, ba, "any") for ab, ba in verdicts_by_order(verdicts, pairs)]
    by_item = {verdict.item_id: verdict.verdict for verdict in verdicts}
    return [by_item[pair.item_id] for pair in pairs]


def label_quality(votes: Votes, probabilities: ClassProbabilities) -> tuple[dict[str, Floats], dict[str, Array]]:
    """How credible each reference label is, and whether it is flagged, by three methods; shapes (n_items,).

    ``votes``: as `label_votes`; ``probabilities``: of a judge that was not trained on these labels, for the same items
    and classes in the same order (ValueError otherwise, `judgekit.data.votes.aligned`).

    Quality, in [0, 1], low is suspect. ``confidence``: the probability of the label; ``confident learning``: the same
    less what the judge gives that class on average (Northcutt et al. 2021); ``CROWDLAB``: its quality as a vote among
    those of the judges. Flagged, bool. ``confidence``: the judge's verdict is another label; ``confident learning``:
    cleanlab's choice (`find_label_issues`); ``CROWDLAB``: the consensus of all is another label.
    """
    from cleanlab.filter import find_label_issues
    from cleanlab.multiannotator import get_label_quality_multiannotator
    from cleanlab.rank import get_label_quality_scores

    stated = floored(aligned(votes, probabilities))
    labels = votes.codes[:, votes.annotators.index(REFERENCE)]
    quality = {"confidence": get_label_quality_scores(labels, stated)}
    quality["confident learning"] = get_label_quality_scores(labels, stated, adjust_pred_probs=True)
    flagged = {"confidence": stated.argmax(1) != labels}
    flagged["confident learning"] = find_label_issues(labels, stated, n_jobs=1)
    kept = votes.of([name for name in votes.annotators if (votes.codes[:, votes.annotators.index(name)] >= 0).any()])
    found = get_label_quality_multiannotator(kept.wide().reset_index(drop=True), stated, verbose=False)
    quality["CROWDLAB"] = found["detailed_label_quality"][f"quality_annotator_{REFERENCE}"].to_numpy(float)
    flagged["CROWDLAB"] = found["label_quality"]["consensus_label"].to_numpy(int) != labels
    return quality, flagged


def floored(stated: Array, least: float = 1e-6) -> Floats:
    """Probabilities without zeros, which logarithms in the library do not bear."""
    stated = np.maximum(stated, least)
    return stated / stated.sum(1, keepdims=True)


def planted_errors(labels: Array, rate: float, n_classes: int, seed: int = 0) -> tuple[Array, Array]:
    """Labels of which a share, ``rate`` in (0, 1), is exchanged for another one by seed, and which ones (bool).

    ``labels``: integers; all of shape (n_items,).

    >>> import numpy as np
    >>> changed, planted = planted_errors(np.zeros(40, int), 0.1, 3)
    >>> int(planted.sum()), bool((changed[planted] != 0).all())
    (4, True)
    """
    rng = np.random.default_rng(seed)
    planted = np.zeros(len(labels), bool)
    planted[rng.choice(len(labels), max(1, round(rate * len(labels))), replace=False)] = True
    shift = rng.integers(1, n_classes, len(labels))
    return np.where(planted, (labels + shift) % n_classes, labels), planted


def recovery(
    votes: Votes,
    probabilities: ClassProbabilities,
    rate: float = 0.05,
    repeats: int = REPEATS,
    n_boot: int = N_BOOT,
    seed: int = 0,
) -> dict[str, dict[str, Number]]:
    """How well planted errors are found, by method.

    ``precision`` (of the flagged, planted; left out where nothing is flagged), ``recall`` (of the planted, flagged),
    ``area`` (under the ROC curve). Prompts are resampled with all that was planted in them.

    ``votes``, ``probabilities``: as `label_quality`; the labels should be beyond doubt, since their own errors count as
    false alarms. ``repeats``: how often errors are planted anew, since a twentieth of a small set is a handful; all are
    counted together.
    """
    column, planted = votes.annotators.index(REFERENCE), []
    suspicion, called = {method: [] for method in METHODS}, {method: [] for method in METHODS}  # type: ignore[var-annotated] # two at once
    for repeat in range(repeats):
        codes = votes.codes.copy()
        codes[:, column], chosen = planted_errors(codes[:, column], rate, len(votes.classes), seed * repeats + repeat)
        changed = Votes(votes.items, votes.annotators, codes, votes.classes, votes.clusters)
        quality, flagged = label_quality(changed, probabilities)
        planted.append(chosen)
        for method in METHODS:
            suspicion[method].append(-quality[method])
            called[method].append(flagged[method])
    planted, clusters, found = np.concatenate(planted), np.tile(votes.clusters, repeats), {}  # type: ignore[assignment] # a list becomes an array
    for method in METHODS:
        hit = np.concatenate(called[method])
        found[method] = {
            "recall": share(hit[planted], clusters[planted], n_boot, seed),
            "area": detection_area(np.concatenate(suspicion[method]), planted, clusters, n_boot, seed),
        }
        if hit.any():
            found[method]["precision"] = share(planted[hit], clusters[hit], n_boot, seed)
    return found


def chances_of(
    verdicts: Sequence[Verdict], pairs: Sequence[PreferencePair], classes: Sequence[str]
) -> ClassProbabilities:
    """A judge's probabilities for pairs, on the labels of the set."""
    return stated_probabilities(verdicts, pairs).only(classes)


def classes_of(pairs: Sequence[PreferencePair]) -> tuple[str, ...]:
    """The labels that a set uses, in the order of `LABELS`."""
    return tuple(label for label in LABELS if any(pair.label == label for pair in pairs))
