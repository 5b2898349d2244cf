"""Which layers, pooling, family and setting: chosen by cross-validation grouped by question, on the rows given."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold

from judgekit.inside.probes.families import FAMILIES, make_features, make_probe
from judgekit.inside.probes.heads import Head
from judgekit.inside.probes.scores import METRICS, class_counts
from judgekit.stats import Array, Floats


@dataclass(frozen=True)
class Space:
    """What is tried, and how it is compared.

    ``n_components``: principal components, fitted inside every fold; None for none. ``candidates``: best layers of a
    ranking that the greedy search may add. ``max_layers``: layers concatenated at most. ``stability``: standard
    deviations over folds that a mean score is lowered by, so that of two equally good choices the steadier wins.
    ``metric``: ``macro_f1``, ``weighted_f1`` or ``accuracy``. ``n_inner``: folds that choices are made on.
    ``families``: instead of the head's.
    """

    n_components: int | None = 50
    candidates: int = 5
    max_layers: int = 3
    stability: float = 0.5
    metric: str = "macro_f1"
    n_inner: int = 5
    families: tuple | None = None

    def __post_init__(self) -> None:
        """Refuse names that are not there, before hours are spent."""
        if self.metric not in METRICS:
            raise ValueError(f"metric {self.metric!r} is none of {', '.join(METRICS)}")
        if unknown := set(self.families or ()) - set(FAMILIES):
            raise ValueError(f"family {min(unknown)!r} is none of {', '.join(FAMILIES)}")


@dataclass(frozen=True)
class Choice:
    """What cross-validation chose.

    ``features``: name of the features (the pooling). ``layers``: positions along the features' layer axis, ascending.
    ``mean``, ``deviation``: of the score over inner folds; the mean is the best of many, an optimistic estimate, never
    to be reported. ``ranking``: mean and deviation of every single layer, shape (n_layers, 2), by features: for layer
    curves.
    """

    features: str
    layers: tuple
    family: str
    setting: dict
    mean: float
    deviation: float
    ranking: dict = field(repr=False, compare=False, default_factory=dict)


def grouped_folds(labels: Array, groups: Array, n_folds: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training rows and test rows of each fold: classes spread evenly, no question in two folds.

    ValueError where there are fewer questions than folds, or a training part holds a single class.
    """
    n_groups = len(set(groups))
    if n_groups < n_folds:
        raise ValueError(f"{n_groups} questions cannot be cut into {n_folds} folds")
    splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    folds = [fold for fold in splitter.split(np.zeros(len(labels)), labels, groups) if len(fold[1])]
    for number, (train, _) in enumerate(folds):
        if len(np.unique(labels[train])) < 2:
            raise ValueError(f"fold {number} would be trained on one class: too few questions for {n_folds} folds")
    return folds


def joined_layers(array: Array, layers: Iterable[int]) -> Floats:
    """Features of some layers side by side, shape (n_items, len(layers) * width), in float64."""
    return np.asarray(array, float)[:, list(layers)].reshape(len(array), -1)


class Search:
    """Inner cross-validation on one set of rows; features by kind, shape (n_items, n_layers, width)."""

    def __init__(
        self, features: Mapping[str, Array], labels: Array, groups: Array, head: Head, space: Space, seed: int
    ) -> None:
        self.features, self.labels, self.head, self.space, self.seed = features, labels, head, space, seed
        self.families = space.families or head.families
        self.folds = grouped_folds(labels, groups, space.n_inner, seed)
        self.scored, self.projected = {}, {}  # type: dict[Any, tuple[float, float]], dict[Any, Any]

    def score(self, name: str, layers: Sequence[int], family: str, setting: Mapping[str, Any]) -> tuple[float, float]:
        """Mean and standard deviation of the metric over inner folds."""
        key = (name, tuple(sorted(layers)), family, tuple(sorted(setting.items())))
        if key not in self.scored:
            scores, kind = [], FAMILIES[family]
            prepared = self.prepared(name, key[1], kind.centred)
            for (train, test), (seen, unseen) in zip(self.folds, prepared, strict=True):
                predicted = kind.make(setting, self.seed).fit(seen, self.labels[train]).predict(unseen)
                matrix = class_counts(self.labels[test], predicted, self.head.classes).sum(0)
                scores.append(METRICS[self.space.metric](matrix))
            self.scored[key] = (float(np.mean(scores)), float(np.std(scores)))
        return self.scored[key]

    def prepared(self, name: str, layers: tuple[int, ...], centred: bool) -> list[tuple[Floats, Floats]]:
        """Scaled and projected features of every inner fold, fitted on its training part: once for all classifiers."""
        key = (name, layers, centred)
        if key not in self.projected:
            X, self.projected[key] = joined_layers(self.features[name], layers), []
            for train, test in self.folds:
                steps = make_features(centred, self.space.n_components, self.seed).fit(X[train])
                self.projected[key].append((steps.transform(X[train]), steps.transform(X[test])))
        return self.projected[key]

    def worth(self, *candidate: Any) -> tuple[float, float, int]:
        """What candidates are compared by: the penalised mean, then the steadier, then the one of fewer layers."""
        mean, deviation = self.score(*candidate)
        return round(mean - self.space.stability * deviation, 9), -round(deviation, 9), -len(candidate[1])

    def ranking(self, name: str) -> tuple[Floats, list[int]]:
        """Mean and deviation of each single layer, shape (n_layers, 2), and the layers from best to worst."""
        family, n_layers = self.families[0], self.features[name].shape[1]
        setting = FAMILIES[family].usual
        order = sorted(range(n_layers), key=lambda layer: self.worth(name, (layer,), family, setting), reverse=True)
        return np.array([self.score(name, (layer,), family, setting) for layer in range(n_layers)]), order

    def greedy_layers(self, name: str, order: Sequence[int]) -> tuple[int, ...]:
        """Layers added one by one, best first, while the penalised score rises."""
        family, usable = self.families[0], order[: self.space.candidates]
        setting, chosen = FAMILIES[family].usual, (order[0],)  # type: Any, tuple[int, ...]
        while len(chosen) < self.space.max_layers:
            larger = [(*chosen, layer) for layer in usable if layer not in chosen]
            best = max(larger, key=lambda layers: self.worth(name, layers, family, setting), default=chosen)
            if self.worth(name, best, family, setting)[0] <= self.worth(name, chosen, family, setting)[0]:
                break
            chosen = best
        return tuple(sorted(chosen))

    def choose(self, families: Sequence[str] | None = None) -> Choice:
        """The choice: layers for each kind of features, the best kind, then family and setting on it.

        ``families``: instead of the search's own, with the same first one. What was scored for one choice serves the
        next.
        """
        families = self.families if families is None else families
        if families[0] != self.families[0]:
            raise ValueError(f"layers were ranked by {self.families[0]}, not by {families[0]}")
        first, ranking, layers = self.families[0], {}, {}  # type: str, dict[str, Floats], dict[str, tuple[int, ...]]
        for name in self.features:
            ranking[name], order = self.ranking(name)
            layers[name] = self.greedy_layers(name, order)
        name = max(layers, key=lambda name: self.worth(name, layers[name], first, FAMILIES[first].usual))
        tried = [(family, setting) for family in families for setting in FAMILIES[family].grid]
        family, setting = max(tried, key=lambda pair: self.worth(name, layers[name], *pair))
        mean, deviation = self.score(name, layers[name], family, setting)
        return Choice(name, layers[name], family, setting, mean, deviation, ranking)


def choose_probe(
    features: Mapping[str, Array], labels: Array, groups: Array, head: Head, space: Space | None = None, seed: int = 0
) -> Choice:
    """The best probe by inner cross-validation, and nothing about how good it is.

    ``features``: by kind (poolings, controls), shape (n_items, n_layers, width), each with a width and a number of
    layers of its own. ``groups``: question of each item. ``seed``: for folds, forests and networks.

    Step by step, each step greedy: single layers are ranked with the head's first family at its usual setting; from the
    best one, further ones among the `Space.candidates` best are added while the penalised score rises; then kinds of
    features are compared, then families and settings on the winner. All scores are of the same inner folds, so they
    choose and do not estimate: `judgekit.inside.probes.nested` estimates.
    """
    return Search(features, np.asarray(labels), np.asarray(groups), head, space or Space(), seed).choose()


def fit_choice(
    choice: Choice, features: Mapping[str, Array], labels: Array, space: Space | None = None, seed: int = 0
) -> Any:
    """The chosen probe as a pipeline, fitted on all rows given."""
    X = joined_layers(features[choice.features], choice.layers)
    probe = make_probe(choice.family, choice.setting, (space or Space()).n_components, seed)
    return probe.fit(X, np.asarray(labels))
