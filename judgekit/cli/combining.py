"""From the verdicts of both orders to the one that is written, and its accuracy."""

import math

N_BOOT, MOST_DRAWS = 10_000, 20_000_000  # resamples; resamples times questions, for 160 MB


def combined(verdicts):
    """The verdict on a pair from the orders it was shown in.

    Parameters
    ----------
    verdicts : list of Verdict
        Of one pair, one per order.

    Returns
    -------
    dict
        verdict, p_a, p_b, p_tie, status. Probabilities are means over the orders. Agreeing verdicts stand; differing
        ones give way to the most probable by the means (A and B equal: a tie), or to a tie without probabilities. If
        an order has no verdict there is none, and the status says why.
    """
    statuses = [verdict.status for verdict in verdicts]
    names = ("p_a", "p_b", "p_tie")
    missing = dict.fromkeys(("verdict", *names))
    for status in ("error", "unparsed", "ambiguous"):
        if status in statuses:
            return missing | {"status": status}
    columns = [[getattr(verdict, name) for verdict in verdicts] for name in names]
    given = all(p is not None and math.isfinite(p) for column in columns for p in column)
    means = [sum(column) / len(column) for column in columns] if given else [None] * 3
    said = {verdict.verdict for verdict in verdicts}
    decided = said.pop() if len(said) == 1 else most_probable(*means) if given else "tie"
    rounded = [None if p is None else round(p, 6) for p in means]
    return {"verdict": decided, **dict(zip(names, rounded, strict=True)), "status": "ok"}


def most_probable(p_a, p_b, p_tie):
    """The most probable label; a tie where A and B are equal."""
    if p_a == p_b or p_tie >= max(p_a, p_b):
        return "tie"
    return "A" if p_a > p_b else "B"


def accuracy_line(rows, results, orders):
    """Accuracy over the labelled pairs with its interval and protocol, in words; None without labels."""
    marked = [
        (row.pair.cluster_id, row.pair.label == result["verdict"])
        for row, result in zip(rows, results, strict=True)
        if row.pair.label is not None
    ]
    if not marked:
        return None
    from judgekit.intervals import cluster_bootstrap, cluster_sums

    clusters = [cluster for cluster, _ in marked]
    sums = cluster_sums([[right, 1] for _, right in marked], clusters)
    n_boot = max(200, min(N_BOOT, MOST_DRAWS // len(sums)))
    value, low, high = cluster_bootstrap(sums, lambda s: s[..., 0] / s[..., 1], n_boot)
    interval = f"{low:.1%} to {high:.1%}" if len(sums) > 1 else "not defined for one question"
    shown = "both orders combined" if len(orders) == 2 else f"order {orders[0]}"
    return (
        f"accuracy {value:.1%} (95% interval {interval}; n = {len(marked)} labelled pairs, {len(sums)} questions; "
        f"A, B or tie must match the label, {shown}, no verdict counts as wrong; bootstrap over questions)"
    )
