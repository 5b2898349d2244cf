r"""Maps from stated probabilities to calibrated ones, fitted on people's shares.

All but the isotonic one are multinomial logistic regressions on the logarithms of the stated probabilities
:math:`\ell`, written in Davidson's terms, the difference :math:`d = \ell_A - \ell_B` and the tie parameter
:math:`\log\nu = \ell_{tie} - (\ell_A + \ell_B) / 2`:

- temperature: :math:`d / T,\; \log\nu / T` (Guo et al. 2017, arXiv:1706.04599);
- Davidson: :math:`s d,\; s \log\nu + b`, a scale and a correction for ties (Davidson 1970);
- vector: a slope for A and B together, slope and offset for ties (Platt's scaling, one class at a time);
- Dirichlet: :math:`s d` and any linear :math:`\log\nu` of :math:`\ell_A + \ell_B` and :math:`\ell_{tie}`
  (Kull et al. 2019, arXiv:1910.12656), with a ridge towards what was stated;
- isotonic: any increasing function, one for A and B together and one for ties, scaled to one (Zadrozny and Elkan
  2002), with probabilities kept off zero.

A judge that says the same when the responses change places must still do so: no parameter tells A from B. Without
ties, the first four are then one and the same. A judge that was shown one order only gets one offset for A.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from judgekit.data.files import replaced
from judgekit.people.calibration.measures import FLOOR, mean_interval

SCHEMA = 1
LINEAR = ("temperature", "davidson", "vector", "dirichlet")
MAPS = (*LINEAR, "isotonic")
RIDGE = {"dirichlet": 1.0}  # in items; elsewhere just enough for a unique answer
LITTLE = 0.01


def maps_for(cases):
    """Names of the maps that differ on such rows: all with ties, two without."""
    return MAPS if cases.n_classes == 3 else ("temperature", "isotonic")


@dataclass(frozen=True, eq=False)
class LinearMap:
    """A logistic map.

    Attributes
    ----------
    name : str
        One of `LINEAR`.
    parameters : tuple of float
        Of the columns of `design`, the offset for A last where there is one.
    n_classes : int
        Of the rows it was fitted on. Temperature works on any.
    symmetric : bool
        Whether it is without the offset for A.
    """

    name: str
    parameters: tuple[float, ...]
    n_classes: int
    symmetric: bool = True

    def __post_init__(self):
        if self.name not in LINEAR or self.n_classes not in (2, 3):
            raise ValueError(f"map {self.name!r} for {self.n_classes} classes: {', '.join(LINEAR)} for 2 or 3")
        wanted = len(stated_parameters(self.name, self.n_classes, self.symmetric))
        if len(self.parameters) != wanted or not np.isfinite(self.parameters).all():
            raise ValueError(f"map {self.name!r}: {self.parameters} is not {wanted} finite parameters")

    def __call__(self, probabilities):
        """Calibrated probabilities, rows sum to one."""
        probabilities = np.asarray(probabilities, float)
        n_classes = probabilities.shape[1]
        if n_classes != self.n_classes and self.name != "temperature":
            raise ValueError(f"map {self.name!r} was fitted for {self.n_classes} classes, not {n_classes}")
        return softmax(design(self.name, probabilities, self.symmetric) @ np.array(self.parameters))

    def document(self):
        """What is written to a file."""
        return {
            "schema": SCHEMA,
            "map": self.name,
            "parameters": list(self.parameters),
            "classes": self.n_classes,
            "symmetric": self.symmetric,
        }


@dataclass(frozen=True, eq=False)
class IsotonicMap:
    """Increasing functions of the probabilities.

    Attributes
    ----------
    curves : tuple of (stated, calibrated)
        Corners of each function, that of A and B first, that of ties second where there are ties; where a judge was
        shown one order only, one for each class.
    n_classes : int
    """

    curves: tuple
    n_classes: int
    name = "isotonic"

    def __post_init__(self):
        curves = tuple(tuple(np.asarray(side, float) for side in curve) for curve in self.curves)
        object.__setattr__(self, "curves", curves)
        for x, y in curves:
            if x.ndim != 1 or x.shape != y.shape or not len(x) or (np.diff(x) < 0).any() or (np.diff(y) < 0).any():
                raise ValueError("map 'isotonic': a curve does not increase")
            if not (np.isfinite(x).all() and (y > 0).all() and (y <= 1).all()):
                raise ValueError("map 'isotonic': a curve leaves (0, 1]")
        if len(curves) not in (self.n_classes - 1, self.n_classes):
            raise ValueError(f"map 'isotonic': {len(curves)} curves for {self.n_classes} classes")

    def __call__(self, probabilities):
        """Calibrated probabilities, rows sum to one."""
        probabilities = np.asarray(probabilities, float)
        if probabilities.shape[1] != self.n_classes:
            raise ValueError(f"map 'isotonic' was fitted for {self.n_classes} classes, not {probabilities.shape[1]}")
        own = len(self.curves) == self.n_classes
        columns = [np.interp(p, *self.curves[k if own else k // 2]) for k, p in enumerate(probabilities.T)]
        values = np.column_stack(columns)
        return values / values.sum(1, keepdims=True)

    def document(self):
        """What is written to a file."""
        curves = [[side.tolist() for side in curve] for curve in self.curves]
        return {"schema": SCHEMA, "map": "isotonic", "curves": curves, "classes": self.n_classes}


def softmax(logits):
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def design(name, probabilities, symmetric=True):
    """What the parameters of a linear map multiply, shape (n_items, n_classes, n_parameters)."""
    logs = np.log(np.maximum(probabilities, FLOOR))
    zero, ties = np.zeros(len(logs)), logs.shape[1] == 3
    odds = (logs[:, 0] - logs[:, 1]) / 2
    if name == "temperature" or not ties:
        columns = [logs]
    elif name == "davidson":
        columns = [logs, np.broadcast_to([0.0, 0.0, 1.0], logs.shape)]
    else:
        level, tie = logs[:, :2].mean(1), logs[:, 2]
        sides = np.column_stack([odds, -odds, zero])
        both = np.column_stack([logs[:, :2], zero])
        columns = [both] if name == "vector" else [sides, np.column_stack([zero, zero, -level])]
        columns += [np.column_stack([zero, zero, tie]), np.broadcast_to([0.0, 0.0, 1.0], logs.shape)]
    if not symmetric:
        columns.append(np.broadcast_to([0.5, -0.5, 0.0][: logs.shape[1]], logs.shape))
    return np.stack(columns, axis=2)


def stated_parameters(name, n_classes, symmetric):
    """The parameters with which a linear map changes nothing."""
    one = [1.0]
    if n_classes == 3:
        one = {"temperature": [1.0], "davidson": [1.0, 0.0], "vector": [1.0, 1.0, 0.0]}.get(name, [1.0, 1.0, 1.0, 0.0])
    return np.array(one + ([] if symmetric else [0.0]))


def fit_map(name, cases):
    """Fit a map to people's shares, by likelihood (least squares for the isotonic one).

    Parameters
    ----------
    name : str
        One of `MAPS`.
    cases : Cases

    Returns
    -------
    LinearMap or IsotonicMap

    Raises
    ------
    ValueError
        If there is no such map.
    RuntimeError
        If the search for the parameters does not end.
    """
    if name == "isotonic":
        return fit_isotonic(cases)
    if name not in LINEAR:
        raise ValueError(f"map {name!r} is not one of {', '.join(MAPS)}")
    columns = design(name, cases.probabilities, cases.symmetric)
    start = stated_parameters(name, cases.n_classes, cases.symmetric)
    ridge = RIDGE.get(name, LITTLE)

    def penalised(parameters):
        return slope_of(columns, parameters, cases, ridge, start)

    found = newton(penalised, start)
    return LinearMap(name, tuple(map(float, found)), cases.n_classes, cases.symmetric)


def slope_of(columns, parameters, cases, ridge, start):
    """Penalised loss, gradient and Hessian of a linear map."""
    fitted = softmax(columns @ parameters)
    loss = -(cases.weights @ (cases.shares * np.log(np.maximum(fitted, FLOOR))).sum(1))
    mean = np.einsum("nk,nkm->nm", fitted, columns)
    gradient = np.einsum("n,nk,nkm->m", cases.weights, fitted - cases.shares, columns)
    centred = columns - mean[:, None]
    hessian = np.einsum("nkm,nkl->ml", centred * (cases.weights[:, None] * fitted)[:, :, None], centred)
    away = parameters - start
    return loss + ridge / 2 * away @ away, gradient + ridge * away, hessian + ridge * np.eye(len(start))


def newton(problem, start, steps=100, tolerance=1e-9):
    """Minimum of a convex function by Newton's method, steps halved until they descend."""
    point, (loss, gradient, hessian) = start, problem(start)
    for _ in range(steps):
        step = np.linalg.solve(hessian, gradient)
        if gradient @ step < tolerance * max(1.0, abs(loss)):
            return point
        length = 1.0
        while length > 1e-8:
            trial = problem(point - length * step)
            if trial[0] <= loss - 1e-4 * length * (gradient @ step):
                break
            length /= 2
        else:
            return point
        point, (loss, gradient, hessian) = point - length * step, trial
    raise RuntimeError(f"no minimum after {steps} steps, at {point}")


def fit_isotonic(cases):
    """One increasing function for A and B together (for each where the judge has one order), one for ties."""
    from sklearn.isotonic import IsotonicRegression

    groups = [[0, 1], [2]] if cases.symmetric else [[0], [1], [2]]
    least = 0.5 / (1 + cases.weights.sum())  # nothing is impossible that was merely not seen
    curves = []
    for group in groups:
        columns = [k for k in group if k < cases.n_classes]
        if not columns:
            continue
        stated, shares = (table[:, columns].T.ravel() for table in (cases.probabilities, cases.shares))
        fitted = IsotonicRegression(y_min=least, y_max=1 - least, out_of_bounds="clip")
        fitted.fit(stated, shares, np.tile(cases.weights, len(columns)))
        curves.append((fitted.X_thresholds_, fitted.y_thresholds_))
    return IsotonicMap(tuple(curves), cases.n_classes)


def save_map(fitted, path):
    """Write a map as JSON."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replaced(path) as temporary:
        temporary.write_text(json.dumps(fitted.document(), indent=1) + "\n", encoding="utf-8")
    return path


def load_map(path):
    """Read what `save_map` wrote.

    Raises
    ------
    ValueError
        If the file is no map; names the file and what is wrong.
    """
    try:
        said = json.loads(Path(path).read_text(encoding="utf-8"))
        if said["schema"] != SCHEMA:
            raise ValueError(f"schema {said['schema']!r}, not {SCHEMA}")
        if said["map"] == "isotonic":
            return IsotonicMap(tuple(map(tuple, said["curves"])), said["classes"])
        return LinearMap(said["map"], tuple(said["parameters"]), said["classes"], said["symmetric"])
    except KeyError as missing:
        raise ValueError(f"{path} is no calibration map: there is no {missing}") from None
    except (ValueError, TypeError) as wrong:
        raise ValueError(f"{path} is no calibration map: {wrong}") from None


def confidence_slope(cases):
    """The power to which a judge's probabilities should be raised, 1 / T, with its interval over prompts.

    Returns
    -------
    value, low, high : float
        1 is calibrated, less is overconfident, 0 a confidence worth nothing; below zero people prefer what the judge
        thinks worse, and no temperature repairs it.

    Notes
    -----
    The interval is from the likelihood's curvature and the spread of its slope between prompts (White 1982,
    Econometrica 50).
    """
    fitted = fit_map("temperature", cases)
    columns = design("temperature", cases.probabilities, cases.symmetric)
    slope = np.array(fitted.parameters)
    start = stated_parameters("temperature", cases.n_classes, cases.symmetric)
    hessian = slope_of(columns, slope, cases, LITTLE, start)[2]
    residuals = cases.shares - softmax(columns @ slope)
    scores = np.einsum("n,nk,nkm->nm", cases.weights, residuals, columns)
    return mean_interval(slope[0], None, cases.cluster_index, np.linalg.solve(hessian, scores.T)[0])
