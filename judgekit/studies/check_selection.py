"""Do two ways of scoring put the same things into the same order? What chose a judge, beside what tests it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from judgekit.judges import Judge, load_judge, request_of
from judgekit.records import LABELS, PreferencePair
from judgekit.stats import Array, Floats, Number, cluster_sums, pearson, percentile_interval, resampled_sums


def hits_of(judge: Judge, pairs: Sequence[PreferencePair]) -> Floats:
    """Whether a judge's verdict is the label, as 0 or 1, shape (n_pairs,); for judges that do not depend on the order.

    ValueError where a pair has no label.
    """
    if bare := next((pair for pair in pairs if pair.label not in LABELS), None):
        raise ValueError(f"{bare.where}: no label to hold the verdict against")
    named: dict[str | None, str] = {"first": "A", "second": "B", "tie": "tie"}
    replies = judge.judge([request_of(pair, "ab") for pair in pairs])
    return np.array([named[reply.verdict] == pair.label for reply, pair in zip(replies, pairs, strict=True)], float)


def study_hits(
    folder: str | Path,
    settings: Sequence[tuple[str, str]],
    seeds: Sequence[int],
    pairs: Mapping[str, Sequence[PreferencePair]],
    progress: Callable[[Any], Any] | None = None,
) -> dict[str, Floats]:
    """Set to the credits, shape (n_settings, n_pairs), that the judges of a study earn, averaged over the seeds.

    ``folder``: as `judgekit.studies.data_mixture.run_study` left it; ``settings``: factors and levels; ``progress``
    wraps the list of settings. UnknownJudge where a judge is missing: the study was run before judges were kept, or not
    at all.
    """
    hits = {name: np.zeros((len(settings), len(items))) for name, items in pairs.items()}
    like: dict[str, Any] = {}  # encoder of a judge -> the first judge that had it
    rows = list(enumerate(settings))
    for row, (factor, level) in progress(rows) if progress else rows:
        for number in seeds:
            setting = f"{factor}-{level}-{number}"
            judge: Any = load_judge(f"encoder/{setting}", Path(folder) / setting)
            judge.share_embeddings(like.setdefault(judge.encoder_key, judge))
            for name, items in pairs.items():
                hits[name][row] += hits_of(judge, items) / len(seeds)
    return hits


def rank_agreement(scores: Array, hits: Array, clusters: Array, n_boot: int = 2000, seed: int = 0) -> Number:
    """Spearman's rank correlation of what settings were ranked by, (n_settings,), with their accuracies on a set.

    ``hits``: credits on the set, in [0, 1], shape (n_settings, n_items). The interval resamples the set's prompts; the
    settings are taken as given, and so are their scores. ValueError where there are fewer than three settings, or all
    have one score: nothing could be ranked.

    >>> hits = np.array([[0, 0, 1, 0], [0, 1, 1, 0], [1, 1, 1, 0]])
    >>> rank_agreement([0.1, 0.2, 0.3], hits, list("abcd"), n_boot=50).value
    1.0
    """
    scores, hits = np.asarray(scores, float), np.asarray(hits, float)
    if len(scores) < 3 or np.ptp(scores) == 0:
        raise ValueError(f"{len(scores)} settings with {len(np.unique(scores))} different scores cannot be ranked")
    drawn = resampled_sums(cluster_sums(np.column_stack([hits.T, np.ones(hits.shape[1])]), clusters), n_boot, seed)
    accuracies = np.vstack([hits.mean(1), drawn[:, :-1] / drawn[:, -1:]])
    ranks = np.broadcast_to(rankdata(scores), accuracies.shape)
    correlations = pearson(ranks, rankdata(accuracies, axis=1))
    return Number(float(correlations[0]), *percentile_interval(correlations[1:]), n=len(scores), spec=".2f")
