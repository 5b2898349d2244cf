"""An honest estimate of how good a chosen probe is: everything is chosen anew inside every outer fold."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from judgekit.inside.probes.heads import Head, checked_labels
from judgekit.inside.probes.scores import scored
from judgekit.inside.probes.selection import Search, Space, fit_choice, grouped_folds, joined_layers
from judgekit.stats import Array, Floats


@dataclass(frozen=True)
class NestedResult:
    """Out-of-fold predictions, and what was chosen on the way.

    ``predicted``: class of each item by a probe that never saw its question, shape (n_items,). ``scores``: expected
    class where the chosen family gives probabilities, else the predicted class. ``fold``: the outer fold that held the
    item out. ``choices``: `judgekit.inside.probes.selection.Choice`, one per outer fold. ``metrics``: of
    `judgekit.inside.probes.scores.scored`, by name.
    """

    predicted: np.ndarray
    scores: np.ndarray
    fold: np.ndarray
    choices: list
    metrics: dict


def nested_probe(
    features: Mapping[str, Array],
    labels: Array,
    groups: Array,
    head: Head,
    space: Space | None = None,
    n_outer: int = 5,
    seed: int = 0,
    n_boot: int | None = 2000,
    searches: dict[int, Search] | None = None,
) -> NestedResult:
    """A probe estimated by nested cross-validation grouped by question.

    ``features``: by kind, shape (n_items, n_layers, width). Controls and baselines go through the same door: the
    statistics of states or the length as features, or ``Space(families=("majority",))``. ``groups``: question of each
    item; items of a question are held out together. ``n_outer``: folds that estimate; in each,
    `judgekit.inside.probes.selection.Search` sees the other folds only. ``n_boot``: bootstrap resamples of questions;
    None leaves ``metrics`` empty. ``searches``: filled with the search of each outer fold. Given again for the same
    material, and a space that differs in the families after the first one only, it spares what was scored before.

    Varma and Simon (2006), BMC Bioinformatics 7: the score that a choice was made by is too high; what is estimated
    here is the whole procedure, choice included. Folds differ in what they choose, so the estimate is of no single
    probe.

    ValueError where shapes disagree, a feature is not finite, a label is no class of the head, or there are too few
    questions.
    """
    features = checked_features(features, len(labels), len(groups))
    labels, groups, space = checked_labels(labels, head), np.asarray(groups), space or Space()
    predicted, fold = np.zeros(len(labels), int), np.zeros(len(labels), int)
    scores, choices = np.zeros(len(labels)), []
    for number, (train, test) in enumerate(grouped_folds(labels, groups, n_outer, seed)):
        seen = {name: array[train] for name, array in features.items()}
        search = (searches or {}).get(number) or Search(seen, labels[train], groups[train], head, space, seed)
        if searches is not None:
            searches[number] = search
        choice = search.choose(space.families or head.families)
        probe = fit_choice(choice, seen, labels[train], space, seed)
        X = joined_layers(features[choice.features][test], choice.layers)
        predicted[test], scores[test] = probe.predict(X), expected_class(probe, X)
        fold[test] = number
        choices.append(choice)
    metrics = {} if n_boot is None else scored(labels, predicted, scores, groups, head.classes, n_boot, seed)
    return NestedResult(predicted, scores, fold, choices, metrics)


def expected_class(probe: Any, X: Array) -> Floats:
    """Expected class of each item; the predicted class where the probe gives no probabilities."""
    if hasattr(probe, "predict_proba"):
        return probe.predict_proba(X) @ probe.classes_
    return probe.predict(X).astype(float)


def checked_features(features: Mapping[str, Array], n_labels: int, n_groups: int) -> dict[str, np.ndarray]:
    """Features as arrays, after a look at their shapes and values."""
    if n_labels != n_groups or not features:
        raise ValueError(f"{n_labels} labels, {n_groups} groups and {len(features)} kinds of features")
    arrays = {name: np.asarray(array) for name, array in features.items()}
    for name, array in arrays.items():
        if array.ndim != 3 or len(array) != n_labels:
            raise ValueError(f"features {name!r} have shape {array.shape}: ({n_labels}, layers, width) is needed")
        if not np.isfinite(array).all():
            raise ValueError(f"features {name!r} hold values that are not finite")
    return arrays
