"""Do two ways of scoring put the same things into the same order? What chose a judge, held against what tests it."""

from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from judgekit.intervals import cluster_sums, percentile_interval, resampled_sums
from judgekit.judges import load_judge, request_of
from judgekit.metrics import pearson
from judgekit.records import LABELS
from judgekit.results import Number


def hits_of(judge, pairs):
    """Whether a judge's verdict is the label, as 0 or 1, shape (n_pairs,); for judges that do not depend on the order.

    Raises
    ------
    ValueError
        If a pair has no label.
    """
    if bare := next((pair for pair in pairs if pair.label not in LABELS), None):
        raise ValueError(f"{bare.where}: no label to hold the verdict against")
    said = {"first": "A", "second": "B", "tie": "tie"}
    replies = judge.judge([request_of(pair, "ab") for pair in pairs])
    return np.array([said[reply.verdict] == pair.label for reply, pair in zip(replies, pairs, strict=True)], float)


def study_hits(folder, settings, seeds, pairs, progress=None):
    """What the judges that a study kept say of some sets.

    Parameters
    ----------
    folder : path
        As `judgekit.training.mixture.run_study` left it.
    settings : list of (str, str)
        Factors and levels.
    seeds : sequence of int
    pairs : dict of str to list of PreferencePair
        Set to its pairs.
    progress : callable, optional
        Wraps the list of settings.

    Returns
    -------
    dict of str to array, shape (n_settings, n_pairs)
        Set to credits, averaged over the seeds.

    Raises
    ------
    judgekit.judges.UnknownJudge
        If a judge is missing: the study was run before judges were kept, or not at all.
    """
    found = {name: np.zeros((len(settings), len(kept))) for name, kept in pairs.items()}
    like = {}  # encoder of a judge -> the first judge that had it
    rows = list(enumerate(settings))
    for row, (factor, level) in progress(rows) if progress else rows:
        for number in seeds:
            setting = f"{factor}-{level}-{number}"
            judge = load_judge(f"encoder/{setting}", Path(folder) / setting)
            judge.share_embeddings(like.setdefault(judge.encoder_key, judge))
            for name, kept in pairs.items():
                found[name][row] += hits_of(judge, kept) / len(seeds)
    return found


def rank_agreement(scores, hits, clusters, n_boot=2000, seed=0):
    """Spearman's rank correlation of some scores with accuracies on a set.

    Parameters
    ----------
    scores : array, shape (n_settings,)
        What the settings were ranked by.
    hits : array, shape (n_settings, n_items)
        Credits on the set, in [0, 1].
    clusters : sequence, length n_items
        Prompt of each item.
    n_boot, seed : int

    Returns
    -------
    Number
        In [-1, 1], ``n`` being the number of settings. The interval resamples the set's prompts; the settings are taken
        as given, and so are their scores.

    Raises
    ------
    ValueError
        If there are fewer than three settings, or all have one score: nothing could be ranked.

    Examples
    --------
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
    found = pearson(ranks, rankdata(accuracies, axis=1))
    return Number(float(found[0]), *percentile_interval(found[1:]), n=len(scores), spec=".2f")
