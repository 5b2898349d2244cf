"""Every metric of a judge on a set, with its interval."""

import numpy as np

from judgekit import metrics
from judgekit.intervals import cluster_sums, percentile_interval, resampled_together
from judgekit.results import Number
from judgekit.scoring.items import credits_of, first_counts, item_table
from judgekit.scoring.protocols import protocol_of

N_BOOT = 10_000


def score(verdicts, pairs, benchmark, protocol=None, n_boot=N_BOOT, seed=0):
    """Every metric of a judge on a set under a protocol, with 95 % cluster-bootstrap intervals.

    Parameters
    ----------
    verdicts : list of Verdict
        Of one judge; the given order for every pair, the exchanged order for all or none.
    pairs : list of PreferencePair
    benchmark : str
        Name of the set; chooses the primary protocol.
    protocol : Protocol or str, optional
        The set's primary one by default; a name is looked up by `judgekit.scoring.protocol_of`.
    n_boot : int
    seed : int

    Returns
    -------
    dict of str to Number
        ``accuracy`` (the protocol's primary figure), ``macro_f1``, ``precision``, ``recall`` (macro over the set's
        labels; over both orders where the rule uses both orders' means), ``balanced_accuracy``, ``kappa``, ``mcc``,
        ``coverage``; with both orders ``agreement`` (right in both), ``consistency`` (same verdict in both),
        ``consistency_kappa`` (Cohen's, between the two orders), ``first_rate`` (share of decided verdicts that go to
        the response shown first); with probabilities ``nll``, ``brier``, ``ece``.

    Raises
    ------
    ValueError
        If verdicts and pairs do not match, or the exchanged order was judged for some pairs only.

    Notes
    -----
    ``coverage`` is the share of verdicts that could be read; under a protocol that drops items it is the share of
    items that stay. Dropped items leave every number and its ``n``, but their prompts are still drawn.
    """
    protocol = protocol_of(benchmark, protocol)
    table = item_table(verdicts, pairs, protocol)
    if table.empty:
        raise ValueError(f"{benchmark}: no item has a reference label")
    both = bool(table["has_ba"].all())
    if not both and table["has_ba"].any():
        raise ValueError(f"{benchmark}: {verdicts[0].judge} judged some pairs in one order only")
    n = int(table["kept"].sum())
    if not n:
        raise ValueError(f"{benchmark}: '{protocol.name}' drops every item")
    sums = cluster_sums_of(table, protocol, both)
    drawn = resampled_together(sums, n_boot, seed)

    def number(name, statistic, spec=".1%"):
        low, high = percentile_interval(statistic(drawn[name]))
        return Number(float(statistic(sums[name].sum(0))), low, high, n=n, spec=spec)

    scores = {
        "accuracy": number("credit", share_of),
        "macro_f1": number("confusion", lambda s: metrics.macro(s, protocol.labels)[2]),
        "precision": number("confusion", lambda s: metrics.macro(s, protocol.labels)[0]),
        "recall": number("confusion", lambda s: metrics.macro(s, protocol.labels)[1]),
        "balanced_accuracy": number("confusion", lambda s: metrics.balanced_accuracy(s, protocol.labels)),
        "kappa": number("confusion", metrics.cohen_kappa, spec=".3f"),
        "mcc": number("confusion", metrics.matthews_correlation, spec=".3f"),
        "coverage": number("coverage", share_of),
    }
    if both:
        for name in ("agreement", "consistency", "first_rate"):
            scores[name] = number(name, share_of)
        scores["consistency_kappa"] = number("orders", metrics.cohen_kappa, spec=".3f")
    if "losses" in sums:
        scores["nll"] = number("losses", lambda s: metrics.ratio(s[..., 0], s[..., 2]), spec=".3f")
        scores["brier"] = number("losses", lambda s: metrics.ratio(s[..., 1], s[..., 2]), spec=".3f")
        scores["ece"] = number("bins", metrics.expected_calibration_error, spec=".3f")
    return scores


def share_of(sums):
    """First column over second, in [0, 1]."""
    return metrics.ratio(sums[..., 0], sums[..., 1])


def cluster_sums_of(table, protocol, both):
    """Additive contributions of every metric, summed within clusters; items that are not kept contribute nothing."""
    reference = metrics.label_codes(table["reference"])
    kept = table["kept"].to_numpy(float)
    confusion = metrics.confusion(reference, metrics.label_codes(table["said"]))
    if both and protocol.rule == "mean_of_orders":
        confusion = confusion + metrics.confusion(reference, metrics.label_codes(table["ba"]))
    per_item = {"credit": np.column_stack([credits_of(table, protocol), kept]), "confusion": confusion}
    if both:
        ab_right, ba_right = table["ab"] == table["reference"], table["ba"] == table["reference"]
        same = (table["raw_ab"] == table["raw_ba"]) & table["raw_ab"].notna()
        ones = np.ones(len(table))
        per_item["agreement"] = np.column_stack([ab_right & ba_right, ones])
        per_item["consistency"] = np.column_stack([same, ones])
        per_item["orders"] = order_confusion(table)
        per_item["first_rate"] = np.array([first_counts(row) for row in table.itertuples(index=False)], float)
    per_item |= probability_sums(table, reference, protocol)
    per_item = {name: (values.T * kept).T for name, values in per_item.items()}
    counted = [kept, 1] if protocol.drops else [table["ok"], 2 if both else 1]
    per_item["coverage"] = np.column_stack(np.broadcast_arrays(*counted))
    clusters = table["cluster"].tolist()
    return {name: cluster_sums(values, clusters) for name, values in per_item.items()}


def order_confusion(table):
    """Per-item confusion of the two orders' verdicts; nothing where the given order has none."""
    read = table["raw_ab"].notna().to_numpy(float)
    given = metrics.label_codes(table["raw_ab"].where(table["raw_ab"].notna(), "tie"))
    return metrics.confusion(given, metrics.label_codes(table["raw_ba"]), read)


def probability_sums(table, reference, protocol):
    """Per-item losses and bins of a reliability diagram; nothing where a judge gave no probabilities."""
    probabilities = table[["p_a", "p_b", "p_tie"]].to_numpy(float)
    if np.isnan(probabilities).any():
        return {}
    if "tie" not in protocol.labels:  # where no tie is possible, its mass is split by the other two
        probabilities = np.column_stack([decided_probabilities(probabilities), np.zeros(len(table))])
    nll, brier = metrics.probability_losses(probabilities, reference)
    bins = metrics.reliability_bins(probabilities.max(1), probabilities.argmax(1) == reference)
    return {"losses": np.column_stack([nll, brier, np.ones(len(table))]), "bins": bins}


def decided_probabilities(probabilities):
    """Probabilities of A and B given that there is no tie, shape (n_items, 2)."""
    decided = probabilities[:, :2]
    total = decided.sum(1, keepdims=True)
    return np.where(total > 0, decided / np.where(total > 0, total, 1), 0.5)
