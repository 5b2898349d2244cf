"""The accuracy of what is written, in words."""

from judgekit.bulk.combining import combined

__all__ = ["accuracy_line", "combined"]


def accuracy_line(tally, orders):
    """Accuracy over the labelled pairs with its interval and protocol, in words; None without labels."""
    found = tally.accuracy()
    if found is None:
        return None
    value, low, high, n_rows, n_clusters = found
    interval = f"{low:.1%} to {high:.1%}" if n_clusters > 1 else "not defined for one question"
    shown = "both orders combined" if len(orders) == 2 else f"order {orders[0]}"
    return (
        f"accuracy {value:.1%} (95% interval {interval}; n = {n_rows} labelled pairs, {n_clusters} questions; "
        f"A, B or tie must match the label, {shown}, no verdict counts as wrong; bootstrap over questions)"
    )
