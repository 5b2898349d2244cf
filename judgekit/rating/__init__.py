"""Single responses rated by saved probes: several aspects from one forward pass, and a total."""

from judgekit.rating.own import fit_probes
from judgekit.rating.rater import Rater, load_rater, rater_names, save_rater
from judgekit.rating.samples import evaluate_samples

__all__ = ["Rater", "evaluate_samples", "fit_probes", "load_rater", "rater_names", "save_rater"]
