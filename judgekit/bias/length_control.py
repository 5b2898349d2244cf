r"""Win rates of models against a baseline, before and after length control.

For each model a logistic regression of the annotator's preference on the doublings of length by which its response is
longer than the baseline's, :math:`\operatorname{logit} E[c] = \theta + \lambda d`. The win rate at equal length is
:math:`1 / (1 + e^{-\theta})`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from judgekit.bias.verbosity import fit_log_odds, number_of
from judgekit.data.progress import progress_bar
from judgekit.judges.surface import words_of
from judgekit.records import PreferencePair
from judgekit.stats import Array, Floats, Number, kendall, percentile_interval, spearman

MIN_PAIRS = 50


def annotation_table(pairs: Sequence[PreferencePair], baseline: str | None = None) -> pd.DataFrame:
    """The annotations of pairs as preference for the model that is compared with a baseline.

    Columns annotator, model, cluster, credit (for the model, in [0, 1]), words, baseline_words, doublings. The pairs
    have an annotator's labels, or soft labels (``subset`` names it), and ``model_a`` and ``model_b``. ``baseline``
    wrote one response of every pair, and by default is whoever did; ValueError if nobody did.
    """
    shared = set.intersection(*({pair.model_a, pair.model_b} for pair in pairs))
    if baseline not in ({None} | shared) or len(shared) != 1:
        raise ValueError(f"not one baseline in every pair: {', '.join(sorted(map(str, shared))) or 'none'}")
    credits: dict[Any, float] = {"A": 1.0, "B": 0.0, "tie": 0.5}
    rows = []
    for pair in (pair if pair.model_b in shared else pair.swapped() for pair in pairs):
        credit = credits[pair.label] if pair.soft_label is None else pair.soft_label
        words = [max(1, len(words_of(text))) for text in pair.responses]
        rows.append((pair.subset, pair.model_a, pair.cluster, credit, *words, np.log2(words[0] / words[1])))
    names = ["annotator", "model", "cluster", "credit", "words", "baseline_words", "doublings"]
    # Some models were annotated twice by one annotator: the first annotation counts.
    return pd.DataFrame(rows, columns=names).drop_duplicates(["annotator", "model", "cluster"], ignore_index=True)


def win_rates(table: pd.DataFrame) -> dict[str, Number]:
    """A model's win rate, ``raw`` and ``controlled`` (at equal length), and ``length``: log odds per doubling.

    ``table``: one model's rows of `annotation_table`. ValueError for fewer than 50 pairs, or an annotator whose
    preferences follow from length.

    After AlpacaEval 2 (Dubois et al. 2024, arXiv:2404.04475), with doublings in place of the hyperbolic tangent of the
    standardised difference (`saturating` makes the column that gives theirs), and without the instructions' difficulty,
    which serves them to compare models on few instructions. What is controlled for is all that goes with length: where
    longer responses are better because they say more, the controlled win rate is too low.
    """
    if len(table) < MIN_PAIRS:
        raise ValueError(f"{len(table)} pairs: at least {MIN_PAIRS} are wanted")
    n, design = len(table), np.column_stack([np.ones(len(table)), table["doublings"]])
    fit = fit_log_odds(table["credit"], design, table["cluster"])
    mean = fit_log_odds(table["credit"], design[:, :1], table["cluster"])
    rates = {"raw": mean, "controlled": fit}
    ends = {name: 1 / (1 + np.exp(-np.array([one.params[0], *one.conf_int()[0]]))) for name, one in rates.items()}
    return {name: Number(*x, n, ".1%") for name, x in ends.items()} | {"length": number_of(fit, 1, n)}


def saturating(table: pd.DataFrame) -> pd.DataFrame:
    """The table with AlpacaEval's measure of length in the place of doublings: tanh of the standardised difference."""
    gap = (table["words"] - table["baseline_words"]).astype(float)
    return table.assign(doublings=np.tanh(gap / gap.std()))


def equal_length_rates(credit: Floats, doublings: Floats, model: Array, weight: Array, shared: bool) -> Floats:
    """Win rates of several models at equal length, shape (n_models,): values only, for thousands of resamples.

    The arrays have a value per row: ``model`` counts from 0, ``weight`` says how often the row counts. ``shared``: one
    slope on length for all models, instead of one for each. Newton's method; sums by model are all that it needs of the
    rows.
    """
    theta, slope = np.zeros((2, model.max() + 1))
    for _ in range(25):
        p = 1 / (1 + np.exp(-theta[model] - slope[model] * doublings))
        spread, missed = weight * p * (1 - p), weight * (credit - p)
        terms = (missed, missed * doublings, spread, spread * doublings, spread * doublings**2)
        g0, g1, h00, h01, h11 = (np.bincount(model, term) for term in terms)
        along, across = g1 - h01 * g0 / h00, h11 - h01**2 / h00
        step = along.sum() / across.sum() if shared else along / across
        theta, slope = theta + (g0 - h01 * step) / h00, slope + step
        if np.abs(step).max() < 1e-6:
            break
    return 1 / (1 + np.exp(-theta))


def resampled_leaderboards(table: pd.DataFrame, n_boot: int, seed: int = 0) -> tuple[list[str], dict[str, Floats]]:
    """The models, and their win rates on resampled instructions; a progress bar is shown.

    ``raw``, ``controlled`` and ``shared`` (one slope on length for all models), each of shape (n_boot + 1, n_models).
    The first row is of the instructions as they are.
    """
    models, model = np.unique(table["model"].astype(str), return_inverse=True)
    names, prompt = np.unique(table["cluster"].astype(str), return_inverse=True)
    rng = np.random.default_rng(seed)
    credit, doublings = table["credit"].to_numpy(), table["doublings"].to_numpy()
    rates = {kind: np.zeros((n_boot + 1, len(models))) for kind in ("raw", "controlled", "shared")}
    with progress_bar(n_boot + 1, "leaderboards", "draw", shown=n_boot > 100 and len(table) > 10_000) as bar:
        for draw in range(n_boot + 1):
            counts = np.bincount(rng.integers(len(names), size=len(names)), minlength=len(names))
            weight = (counts if draw else np.ones(len(names)))[prompt]
            rates["raw"][draw] = np.bincount(model, weight * credit) / np.bincount(model, weight)
            for kind in ("controlled", "shared"):
                rates[kind][draw] = equal_length_rates(credit, doublings, model, weight, kind == "shared")
            bar.update(1)
    return list(models), rates


def leaderboard(table: pd.DataFrame, n_boot: int = 500, seed: int = 0) -> tuple[pd.DataFrame, dict[str, Number]]:
    """Every model's win rates, best raw one first, and what length control does to the ranking.

    The board has the columns model, raw, controlled, shared (numbers) and doublings, the mean. The changes are, for
    ``controlled`` and ``shared``, ``kendall_<kind>`` and ``spearman_<kind>``, between the ranking and the raw one; and
    ``length_<kind>`` (also ``raw``), Spearman's correlation of win rate with mean length. ``table`` is of one annotator
    (`annotation_table`).

    Intervals resample instructions: of win rates by the standard error of the draws and t quantiles, which needs fewer
    draws than percentiles, of rank correlations by percentiles. The models are these, not a sample of them. Rank
    correlations of noisy win rates are a little low, and so are their intervals.
    """
    from scipy.stats import t

    models, rates = resampled_leaderboards(table, n_boot, seed)
    length = table.groupby("model")["doublings"].mean()[models].to_numpy()
    n, found = table.groupby("model").size()[models].to_numpy(), {}
    for kind, drawn in rates.items():
        found[f"length_{kind}"] = [float(spearman(row, length)) for row in drawn]
        if kind != "raw":
            both = list(zip(rates["raw"], drawn, strict=True))
            found[f"kendall_{kind}"] = [float(kendall(*two)) for two in both]
            found[f"spearman_{kind}"] = [float(spearman(*two)) for two in both]
    board = pd.DataFrame({"model": models})
    for kind, x in rates.items():
        half = t.ppf(0.975, table["cluster"].nunique() - 1) * x[1:].std(0, ddof=1)
        low, high = np.clip(x[0] - half, 0, 1), np.clip(x[0] + half, 0, 1)
        numbers = [Number(*row, ".1%") for row in zip(x[0], low, high, n, strict=True)]
        board[kind] = pd.Series(numbers, dtype=object)
    board["doublings"] = length
    order = np.argsort(-rates["raw"][0])
    changes = {name: Number(x[0], *percentile_interval(x[1:]), len(models), ".2f") for name, x in found.items()}
    return board.iloc[order].reset_index(drop=True), changes
