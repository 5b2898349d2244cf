"""Suspect labels of a set by all of its judges, and how well suspicion finds what is known to be wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from judgekit.data.votes import ClassProbabilities, Votes
from judgekit.judges.names import slug
from judgekit.records import PreferencePair, Verdict, majority_label
from judgekit.scoring.comparison import Contest
from judgekit.stats import Number
from judgekit.studies.audit.disagreement import disputed
from judgekit.studies.audit.estimates import N_BOOT, detection_area, share_difference
from judgekit.studies.audit.findings import Finding
from judgekit.studies.audit.label_errors import METHODS, chances_of, classes_of, label_quality, label_votes, recovery
from judgekit.studies.measure_agreement import have_one_panel

TRIVIAL = ("longer", "shorter", "first", "second", "random")  # they say nothing about a label


def labelled(pairs: Sequence[PreferencePair]) -> list[PreferencePair]:
    """Pairs with a label."""
    return [pair for pair in pairs if pair.label is not None]


def voters_of(contest: Contest, stating: str) -> dict[str, list[Verdict]]:
    """The judges that vote beside the one that states probabilities: all but it and the rules of thumb."""
    return {name: said for name, said in contest.verdicts.items() if name != stating and name not in TRIVIAL}


def material(contest: Contest, pairs: Sequence[PreferencePair], stating: str) -> tuple[Votes, ClassProbabilities]:
    """Votes and probabilities on some pairs of a contest."""
    ids, classes = {pair.item_id for pair in pairs}, classes_of(contest.pairs)
    kept = {name: [v for v in said if v.item_id in ids] for name, said in voters_of(contest, stating).items()}
    probabilities = chances_of([v for v in contest.verdicts[stating] if v.item_id in ids], pairs, classes)
    return label_votes(pairs, kept, classes), probabilities


def suspect_labels(
    contest: Contest, stating: str = "minilm", n_boot: int = N_BOOT, seed: int = 0
) -> tuple[pd.DataFrame, list[Finding]]:
    """How credible the labels of a set are to its judges, and what is flagged.

    Columns set, item_id, quality (CROWDLAB), flagged: a row for every item with a label. Where people voted, the effect
    of the finding is how much more often they disagree on flagged items.

    ``stating``: slug of the judge whose probabilities are read; it must not have been trained on the set.
    """
    pairs = labelled(contest.pairs)
    quality, flagged = label_quality(*material(contest, pairs, stating))
    odd, items = flagged["CROWDLAB"], [pair.item_id for pair in pairs]
    table = pd.DataFrame({"set": contest.name, "item_id": items, "quality": quality["CROWDLAB"], "flagged": odd})
    order = np.argsort(quality["CROWDLAB"], kind="stable")
    effect, on = None, ""
    contested, voted = disputed(pairs)
    among = np.isin(items, [pair.item_id for pair in voted])
    if contested and 0 < odd[among].sum() < among.sum():
        hits = np.isin(items, list(contested))[among]
        clusters = np.array([pair.cluster for pair in pairs])[among]
        effect, on = share_difference(hits, odd[among], clusters, n_boot, seed), "disagreement of people, over the rest"
    what = "the judges' consensus is another label"
    examples = [items[place] for place in order if odd[place]]
    found = [Finding(contest.name, "label", "suspect", what, int(odd.sum()), len(items), effect, on, examples)]
    return table, found if odd.any() else []


def plant_and_find(
    contest: Contest, stating: str = "minilm", rate: float = 0.05, n_boot: int = N_BOOT, seed: int = 0
) -> list[dict[str, Any]]:
    """How many planted errors each method finds.

    Rows of set, method, planted, precision, recall, area (`Number`; precision None where nothing is flagged). Where
    people voted, errors are planted among the labels that nobody disputes: other labels may be wrong themselves.
    """
    contested, voted = disputed(contest.pairs)
    known = contest.pairs[0].label_kind == "authored"  # by construction, whatever simulated people say of it
    trusted = [pair for pair in contest.pairs if pair.label is not None]
    if voted and not known:
        trusted = [pair for pair in voted if pair.item_id not in contested and pair.label is not None]
    found = recovery(*material(contest, trusted, stating), rate, n_boot=n_boot, seed=seed)
    return [
        {"set": contest.name, "method": method, "planted": found[method]["area"].n}
        | {name: found[method].get(name) for name in ("precision", "recall", "area")}
        for method in METHODS
    ]


def have_panel(pairs: Sequence[PreferencePair]) -> bool:
    """Whether the same three people or more voted on everything, so that one may be held against the others."""
    return have_one_panel(pairs) and len(pairs[0].votes) > 2


def held_out_people(
    contest: Contest, stating: str = "minilm", n_boot: int = N_BOOT, seed: int = 0
) -> dict[str, Number]:
    """Whether suspicion of one annotator's vote foretells that the others contradict it, where `have_panel`.

    Method to the area under the ROC curve, over the votes of all annotators; a vote is wrong where the others have a
    majority for another label.
    """
    names = [who for who in contest.pairs[0].votes if all(who in pair.votes for pair in contest.pairs)]
    suspicion, wrong, clusters = {method: [] for method in METHODS}, [], []  # type: ignore[var-annotated] # three at once
    for name in names:
        others = [majority_label({w: said for w, said in p.votes.items() if w != name}) for p in contest.pairs]
        told = [(p, other) for p, other in zip(contest.pairs, others, strict=True) if other is not None]
        pairs = [replace(pair, label=pair.votes[name]) for pair, _ in told]
        quality, _ = label_quality(*material(contest, pairs, stating))
        for method in METHODS:
            suspicion[method] += (-quality[method]).tolist()
        wrong += [pair.label != other for pair, (_, other) in zip(pairs, told, strict=True)]
        clusters += [pair.cluster for pair in pairs]
    return {method: detection_area(suspicion[method], wrong, clusters, n_boot, seed) for method in METHODS}


def detector_numbers(
    recovered: Sequence[Mapping[str, Any]], held_out: Mapping[str, Mapping[str, Number]]
) -> dict[str, Number]:
    """Numbers of `plant_and_find` and, by set, of `held_out_people`.

    ``audit.<set>.planted.<method>.precision``, ``.recall``, ``.area``; ``audit.<set>.held_out.<method>.area``.
    """
    numbers: dict[str, Number] = {}
    for row in recovered:
        key = f"audit.{row['set']}.planted.{slug(row['method'])}"
        numbers |= {f"{key}.{name}": row[name] for name in ("precision", "recall", "area") if row[name] is not None}
    for name, found in held_out.items():
        numbers |= {f"audit.{name}.held_out.{slug(method)}.area": number for method, number in found.items()}
    return numbers
