"""What is too long for `41_verbosity_bias`: win rates of models before and after length control."""

import numpy as np
import pandas as pd

from judgekit.stats import Array, Floats, Number, interval_of, kendall, spearman, t_quantile


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
    r"""Every model's win rates against a baseline, best raw one first, and what length control does to the ranking.

    ``table``: a row per model and prompt, with credit and doublings of length over the baseline's response. For each
    model :math:`\operatorname{logit} E[c] = \theta + \lambda d`; the win rate at equal length is
    :math:`\sigma(\theta)`, after AlpacaEval 2 (Dubois et al. 2024, arXiv:2404.04475): too low where longer responses
    say more. The board: model, doublings (mean), raw, controlled. The changes: ``kendall_controlled``, between the two
    rankings; ``length_raw`` and ``length_controlled``, Spearman's correlation of win rate with mean length. Prompts are
    resampled, not models; win rates' intervals take the draws' standard error, which needs fewer than percentiles.
    """
    models, model = np.unique(table["model"].astype(str), return_inverse=True)
    names, prompt = np.unique(table["prompt"].astype(str), return_inverse=True)
    rng, n_prompts = np.random.default_rng(seed), len(names)
    credit, doublings = table["credit"].to_numpy(), table["doublings"].to_numpy()
    raw, controlled = np.zeros((2, n_boot + 1, len(models)))
    for draw in range(n_boot + 1):  # the first is of the prompts as they are
        counts = np.bincount(rng.integers(n_prompts, size=n_prompts), minlength=n_prompts)
        weight = (counts if draw else np.ones(n_prompts))[prompt]
        raw[draw] = np.bincount(model, weight * credit) / np.bincount(model, weight)
        controlled[draw] = _equal_length_rates(credit, doublings, model, weight)
    by_model = table.groupby("model")["doublings"].agg(["mean", "size"]).loc[models]
    board = pd.DataFrame({"model": models, "doublings": by_model["mean"].to_numpy()})
    for kind, drawn in (("raw", raw), ("controlled", controlled)):
        half = t_quantile(0.975, n_prompts - 1) * drawn[1:].std(0, ddof=1)
        ends = np.clip([drawn[0], drawn[0] - half, drawn[0] + half], 0, 1)
        rows = np.column_stack([*ends, by_model["size"]])
        numbers = [Number(value, low, high, n, ".1%") for value, low, high, n in rows]
        board[kind] = pd.Series(numbers, dtype=object)
    found = {
        "length_raw": [float(spearman(row, by_model["mean"])) for row in raw],
        "length_controlled": [float(spearman(row, by_model["mean"])) for row in controlled],
        "kendall_controlled": [float(kendall(*two)) for two in zip(raw, controlled, strict=True)],
    }
    changes = {
        name: Number(one[0], *interval_of(one[0], one[1:], n_prompts, True), len(models), ".2f")
        for name, one in found.items()
    }
    return board.iloc[np.argsort(-raw[0])].reset_index(drop=True), changes
