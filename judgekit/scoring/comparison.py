"""Two judges on the same items: how far apart they are, and whether that could be chance."""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from judgekit.intervals import cluster_sums, holm, mcnemar, percentile_interval, resampled_sums, two_sided_p
from judgekit.metrics import ratio
from judgekit.power import detectable_difference
from judgekit.results import Number
from judgekit.scoring.items import credits_of, item_table
from judgekit.scoring.protocols import protocol_of
from judgekit.scoring.scores import N_BOOT


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference between two judges on one set under one protocol.

    Attributes
    ----------
    judge_a, judge_b : str
    difference : Number
        Score of the first less that of the second, with its 95 % paired cluster-bootstrap interval and ``n``.
    p_value : float
        Two-sided, from the same resamples. This is the test to quote.
    p_holm : float
        Holm's adjustment over the comparisons made together; equal to ``p_value`` for one.
    n : int
        Items (or votes) that both judges are scored on.
    only_a, only_b : int
        Items on which one judge earns more than the other.
    mcnemar_p : float
        McNemar's exact test on these two counts. It takes items as independent, so it is too small where they share
        prompts; it is here because it is what is usually printed.
    detectable : float or None
        The smallest difference that this set shows with 80 % power at the 5 % level, given how these two judges'
        credits vary together (`judgekit.power.detectable_difference`); None where the items share one prompt.
    """

    judge_a: str
    judge_b: str
    difference: Number
    p_value: float
    p_holm: float
    n: int
    only_a: int
    only_b: int
    mcnemar_p: float
    detectable: float | None


def compare(verdicts_a, verdicts_b, pairs, benchmark, protocol=None, n_boot=N_BOOT, seed=0):
    """Paired comparison of two judges on a set under a protocol.

    Parameters
    ----------
    verdicts_a, verdicts_b : list of Verdict
        Of one judge each, on the same pairs (`pairs_judged_by` finds those).
    pairs : list of PreferencePair
    benchmark : str
    protocol : Protocol or str, optional
        As for `judgekit.scoring.score`.
    n_boot, seed : int

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If a judge lacks verdicts, or one was shown both orders and the other one order under a rule that reads
        both: their scores would not mean the same.
    """
    judges = {f"a:{verdicts_a[0].judge}": verdicts_a, f"b:{verdicts_b[0].judge}": verdicts_b}
    (found,) = compare_all(judges, pairs, benchmark, protocol, n_boot, seed)
    return replace(found, judge_a=found.judge_a[2:], judge_b=found.judge_b[2:])


def compare_all(judges, pairs, benchmark, protocol=None, n_boot=N_BOOT, seed=0):
    """Every two of several judges on a set, on one draw of prompts, with Holm's adjustment over all of them.

    Parameters
    ----------
    judges : dict of str to list of Verdict
        Name to verdicts.
    pairs, benchmark, protocol, n_boot, seed
        As for `compare`.

    Returns
    -------
    list of Comparison
        In the order of ``itertools.combinations`` of the names; the items of each are those both judges keep.
    """
    protocol = protocol_of(benchmark, protocol)
    tables = {name: item_table(verdicts, pairs, protocol) for name, verdicts in judges.items()}
    if any(table.empty for table in tables.values()):
        raise ValueError(f"{benchmark}: no item has a reference label")
    # A judge with one order under the rule ``joined`` has joined its orders already, which compares like with like.
    if len(protocol.orders) == 2 and protocol.rule != "joined" and pd.concat(tables)["has_ba"].nunique() == 2:
        raise ValueError(f"{benchmark}: some verdicts are of both orders and some of one order only")
    earned = {name: credits_of(table, protocol) for name, table in tables.items()}
    kept = {name: table["kept"].to_numpy(float) for name, table in tables.items()}
    names = list(combinations(tables, 2))
    both = np.stack([kept[a] * kept[b] for a, b in names], 1)
    gaps = np.stack([earned[a] - earned[b] for a, b in names], 1) * both
    if not both.sum(0).all():
        raise ValueError(f"{benchmark}: two judges have no item in common under '{protocol.name}'")
    clusters = tables[names[0][0]]["cluster"].tolist()
    sums = cluster_sums(np.stack([gaps, both], 2), clusters)
    drawn = resampled_sums(sums, n_boot, seed)
    drawn = ratio(drawn[..., 0], drawn[..., 1])
    p_values = [two_sided_p(drawn[:, k]) for k in range(len(names))]
    return [
        comparison_of(names[k], gaps[:, k], sums[:, k], drawn[:, k], p_values[k], adjusted)
        for k, adjusted in enumerate(holm(p_values))
    ]


def comparison_of(names, gaps, sums, drawn, p_value, adjusted):
    """One `Comparison` from the items' differences, their sums by prompt and the resampled differences."""
    value, n = float(ratio(*sums.sum(0))), int(sums[:, 1].sum())
    low, high = percentile_interval(drawn)
    only_a, only_b = int((gaps > 0).sum()), int((gaps < 0).sum())
    seen = sums[sums[:, 1] > 0]  # a prompt all of whose items are dropped is no prompt of this comparison
    return Comparison(
        *names,
        difference=Number(value, low, high, n=n, spec=".1%"),
        p_value=p_value,
        p_holm=float(adjusted),
        n=n,
        only_a=only_a,
        only_b=only_b,
        mcnemar_p=mcnemar(only_a, only_b, exact=True),
        detectable=detectable_difference(seen) if len(seen) > 1 else None,
    )


def pairs_judged_by(pairs, *verdict_lists, orders=("ab",)):
    """The pairs on which every list holds a verdict in every one of the orders (parsed or not)."""
    cells = [{(verdict.item_id, verdict.order) for verdict in verdicts} for verdicts in verdict_lists]
    return [pair for pair in pairs if all((pair.item_id, order) in held for held in cells for order in orders)]
