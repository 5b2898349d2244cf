"""Juries of judges, and cascades from a cheap judge to a strong one, on verdicts that are stored already."""

from judgekit.studies.jury.cascade import (
    Cascade,
    cascade_curve,
    confidence_of,
    cost_at,
    cost_of,
    cost_together,
    cross_fitted_point,
    routed,
)
from judgekit.studies.jury.diversity import (
    accuracy_of,
    ceiling_of,
    effective_members,
    error_correlations,
    leave_one_out,
)
from judgekit.studies.jury.panel import Panel
from judgekit.studies.jury.tables import jury_table, rulings_of
from judgekit.studies.jury.voting import majority, mean_probability
from judgekit.studies.jury.weights import (
    LabelLeak,
    Weights,
    cross_fitted,
    learn_weights,
    validation_panel,
    weighted_vote,
)

__all__ = [
    "Cascade",
    "LabelLeak",
    "Panel",
    "Weights",
    "accuracy_of",
    "cascade_curve",
    "ceiling_of",
    "confidence_of",
    "cost_at",
    "cost_of",
    "cost_together",
    "cross_fitted",
    "cross_fitted_point",
    "effective_members",
    "error_correlations",
    "jury_table",
    "learn_weights",
    "leave_one_out",
    "majority",
    "mean_probability",
    "routed",
    "rulings_of",
    "validation_panel",
    "weighted_vote",
]
