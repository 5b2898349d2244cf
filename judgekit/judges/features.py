"""The surface-feature judge: a Bradley-Terry model that looks without reading."""

import json
from pathlib import Path

import numpy as np

from judgekit.davidson import outcome_probabilities
from judgekit.fingerprints import fingerprint_of
from judgekit.store import Reply
from judgekit.surface import FEATURES, PAIR_FEATURES, pair_features, surface_features

ROUNDING = 1e-5  # probabilities this close are equal: single-precision sums differ by less from row to row of a batch
CLIP = 4.0  # standard deviations; one freak response must not decide by its freakishness


def standardise(values, mean, scale):
    """Features in standard deviations from the training mean, clipped to ±`CLIP`."""
    return np.clip((values - mean) / scale, -CLIP, CLIP)


def scores_of(parts, first, second, pair):
    """Scores of the first and of the second responses, and the log tie parameters.

    Parameters
    ----------
    parts : dict of str to array
        Means, scales and weights, as `judgekit.training.features.fit_features` finds them.
    first, second : array, shape (..., len(FEATURES))
    pair : array, shape (..., len(PAIR_FEATURES))

    Returns
    -------
    score_first, score_second, log_nu : array, shape (...)
    """
    scores = [standardise(side, parts["mean"], parts["scale"]) @ parts["weight"] for side in (first, second)]
    log_nu = standardise(pair, parts["pair_mean"], parts["pair_scale"]) @ parts["tie_weight"] + parts["tie_bias"]
    return *scores, log_nu


def reply_of(outcomes, score_first=None, score_second=None):
    """The reply that probabilities of first, second and tie give: the most probable outcome.

    Raises
    ------
    ValueError
        If a probability is not a number: the weights of the judge are damaged.
    """
    if not np.isfinite(outcomes).all():
        raise ValueError(f"probabilities that are no numbers ({outcomes}): damaged weights?")
    first, second, tie = (float(p) for p in outcomes)
    verdict = "first" if first > second else "second"
    if tie >= max(first, second) or abs(first - second) <= ROUNDING:
        verdict = "tie"
    return Reply(verdict, first, second, tie, score_first, score_second)


class SurfaceModel:
    """A fitted preference model over surface features: what ``features.json`` and ``judge.json`` hold.

    Parameters
    ----------
    model : dict
        ``features`` and ``pair_features`` (names) and ``parts`` (means, scales and weights), as
        `judgekit.training.features` writes them.
    path : path
        Where it was read from, for messages.

    Raises
    ------
    ValueError
        If it was made for other features than this version computes.
    """

    def __init__(self, model, path):
        if model.get("features") != list(FEATURES) or model.get("pair_features") != list(PAIR_FEATURES):
            raise ValueError(f"{path}: trained on other features than this version computes; train it again")
        self.parts = {key: np.array(value) for key, value in model["parts"].items()}

    def standardised(self, features):
        """Surface features, shape (n, len(FEATURES)), in standard deviations from the training mean."""
        return standardise(np.asarray(features), self.parts["mean"], self.parts["scale"])

    def sides(self, request):
        """Surface features of the two responses shown."""
        return [surface_features(request.asked, text) for text in (request.first, request.second)]

    def compare(self, request, sides=None):
        """Scores of the two responses shown, and the log tie parameter: (first, second, log nu)."""
        sides = self.sides(request) if sides is None else sides
        return tuple(map(float, scores_of(self.parts, *sides, pair_features(request.first, request.second, *sides))))


class FeaturesJudge:
    """``baseline/features``: linear score of surface features, ties by Davidson's model.

    Parameters
    ----------
    folder : path
        Holds ``features.json`` (`SurfaceModel`).

    Raises
    ------
    ValueError
        If the file was made for other features than this version computes.
    """

    decoding = "{}"
    batch_size = 512
    sees_item = False
    name = "baseline/features"

    def __init__(self, folder):
        path = Path(folder) / "features.json"
        model = json.loads(path.read_text(encoding="utf-8"))
        self.model = SurfaceModel(model, path)
        self.fingerprint = fingerprint_of("features", 2, model["parts"])

    def judge(self, requests):
        """Score each response alone, then compare."""
        return [self.reply(request) for request in requests]

    def reply(self, request):
        """One comparison."""
        first, second, log_nu = self.model.compare(request)
        return reply_of(outcome_probabilities(first - second, log_nu), first, second)
