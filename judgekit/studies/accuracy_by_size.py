"""What accuracy has to do with the number of parameters, over judges that were scored before."""

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd

from judgekit.data.benchmarks.sizes import size_of
from judgekit.stats import Floats, Number, spearman

FEWEST = 3  # sizes that differ: with two, a trend is a difference of two groups


def scores_by_size(
    known: Mapping[str, Mapping[str, Any]], metrics: Mapping[str, str], judges: Sequence[str], parts: Mapping[str, str]
) -> pd.DataFrame:
    """Saved scores of judges beside their sizes; who was not scored on a set is left out there.

    Columns judge, title, set, value, low, high, n, parameters (NaN where no size was published), part (whether on a
    part of the items).

    ``known``: results of a run, as `judgekit.report.load_results` gives them; ``metrics``: set to the metric that is
    its figure; ``parts``: set to the part of it that a judge is looked for on where it lacks the set. KeyError where a
    scored judge has no stated size.
    """
    rows: list[tuple[Any, ...]] = []
    for name, metric in metrics.items():
        for judge in judges:
            keys = [f"scores.{each}.{judge}.{metric}" for each in (name, parts.get(name)) if each]
            if key := next((key for key in keys if key in known), None):
                size, row = size_of(judge), known[key]
                score = (row["value"], row["low"], row["high"], row["n"])
                rows.append((judge, size.title, name, *score, size.parameters or np.nan, key != keys[0]))
    columns = ["judge", "title", "set", "value", "low", "high", "n", "parameters", "part"]
    return pd.DataFrame(rows, columns=columns)


def size_trends(table: pd.DataFrame, n_draws: int = 10_000, seed: int = 0) -> dict[str, Number]:
    """Rank correlation of accuracy with size, and accuracy gained by ten times the parameters, set by set.

    ``<set>.spearman``, ``<set>.p_value`` (two-sided, of permuted sizes) and ``<set>.per_tenfold`` (slope of least
    squares on the logarithm), for sets with three sizes or more; ``n`` counts judges, of known size. Where there are
    too many judges to go through all permutations, ``n_draws`` are drawn.

    Judges differ in more than size (data, training, prompt) and are few: this describes those drawn. Resampling five
    judges gives no interval worth the name, so there is none; the p-value is exact.
    """
    numbers: dict[str, Number] = {}
    for name, part in table.dropna(subset="parameters").groupby("set", sort=False):
        if part["parameters"].nunique() < FEWEST:
            continue
        x, y = np.log10(part["parameters"].to_numpy(float)), part["value"].to_numpy(float)
        value = float(spearman(x, y))
        beyond = np.abs([float(spearman(order, y)) for order in _orders_of(x, n_draws, seed)]) >= abs(value) - 1e-9
        numbers[f"{name}.spearman"] = Number(value, n=len(x), spec=".2f")
        numbers[f"{name}.p_value"] = Number(float(beyond.mean()), n=len(x))
        numbers[f"{name}.per_tenfold"] = Number(float(np.polyfit(x, y, 1)[0]), n=len(x), spec="+.1%")
    return numbers


def _orders_of(values: Floats, n_draws: int, seed: int, most: int = 7) -> list[Floats]:
    """Every order of the values, or where there are more than ``most`` of them, orders drawn and the given one."""
    if len(values) <= most:
        return [np.array(order) for order in permutations(values)]
    rng = np.random.default_rng(seed)
    return [values, *(rng.permutation(values) for _ in range(n_draws))]


def share_of_ceiling(score: Mapping[str, Any], ceiling: Mapping[str, Any]) -> Number:
    """A judge's accuracy as a share of people's, from rows of results (value, low, high, n), with an interval.

    Relative half-widths add in squares, as for a ratio of independent estimates. Both rest on the same prompts; where
    hard prompts are hard for both, which is usual, the interval is too wide rather than too narrow.

    >>> row = {"value": 0.5, "low": 0.4, "high": 0.6, "n": 10}
    >>> str(share_of_ceiling(row, row)), share_of_ceiling(row, row).interval
    ('1.00', '0.72-1.28')
    """
    ratio = score["value"] / ceiling["value"]
    below, above = (
        np.hypot((score[one] - score["value"]) / score["value"], (ceiling[other] - ceiling["value"]) / ceiling["value"])
        for one, other in (("low", "high"), ("high", "low"))
    )
    return Number(ratio, ratio * (1 - below), ratio * (1 + above), n=score["n"], spec=".2f")
