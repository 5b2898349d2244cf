"""What is too long for `11_audit_benchmarks`: labels that can be told without reading.

`tests/test_planted_audit.py` counts how often the intervals hold planted truths.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from judgekit.records import LABELS, PreferencePair
from judgekit.stats import Array, Floats, Number, interval, prompt_folds, share_of

N_BOOT = 2000
# Replaced and control characters, and UTF-8 read as Latin-1 or Windows-1252: "â€™" for an apostrophe.
DAMAGED = "\ufffd|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|â€[™œ\x9d\x9c\x99“”˜¦]|Ã[©¨¢¤¶¼±³¡ª]|Â[ °£§»«]"
MAX_ROWS, MIN_ROWS = 6000, 60  # labels that a fit reads at most (whole prompts are drawn from longer sets) and at least
MAX_NAMES = 80  # models beyond which a name tells little but itself
N_FOLDS = 5


def cues_of(pairs: Sequence[PreferencePair]) -> dict[str, Floats]:
    """What is known of each pair without reading: by cue, arrays (n_pairs, n_columns).

    ``length``: the log ratio of characters, its sign and size, and the log length of the shorter; ``models``: who wrote
    A less who wrote B, and who wrote either, where the set names them.
    """
    sides = np.log1p([[len(text.strip()) for text in pair.responses] for pair in pairs])
    gap = sides[:, 0] - sides[:, 1]
    cues = {"length": np.column_stack([gap, np.sign(gap), np.abs(gap), gap == 0, sides.min(1)])}
    models: list[list[Any]] = [[pair.model_a for pair in pairs], [pair.model_b for pair in pairs]]
    names = sorted({name for side in models for name in side if name})
    if 1 < len(names) <= MAX_NAMES and all(map(all, models)):
        wrote = [pd.get_dummies(pd.Categorical(side, names)).to_numpy(float) for side in models]
        cues["models"] = np.hstack([wrote[0] - wrote[1], wrote[0] + wrote[1]])
    return cues


def cross_fitted(cues: Array, codes: Array, clusters: Array, n_folds: int = N_FOLDS, seed: int = 0) -> Array:
    """Labels that a logistic regression on other prompts predicts."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import PredefinedSplit, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    return cross_val_predict(model, cues, codes, cv=PredefinedSplit(prompt_folds(clusters, n_folds, seed)))


def gain_over_majority(predicted: Array, codes: Array, clusters: Array, n_boot: int = N_BOOT, seed: int = 0) -> Number:
    """Share predicted rightly less that of the most frequent label of these very rows, which favours the latter."""
    gain = (predicted == codes) * 1.0 - (codes == np.bincount(codes).argmax())
    return interval(share_of, clusters, gain, spec="+.1%", n_boot=n_boot, seed=seed, signed=True)


def told_blindly(pairs: Sequence[PreferencePair], n_boot: int = N_BOOT, seed: int = 0) -> list[tuple[Any, ...]]:
    """What cues tell of a set's labels (of each vote, where there are votes): rows of cue, hits, labels, gain."""
    rows = [(pair, label) for pair in pairs for label in pair.votes.values()]
    rows = rows or [(pair, pair.label) for pair in pairs if pair.label is not None]
    if len(rows) > MAX_ROWS:
        prompts = sorted({pair.cluster for pair, _ in rows})
        order = {prompt: rank for rank, prompt in enumerate(np.random.default_rng(seed).permutation(prompts))}
        rows = sorted(rows, key=lambda row: order[row[0].cluster])[:MAX_ROWS]
    codes, clusters = np.array([LABELS.index(label) for _, label in rows]), [pair.cluster for pair, _ in rows]
    if len(rows) < MIN_ROWS or len(set(clusters)) < 2 * N_FOLDS:
        return []
    folds = prompt_folds(clusters, N_FOLDS, seed)
    if any(len(np.unique(codes[folds != fold])) < 2 for fold in range(N_FOLDS)):
        return []
    found = []
    for cue, values in cues_of([pair for pair, _ in rows]).items():
        predicted = cross_fitted(values, codes, clusters, seed=seed)
        gain = gain_over_majority(predicted, codes, clusters, n_boot, seed)
        found.append((cue, int((predicted == codes).sum()), len(rows), gain))
    return found
