"""Probes: small classifiers on vectors that stand for texts, chosen so that no test item has a say in the choice.

Layers, kind of features, classifier and its setting are chosen by cross-validation grouped by question (`choose_probe`)
and the whole procedure, choice included, is estimated by nesting it in outer folds (`nested_probe`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.class_weight import compute_sample_weight
from threadpoolctl import threadpool_limits

from judgekit.stats import Array, Floats, ratio

GOOD = 4  # lowest good score of 5, as in the representation-as-a-judge study
ByKind = Mapping[str, Array]  # features of items by their kind, each of shape (n_items, n_layers, width)
CLASSIFIERS = ("logistic", "linear_svm", "rbf_svm", "forest", "mlp")


@dataclass(frozen=True)
class Head:
    """The labels of a probe, and how they may be predicted."""

    name: str
    classes: tuple[int, ...]  # ascending; one that a fold lacks still counts in macro F1
    families: tuple[str, ...] = CLASSIFIERS  # of `FAMILIES`, those that may be tried; the first one ranks layers


HEADS = {
    "binary": Head("binary", (0, 1)),
    "five": Head("five", (1, 2, 3, 4, 5)),
    "ordinal": Head("ordinal", (1, 2, 3, 4, 5), ("ordinal",)),
    "pair": Head("pair", (0, 1), ("pair_logistic",)),  # on differences A - B; 1 where A is preferred
}


class _RootMeanSquareScaler(TransformerMixin, BaseEstimator):
    """Divide each feature by its root mean square, leaving zero where it is."""

    def fit(self, X: Array, y: Any = None) -> Self:
        size = np.sqrt(np.square(X).mean(0))
        self.scale_ = np.where(size > 0, size, 1.0)
        return self

    def transform(self, X: Array) -> Floats:
        return X / self.scale_


class Projection(TransformerMixin, BaseEstimator):
    """Principal components, at most as many as the rows allow; uncentred by truncated singular value decomposition."""

    def __init__(self, n_components: int = 50, centred: bool = True, seed: int = 0) -> None:
        self.n_components, self.centred, self.seed = n_components, centred, seed

    def fit(self, X: Array, y: Any = None) -> Self:
        count = max(1, min(self.n_components, X.shape[0] - 1, X.shape[1]))
        kind = PCA if self.centred else TruncatedSVD
        with np.errstate(invalid="ignore"):  # a layer where nothing varies has no shares of variance
            self.fitted_ = kind(count, random_state=self.seed).fit(X)
        return self

    def transform(self, X: Array) -> Floats:
        """Coordinates along the components, shape (n_items, n_components)."""
        return self.fitted_.transform(X)


class OrdinalLogistic(ClassifierMixin, BaseEstimator):
    r"""The proportional odds model with a ridge penalty: ``P(y <= class k) = sigmoid(threshold_k - x @ coef)``.

    ``C`` and ``class_weight`` as in scikit-learn. Fitted: ``classes_``, ``coef_`` (n_features,) and ``thresholds_``
    (n_classes - 1,). McCullagh (1980), Journal of the Royal Statistical Society B 42. The search runs over the
    logarithms of the gaps between thresholds, which keeps these in order.
    """

    def __init__(self, C: float = 1.0, class_weight: Any = None) -> None:
        self.C, self.class_weight = C, class_weight

    def fit(self, X: Array, y: Array) -> Self:
        """The model fitted by penalised maximum likelihood; ValueError where there are fewer than two classes."""
        X = np.asarray(X, float)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("ordinal regression needs at least two classes")
        weight = self.C * compute_sample_weight(self.class_weight, y)
        share = np.cumsum(np.bincount(codes, weight))[:-1] / weight.sum()
        first = np.log(share) - np.log1p(-share)  # the thresholds where no feature tells anything
        start = np.concatenate([np.zeros(X.shape[1]), first[:1], np.log(np.maximum(np.diff(first), 1e-3))])
        options = {"maxiter": 2000, "ftol": 1e-12, "gtol": 1e-7}
        fitted = minimize(penalised_loss, start, (X, codes, weight), jac=True, method="L-BFGS-B", options=options).x
        self.coef_, self.thresholds_ = fitted[: X.shape[1]], _thresholds(fitted[X.shape[1] :])
        return self

    def predict_proba(self, X: Array) -> Floats:
        """Probability of each class, shape (n_items, n_classes)."""
        position = np.asarray(X, float) @ self.coef_
        return np.diff(expit(self.thresholds_ - position[:, None]), axis=1, prepend=0, append=1)

    def predict(self, X: Array) -> np.ndarray:
        """The most probable class of each item."""
        return self.classes_[self.predict_proba(X).argmax(1)]


def _thresholds(parameters: Floats) -> Floats:
    """Ascending thresholds from the lowest one and the logarithms of the gaps above it."""
    return parameters[0] + np.concatenate([[0.0], np.cumsum(np.exp(parameters[1:]))])


def penalised_loss(parameters: Floats, X: Floats, codes: np.ndarray, weight: Floats) -> tuple[float, Floats]:
    """Weighted negative log-likelihood plus half the squared coefficients, and its gradient.

    With a = upper threshold - position and b = lower threshold - position, the likelihood of an item is
    ``sigmoid(a) - sigmoid(b) = sigmoid(a) * sigmoid(-b) * (1 - exp(b - a))``, whose logarithm is safe in the tails.
    """
    n_features = X.shape[1]
    coef, cuts = parameters[:n_features], parameters[n_features:]
    thresholds = np.concatenate([[-np.inf], _thresholds(cuts), [np.inf]])
    position = X @ coef
    upper, lower = thresholds[codes + 1] - position, thresholds[codes] - position
    gap = np.exp(lower - upper)  # 0 where a side is open
    log_likelihood = log_expit(upper) + log_expit(-lower) + np.log1p(-gap)
    by_upper = expit(-upper) + gap / (1 - gap)
    by_lower = -expit(lower) - gap / (1 - gap)
    by_threshold = np.zeros(len(thresholds))
    np.add.at(by_threshold, codes + 1, weight * by_upper)
    np.add.at(by_threshold, codes, weight * by_lower)
    # A threshold is the sum of the lowest one and the gaps below it.
    by_cut = np.cumsum(by_threshold[1:-1][::-1])[::-1] * np.concatenate([[1.0], np.exp(cuts[1:])])
    by_coef = -X.T @ (weight * (by_upper + by_lower))
    loss = -(weight @ log_likelihood) + coef @ coef / 2
    return loss, np.concatenate([coef - by_coef, -by_cut])


@dataclass(frozen=True)
class Family:
    """A kind of classifier and the settings that are tried."""

    classifier: Any
    grid: tuple[dict[str, Any], ...]  # the middle setting stands for the family where layers are ranked
    centred: bool = True  # not for differences of two responses: swapping these must change the sign and nothing else

    @property
    def usual(self) -> dict[str, Any]:
        """The setting that stands for the family."""
        return self.grid[len(self.grid) // 2]

    def make(self, seed: int, **setting: Any) -> Any:
        """An unfitted classifier with a setting."""
        seeded = {"random_state": seed} if "random_state" in self.classifier.get_params() else {}
        return clone(self.classifier).set_params(**setting, **seeded)


def _grid(name: str, *values: float) -> tuple[dict[str, Any], ...]:
    return tuple({name: value} for value in values)


_STRENGTHS = _grid("C", 0.001, 0.01, 0.1, 1.0)  # inverse strength of the penalty
_BALANCED: dict[str, Any] = {"class_weight": "balanced"}
FAMILIES = {
    "majority": Family(DummyClassifier(strategy="most_frequent"), ({},)),
    "logistic": Family(LogisticRegression(max_iter=2000, **_BALANCED), _STRENGTHS),
    "linear_svm": Family(SVC(kernel="linear", **_BALANCED), _STRENGTHS),
    "rbf_svm": Family(SVC(**_BALANCED), _grid("C", 0.3, 1.0, 10.0)),
    "forest": Family(RandomForestClassifier(100, **_BALANCED), _grid("min_samples_leaf", 1, 3, 8)),
    # L-BFGS: few rows, and none held back for early stopping; the loose tolerance saves most of the time.
    "mlp": Family(MLPClassifier((64,), solver="lbfgs", tol=0.01, max_iter=1000), _grid("alpha", 0.1, 1.0, 10.0)),
    "ordinal": Family(OrdinalLogistic(**_BALANCED), _STRENGTHS),
    "pair_logistic": Family(LogisticRegression(fit_intercept=False, max_iter=2000), _STRENGTHS, centred=False),
}


def _features(centred: bool, n_components: int | None, seed: int) -> Pipeline:
    """What stands before the classifier, unfitted: ``scale`` and (unless ``n_components`` is None) ``project``."""
    steps: list[tuple[str, Any]] = [("scale", StandardScaler() if centred else _RootMeanSquareScaler())]
    if n_components is not None:
        steps.append(("project", Projection(n_components, centred, seed)))
    return Pipeline(steps)


def make_probe(family: str, setting: Mapping[str, Any], n_components: int | None = 50, seed: int = 0) -> Pipeline:
    """An unfitted probe: steps ``scale``, ``project`` (unless ``n_components`` is None) and ``classify``."""
    kind = FAMILIES[family]
    steps = _features(kind.centred, n_components, seed).steps
    return Pipeline([*steps, ("classify", kind.make(seed, **setting))])


def class_counts(labels: Array, predicted: Array, classes: Array) -> Floats:
    """One confusion matrix per item, shape (n_items, n_classes, n_classes): a single count at (label, predicted class).

    ValueError where the lengths differ, or a value is none of the classes.
    """
    sides = [np.asarray(side)[:, None] == np.asarray(classes) for side in (labels, predicted)]
    if len(sides[0]) != len(sides[1]) or not all(side.any(1).all() for side in sides):
        raise ValueError(f"{len(sides[0])} labels and {len(sides[1])} predictions are not all of {list(classes)}")
    return np.einsum("na,nb->nab", *np.array(sides, float))


def _class_f1(matrix: Floats) -> Floats:
    """F1 of each class, shape (..., n_classes); 0 for a class that neither occurs nor is predicted."""
    return ratio(2 * np.diagonal(matrix, axis1=-2, axis2=-1), matrix.sum(-1) + matrix.sum(-2))


# Of confusion counts, shape (..., n_classes, n_classes), as scikit-learn has them; there is one value per resample.
METRICS: dict[str, Callable[[Floats], Floats]] = {
    "weighted_f1": lambda matrix: ratio((_class_f1(matrix) * matrix.sum(-1)).sum(-1), matrix.sum((-2, -1))),
    "macro_f1": lambda matrix: _class_f1(matrix).mean(-1),
    "accuracy": lambda matrix: ratio(np.trace(matrix, axis1=-2, axis2=-1), matrix.sum((-2, -1))),
}


@dataclass(frozen=True)
class Space:
    """What is tried, and how it is compared."""

    n_components: int | None = 50  # principal components, fitted inside every fold; None for none
    candidates: int = 5  # best layers of a ranking that may be added, up to ``max_layers``
    max_layers: int = 3
    stability: float = 0.5  # deviations over folds that a mean is lowered by: of equally good choices the steadier wins
    metric: str = "macro_f1"  # of `METRICS`
    n_inner: int = 5  # folds that choices are made on
    families: tuple[str, ...] | None = None  # instead of the head's

    def __post_init__(self) -> None:
        """Refuse names that are not there, before hours are spent."""
        if unknown := set(self.families or ()) - set(FAMILIES):
            raise ValueError(f"family {min(unknown)!r} is none of {', '.join(FAMILIES)}")


@dataclass(frozen=True)
class Choice:
    """What cross-validation chose; its score is the best of many, and so never to be reported."""

    features: str  # their kind (the pooling)
    layers: tuple[int, ...]  # ascending positions along the features' layer axis
    family: str
    setting: dict[str, Any]
    mean: float  # of the score over inner folds, as is ``deviation``
    deviation: float
    # by kind of features, mean and deviation of every single layer, shape (n_layers, 2): for layer curves
    ranking: dict[str, Any] = field(repr=False, compare=False, default_factory=dict)


def grouped_folds(labels: Array, groups: Array, n_folds: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training rows and test rows of each fold: classes spread evenly, no question in two folds."""
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

    def __init__(self, features: ByKind, labels: Array, groups: Array, head: Head, space: Space, seed: int) -> None:
        self.features, self.labels, self.head, self.space, self.seed = features, labels, head, space, seed
        self.families = space.families or head.families
        self.folds = grouped_folds(labels, groups, space.n_inner, seed)
        self._scored: dict[Any, tuple[float, float]] = {}
        self._projected: dict[Any, list[tuple[Floats, Floats]]] = {}

    def score(self, name: str, layers: Sequence[int], family: str, setting: Mapping[str, Any]) -> tuple[float, float]:
        """Mean and standard deviation of the metric over inner folds."""
        key = (name, tuple(sorted(layers)), family, tuple(sorted(setting.items())))
        if key not in self._scored:
            scores, kind = [], FAMILIES[family]
            prepared = self._prepared(name, key[1], kind.centred)
            for (train, test), (seen, unseen) in zip(self.folds, prepared, strict=True):
                predicted = kind.make(self.seed, **setting).fit(seen, self.labels[train]).predict(unseen)
                matrix = class_counts(self.labels[test], predicted, self.head.classes).sum(0)
                scores.append(METRICS[self.space.metric](matrix))
            self._scored[key] = (float(np.mean(scores)), float(np.std(scores)))
        return self._scored[key]

    def _prepared(self, name: str, layers: tuple[int, ...], centred: bool) -> list[tuple[Floats, Floats]]:
        """Scaled and projected features of every inner fold, fitted on its training part: once for all classifiers."""
        key = (name, layers, centred)
        if key not in self._projected:
            X, self._projected[key] = joined_layers(self.features[name], layers), []
            for train, test in self.folds:
                steps = _features(centred, self.space.n_components, self.seed).fit(X[train])
                self._projected[key].append((steps.transform(X[train]), steps.transform(X[test])))
        return self._projected[key]

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

    def _greedy_layers(self, name: str, order: Sequence[int]) -> tuple[int, ...]:
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
        """The choice; ``families``: instead of the search's own, with the same first one."""
        families, first = families or self.families, self.families[0]
        usual, ranking, layers = FAMILIES[first].usual, {}, {}  # type: Any, dict[str, Floats], dict[str, tuple[int, ...]]
        for name in self.features:
            ranking[name], order = self.ranking(name)
            layers[name] = self._greedy_layers(name, order)
        name = max(layers, key=lambda name: self.worth(name, layers[name], first, usual))
        tried = [(family, setting) for family in families for setting in FAMILIES[family].grid]
        family, setting = max(tried, key=lambda pair: self.worth(name, layers[name], *pair))
        return Choice(name, layers[name], family, setting, *self.score(name, layers[name], family, setting), ranking)


@threadpool_limits.wrap(limits=1)
def choose_probe(
    features: ByKind, labels: Array, groups: Array, head: Head, space: Space | None = None, seed: int = 0
) -> Choice:
    """The best probe by inner cross-validation, and nothing about how good it is.

    ``features``: by kind, shape (n_items, n_layers, width) of its own. ``groups``: question of each item.

    Each step is greedy: single layers are ranked with the head's first family at its usual setting, and further ones
    added to the best; then kinds of features are compared, then families and settings on the winner. All scores are of
    the same inner folds, so they choose and do not estimate.
    """
    return Search(features, np.asarray(labels), np.asarray(groups), head, space or Space(), seed).choose()


def fit_choice(choice: Choice, features: ByKind, labels: Array, space: Space | None = None, seed: int = 0) -> Pipeline:
    """The chosen probe as a pipeline, fitted on all rows given."""
    X = joined_layers(features[choice.features], choice.layers)
    probe = make_probe(choice.family, choice.setting, (space or Space()).n_components, seed)
    return probe.fit(X, np.asarray(labels))


@dataclass(frozen=True)
class NestedResult:
    """Out-of-fold predictions, and what was chosen on the way."""

    predicted: np.ndarray  # class of each item by a probe that never saw its question, shape (n_items,)
    scores: np.ndarray  # expected class where the chosen family gives probabilities, else the predicted class
    choices: list[Choice]  # one per outer fold


@threadpool_limits.wrap(limits=1)  # matrices are small
def nested_probe(
    features: ByKind,
    labels: Array,
    groups: Array,
    head: Head,
    space: Space | None = None,
    n_outer: int = 5,
    seed: int = 0,
    searches: dict[int, Search] | None = None,
) -> NestedResult:
    """A probe estimated by nested cross-validation grouped by question (Varma and Simon 2006, BMC Bioinformatics 7).

    ``features``, ``groups``: as for `choose_probe`. ``n_outer``: folds that estimate. ``searches``: filled with the
    search of each; given again for the same material, it spares what was scored before. Folds differ in what they
    choose, so the estimate is of the procedure, and of no single probe.
    """
    labels, groups, space = np.asarray(labels).astype(int), np.asarray(groups), space or Space()
    predicted, scores, choices = np.zeros(len(labels), int), np.zeros(len(labels)), []
    for number, (train, test) in enumerate(grouped_folds(labels, groups, n_outer, seed)):
        seen = {name: array[train] for name, array in features.items()}
        search = (searches or {}).get(number) or Search(seen, labels[train], groups[train], head, space, seed)
        if searches is not None:
            searches[number] = search
        choice = search.choose(space.families or head.families)
        probe = fit_choice(choice, seen, labels[train], space, seed)
        X = joined_layers(features[choice.features][test], choice.layers)
        predicted[test] = probe.predict(X)
        scores[test] = probe.predict_proba(X) @ probe.classes_ if hasattr(probe, "predict_proba") else predicted[test]
        choices.append(choice)
    return NestedResult(predicted, scores, choices)
