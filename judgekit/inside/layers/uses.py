"""Two other uses of scores from layers: what a model knows that it does not know, and how strong an emotion is.

Both are those of LAGER's code (arXiv 2508.03550). There, scores are scaled by the smallest and largest of the test set
and cut at three quarters of it; here the scale and the cut are fitted on validation questions, and a test question is
judged by itself.
"""

from dataclasses import dataclass

import numpy as np

from judgekit.inside.layers.aggregation import distribution, expected_score, uniform_weights
from judgekit.inside.layers.asking import read_scores
from judgekit.prompts.rubrics import Rubric, score_prompt
from judgekit.records import Response
from judgekit.stats import ratio, weighted_bootstrap

KNOWING = Rubric(
    "How well you can answer the question: whether it has an answer at all, and whether you know it.",
    (1, 2, 3, 4, 5),
    ((1, "it has no answer, or you do not know it"), (3, "you can answer it in part"), (5, "you can answer it fully")),
)
INTENSITY = Rubric(
    "How strongly the emotion is felt.",
    tuple(range(1, 10)),
    ((1, "not at all"), (5, "clearly, in some measure"), (9, "as strongly as it can be felt")),
)


def expected_scores(reader, name, rubric, items, weights=None, normed=False):
    """Expected scores of items under one prompt.

    Parameters
    ----------
    reader : judgekit.inside.layers.reading.LayerReader
    name : str
        Of the prompt (`judgekit.prompts.rubrics.score_prompt`).
    rubric : judgekit.prompts.rubrics.Rubric
    items : sequence of judgekit.records.Response
    weights : array, shape (n_layers,), optional
        All layers alike by default.
    normed : bool

    Returns
    -------
    array, shape (n_items,)
    """
    logits = read_scores(reader, score_prompt(name, rubric), items, rubric.scores, normed)
    weights = uniform_weights(logits.shape[1]) if weights is None else weights
    return expected_score(distribution(logits, weights), rubric.scores)


def answerability(reader, questions, rubric=KNOWING, weights=None, normed=False):
    """How well a model says that it could answer questions.

    Parameters
    ----------
    reader : judgekit.inside.layers.reading.LayerReader
    questions : sequence of str
    rubric, weights, normed
        As for `expected_scores`.

    Returns
    -------
    array, shape (n_questions,)
        On the rubric's scale.
    """
    items = [Response(str(n), question, "") for n, question in enumerate(questions)]
    return expected_scores(reader, "self_knowledge", rubric, items, weights, normed)


def emotion_intensity(reader, texts, emotions, rubric=INTENSITY, weights=None, normed=False):
    """How strongly emotions are felt in texts.

    Parameters
    ----------
    reader : judgekit.inside.layers.reading.LayerReader
    texts, emotions : sequence of str
        An emotion may name who feels it: ``"relief, felt by Anna"``.
    rubric, weights, normed
        As for `expected_scores`.

    Returns
    -------
    array, shape (n_texts,)
        From 1 to 9 by default; hold them against people's by `judgekit.inside.layers.evaluation.evaluated`.

    Raises
    ------
    ValueError
        If there are not as many emotions as texts.
    """
    pairs = zip(texts, emotions, strict=True)
    items = [Response(str(n), text, emotion) for n, (text, emotion) in enumerate(pairs)]
    return expected_scores(reader, "intensity", rubric, items, weights, normed)


@dataclass(frozen=True)
class Cut:
    """From which scaled score on a question counts as answerable.

    Attributes
    ----------
    lowest, highest : float
        Scores of validation questions that are 0 and 1 on the scaled score.
    share : float
        A question is called unanswerable whose scaled score is at most this.
    """

    lowest: float
    highest: float
    share: float

    def scaled(self, scores):
        """Scores from 0 to 1; those of other questions that lie outside are put to the ends."""
        return np.clip((np.asarray(scores, float) - self.lowest) / (self.highest - self.lowest), 0, 1)

    def unanswerable(self, scores):
        """Which questions are called unanswerable, as booleans."""
        return self.scaled(scores) <= self.share


def checked_questions(scores, unanswerable):
    """Scores and truth as arrays.

    Raises
    ------
    ValueError
        If lengths differ, a score is missing, or the truth is not made of booleans.
    """
    scores, truth = np.asarray(scores, float), np.asarray(unanswerable)
    if scores.shape != truth.shape or scores.ndim != 1 or truth.dtype != bool:
        raise ValueError(f"scores of shape {scores.shape} and truth of shape {truth.shape}, of type {truth.dtype}")
    if not np.isfinite(scores).all():
        raise ValueError("a score is missing: leave the question out first")
    return scores, truth


def f1(predicted, truth, weight=None):
    """F1 of the positive class, in [0, 1]; ``weight`` as for `judgekit.stats.weighted_bootstrap`."""
    predicted, truth = np.asarray(predicted, bool), np.asarray(truth, bool)
    weight = np.ones(len(truth)) if weight is None else np.asarray(weight, float)
    return ratio(2 * (weight @ (predicted & truth)), weight @ predicted.astype(float) + weight @ truth.astype(float))


def fit_cut(scores, unanswerable):
    """Scale and cut with the highest F1 on validation questions; the lowest cut of several.

    Parameters
    ----------
    scores : array, shape (n_questions,)
        `answerability`, of validation questions only.
    unanswerable : array of bool, shape (n_questions,)

    Returns
    -------
    Cut

    Raises
    ------
    ValueError
        If the material is none, all scores are the same, or no question is unanswerable.

    Examples
    --------
    >>> fit_cut([1.0, 2.0, 4.0, 5.0], [True, True, False, False])
    Cut(lowest=1.0, highest=5.0, share=0.25)
    """
    scores, truth = checked_questions(scores, unanswerable)
    if not truth.any() or np.ptp(scores) == 0:
        raise ValueError("validation needs an unanswerable question, and two different scores")
    ends = Cut(float(scores.min()), float(scores.max()), 0.0)
    shares = np.unique(ends.scaled(scores))
    best = max(shares, key=lambda share: f1(ends.scaled(scores) <= share, truth))
    return Cut(ends.lowest, ends.highest, float(best))


def unanswerable_f1(cut, scores, unanswerable, clusters=None, n_boot=2000, seed=0):
    """F1 of calling test questions unanswerable by a cut that was fitted on others.

    Parameters
    ----------
    cut : Cut
    scores : array, shape (n_questions,)
    unanswerable : array of bool, shape (n_questions,)
    clusters : sequence, optional
        What is resampled; every question by itself by default.
    n_boot, seed : int

    Returns
    -------
    dict of str to (value, low, high)
        ``f1`` of the cut; ``always``, of calling every question unanswerable, which a useful cut must beat.
    """
    scores, truth = checked_questions(scores, unanswerable)
    clusters = np.arange(len(truth)) if clusters is None else clusters
    called = {"f1": cut.unanswerable(scores), "always": np.ones(len(truth), bool)}
    return {
        name: weighted_bootstrap(lambda weight, c=predicted: f1(c, truth, weight), clusters, n_boot, seed)
        for name, predicted in called.items()
    }
