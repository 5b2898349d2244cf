"""Every metric of a judge on a set, with its interval."""

from functools import partial

import numpy as np
import pandas as pd

from judgekit import stats
from judgekit.records import LABELS
from judgekit.scoring import metrics
from judgekit.scoring.items import credits_of, item_table
from judgekit.scoring.protocols import Pairs, Protocol, Rule, Verdicts, protocol_of
from judgekit.stats import Array, Floats, Number, Statistic

N_BOOT = 10_000


def score(
    verdicts: Verdicts, pairs: Pairs, benchmark: str, protocol: Rule = None, n_boot: int = N_BOOT, seed: int = 0
) -> dict[str, Number]:
    """Every metric of a judge on a set under a protocol, with 95 % intervals over resampled prompts.

    ``verdicts``: of one judge, the given order for every pair, the exchanged order for all or none (ValueError
    otherwise). ``benchmark``: name of the set; ``protocol``: its primary one by default, as `protocol_of` reads it.

    ``accuracy`` (the protocol's primary figure), ``macro_f1``, ``precision``, ``recall`` (macro over labels in use;
    over both orders where the rule uses both orders' means), ``balanced_accuracy``, ``kappa``, ``mcc``, ``coverage``
    (share of verdicts that could be read; of items that stay, under a protocol that drops some); with both orders
    ``agreement`` (right in both), ``consistency`` (of the pairs read in both orders, the share with one verdict, as the
    protocol reads it), ``consistency_kappa`` (Cohen's, of the same), ``first_rate`` (of the verdicts that are no tie,
    the share for the response shown first); with probabilities ``nll``, ``brier``, ``ece`` (without interval). What has
    no case is left out. Dropped items leave every number and its ``n``, but their prompts are still drawn.
    """
    protocol = protocol_of(benchmark, protocol)
    table = item_table(verdicts, pairs, protocol)
    if table.empty:
        raise ValueError(f"{benchmark}: no item has {'votes' if protocol.votes else 'a reference label'}")
    both = bool(table["has_ba"].all())
    if not both and table["has_ba"].any():
        raise ValueError(f"{benchmark}: {verdicts[0].judge} judged some pairs in one order only")
    n = int(table["kept"].sum())
    if not n:
        raise ValueError(f"{benchmark}: '{protocol.name}' drops every item")
    sums = _sums_of(table, protocol, both)
    counted = sums["confusion"].sum(0)  # a tie that nobody labelled or said, where it counts, has no F1
    labels = [one for i, one in enumerate(LABELS) if one in protocol.labels and counted[i].any() | counted[:, i].any()]
    means = {"macro_f1": 2, "precision": 0, "recall": 1} if labels else {}  # ties alone may not count
    drawn = stats.resampled_together(sums, n_boot, seed)

    def number(part: str, statistic: Statistic, spec: str = ".1%", signed: bool = False, of: int = n) -> Number | None:
        """None where it is undefined, as a kappa of one label alone is."""
        ends = stats.cluster_bootstrap(sums[part], statistic, drawn=drawn[part], signed=signed)
        return None if np.isnan(ends[0]) else Number(*ends, n=of, spec=spec)

    scores = {
        "accuracy": number("credit", stats.share_of),
        **{key: number("confusion", partial(lambda n, s: metrics.macro(s, labels)[n], n)) for key, n in means.items()},
        "balanced_accuracy": number("confusion", lambda s: metrics.balanced_accuracy(s, labels)) if labels else None,
        "kappa": number("confusion", metrics.cohen_kappa, spec=".3f", signed=True),
        "mcc": number("confusion", metrics.matthews_correlation, spec=".3f", signed=True),
        "coverage": number("coverage", stats.share_of),
    }
    if both:
        read = int(sums["consistency"][:, 1].sum())
        for name in ("agreement", "consistency", "first_rate"):
            if sums[name][:, 1].any():
                scores[name] = number(name, stats.share_of, of=read if name == "consistency" else n)
        scores["consistency_kappa"] = number("orders", metrics.cohen_kappa, spec=".3f", signed=True, of=read)
    if "losses" in sums:
        scores["nll"] = number("losses", lambda s: stats.ratio(s[..., 0], s[..., 2]), spec=".3f")
        scores["brier"] = number("losses", lambda s: stats.ratio(s[..., 1], s[..., 2]), spec=".3f")
        bins = sums["bins"].sum(0)  # resamples would lie too high, and never hold the zero of a calibrated judge
        scores["ece"] = Number(float(stats.expected_calibration_error(bins)), n=n, spec=".3f")
    return {name: found for name, found in scores.items() if found}


def _sums_of(table: pd.DataFrame, protocol: Protocol, both: bool) -> dict[str, Floats]:
    """What every metric is made of, summed within clusters; items that are not kept contribute nothing."""
    reference, ones = metrics.label_codes(table["reference"]), np.ones(len(table))
    kept = table["kept"].to_numpy(float)
    confusion = metrics.confusion(reference, metrics.label_codes(table["said"]))
    if both and protocol.rule == "mean_of_orders":
        confusion = confusion + metrics.confusion(reference, metrics.label_codes(table["ba"]))
    per_item = {"credit": np.column_stack([credits_of(table, protocol), kept]), "confusion": confusion}
    if both:
        ab_right, ba_right = table["ab"] == table["reference"], table["ba"] == table["reference"]
        read = table["raw_ab"].notna() & table["raw_ba"].notna()  # a reply without a verdict contradicts nothing
        first, second = (metrics.label_codes(table[order].where(read, "tie")) for order in ("ab", "ba"))
        per_item["agreement"] = np.column_stack([ab_right & ba_right, ones])
        per_item["consistency"] = np.column_stack([(table["ab"] == table["ba"]) & read, read])
        per_item["orders"] = metrics.confusion(first, second, read.to_numpy(float))  # nothing where not read
        shown_first = np.column_stack([table["raw_ab"].map({"A": 1, "B": 0}), table["raw_ba"].map({"A": 0, "B": 1})])
        per_item["first_rate"] = np.column_stack([np.nansum(shown_first, 1), (~np.isnan(shown_first)).sum(1)])
    probabilities = table[["p_a", "p_b", "p_tie"]].to_numpy(float)
    if not np.isnan(probabilities[table["kept"]]).any():
        probabilities = np.nan_to_num(probabilities, nan=1 / 3)  # of dropped items, which count nowhere
        if "tie" not in protocol.labels:  # where no tie is possible, its mass is split by the other two
            probabilities = np.column_stack([decided_probabilities(probabilities), np.zeros(len(table))])
        nll, brier = metrics.probability_losses(probabilities, reference)
        per_item["losses"] = np.column_stack([nll, brier, ones])
        per_item["bins"] = stats.reliability_bins(probabilities.max(1), probabilities.argmax(1) == reference)
    per_item = {name: (values.T * kept).T for name, values in per_item.items()}
    counted = [kept, 1] if protocol.drops else [table["ok"], 2 if both else 1]
    per_item["coverage"] = np.column_stack(np.broadcast_arrays(*counted))
    clusters = table["cluster"].tolist()
    return {name: stats.cluster_sums(values, clusters) for name, values in per_item.items()}


def decided_probabilities(probabilities: Array) -> Floats:
    """Probabilities of A and B given that there is no tie, shape (n_items, 2)."""
    decided = probabilities[:, :2]
    total = decided.sum(1, keepdims=True)
    return np.where(total > 0, decided / np.where(total > 0, total, 1), 0.5)
