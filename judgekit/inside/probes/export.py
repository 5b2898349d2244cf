"""From a fitted scikit-learn pipeline to a probe that numpy alone can apply."""

from typing import Any

import numpy as np

from judgekit.inside.probes.saved import KINDS, Inputs, SavedProbe


def saved_probe(fitted: Any, family: str, inputs: Inputs, about: dict[str, Any] | None = None) -> SavedProbe:
    """The steps of a linear probe multiplied into one affine map, whose probabilities equal the pipeline's.

    ``fitted``: a pipeline of `judgekit.inside.probes.families.make_probe`, fitted on the inputs' layers side by side.
    ValueError where the family is not linear, or the pipeline was fitted on features of another width.
    """
    if family not in KINDS:
        raise ValueError(f"a probe of the family {family!r} cannot be saved: {', '.join(KINDS)} can")
    scale = fitted.named_steps["scale"]
    n_features = len(scale.scale_)
    if n_features != len(inputs.layers) * inputs.width:
        raise ValueError(f"fitted on {n_features} features; the inputs say {len(inputs.layers)} x {inputs.width}")
    classifier = fitted.named_steps["classify"]
    ordinal = family == "ordinal"
    # From the last step back to the first: each turns weights on what it gives into weights on what it takes.
    weight = classifier.coef_[:, None] if ordinal else classifier.coef_.T
    bias = np.zeros(1) if ordinal else np.broadcast_to(classifier.intercept_, weight.shape[1:])
    if "project" in fitted.named_steps:
        found = fitted.named_steps["project"].found_
        weight = found.components_.T @ weight
        bias = bias - getattr(found, "mean_", np.zeros(n_features)) @ weight
    weight = weight / scale.scale_[:, None]
    bias = bias - getattr(scale, "mean_", np.zeros(n_features)) @ weight
    thresholds = classifier.thresholds_ if ordinal else np.zeros(0)
    classes = tuple(int(value) for value in classifier.classes_)
    return SavedProbe(family, classes, inputs, weight, bias, thresholds, about or {})
