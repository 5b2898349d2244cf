"""From the verdicts of both orders to the row that is written, and what is counted while rows go by."""

import math
from array import array
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from judgekit.cli.messages import LISTED, shortened
from judgekit.data.pairfile import PairRow
from judgekit.records import Verdict

_N_BOOT = 10_000  # resamples
_BLOCK = 1 << 16  # labelled rows looked at together
_PROBABILITIES = ("p_a", "p_b", "p_tie")


def combined(verdicts: list[Verdict]) -> dict[str, Any]:
    """Verdict, p_a, p_b, p_tie and status of a pair from the orders it was shown in.

    Probabilities are means over the orders. Agreeing verdicts stand; differing ones give way to the most probable by
    the means (A and B equal: a tie), or to a tie without probabilities. If an order has no verdict there is none, and
    the status says why.
    """
    statuses = [verdict.status for verdict in verdicts]
    for status in ("error", "unparsed", "ambiguous"):
        if status in statuses:
            return dict.fromkeys(("verdict", *_PROBABILITIES)) | {"status": status}
    columns = [[getattr(verdict, name) for verdict in verdicts] for name in _PROBABILITIES]
    given = all(p is not None and math.isfinite(p) for column in columns for p in column)
    means: list[Any] = [sum(column) / len(column) for column in columns] if given else [None] * 3
    labels = {verdict.verdict for verdict in verdicts}
    decided = labels.pop() if len(labels) == 1 else _most_probable(*means) if given else "tie"
    rounded = [None if p is None else round(p, 6) for p in means]
    return {"verdict": decided, **dict(zip(_PROBABILITIES, rounded, strict=True)), "status": "ok"}


def _most_probable(p_a: float, p_b: float, p_tie: float) -> str:
    if p_a == p_b or p_tie >= max(p_a, p_b):
        return "tie"
    return "A" if p_a > p_b else "B"


@dataclass
class Tally:
    """Counts over the rows of a run; of a labelled row 8 bytes stay.

    ``n_unread``: rows with status ``unparsed`` or ``ambiguous``; ``failed``: a line for each of the first failed rows;
    ``marked``: per labelled row its cluster, with the last bit telling whether the verdict is the label.
    """

    n_rows: int = 0
    n_failed: int = 0
    n_unread: int = 0
    failed: list[str] = field(default_factory=list)
    marked: array = field(default_factory=lambda: array("Q"))

    def add(self, row: PairRow, verdicts: list[Verdict], result: dict[str, Any]) -> None:
        """Count a row with its verdicts and what is written for it."""
        self.n_rows += 1
        if result["status"] == "error":
            self.n_failed += 1
            if self.n_failed <= LISTED:
                why = next(verdict.raw for verdict in verdicts if verdict.status == "error")
                self.failed.append(f"id {row.id!r:.80} ({row.place}): {shortened(why or 'no reason given')}")
        elif result["status"] != "ok":
            self.n_unread += 1
        if row.pair.label is not None:
            # 63 bits of the hash of the prompt name the cluster.
            self.marked.append(int(row.pair.cluster_id, 16) & ~1 | (row.pair.label == result["verdict"]))

    def accuracy(self, n_boot: int = _N_BOOT, seed: int = 0) -> tuple[float, float, float, int, int] | None:
        """Share of labelled rows whose verdict is the label, its 95 % interval, rows and clusters; None without labels.

        Clusters with the same counts are exchangeable, so a resample of clusters is one multinomial draw of how often
        each pair of counts occurs: the bootstrap of `judgekit.stats.cluster_bootstrap` at a cost that does not grow
        with the number of rows.
        """
        if not self.marked:
            return None
        import numpy as np

        from judgekit.stats import percentile_interval

        kinds = cluster_kinds(self.marked)
        counts, sums = np.array(list(kinds.values())), np.array(list(kinds), float)
        right, rows = counts @ sums
        drawn = np.random.default_rng(seed).multinomial(counts.sum(), counts / counts.sum(), size=n_boot) @ sums
        low, high = percentile_interval(drawn[:, 0] / drawn[:, 1])
        return float(right / rows), float(low), float(high), int(rows), int(counts.sum())

    def accuracy_line(self, orders: tuple[str, ...]) -> str | None:
        """`accuracy` with its protocol, in words."""
        measured = self.accuracy()
        if measured is None:
            return None
        value, low, high, n_rows, n_clusters = measured
        interval = f"{low:.1%} to {high:.1%}" if n_clusters > 1 else "not defined for one question"
        shown = "both orders combined" if len(orders) == 2 else f"order {orders[0]}"
        return (
            f"accuracy {value:.1%} (95% interval {interval}; n = {n_rows} labelled pairs, {n_clusters} questions; "
            f"A, B or tie must match the label, {shown}, no verdict counts as wrong; bootstrap over questions)"
        )


def cluster_kinds(marked: array) -> Counter[tuple[int, int]]:
    """How many clusters have which (right, rows); sorts ``marked`` in place.

    >>> dict(cluster_kinds(array("Q", [8, 9, 4, 3])))  # clusters 4, 2 and 1; the last bit says right
    {(1, 1): 1, (0, 1): 1, (1, 2): 1}
    """
    import numpy as np

    ordered = np.frombuffer(marked, np.uint64)
    ordered.sort()
    values = (value for start in range(0, len(ordered), _BLOCK) for value in ordered[start : start + _BLOCK].tolist())
    kinds: Counter[tuple[int, int]] = Counter()
    for _, cluster in groupby(values, key=lambda value: value >> 1):
        rights = [value & 1 for value in cluster]
        kinds[sum(rights), len(rights)] += 1
    return kinds
