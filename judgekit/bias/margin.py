"""Position bias by margin: do verdicts change with the order only where the responses are close?"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from judgekit.bias.position import N_BOOT, shifts
from judgekit.stats import Array, Floats, Number, cluster_bootstrap, cluster_sums, ratio

FEWEST = 10  # pairs of either outcome from which a slope is fitted


def flips(table: pd.DataFrame) -> Floats:
    """Whether the two verdicts of each pair differ (1 or 0); NaN where one lacks."""
    shift = shifts(table)
    return np.where(np.isnan(shift), np.nan, shift != 0)


def leanings(table: pd.DataFrame) -> Floats:
    """Whether two verdicts that differ lean to the response shown first (1 or 0); NaN where they do not differ."""
    shift = shifts(table)
    return np.where(np.nan_to_num(shift) == 0, np.nan, shift > 0)


def people_margin(table: pd.DataFrame) -> Floats:
    """How clearly people prefer one response, in [0, 1]: 0 is an even split or a tie, 1 is unanimous."""
    return (2 * (table["people"] - 0.5)).abs().to_numpy(float)


def own_margin(table: pd.DataFrame) -> Floats:
    """How clearly the judge's probabilities prefer one response in the order given, in [0, 1]; NaN without.

    This is what one call tells. Of both orders together it would say nothing new: the most probable verdict changes
    with the order where the probabilities lie on either side of one half.
    """
    return (2 * (table["p_ab"] - 0.5)).abs().to_numpy(float)


def others_margin(tables: Mapping[str, pd.DataFrame], judge: str) -> Floats:
    """How clearly the other judges prefer one response of each pair, in [0, 1]; both orders of each count.

    NaN where no other judge was read. ``judge`` is left out, so that its own wavering is no part of the margin.
    ValueError if the judges' tables are not of the same pairs in the same sequence.
    """
    if any(list(table["item_id"]) != list(tables[judge]["item_id"]) for table in tables.values()):
        raise ValueError("the judges' tables are not of the same pairs in the same sequence")
    credits = [table[["ab", "ba"]].mean(axis=1) for name, table in tables.items() if name != judge]
    return (2 * (pd.concat(credits, axis=1).mean(axis=1) - 0.5)).abs().to_numpy(float)


def margin_table(
    outcome: Floats, margin: Floats, clusters: Array, edges: Sequence[float], n_boot: int = N_BOOT, seed: int = 0
) -> pd.DataFrame:
    """How often something happens, by margin: a row per bin that holds pairs, ``margin`` (their mean) and ``rate``.

    ``outcome``: 1 or 0 for each pair, such as `flips` or `leanings`; NaN in it or in the margin leaves a pair out.
    ``clusters``: the pairs' prompts. ``edges`` of the bins rise; a bin holds its lower edge, the last one both.
    ValueError if a margin lies outside of the edges.
    """
    kept = np.flatnonzero(np.isfinite(outcome) & np.isfinite(margin))
    outside = (margin[kept] < edges[0]) | (margin[kept] > edges[-1])
    if outside.any():
        raise ValueError(f"margin {margin[kept][outside][0]} is not in [{edges[0]}, {edges[-1]}]")
    bins = np.minimum(np.searchsorted(edges, margin, side="right") - 1, len(edges) - 2)
    cells = np.zeros((len(margin), len(edges) - 1, 2))
    cells[kept, bins[kept]] = np.column_stack([outcome, np.ones(len(margin))])[kept]
    sums, rows = cluster_sums(cells, list(clusters)), []
    for k in range(len(edges) - 1):
        if n := int(cells[:, k, 1].sum()):
            found = cluster_bootstrap(sums[:, k], lambda s: ratio(s[..., 0], s[..., 1]), n_boot, seed)
            rows.append((float(margin[kept][bins[kept] == k].mean()), Number(*found, n=n, spec=".1%")))
    return pd.DataFrame(rows, columns=["margin", "rate"])


def margin_slope(outcome: Floats, margin: Floats, clusters: Array) -> Number | None:
    r"""How the log odds of an outcome change from margin 0 to margin 1.

    The slope b of :math:`\operatorname{logit} P = a + b\,\text{margin}`, its interval from standard errors
    clustered by prompt and Student's t; None where fewer than ten pairs have either outcome, there is one prompt,
    or a threshold on the margin tells the outcomes apart, so that the slope is not finite. The arguments are
    `margin_table`'s.

    A description, not a cause: what makes a pair close may make it hard in other ways. Where the margin is itself
    measured (three votes, five judges) its noise flattens the slope. statsmodels' GLM; Cameron and Miller (2015),
    Journal of Human Resources 50.
    """
    import statsmodels.api as sm

    kept = np.isfinite(outcome) & np.isfinite(margin)
    y, x = outcome[kept], margin[kept]
    prompts = np.unique(np.asarray(clusters, str)[kept], return_inverse=True)[1]
    if min(y.sum(), (1 - y).sum()) < FEWEST or prompts.max() == 0 or told_apart(x[y == 1], x[y == 0]):
        return None
    model = sm.GLM(y, np.column_stack([np.ones(len(x)), x]), family=sm.families.Binomial())
    fitted = model.fit(cov_type="cluster", cov_kwds={"groups": prompts}, use_t=True)
    low, high = fitted.conf_int()[1]
    return Number(float(fitted.params[1]), float(low), float(high), n=len(x), spec=".2f")


def told_apart(some: Floats, others: Floats) -> bool:
    """Whether no value of one group lies beyond one of the other: all of one margin, or separated by a threshold."""
    return some.max() <= others.min() or others.max() <= some.min()
