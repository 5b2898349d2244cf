"""What is counted while verdicts go by: failures, unread replies, and agreement with the labels."""

from array import array
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby

LISTED = 20  # failed items named one by one
N_BOOT = 10_000  # resamples
BLOCK = 1 << 16  # labelled rows looked at together


@dataclass
class Tally:
    """Counts over the rows of a run; of a labelled row 8 bytes stay.

    Attributes
    ----------
    n_rows, n_failed, n_unread : int
        Rows; those with status ``error``; those with status ``unparsed`` or ``ambiguous``.
    failed : list of PairRow
        The first failed rows, at most ``LISTED``.
    marked : array of uint64
        Per labelled row its cluster, with the last bit telling whether the verdict is the label.
    """

    n_rows: int = 0
    n_failed: int = 0
    n_unread: int = 0
    failed: list = field(default_factory=list)
    marked: array = field(default_factory=lambda: array("Q"))

    def add(self, rows, results):
        """Count rows with what is written for them."""
        self.n_rows += len(rows)
        for row, result in zip(rows, results, strict=True):
            if result["status"] == "error":
                self.n_failed += 1
                if len(self.failed) < LISTED:
                    self.failed.append(row)
            elif result["status"] != "ok":
                self.n_unread += 1
            if row.pair.label is not None:
                # 63 bits of the hash of the prompt name the cluster.
                self.marked.append(int(row.pair.cluster_id, 16) & ~1 | (row.pair.label == result["verdict"]))

    def accuracy(self, n_boot=N_BOOT, seed=0):
        """Share of labelled rows whose verdict is the label, with its 95 % interval by clusters.

        Returns
        -------
        value, low, high : float
        n_rows, n_clusters : int
            None instead of everything where no row is labelled.

        Notes
        -----
        Clusters with the same counts are exchangeable, so a resample of clusters is one multinomial draw of how often
        each pair of counts occurs: the bootstrap of `judgekit.intervals.cluster_bootstrap` at a cost that does not
        grow with the number of rows.
        """
        if not self.marked:
            return None
        import numpy as np

        from judgekit.intervals import percentile_interval

        kinds = cluster_kinds(self.marked)
        counts, sums = np.array(list(kinds.values())), np.array(list(kinds), float)
        right, rows = counts @ sums
        drawn = np.random.default_rng(seed).multinomial(counts.sum(), counts / counts.sum(), size=n_boot) @ sums
        low, high = percentile_interval(drawn[:, 0] / drawn[:, 1])
        return float(right / rows), float(low), float(high), int(rows), int(counts.sum())


def cluster_kinds(marked):
    """How many clusters have which (right, rows); sorts ``marked`` in place.

    Examples
    --------
    >>> dict(cluster_kinds(array("Q", [8, 9, 4, 3])))  # clusters 4, 2 and 1; the last bit says right
    {(1, 1): 1, (0, 1): 1, (1, 2): 1}
    """
    import numpy as np

    ordered = np.frombuffer(marked, np.uint64)
    ordered.sort()
    values = (value for start in range(0, len(ordered), BLOCK) for value in ordered[start : start + BLOCK].tolist())
    kinds = Counter()
    for _, cluster in groupby(values, key=lambda value: value >> 1):
        rights = [value & 1 for value in cluster]
        kinds[sum(rights), len(rights)] += 1
    return kinds
