"""An honest estimate of how good a chosen probe is: everything is chosen anew inside every outer fold."""

from dataclasses import dataclass

import numpy as np

from judgekit.inside.probes.heads import checked_labels
from judgekit.inside.probes.scores import scored
from judgekit.inside.probes.selection import Search, Space, fit_choice, grouped_folds, joined_layers


@dataclass(frozen=True)
class NestedResult:
    """Out-of-fold predictions, and what was chosen on the way.

    Attributes
    ----------
    predicted : array of int, shape (n_items,)
        Class of each item by a probe that never saw its question.
    scores : array of float, shape (n_items,)
        Expected class where the chosen family gives probabilities, else the predicted class.
    fold : array of int, shape (n_items,)
        The outer fold that held the item out.
    choices : list of judgekit.inside.probes.selection.Choice
        One per outer fold.
    metrics : dict of str to (value, low, high)
        Of `judgekit.inside.probes.scores.scored`.
    """

    predicted: np.ndarray
    scores: np.ndarray
    fold: np.ndarray
    choices: list
    metrics: dict


def nested_probe(features, labels, groups, head, space=None, n_outer=5, seed=0, n_boot=2000, searches=None):
    """Estimate a probe by nested cross-validation grouped by question.

    Parameters
    ----------
    features : dict of str to array, shape (n_items, n_layers, width)
        Kinds of features. Controls and baselines go through the same door: the statistics of states or the length as
        features, or ``Space(families=("majority",))``.
    labels : sequence of int, length n_items
    groups : sequence, length n_items
        Question of each item: items of a question are held out together.
    head : judgekit.inside.probes.heads.Head
    space : judgekit.inside.probes.selection.Space, optional
    n_outer : int
        Folds that estimate; in each, `judgekit.inside.probes.selection.Search` sees the other folds only.
    seed : int
    n_boot : int or None
        Bootstrap resamples of questions; None leaves ``metrics`` empty.
    searches : dict, optional
        Filled with the search of each outer fold. Given again for the same material, and a space that differs in the
        families after the first one only, it spares what was scored before.

    Returns
    -------
    NestedResult

    Raises
    ------
    ValueError
        If shapes disagree, a feature is not finite, a label is no class of the head, or there are too few questions.

    Notes
    -----
    Varma and Simon (2006), BMC Bioinformatics 7: the score that a choice was made by is too high; what is estimated
    here is the whole procedure, choice included. Folds differ in what they choose, so the estimate is of no single
    probe.
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


def expected_class(probe, X):
    """Expected class of each item; the predicted class where the probe gives no probabilities."""
    if hasattr(probe, "predict_proba"):
        return probe.predict_proba(X) @ probe.classes_
    return probe.predict(X).astype(float)


def checked_features(features, n_labels, n_groups):
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
