"""From the verdicts of both orders to the row that is written, and what is counted while rows go by."""

import math
from array import array
from dataclasses import dataclass, field
from typing import Any

from judgekit.cli.keeping import LISTED
from judgekit.data.pairfile import PairRow
from judgekit.records import Verdict

_N_BOOT = 10_000  # resamples
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
        self.n_unread += result["status"] in ("unparsed", "ambiguous")
        if result["status"] == "error":
            self.n_failed += 1
            if self.n_failed <= LISTED:
                why = next(verdict.raw for verdict in verdicts if verdict.status == "error")
                self.failed.append(f"id {row.id!r:.80} ({row.place}): {why or 'no reason given'}")
        if row.pair.label is not None:
            # 63 bits of the hash of the prompt name the cluster.
            self.marked.append(int(row.pair.cluster_id, 16) & ~1 | (row.pair.label == result["verdict"]))

    def accuracy(self) -> tuple[float, float, float, int, int]:
        """Share of labelled rows whose verdict is the label, its 95 % interval, rows and clusters.

        Clusters with the same counts are exchangeable, so a resample of clusters is one multinomial draw of how often
        each pair of counts occurs: `judgekit.stats.cluster_bootstrap` at a cost that does not grow with the rows.
        """
        import numpy as np

        from judgekit.stats import percentile_interval, share_of

        marked = np.sort(np.frombuffer(self.marked, np.uint64))
        starts = np.flatnonzero(np.diff(marked >> 1, prepend=marked[0] + 2))
        sums = np.column_stack([np.add.reduceat(marked & 1, starts), np.diff(starts, append=len(marked))])
        kinds, counts = np.unique(sums.astype(float), axis=0, return_counts=True)
        drawn = np.random.default_rng(0).multinomial(len(sums), counts / len(sums), size=_N_BOOT) @ kinds
        low, high = percentile_interval(share_of(drawn))
        return float(share_of(counts @ kinds)), low, high, len(marked), len(sums)

    def accuracy_line(self, orders: tuple[str, ...]) -> str:
        """`accuracy` with its protocol, in words."""
        value, low, high, n_rows, n_clusters = self.accuracy()
        interval = f"{low:.1%} to {high:.1%}" if n_clusters > 1 else "not defined for one question"
        shown = "both orders combined" if len(orders) == 2 else f"order {orders[0]}"
        return (
            f"accuracy {value:.1%} (95% interval {interval}; n = {n_rows} labelled pairs, {n_clusters} questions; "
            f"A, B or tie must match the label, {shown}, no verdict counts as wrong; bootstrap over questions)"
        )
