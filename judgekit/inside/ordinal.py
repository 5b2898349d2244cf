"""Ordinal regression: one direction, and thresholds between the classes along it."""

from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight

from judgekit.stats import Array, Floats


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
