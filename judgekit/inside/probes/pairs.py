"""From a probe on differences of two responses to a judge of pairs, ties included."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import logit

from judgekit.stats import Array, Floats, outcome_logits, outcome_probabilities

LABELS = ("A", "B", "tie")  # in the order of `judgekit.stats`


@dataclass(frozen=True)
class TieModel:
    """Davidson's model on top of a probe's margin.

    ``scale``: above 0, how much of the margin holds on questions that the probe has not seen. ``log_nu``: log of the
    tie parameter. ``n_pairs``, ``n_ties``: what it was fitted on.
    """

    scale: float
    log_nu: float
    n_pairs: int
    n_ties: int

    def probabilities(self, margins: Array) -> Floats:
        """Probabilities of A, B and tie from log-odds that A is preferred, shape (n_pairs, 3)."""
        return outcome_probabilities(self.scale * np.asarray(margins, float), self.log_nu)


def margins_of(probability: Array) -> Floats:
    """Log-odds of probabilities that A is preferred; certainty is taken for six nines."""
    return logit(np.clip(np.asarray(probability, float), 1e-6, 1 - 1e-6))


def fit_ties(margins: Array, labels: Sequence[str]) -> TieModel:
    """The tie model with the greatest likelihood.

    ``margins``: log-odds that A is preferred, each by a probe that has not seen the question, shape (n_pairs,).
    ``labels``: A, B or tie. ValueError where a label is unknown, or none or all are ties.
    """
    margins = np.asarray(margins, float)
    if strange := sorted(set(labels) - set(LABELS)):
        raise ValueError(f"label {strange[0]!r} is none of {', '.join(LABELS)}")
    codes = np.array([LABELS.index(label) for label in labels])
    n_ties = int((codes == LABELS.index("tie")).sum())
    if n_ties in (0, len(codes)):
        raise ValueError(f"{n_ties} of {len(codes)} pairs are ties: there is no tie model to fit")

    def loss(values: Floats) -> Any:
        logits = outcome_logits(np.exp(values[0]) * margins, values[1])
        return np.mean(np.logaddexp.reduce(logits, axis=1) - logits[np.arange(len(codes)), codes])

    found = minimize(loss, np.zeros(2), method="L-BFGS-B", bounds=[(-7, 7), (-10, 10)])
    if not found.success:
        raise RuntimeError(f"the tie model did not converge: {found.message}")
    return TieModel(float(np.exp(found.x[0])), float(found.x[1]), len(codes), n_ties)
