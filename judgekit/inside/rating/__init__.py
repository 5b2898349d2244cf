"""Single responses rated by saved probes: several aspects from one forward pass, and a total."""

from judgekit.inside.rating.own import fit_probes
from judgekit.inside.rating.rater import Rater, load_rater, rater_names, save_rater
from judgekit.inside.rating.samples import evaluate_samples

__all__ = ["Rater", "evaluate_samples", "fit_probes", "load_rater", "rater_names", "save_rater"]
