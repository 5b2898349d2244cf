r"""Win rates of models against a baseline, before and after length control: for notebook 41.

For each model a logistic regression of the annotator's preference on the length :math:`d` by which its response is
longer than the baseline's, :math:`\operatorname{logit} E[c] = \theta + \lambda d`. The win rate at equal length is
:math:`1 / (1 + e^{-\theta})`. After AlpacaEval 2 (Dubois et al. 2024, arXiv:2404.04475), whose own column it is not:
that one standardises characters for each model, and has the instructions' difficulty in the regression. What is
controlled for is all that goes with length: where longer responses say more, the controlled rate is too low.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from judgekit.bias.judged import CREDIT
from judgekit.judges.surface import words_of
from judgekit.records import PreferencePair
from judgekit.stats import Array, Floats, Number, interval_of, kendall, spearman


def annotation_table(pairs: Sequence[PreferencePair]) -> pd.DataFrame:
    """The annotations of pairs as preference for the model that is compared with a baseline.

    Columns model, prompt, credit (for the model, in [0, 1]), words, baseline_words, doublings. The pairs have an
    annotator's labels, or soft labels, and authors. ValueError if nobody, or more than one, wrote one response of every
    pair.
    """
    shared = set.intersection(*({pair.model_a, pair.model_b} for pair in pairs))
    if len(shared) != 1:
        raise ValueError(f"not one baseline in every pair: {', '.join(sorted(map(str, shared))) or 'none'}")
    rows = []
    for pair in (pair if pair.model_b in shared else pair.swapped() for pair in pairs):
        credit = CREDIT[pair.label] if pair.soft_label is None else pair.soft_label
        words = [max(1, len(words_of(text))) for text in pair.responses]
        rows.append((pair.model_a, pair.cluster, credit, *words, np.log2(words[0] / words[1])))
    names = ["model", "prompt", "credit", "words", "baseline_words", "doublings"]
    # Some models were annotated twice by one annotator: the first annotation counts.
    return pd.DataFrame(rows, columns=names).drop_duplicates(["model", "prompt"], ignore_index=True)


def saturating(table: pd.DataFrame) -> pd.DataFrame:
    """The table with tanh of the difference in words, standardised over all models, in the place of doublings."""
    gap = (table["words"] - table["baseline_words"]).astype(float)
    return table.assign(doublings=np.tanh(gap / gap.std()))


def _equal_length_rates(credit: Floats, doublings: Floats, model: Array, weight: Array) -> Floats:
    """Win rates of several models at equal length, shape (n_models,), by Newton's method on sums by model.

    The arrays have a value per row: ``model`` counts from 0, ``weight`` says how often the row counts.
    """
    theta, slope = np.zeros((2, model.max() + 1))
    for _ in range(25):
        p = 1 / (1 + np.exp(-theta[model] - slope[model] * doublings))
        spread, missed = weight * p * (1 - p), weight * (credit - p)
        terms = (missed, missed * doublings, spread, spread * doublings, spread * doublings**2)
        g0, g1, h00, h01, h11 = (np.bincount(model, term) for term in terms)
        step = (g1 - h01 * g0 / h00) / (h11 - h01**2 / h00)
        theta, slope = theta + (g0 - h01 * step) / h00, slope + step
        if np.abs(step).max() < 1e-6:
            break
    return 1 / (1 + np.exp(-theta))


def leaderboard(table: pd.DataFrame, n_boot: int = 500, seed: int = 0) -> tuple[pd.DataFrame, dict[str, Number]]:
    """Every model's win rates, best raw one first, and what length control does to the ranking.

    The board has the columns model, raw, controlled, and doublings, the mean. The changes are ``kendall_controlled``,
    between the two rankings, and ``length_raw`` and ``length_controlled``, Spearman's correlation of win rate with
    mean length. Intervals resample instructions: of win rates by the standard error of the draws and t quantiles, which
    needs fewer draws than percentiles. The models are these, not a sample of them.
    """
    from scipy.stats import t

    models, model = np.unique(table["model"].astype(str), return_inverse=True)
    names, prompt = np.unique(table["prompt"].astype(str), return_inverse=True)
    rng = np.random.default_rng(seed)
    credit, doublings = table["credit"].to_numpy(), table["doublings"].to_numpy()
    rates = {kind: np.zeros((n_boot + 1, len(models))) for kind in ("raw", "controlled")}
    for draw in range(n_boot + 1):  # the first is of the instructions as they are
        counts = np.bincount(rng.integers(len(names), size=len(names)), minlength=len(names))
        weight = (counts if draw else np.ones(len(names)))[prompt]
        rates["raw"][draw] = np.bincount(model, weight * credit) / np.bincount(model, weight)
        rates["controlled"][draw] = _equal_length_rates(credit, doublings, model, weight)
    by_model = table.groupby("model")["doublings"].agg(["mean", "size"]).loc[models]
    found = {
        f"length_{kind}": [float(spearman(row, by_model["mean"])) for row in drawn] for kind, drawn in rates.items()
    }
    found["kendall_controlled"] = [float(kendall(*two)) for two in zip(*rates.values(), strict=True)]
    board = pd.DataFrame({"model": models, "doublings": by_model["mean"].to_numpy()})
    for kind, drawn in rates.items():
        half = t.ppf(0.975, len(names) - 1) * drawn[1:].std(0, ddof=1)
        ends = np.clip([drawn[0], drawn[0] - half, drawn[0] + half], 0, 1).T
        counted = np.column_stack([ends, by_model["size"]])
        numbers = [Number(value, low, high, n, ".1%") for value, low, high, n in counted]
        board[kind] = pd.Series(numbers, dtype=object)
    changes = {
        name: Number(x[0], *interval_of(x[0], x[1:], len(names)), len(models), ".2f") for name, x in found.items()
    }
    return board.iloc[np.argsort(-rates["raw"][0])].reset_index(drop=True), changes
