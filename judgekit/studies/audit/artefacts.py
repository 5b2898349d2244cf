"""How much of a label can be told without reading a word of the responses."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from judgekit.records import LABELS, PreferencePair
from judgekit.stats import Array, Floats, Number, cluster_sums, share_of
from judgekit.studies.audit.estimates import N_BOOT, is_clear, over_prompts, share
from judgekit.studies.audit.findings import Finding

MAX_ROWS = 6000  # labels that a fit reads; whole prompts are drawn from longer sets
MIN_ROWS = 60
MAX_KINDS = 80  # names (of models, annotators, parts) beyond which a name tells little but itself
WORDS = {
    "length": "lengths of the responses",
    "models": "names of the models",
    "annotator": "who voted",
    "part": "part of the set",
    "all": "all of these",
}


def labelled_rows(pairs: Sequence[PreferencePair]) -> list[tuple[PreferencePair, str, str]]:
    """(pair, label, annotator) of every vote, or of every label where a set keeps no votes."""
    if any(pair.votes for pair in pairs):
        return [(pair, label, who.split("#")[0]) for pair in pairs for who, label in pair.votes.items()]
    return [(pair, pair.label, "") for pair in pairs if pair.label is not None]


def sampled_rows(
    rows: list[tuple[PreferencePair, str, str]], limit: int = MAX_ROWS, seed: int = 0
) -> list[tuple[PreferencePair, str, str]]:
    """Rows of whole prompts, at most so many, drawn by seed."""
    prompts = sorted({pair.cluster for pair, *_ in rows})
    order = {prompt: place for place, prompt in enumerate(np.random.default_rng(seed).permutation(prompts))}
    return sorted(rows, key=lambda row: order[row[0].cluster])[:limit] if len(rows) > limit else rows


def one_hot(names: Sequence[Hashable], kinds: Sequence[Hashable]) -> Floats:
    """Indicator columns, shape (n_names, n_kinds)."""
    places = {name: place for place, name in enumerate(kinds)}
    columns = np.zeros((len(names), len(kinds)))
    for row, name in enumerate(names):
        columns[row, places[name]] = 1
    return columns


def cues_of(rows: Sequence[tuple[PreferencePair, str, str]]) -> dict[str, Floats]:
    """What is known of each label without reading: by the name of the cue, arrays of shape (n_rows, n_columns).

    ``length``: the log ratio of characters, its size, and the log length of the shorter; ``models``: who wrote A less
    who wrote B, and who wrote either; ``annotator`` and ``part``: which of them. A cue that a set lacks is left out.
    """
    sides = np.log1p([[len(text.strip()) for text in pair.responses] for pair, *_ in rows])
    gap = sides[:, 0] - sides[:, 1]
    cues = {"length": np.column_stack([gap, np.sign(gap), np.abs(gap), gap == 0, sides.min(1)])}
    models = [(pair.model_a, pair.model_b) for pair, *_ in rows]
    kinds: list[Any] = sorted({name for two in models for name in two if name})
    if 1 < len(kinds) <= MAX_KINDS and all(a and b for a, b in models):
        wrote_a, wrote_b = (one_hot([two[side] for two in models], kinds) for side in (0, 1))
        cues["models"] = np.hstack([wrote_a - wrote_b, wrote_a + wrote_b])
    for name, values in (("annotator", [row[2] for row in rows]), ("part", [pair.subset for pair, *_ in rows])):
        kinds = sorted(set(values))
        if 1 < len(kinds) <= MAX_KINDS:
            cues[name] = one_hot(values, kinds)
    return cues | ({"all": np.hstack(list(cues.values()))} if len(cues) > 1 else {})


def cross_fitted(cues: Array, codes: Array, clusters: Array, n_folds: int = 5, seed: int = 0) -> Array:
    """Labels that a logistic regression on other prompts predicts: no row by a fit that saw its prompt.

    ``cues``: shape (n_rows, n_columns); ``codes`` and what is returned: integers, shape (n_rows,).
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    names, index = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)
    folds = np.random.default_rng(seed).permutation(len(names))[index] % min(n_folds, len(names))
    predicted = np.full(len(codes), -1)
    for fold in range(folds.max() + 1):
        held = folds == fold
        if len(np.unique(codes[~held])) < 2:
            predicted[held] = codes[~held][0]
            continue
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
        predicted[held] = model.fit(cues[~held], codes[~held]).predict(cues[held])
    return predicted


def gain_over_majority(predicted: Array, codes: Array, clusters: Array, n_boot: int = N_BOOT, seed: int = 0) -> Number:
    """Share predicted rightly less that of the most frequent label, of integer codes of shape (n_rows,).

    The yardstick is told the most frequent label of these very rows, which favours it.
    """
    usual = codes == np.bincount(codes).argmax()
    sums = cluster_sums(np.column_stack([(predicted == codes) * 1.0 - usual, np.ones(len(codes))]), clusters)
    return over_prompts(sums, share_of, len(codes), n_boot, seed, "+.1%")


def artefact_findings(
    pairs: Sequence[PreferencePair], n_folds: int = 5, n_boot: int = N_BOOT, seed: int = 0
) -> list[Finding]:
    """What labels can be told by without reading: findings that are clear of chance for all that is looked at.

    ``count`` of ``n`` labels are predicted rightly, and the effect is the gain over the most frequent label; and one
    where A and B are not preferred equally often.
    """
    rows = sampled_rows(labelled_rows(pairs), seed=seed)
    if len(rows) < MIN_ROWS or len({pair.cluster for pair, *_ in rows}) < 2 * n_folds:
        return []
    name = pairs[0].benchmark
    codes = np.array([LABELS.index(label) for _, label, _ in rows])
    clusters = [pair.cluster for pair, *_ in rows]
    found = []
    for cue, values in cues_of(rows).items():
        predicted = cross_fitted(values, codes, clusters, n_folds, seed)
        gain = gain_over_majority(predicted, codes, clusters, n_boot, seed)
        if gain.value > 0 and is_clear(gain):
            right = int((predicted == codes).sum())
            what = f"label told by {WORDS[cue]}"
            found.append(
                Finding(name, "artefact", f"told_by_{cue}", what, right, len(rows), gain, "over the majority label")
            )
    return found + side_findings(pairs, n_boot, seed)


def side_findings(pairs: Sequence[PreferencePair], n_boot: int = N_BOOT, seed: int = 0) -> list[Finding]:
    """Whether one side is preferred more often than the other, where that is clear of chance."""
    decided = [pair for pair in pairs if pair.label in ("A", "B")]
    if len(decided) < MIN_ROWS:
        return []
    first = [pair.label == "A" for pair in decided]
    rate = share(first, [pair.cluster for pair in decided], n_boot, seed)
    what = "one side is preferred more often"
    effect = Number(*(end - 0.5 for end in (rate.value, rate.low, rate.high)), n=rate.n, spec="+.1%")  # type: ignore[misc] # three values
    if not is_clear(effect):
        return []
    return [Finding(pairs[0].benchmark, "artefact", "side", what, sum(first), len(first), effect, "A, over a half")]
