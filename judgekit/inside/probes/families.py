"""Families of probes: scaling, projection and a classifier, all fitted on the rows they are given and no others."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from judgekit.inside.probes.ordinal import OrdinalLogistic
from judgekit.stats import Array, Floats


@dataclass(frozen=True)
class Family:
    """A kind of classifier and the settings that are tried.

    ``make``: from a setting and a seed to an unfitted scikit-learn classifier. ``grid``: settings; the middle one
    stands for the family where layers are ranked. ``centred``: whether features are centred. Differences of two
    responses must not be: exchanging the responses has to change the sign of everything and nothing else.
    """

    make: object
    grid: tuple
    centred: bool = True

    @property
    def usual(self) -> dict[str, Any]:
        """The setting that stands for the family."""
        return self.grid[len(self.grid) // 2]


def strengths(*values: float) -> tuple[dict[str, float], ...]:
    """A grid over the inverse regularisation strength."""
    return tuple({"C": value} for value in values)


FAMILIES: dict[str, Any] = {  # each a Family
    "majority": Family(lambda setting, seed: DummyClassifier(strategy="most_frequent"), ({},)),
    "logistic": Family(
        lambda setting, seed: LogisticRegression(class_weight="balanced", max_iter=2000, **setting),
        strengths(0.001, 0.01, 0.1, 1.0),
    ),
    "linear_svm": Family(
        lambda setting, seed: SVC(kernel="linear", class_weight="balanced", **setting), strengths(0.001, 0.01, 0.1, 1.0)
    ),
    "rbf_svm": Family(lambda setting, seed: SVC(class_weight="balanced", **setting), strengths(0.3, 1.0, 10.0)),
    "forest": Family(
        lambda setting, seed: RandomForestClassifier(
            n_estimators=100, class_weight="balanced", random_state=seed, **setting
        ),
        ({"min_samples_leaf": 1}, {"min_samples_leaf": 3}, {"min_samples_leaf": 8}),
    ),
    # L-BFGS: few rows, and none held back for early stopping; the loose tolerance saves most of the time.
    "mlp": Family(
        lambda setting, seed: MLPClassifier(
            (64,), solver="lbfgs", tol=0.01, max_iter=1000, random_state=seed, **setting
        ),
        ({"alpha": 0.1}, {"alpha": 1.0}, {"alpha": 10.0}),
    ),
    "ordinal": Family(
        lambda setting, seed: OrdinalLogistic(class_weight="balanced", **setting), strengths(0.001, 0.01, 0.1, 1.0)
    ),
    "pair_logistic": Family(
        lambda setting, seed: LogisticRegression(fit_intercept=False, max_iter=2000, **setting),
        strengths(0.001, 0.01, 0.1, 1.0),
        centred=False,
    ),
}


class RootMeanSquareScaler(TransformerMixin, BaseEstimator):
    """Divide each feature by its root mean square, leaving zero where it is."""

    def fit(self, X: Array, y: Any = None) -> Self:
        """Learn the scale; a feature that is always 0 keeps the scale 1."""
        size = np.sqrt(np.square(X).mean(0))
        self.scale_ = np.where(size > 0, size, 1.0)
        return self

    def transform(self, X: Array) -> Floats:
        """Scaled features."""
        return X / self.scale_


class Projection(TransformerMixin, BaseEstimator):
    """Principal components, at most as many as the rows it is fitted on allow.

    ``centred``: False projects without centring (truncated singular value decomposition). ``seed``: for the randomised
    solver.
    """

    def __init__(self, n_components: int = 50, centred: bool = True, seed: int = 0) -> None:
        self.n_components, self.centred, self.seed = n_components, centred, seed

    def fit(self, X: Array, y: Any = None) -> Self:
        """Find the components."""
        count = max(1, min(self.n_components, X.shape[0] - 1, X.shape[1]))
        kind = PCA if self.centred else TruncatedSVD
        with np.errstate(invalid="ignore"):  # a layer where nothing varies has no shares of variance
            self.found_ = kind(count, random_state=self.seed).fit(X)
        return self

    def transform(self, X: Array) -> Floats:
        """Coordinates along the components, shape (n_items, n_components)."""
        return self.found_.transform(X)


def make_features(centred: bool = True, n_components: int | None = 50, seed: int = 0) -> Pipeline:
    """What stands before the classifier, unfitted: ``scale`` and (unless ``n_components`` is None) ``project``."""
    steps: list[tuple[str, Any]] = [("scale", StandardScaler() if centred else RootMeanSquareScaler())]
    if n_components is not None:
        steps.append(("project", Projection(n_components, centred, seed)))
    return Pipeline(steps)


def make_probe(family: str, setting: Mapping[str, Any], n_components: int | None = 50, seed: int = 0) -> Pipeline:
    """An unfitted probe: steps ``scale``, ``project`` (unless ``n_components`` is None) and ``classify``.

    ``family``: one of `FAMILIES`. ``setting``: of the family's grid. ``n_components``: principal components kept; None
    classifies all features.
    """
    kind = FAMILIES[family]
    steps = make_features(kind.centred, n_components, seed).steps
    return Pipeline([*steps, ("classify", kind.make(setting, seed))])
