"""How often voters of one item agree, how good each is by the votes of the others, and a judge's verdicts as votes."""

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import betaincinv, betaln
from statsmodels.stats.proportion import proportion_confint

from judgekit.data.votes import NO_VOTE, Votes, matchup_of
from judgekit.records import SWAPPED, Verdict
from judgekit.scoring.protocols import Pairs, Verdicts
from judgekit.stats import LEVEL, Array, Floats, cluster_sums

MEANS = np.linspace(0.02, 0.98, 33)  # of the population of annotators: grid of the empirical Bayes prior
WEIGHTS = np.geomspace(1, 1000, 31)  # votes that the prior counts for


def verdicts_by_judge(table: pd.DataFrame, partial: Collection[str] = ()) -> dict[tuple[str, str], list[Verdict]]:
    """Rows of `scoring.verdicts` as records, by set and judge (slug); what published judges that have verdicts on part
    of a set (``partial``) never judged is left out."""
    judged = table[(table["status"] != "error") | ~table["judge"].isin(list(partial))]
    found: dict[tuple[str, str], list[Verdict]] = {}
    for row in judged.astype(object).where(judged.notna(), None).to_dict("records"):
        given = {name: row[name] for name in ("judge", "order", "verdict", "p_a", "p_b", "p_tie", "status")}
        found.setdefault((row["set"], row["judge"]), []).append(Verdict(row["item"], **given))
    return found


def verdicts_on(votes: Votes, verdicts: Verdicts, pairs: Pairs, matchups: bool = False) -> Array:
    """A judge's verdicts as class codes, shape (n_items,): a tie where it contradicts itself, -1 where it has none, or
    one that is no class of the votes. ``matchups``: items are those of `data.votes.matchup_votes`."""
    final = _joined([(one.item_id, one.verdict) for one in verdicts if one.verdict is not None], pairs, matchups)
    codes = {label: code for code, label in enumerate(votes.classes)}
    return np.array([codes.get(final.get(item, ""), NO_VOTE) for item in votes.items], int)


def labels_by_item(verdicts: Verdicts, pairs: Pairs, matchups: bool = False) -> dict[str, str]:
    """One label of a judge per item that it judged, as a person who stood in would have to give: a tie where the judge
    contradicts itself or its reply holds no verdict. ValueError where a verdict is an error."""
    if failed := next((one for one in verdicts if one.status == "error"), None):
        raise ValueError(f"{failed.item_id}: {failed.judge} failed on it, and has no label")
    return _joined([(one.item_id, one.verdict or "tie") for one in verdicts], pairs, matchups)


def _joined(labels: list[tuple[str, str]], pairs: Pairs, matchups: bool) -> dict[str, str]:
    """The label of each item, from those of pairs by id: a tie where the two orders, or showings of a match, differ."""
    items = {pair.item_id: matchup_of(pair) if matchups else (pair.item_id, False) for pair in pairs}
    found: dict[str, set[str]] = {}
    for item_id, label in labels:
        if item_id in items:
            key, turned = items[item_id]
            found.setdefault(key, set()).add(SWAPPED[label] if turned else label)
    return {key: one.pop() if len(one) == 1 else "tie" for key, one in found.items()}


def credits_of(votes: Votes) -> Floats:
    """What each vote earns against the majority of the other votes on its item, shape (n_items, n_annotators).

    1 where the vote is what most others say, ``1 / m`` where it is one of m classes in front among them, else 0; NaN
    without a vote, or without another one.
    """
    own = votes.codes[:, :, None] == np.arange(len(votes.classes))
    others = votes.counts[:, None, :] - own
    front = others == others.max(2, keepdims=True)
    earned = (front & own).sum(2) / front.sum(2)
    return np.where(votes.given & (others.sum(2) > 0), earned, np.nan)


def annotator_quality(votes: Votes) -> pd.DataFrame:
    r"""Agreement of every annotator whose votes meet another vote with the majority of the others, best first; columns
    annotator, group (the name before its number), n (such votes), rate, low, high, shrunk, shrunk_low, shrunk_high.

    Votes on one prompt are correlated by :math:`\rho`, pooled over annotators; a rate of :math:`n` votes counts as one
    of :math:`n_e = n / (1 + \rho (\sum_c n_c^2 / n - 1))` independent ones. Intervals are Clopper and Pearson's at
    :math:`n_e` (Korn and Graubard 1998, Survey Methodology 24). The shrunken rate is the posterior mean under a Beta
    prior for the population; its interval holds the truth in 95 % of annotators. ValueError where no votes meet.
    """
    credits = credits_of(votes)
    met = ~np.isnan(credits)
    if not met.any():
        raise ValueError("no vote meets another: annotators cannot be compared")
    kept = np.asarray(met.any(0))
    credits, met = credits[:, kept], met[:, kept]
    n = met.sum(0)
    rate = np.nansum(credits, 0) / n
    squares = (cluster_sums(met, votes.clusters) ** 2).sum(0)
    effective = n / (1 + _prompt_correlation(credits, met, rate, votes.clusters, squares) * (squares / n - 1))
    low, high = proportion_confint(rate * effective, effective, 1 - LEVEL, "beta")
    shared = _shared_variance(credits, met, rate, votes.clusters)
    names = np.array(votes.annotators, object)[kept]
    table = pd.DataFrame({"annotator": names, "group": [re.sub(r"[-_#\s]*\d+$", "", name) + "s" for name in names]})
    table = table.assign(n=n, rate=rate, low=low, high=high)
    table[["shrunk", "shrunk_low", "shrunk_high"]] = np.column_stack(shrunken(rate * effective, effective, shared))
    return table.sort_values(["shrunk", "annotator"], ascending=[False, True], kind="stable", ignore_index=True)


def _prompt_correlation(credits: Floats, met: Any, rate: Floats, clusters: Sequence, squares: Floats) -> float:
    """Correlation of an annotator's credits within a prompt, pooled over annotators, at least 0. Residuals are about an
    annotator's own mean, which takes part of it away: given back in further passes."""
    residual = np.where(met, credits - rate, 0.0)
    n = met.sum(0)
    pairs = squares - n
    if not pairs.sum():
        return 0.0
    products = ((cluster_sums(residual, clusters) ** 2).sum(0) - (residual**2).sum(0)).sum()
    variance = (residual**2).sum(0) / np.maximum(n - 1, 1)
    rho = 0.0
    for _ in range(3):
        lost = variance * (1 + rho * (squares / n - 1)) / n
        rho = max(0.0, (products + (lost * pairs).sum()) / max((variance * pairs).sum(), 1e-12))
    return min(rho, 1.0)


def _shared_variance(credits: Floats, met: Any, rate: Floats, clusters: Sequence) -> Floats:
    """Variance of what the prompts add to the rates of all annotators alike, at least 0, shape (n_annotators,): the
    mean covariance of an annotator's rate with those of the others, from products of residuals within prompts."""
    residual = cluster_sums(np.where(met, credits - rate, 0.0), clusters)
    n = met.sum(0)
    if len(n) < 2:
        return np.zeros(len(n))
    spread = np.sqrt(np.maximum(rate * (1 - rate), 1e-6))
    votes = cluster_sums(met, clusters)
    products, sizes = ((part.sum(1) ** 2).sum() - (part**2).sum() for part in (residual, votes * spread))
    between = products / max(sizes, 1e-12)
    together = votes.T @ votes / np.outer(n, n) * np.outer(spread, spread)
    return max(0.0, between) * (together.sum(0) - np.diag(together)) / (len(n) - 1)


def shrunken(hits: Floats, n: Floats, shared: Floats | float = 0.0) -> tuple[Floats, Floats, Floats]:
    """Posterior means and intervals of rates that come from one population: value, low, high, each (n_annotators,);
    ``shared`` is variance that the rates have in common, which the mean of the population does not know of."""
    mean, weight = (grid.ravel()[:, None] for grid in np.meshgrid(MEANS, WEIGHTS, indexing="ij"))
    a, b = mean * weight, (1 - mean) * weight
    fit = (betaln(a + hits, b + n - hits) - betaln(a, b)).sum(1)
    share = np.exp(fit - fit.max())[:, None] / np.sqrt(weight)  # every standard deviation of the population alike
    share /= share.sum()
    means = (a + hits) / (weight + n)
    value = (share * means).sum(0)
    variance = (share * (means * (1 - means) / (weight + n + 1) + (means - value) ** 2)).sum(0)
    size = np.maximum(value * (1 - value) / (variance + shared) - 1, 0.5)
    low, high = (betaincinv(value * size, (1 - value) * size, end) for end in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return value, low, high
