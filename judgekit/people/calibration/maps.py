r"""Maps from stated probabilities to calibrated ones, fitted on people's shares.

With :math:`d = \ell_A - \ell_B` and :math:`\log\nu = \ell_{tie} - (\ell_A + \ell_B) / 2` of the logarithms of the
stated probabilities: temperature, :math:`d / T,\; \log\nu / T` (Guo et al. 2017, arXiv:1706.04599); Davidson's (1970)
scale and correction for ties, :math:`s d,\; s \log\nu + b`; isotonic, increasing functions, one for A and B, one for
ties, scaled to one (Zadrozny and Elkan 2002). No parameter tells A from B, but for a judge that was shown one order.
"""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, TypeAlias

import numpy as np
from pydantic import Field, FiniteFloat
from pydantic.dataclasses import dataclass
from scipy.special import softmax

from judgekit.data.files import write_json
from judgekit.people.calibration.measures import FLOOR, Cases, log_losses, number
from judgekit.stats import Array, Floats, Number, influence_interval, prompt_folds

SCHEMA = 1
LINEAR = ("temperature", "davidson")
MAPS = (*LINEAR, "isotonic")
RIDGE = 0.01  # in items: just enough for a unique answer
STEPS, TOLERANCE = 100, 1e-9  # of Newton's method
Classes: TypeAlias = Annotated[int, Field(ge=2, le=3)]  # how many
NOTHING = "stated"  # the map that changes nothing


def maps_for(cases: Cases) -> tuple[str, ...]:
    """Names of the maps that differ on such rows: all with ties, two without."""
    return MAPS if cases.n_classes == 3 else ("temperature", "isotonic")


@dataclass(frozen=True, eq=False)
class LinearMap:
    """A logistic map from stated probabilities, shape (n_items, n_classes), to calibrated ones."""

    map: str
    parameters: tuple[FiniteFloat, ...]  # of the columns of `_design`
    classes: Classes
    symmetric: bool = True

    def __post_init__(self) -> None:
        if self.map not in LINEAR:
            raise ValueError(f"map {self.map!r} is not one of {', '.join(MAPS)}")
        wanted = 1 + (self.map == "davidson" and self.classes == 3) + (not self.symmetric)
        if len(self.parameters) != wanted:
            raise ValueError(f"map {self.map!r}: {self.parameters} is not {wanted} finite parameters")

    def __call__(self, probabilities: Array) -> Floats:
        if self.map != "temperature":
            _check_classes(self, probabilities)
        return softmax(_design(self.map, probabilities, self.symmetric) @ np.array(self.parameters), -1)


@dataclass(frozen=True, eq=False)
class IsotonicMap:
    """Increasing functions of the probabilities, scaled to one: corners (stated, calibrated) of that of A and B, and of
    that of ties where there are ties; of one for each class where a judge was shown one order only."""

    map: str
    curves: tuple[tuple[tuple[FiniteFloat, ...], tuple[FiniteFloat, ...]], ...]
    classes: Classes

    def __post_init__(self) -> None:
        if not all(len(x) == len(y) and list(x) == sorted(x) and list(y) == sorted(y) for x, y in self.curves):
            raise ValueError("map 'isotonic': a curve does not increase")
        if not all(y and 0 < y[0] <= y[-1] <= 1 for _, y in self.curves):
            raise ValueError("map 'isotonic': a curve leaves (0, 1]")
        if len(self.curves) not in (self.classes - 1, self.classes):
            raise ValueError(f"map 'isotonic': {len(self.curves)} curves for {self.classes} classes")

    def __call__(self, probabilities: Array) -> Floats:
        _check_classes(self, probabilities)
        own = len(self.curves) == self.classes
        columns = [np.interp(p, *self.curves[k if own else k // 2]) for k, p in enumerate(np.transpose(probabilities))]
        values = np.column_stack(columns)
        return values / values.sum(1, keepdims=True)


def _check_classes(fitted: LinearMap | IsotonicMap, probabilities: Array) -> None:
    if (n_classes := np.shape(probabilities)[1]) != fitted.classes:
        raise ValueError(f"map {fitted.map!r} was fitted for {fitted.classes} classes, not {n_classes}")


def _design(name: str, probabilities: Array, symmetric: bool) -> Floats:
    """What the parameters of a linear map multiply, shape (n_items, n_classes, n_parameters)."""
    logs = np.log(np.maximum(probabilities, FLOOR))
    columns = [logs]
    if name == "davidson" and logs.shape[1] == 3:
        columns.append(np.broadcast_to([0.0, 0.0, 1.0], logs.shape))
    if not symmetric:
        columns.append(np.broadcast_to([0.5, -0.5, 0.0][: logs.shape[1]], logs.shape))
    return np.stack(columns, axis=2)


def fit_map(name: str, cases: Cases) -> LinearMap | IsotonicMap:
    """One of `MAPS`, fitted to people's shares by likelihood (least squares for the isotonic one); ValueError where
    there is no such map, RuntimeError where the search for the parameters does not end."""
    if name == "isotonic":
        return _fit_isotonic(cases)
    return LinearMap(name, tuple(_fit_linear(name, cases)[0].tolist()), cases.n_classes, cases.symmetric)


def _fit_linear(name: str, cases: Cases) -> tuple[Floats, Floats, Floats]:
    """Parameters of a linear map that minimise the penalised loss, its Hessian there, and the columns of its design; by
    Newton's method, steps halved until they descend: the loss is convex."""
    columns, weights = _design(name, cases.probabilities, cases.symmetric), cases.weights
    start = np.eye(columns.shape[2])[0]  # changes nothing

    def problem(parameters: Floats) -> tuple[float, Floats, Floats]:
        fitted, away = softmax(columns @ parameters, -1), parameters - start
        loss = -(weights @ (cases.shares * np.log(np.maximum(fitted, FLOOR))).sum(1))
        gradient = np.einsum("n,nk,nkm->m", weights, fitted - cases.shares, columns)
        centred = columns - np.einsum("nk,nkm->nm", fitted, columns)[:, None]
        hessian = np.einsum("nkm,nkl->ml", centred * (weights[:, None] * fitted)[:, :, None], centred)
        return loss + RIDGE / 2 * away @ away, gradient + RIDGE * away, hessian + RIDGE * np.eye(len(start))

    point, (loss, gradient, hessian) = start, problem(start)
    for _ in range(STEPS):
        step, length = np.linalg.solve(hessian, gradient), 1.0
        slope = gradient @ step
        if slope < TOLERANCE * max(1.0, abs(loss)):
            return point, hessian, columns
        while (trial := problem(point - length * step))[0] > loss - 1e-4 * length * slope:
            length /= 2
            if length <= 1e-8:
                return point, hessian, columns
        point, (loss, gradient, hessian) = point - length * step, trial
    raise RuntimeError(f"map {name!r}: no minimum after {STEPS} steps, at {point}")


def _fit_isotonic(cases: Cases) -> IsotonicMap:
    """One increasing function for A and B together (for each where the judge has one order), one for ties."""
    from sklearn.isotonic import IsotonicRegression

    groups = ([[0, 1]] if cases.symmetric else [[0], [1]]) + [[2]] * (cases.n_classes == 3)
    least = 0.5 / (1 + cases.weights.sum())  # nothing is impossible that was merely not seen
    curves = []
    for columns in groups:
        stated, shares = (table[:, columns].T.ravel() for table in (cases.probabilities, cases.shares))
        fitted = IsotonicRegression(y_min=least, y_max=1 - least, out_of_bounds="clip")
        fitted.fit(stated, shares, np.tile(cases.weights, len(columns)))
        curves.append((fitted.X_thresholds_.tolist(), fitted.y_thresholds_.tolist()))
    return IsotonicMap("isotonic", tuple(curves), cases.n_classes)


def save_map(fitted: LinearMap | IsotonicMap, path: str | Path) -> Path:
    """Write a map as JSON."""
    return write_json(path, {"schema": SCHEMA} | asdict(fitted))


def load_map(path: str | Path) -> LinearMap | IsotonicMap:
    """Read what `save_map` wrote; ValueError naming the file and what is wrong where it is no map."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        if (schema := document.pop("schema")) != SCHEMA:
            raise ValueError(f"schema {schema!r}, not {SCHEMA}")
        return (IsotonicMap if document["map"] == "isotonic" else LinearMap)(**document)
    except KeyError as missing:
        raise ValueError(f"{path} is no calibration map: there is no {missing}") from None
    except (ValueError, TypeError) as wrong:
        raise ValueError(f"{path} is no calibration map: {wrong}") from None


def confidence_slope(cases: Cases) -> Number:
    """The power to which a judge's probabilities should be raised, 1 / T, with its interval over prompts.

    1 is calibrated, less is overconfident, 0 a confidence worth nothing; below zero people prefer what the judge thinks
    worse. The interval is from the likelihood's curvature and its slope's spread between prompts (White 1982).
    """
    slope, hessian, columns = _fit_linear("temperature", cases)
    residuals = cases.shares - softmax(columns @ slope, -1)
    scores = np.einsum("n,nk,nkm->nm", cases.weights, residuals, columns)
    ends = influence_interval(float(slope[0]), np.linalg.solve(hessian, scores.T)[0], cases.cluster_index)
    return number(ends, cases, ".2f")


def restated(name: str, fitted_on: Cases, cases: Cases) -> Cases:
    """Rows with the probabilities of a map that was fitted on other rows; `NOTHING` leaves them."""
    return cases if name == NOTHING else cases.stating(fit_map(name, fitted_on)(cases.probabilities))


def _by_fold(cases: Cases, choose: Callable[[Cases], str], seed: int) -> tuple[Cases, list[str]]:
    """Every row restated by a map that was chosen and fitted on the prompts of the other folds, and the map of each."""
    folds, values = prompt_folds(cases.clusters, seed=seed), np.empty_like(cases.probabilities)
    chosen = []
    for fold in np.unique(folds):
        here = folds == fold
        others = cases.at(~here)
        chosen.append(choose(others))
        values[here] = restated(chosen[-1], others, cases.at(here)).probabilities
    return cases.stating(values), chosen


def cross_fitted(cases: Cases, name: str, seed: int = 0) -> Cases:
    """Every row restated by a map that was fitted on the prompts of the other folds: no score of the judge."""
    return _by_fold(cases, lambda others: name, seed)[0]


def nested(cases: Cases, seed: int = 0) -> tuple[Cases, list[str]]:
    """As `cross_fitted`, by the map, or none, that does best by cross-fitting on the other folds, and every fold's."""

    def best(others: Cases) -> str:
        names = (NOTHING, *maps_for(others))
        return min(names, key=lambda name: float(others.weights @ log_losses(cross_fitted(others, name, seed + 1))))

    return _by_fold(cases, best, seed)
