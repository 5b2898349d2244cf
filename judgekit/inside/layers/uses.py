"""Two other uses of scores from layers: what a model knows that it does not know, and how strong an emotion is.

Both are those of LAGER's code (arXiv 2508.03550). There, scores are scaled by the smallest and largest of the test set
and cut at three quarters of it; here the scale and the cut are fitted on validation questions, and a test question is
judged by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from judgekit.inside.layers.aggregation import distribution, expected_score, uniform_weights
from judgekit.inside.layers.asking import read_scores
from judgekit.prompts.rubrics import Rubric, score_prompt
from judgekit.records import Response
from judgekit.stats import Array, Floats, ratio, weighted_bootstrap

if TYPE_CHECKING:
    from judgekit.inside.layers.reading import LayerReader

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


def expected_scores(
    reader: "LayerReader",
    name: str,
    rubric: Rubric,
    items: Sequence[Response],
    weights: Array | None = None,
    normed: bool = False,
) -> Floats:
    """Expected scores of items under one prompt, shape (n_items,).

    ``name``: of the prompt (`judgekit.prompts.rubrics.score_prompt`). ``weights``: over layers, shape (n_layers,); all
    layers alike by default.
    """
    logits = read_scores(reader, score_prompt(name, rubric), items, rubric.scores, normed)
    weights = uniform_weights(logits.shape[1]) if weights is None else weights
    return expected_score(distribution(logits, weights), rubric.scores)


def answerability(
    reader: "LayerReader",
    questions: Sequence[str],
    rubric: Rubric = KNOWING,
    weights: Array | None = None,
    normed: bool = False,
) -> Floats:
    """How well a model says that it could answer questions, on the rubric's scale, shape (n_questions,).

    ``rubric``, ``weights``, ``normed``: as for `expected_scores`.
    """
    items = [Response(str(n), question, "") for n, question in enumerate(questions)]
    return expected_scores(reader, "self_knowledge", rubric, items, weights, normed)


def emotion_intensity(
    reader: "LayerReader",
    texts: Sequence[str],
    emotions: Sequence[str],
    rubric: Rubric = INTENSITY,
    weights: Array | None = None,
    normed: bool = False,
) -> Floats:
    """How strongly emotions are felt in texts, shape (n_texts,), from 1 to 9 by default.

    To be held against people's by `judgekit.inside.layers.evaluation.evaluated`. ``emotions``: one for each text; it
    may name who feels it: ``"relief, felt by Anna"``. ``rubric``, ``weights``, ``normed``: as for `expected_scores`.
    ValueError where there are not as many emotions as texts.
    """
    pairs = zip(texts, emotions, strict=True)
    items = [Response(str(n), text, emotion) for n, (text, emotion) in enumerate(pairs)]
    return expected_scores(reader, "intensity", rubric, items, weights, normed)


@dataclass(frozen=True)
class Cut:
    """From which scaled score on a question counts as answerable.

    ``lowest``, ``highest``: scores of validation questions that are 0 and 1 on the scaled score. ``share``: a question
    is called unanswerable whose scaled score is at most this.
    """

    lowest: float
    highest: float
    share: float

    def scaled(self, scores: Array) -> Floats:
        """Scores from 0 to 1; those of other questions that lie outside are put to the ends."""
        return np.clip((np.asarray(scores, float) - self.lowest) / (self.highest - self.lowest), 0, 1)

    def unanswerable(self, scores: Array) -> np.ndarray:
        """Which questions are called unanswerable, as booleans."""
        return self.scaled(scores) <= self.share


def checked_questions(scores: Array, unanswerable: Array) -> tuple[Floats, np.ndarray]:
    """Scores and truth as arrays.

    ValueError where lengths differ, a score is missing, or the truth is not made of booleans.
    """
    scores, truth = np.asarray(scores, float), np.asarray(unanswerable)
    if scores.shape != truth.shape or scores.ndim != 1 or truth.dtype != bool:
        raise ValueError(f"scores of shape {scores.shape} and truth of shape {truth.shape}, of type {truth.dtype}")
    if not np.isfinite(scores).all():
        raise ValueError("a score is missing: leave the question out first")
    return scores, truth


def f1(predicted: Array, truth: Array, weight: Array | None = None) -> Floats:
    """F1 of the positive class, in [0, 1]; ``weight`` as for `judgekit.stats.weighted_bootstrap`."""
    predicted, truth = np.asarray(predicted, bool), np.asarray(truth, bool)
    weight = np.ones(len(truth)) if weight is None else np.asarray(weight, float)
    return ratio(2 * (weight @ (predicted & truth)), weight @ predicted.astype(float) + weight @ truth.astype(float))


def fit_cut(scores: Array, unanswerable: Array) -> Cut:
    """Scale and cut with the highest F1 on validation questions; the lowest cut of several.

    ``scores``: `answerability`, of validation questions only. ``unanswerable``: booleans. ValueError where the material
    is none, all scores are the same, or no question is unanswerable.

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


def unanswerable_f1(
    cut: Cut, scores: Array, unanswerable: Array, clusters: Array | None = None, n_boot: int = 2000, seed: int = 0
) -> dict[str, tuple[float, float, float]]:
    """F1 of calling test questions unanswerable by a cut that was fitted on others, with its interval.

    ``f1`` of the cut; ``always``, of calling every question unanswerable, which a useful cut must beat. ``clusters``:
    what is resampled; every question by itself by default.
    """
    scores, truth = checked_questions(scores, unanswerable)
    clusters = np.arange(len(truth)) if clusters is None else clusters
    called = {"f1": cut.unanswerable(scores), "always": np.ones(len(truth), bool)}
    return {  # mypy infers no lambda with defaults
        name: weighted_bootstrap(
            lambda weight, c=predicted: f1(c, truth, weight),  # type: ignore[misc]
            clusters,
            n_boot,
            seed,
        )
        for name, predicted in called.items()
    }
