"""From pairs to what a pairwise probe reads, and from its margins to a judge that may say tie."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from judgekit.data.catalogue import load_set
from judgekit.data.paths import run_folder, verdict_store_path
from judgekit.data.progress import progress_bar
from judgekit.inside.representations import rated_text
from judgekit.inside.saved_probes import SavedProbe, TieModel
from judgekit.judges import load_judge
from judgekit.judges.probe import save_probe_judge
from judgekit.records import PreferencePair
from judgekit.scoring import hold_contest
from judgekit.scoring.contests import contest_scores
from judgekit.scoring.store import VerdictStore
from judgekit.stats import Array, Floats, outcome_logits

if TYPE_CHECKING:
    from judgekit.models.states import StateReader

LABELS = ("A", "B", "tie")  # in the order of `judgekit.stats.outcome_logits`


def pair_differences(
    pairs: Sequence[PreferencePair], reader: "StateReader", poolings: Sequence[str], step: int = 32, shown: bool = True
) -> dict[str, np.ndarray]:
    """States of response A minus states of response B, each read with its question by itself.

    By pooling: float32, shape (n_pairs, n_layers, width). Earlier turns are read as part of the question, as judges do.
    A reader with a cache goes on where an interrupted reading stopped.
    """
    texts = [[rated_text(pair.asked, side) for side in (pair.response_a, pair.response_b)] for pair in pairs]
    order = sorted(range(len(texts)), key=lambda number: -max(map(len, texts[number])))  # like lengths together
    differences: dict[str, list[Any]] = {name: [None] * len(texts) for name in poolings}
    with progress_bar(len(order), "reading", "pair", shown) as bar:
        for start in range(0, len(order), step):
            batch = order[start : start + step]
            states = reader.read([text for number in batch for text in texts[number]], tuple(poolings))
            for name in poolings:
                for row, number in enumerate(batch):
                    differences[name][number] = states[name][2 * row] - states[name][2 * row + 1]
            bar.update(len(batch))
    return {name: np.stack(rows) for name, rows in differences.items()}


def fit_ties(margins: Array, labels: Sequence[str]) -> TieModel:
    """The tie model with the greatest likelihood.

    ``margins``: log-odds that A is preferred, each by a probe that has not seen the question, shape (n_pairs,).
    ``labels``: A, B or tie. ValueError where a label is unknown, or none or all are ties.
    """
    margins = np.asarray(margins, float)
    if unknown := sorted(set(labels) - set(LABELS)):
        raise ValueError(f"label {unknown[0]!r} is none of {', '.join(LABELS)}")
    codes = np.array([LABELS.index(label) for label in labels])
    n_ties = int((codes == LABELS.index("tie")).sum())
    if n_ties in (0, len(codes)):
        raise ValueError(f"{n_ties} of {len(codes)} pairs are ties: there is no tie model to fit")

    def loss(values: Floats) -> Any:
        logits = outcome_logits(np.exp(values[0]) * margins, values[1])
        return np.mean(np.logaddexp.reduce(logits, axis=1) - logits[np.arange(len(codes)), codes])

    fitted = minimize(loss, np.zeros(2), method="L-BFGS-B", bounds=[(-7, 7), (-10, 10)])
    if not fitted.success:
        raise RuntimeError(f"the tie model did not converge: {fitted.message}")
    return TieModel(float(np.exp(fitted.x[0])), float(fitted.x[1]), len(codes), n_ties)


def keep_and_score(
    probe: SavedProbe, ties: TieModel, run: str, sets: Sequence[str], n_boot: int = 10_000, seed: int = 0
) -> pd.DataFrame:
    """Scores on test sets, as `contest_scores`, of the judge ``probe/pairs``, which the run keeps."""
    folder = run_folder(run, "models", "probes", "pairs")
    save_probe_judge(probe, ties, folder)
    judge = load_judge("probe/pairs", folder)
    slugs = {judge.name: "probe_pairs"}
    with VerdictStore(verdict_store_path()) as store:
        contests = [hold_contest(name, load_set(name), [judge], slugs, store) for name in sets]
    return pd.concat([contest_scores(contest, None, n_boot, seed) for contest in contests], ignore_index=True)
