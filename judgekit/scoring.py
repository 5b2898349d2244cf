"""Run a judge over a set, resumably, and score its verdicts under the set's protocol."""

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from judgekit import metrics
from judgekit.intervals import cluster_bootstrap, cluster_sums, mean_of_independent
from judgekit.judges import load_judge, request_key, request_of, verdict_of
from judgekit.progress import progress_bar
from judgekit.records import LABELS, ORDERS, SWAPPED, Verdict
from judgekit.results import Number
from judgekit.store import Reply

N_BOOT = 10_000


class JudgeFailure(RuntimeError):
    """A judge replied with something other than one reply per request."""


# ---------------------------------------------------------------- running


def run_judge(judge, pairs, store, orders=ORDERS, progress=True):
    """Judge pairs in the given orders; what the store already holds is not asked again.

    Parameters
    ----------
    judge : judgekit.judges.Judge
    pairs : list of PreferencePair
    store : judgekit.store.VerdictStore
    orders : sequence of {"ab", "ba"}
    progress : bool
        Show a progress bar with ETA.

    Returns
    -------
    list of Verdict
        In the order of ``pairs``, for each pair in the order of ``orders``. Failed items come with status ``error``;
        they count as not done and are asked again next time.

    Notes
    -----
    Every batch is durable when it returns: an interrupted run loses at most the batch in flight. Requests are sorted
    by length, longest first, so that batches waste little padding and the ETA errs on the safe side.
    """
    cells = [(pair, order, request_of(pair, order)) for pair in pairs for order in orders]
    keys = [request_key(judge, request) for _, _, request in cells]
    replies = store.get(judge.fingerprint, judge.decoding, keys)
    todo = {key: request for key, (_, _, request) in zip(keys, cells, strict=True) if key not in replies}
    waiting = sorted(todo, key=lambda key: (-todo[key].length(), key))
    with progress_bar(len(waiting), judge.name, "verdict", shown=progress and len(waiting) > judge.batch_size) as bar:
        for start in range(0, len(waiting), judge.batch_size):
            batch = waiting[start : start + judge.batch_size]
            answered = judge_batch(judge, [todo[key] for key in batch])
            fresh = dict(zip(batch, answered, strict=True))
            store.put(judge.fingerprint, judge.decoding, fresh)
            replies.update(fresh)
            bar.update(len(batch))
    return [
        verdict_of(pair, order, judge.name, replies[key]) for key, (pair, order, _) in zip(keys, cells, strict=True)
    ]


def judge_batch(judge, requests):
    """One call of a judge; when the call as a whole fails, each request alone, so that one bad item costs one item."""
    try:
        replies = judge.judge(requests)
    except Exception as failure:
        if len(requests) == 1:
            return [Reply(None, status="error", raw=f"{type(failure).__name__}: {failure}")]
        return [reply for request in requests for reply in judge_batch(judge, [request])]
    if len(replies) != len(requests):
        raise JudgeFailure(f"{judge.name} gave {len(replies)} replies to {len(requests)} requests")
    return replies


# ---------------------------------------------------------------- protocols


@dataclass(frozen=True, slots=True)
class Protocol:
    """How the verdicts of a set become a score.

    Attributes
    ----------
    name : str
        Quoted beside every score.
    rule : {"forward", "both_right", "mean_of_orders", "sum_of_orders"}
        What accuracy counts: the verdict in the given order; right in both orders; the mean of the two orders'
        accuracies; or a win where the two orders' votes (right +1, opposite -1, tie 0) sum to more than zero.
    labels : tuple of str
        The label set; macro averages are over exactly these.
    unparsed : {"tie", "wrong"}
        What a missing verdict counts as.
    forced : bool
        Whether the set allows no ties. A judge that ties all the same is read by its probabilities or scores; if
        those are equal too, as the response shown first, which is half credit over the two orders.
    votes : bool
        Whether every single vote is an item (MT-bench) rather than the label.
    """

    name: str
    rule: str = "forward"
    labels: tuple[str, ...] = LABELS
    unparsed: str = "tie"
    forced: bool = False
    votes: bool = False


TWO_WAY = {"labels": ("A", "B"), "unparsed": "wrong", "forced": True}
PROTOCOLS = {
    "pandalm": Protocol("single order, majority of three"),
    "autoj": Protocol("right in both orders", rule="both_right"),
    "mtbench": Protocol("single order, every vote an item", votes=True),
    "llmbar": Protocol("mean of both orders, no ties", rule="mean_of_orders", **TWO_WAY),
    "judgebench": Protocol("sum of both orders", rule="sum_of_orders", labels=("A", "B"), unparsed="wrong"),
    "sample_natural": Protocol("single order"),
    "sample_adversarial": Protocol("mean of both orders, no ties", rule="mean_of_orders", **TWO_WAY),
}


def primary_protocol(benchmark):
    """The protocol a set is quoted under; LLMBar's subsets share one.

    Raises
    ------
    KeyError
        If the set is unknown.
    """
    family = "llmbar" if benchmark.startswith("llmbar") else benchmark
    if family not in PROTOCOLS:
        raise KeyError(f"no protocol for the set {benchmark!r}; there are {', '.join(PROTOCOLS)}")
    return PROTOCOLS[family]


def forced_verdict(verdict: Verdict):
    """A verdict where no tie is allowed: by probability, then by score, then the response shown first."""
    if verdict.verdict != "tie":
        return verdict.verdict
    for a, b in ((verdict.p_a, verdict.p_b), (verdict.score_a, verdict.score_b)):
        if a is not None and b is not None and a != b:
            return "A" if a > b else "B"
    return "A" if verdict.order == "ab" else "B"


def read_verdict(verdict: Verdict | None, protocol: Protocol):
    """The label a verdict counts as under a protocol, or None for "wrong whatever the reference"."""
    if verdict is None or verdict.status != "ok":
        return "tie" if protocol.unparsed == "tie" else None
    return forced_verdict(verdict) if protocol.forced else verdict.verdict


# ---------------------------------------------------------------- scoring


def item_table(verdicts, pairs, protocol):
    """One row per item (or vote): reference label, verdicts in both orders, probabilities, cluster.

    Returns
    -------
    pandas.DataFrame
        Columns item_id, cluster, reference, ab, ba (labels or None; NaN-free), has_ba, ok, confidence, p_a, p_b, p_tie.

    Raises
    ------
    ValueError
        If a pair has no verdict in the given order, or two.
    """
    by_cell = {}
    for verdict in verdicts:
        if (verdict.item_id, verdict.order) in by_cell:
            raise ValueError(f"{verdict.judge}: two verdicts for {verdict.item_id} in order {verdict.order}")
        by_cell[verdict.item_id, verdict.order] = verdict
    rows = []
    for pair in pairs:
        ab, ba = by_cell.get((pair.item_id, "ab")), by_cell.get((pair.item_id, "ba"))
        if ab is None:
            raise ValueError(f"{pair.where}: no verdict in the given order")
        references = list(pair.votes.values()) if protocol.votes else [pair.label]
        for reference in references:
            if reference is not None:
                rows.append(item_row(pair, reference, ab, ba, protocol))
    table = pd.DataFrame(rows, dtype=object)  # a column of text would turn None into NaN
    kinds = {"has_ba": bool, "ok": int, "p_a": float, "p_b": float, "p_tie": float}
    return table.astype(kinds) if rows else table


def item_row(pair, reference, ab, ba, protocol):
    """One row of `item_table`."""
    p = symmetrised(ab, ba)
    return {
        "item_id": pair.item_id,
        "cluster": pair.cluster_id or pair.item_id,
        "reference": reference,
        "ab": read_verdict(ab, protocol),
        "ba": read_verdict(ba, protocol) if ba is not None else None,
        "raw_ab": ab.verdict,
        "raw_ba": None if ba is None else ba.verdict,
        "has_ba": ba is not None,
        "ok": (ab.status == "ok") + (ba is not None and ba.status == "ok"),
        "p_a": p[0],
        "p_b": p[1],
        "p_tie": p[2],
    }


def symmetrised(ab, ba):
    """Mean of the two orders' probabilities of A, B, tie; one order's where there is one; NaN without."""
    given = [v for v in (ab, ba) if v is not None and v.p_a is not None]
    if not given:
        return (np.nan, np.nan, np.nan)
    return tuple(float(np.mean([getattr(v, name) for v in given])) for name in ("p_a", "p_b", "p_tie"))


def point_of(reference, verdict):
    """Vote of one order for the sum rule: +1 right, -1 the opposite, 0 a tie or nothing."""
    if verdict == reference:
        return 1
    return -1 if verdict == SWAPPED[reference] and verdict is not None else 0


def credit(row, protocol):
    """What an item adds to accuracy under the protocol's rule, in [0, 1]."""
    ab, ba = row.ab == row.reference, row.ba == row.reference
    if protocol.rule == "forward" or not row.has_ba:
        return float(ab)
    if protocol.rule == "both_right":
        return float(ab and ba)
    if protocol.rule == "mean_of_orders":
        return (ab + ba) / 2
    return float(point_of(row.reference, row.ab) + point_of(row.reference, row.ba) > 0)


def first_counts(row):
    """Decided verdicts over the orders seen, and how many of them went to the response shown first."""
    decided = [(row.raw_ab, "A")] + ([(row.raw_ba, "B")] if row.has_ba else [])
    decided = [(verdict, first) for verdict, first in decided if verdict in ("A", "B")]
    return [sum(verdict == first for verdict, first in decided), len(decided)]


def score(verdicts, pairs, benchmark, protocol=None, n_boot=N_BOOT, seed=0):
    """Every metric of a judge on a set under a protocol, with 95 % cluster-bootstrap intervals.

    Parameters
    ----------
    verdicts : list of Verdict
        Of one judge; the given order for every pair, the exchanged order for all or none.
    pairs : list of PreferencePair
    benchmark : str
        Name of the set; chooses the primary protocol.
    protocol : Protocol, optional
    n_boot : int
    seed : int

    Returns
    -------
    dict of str to Number
        ``accuracy`` (the protocol's primary figure), ``macro_f1``, ``precision``, ``recall`` (macro over the set's
        labels; over both orders where the rule uses both orders' means), ``kappa``, ``coverage``; with both orders
        ``agreement`` (right in both), ``consistency`` (same verdict in both), ``first_rate`` (share of decided
        verdicts that go to the response shown first); with probabilities ``nll``, ``brier``, ``ece``.

    Raises
    ------
    ValueError
        If verdicts and pairs do not match, or the exchanged order was judged for some pairs only.
    """
    protocol = protocol or primary_protocol(benchmark)
    table = item_table(verdicts, pairs, protocol)
    if table.empty:
        raise ValueError(f"{benchmark}: no item has a reference label")
    both = bool(table["has_ba"].all())
    if not both and table["has_ba"].any():
        raise ValueError(f"{benchmark}: {verdicts[0].judge} judged some pairs in one order only")
    sums = cluster_sums_of(table, protocol, both)
    n = len(table)

    def number(name, statistic, spec=".1%"):
        value, low, high = cluster_bootstrap(sums[name], statistic, n_boot, seed)
        return Number(value, low, high, n=n, spec=spec)

    share = lambda s: metrics.ratio(s[..., 0], s[..., 1])  # noqa: E731
    scores = {
        "accuracy": number("credit", share),
        "macro_f1": number("confusion", lambda s: metrics.macro(s, protocol.labels)[2]),
        "precision": number("confusion", lambda s: metrics.macro(s, protocol.labels)[0]),
        "recall": number("confusion", lambda s: metrics.macro(s, protocol.labels)[1]),
        "kappa": number("confusion", metrics.cohen_kappa, spec=".3f"),
        "coverage": number("coverage", share),
    }
    if both:
        for name in ("agreement", "consistency", "first_rate"):
            scores[name] = number(name, share)
    if "losses" in sums:
        scores["nll"] = number("losses", lambda s: metrics.ratio(s[..., 0], s[..., 2]), spec=".3f")
        scores["brier"] = number("losses", lambda s: metrics.ratio(s[..., 1], s[..., 2]), spec=".3f")
        scores["ece"] = number("bins", metrics.expected_calibration_error, spec=".3f")
    return scores


def cluster_sums_of(table, protocol, both):
    """Additive contributions of every metric, summed within clusters."""
    clusters = table["cluster"].tolist()
    reference = metrics.label_codes(table["reference"])
    ones = np.ones(len(table))
    confusion = metrics.confusion(reference, metrics.label_codes(table["ab"]))
    if both and protocol.rule == "mean_of_orders":
        confusion = confusion + metrics.confusion(reference, metrics.label_codes(table["ba"]))
    items = list(table.itertuples(index=False))
    per_item = {
        "credit": np.column_stack([[credit(row, protocol) for row in items], ones]),
        "confusion": confusion,
        "coverage": np.column_stack([table["ok"], ones * (2 if both else 1)]),
    }
    if both:
        ab_right, ba_right = table["ab"] == table["reference"], table["ba"] == table["reference"]
        same = (table["raw_ab"] == table["raw_ba"]) & table["raw_ab"].notna()
        per_item["agreement"] = np.column_stack([ab_right & ba_right, ones])
        per_item["consistency"] = np.column_stack([same, ones])
        per_item["first_rate"] = np.array([first_counts(row) for row in items], float)
    probabilities = table[["p_a", "p_b", "p_tie"]].to_numpy(float)
    if not np.isnan(probabilities).any():
        if "tie" not in protocol.labels:  # where no tie is possible, its mass is split by the other two
            probabilities = np.column_stack([decided_probabilities(probabilities), np.zeros(len(table))])
        nll, brier = metrics.probability_losses(probabilities, reference)
        per_item["losses"] = np.column_stack([nll, brier, ones])
        chosen = probabilities.argmax(1)
        per_item["bins"] = metrics.reliability_bins(probabilities.max(1), chosen == reference)
    return {name: cluster_sums(values, clusters) for name, values in per_item.items()}


def decided_probabilities(probabilities):
    """Probabilities of A and B given that there is no tie, shape (n_items, 2)."""
    decided = probabilities[:, :2]
    total = decided.sum(1, keepdims=True)
    return np.where(total > 0, decided / np.where(total > 0, total, 1), 0.5)


def majority_class(pairs, protocol):
    """The most frequent reference label of a set (for the yardstick of that name)."""
    labels = [
        label for p in pairs for label in (p.votes.values() if protocol.votes else [p.label]) if label is not None
    ]
    return max(LABELS, key=labels.count)


def verdict_frame(verdicts):
    """Verdicts as a table, one row each."""
    return pd.DataFrame([asdict(verdict) for verdict in verdicts])


def score_table(judges, sets, store, slugs, published=None, n_boot=N_BOOT, seed=0, progress=True):
    """Judge and score every set with every judge.

    Parameters
    ----------
    judges : dict of str to Judge
        Name to judge; ``baseline/majority_class`` may be given as None and is made for each set.
    sets : dict of str to list of PreferencePair
    store : judgekit.store.VerdictStore
    slugs : dict of str to str
        Name to slug, published judges included.
    published : dict of str to list of Judge, optional
        Judges that have verdicts on one set only, by set; they are asked for the orders they have.
    n_boot, seed, progress
        See `score` and `run_judge`.

    Returns
    -------
    pandas.DataFrame
        Columns set, judge (slug), metric, number (a `Number`), protocol.
    """
    rows = []
    for name, pairs in sets.items():
        protocol = primary_protocol(name)
        for judge in [*judges_on(judges, pairs, protocol), *(published or {}).get(name, [])]:
            verdicts = run_judge(judge, pairs, store, getattr(judge, "orders", ORDERS), progress)
            scores = score(verdicts, pairs, name, protocol, n_boot, seed)
            rows += [(name, slugs[judge.name], metric, number, protocol.name) for metric, number in scores.items()]
    return pd.DataFrame(rows, columns=["set", "judge", "metric", "number", "protocol"])


def judges_on(judges, pairs, protocol):
    """The judges for one set: the majority class is another one for each set."""
    constant = load_judge("baseline/majority_class", label=majority_class(pairs, protocol))
    return [constant if judge is None else judge for judge in judges.values()]


TITLES = {
    "pandalm": "PandaLM",
    "autoj": "Auto-J",
    "mtbench": "MT-bench",
    "judgebench": "JudgeBench",
    "llmbar_natural": "Natural",
    "llmbar_neighbor": "Neighbor",
    "llmbar_gptinst": "GPTInst",
    "llmbar_gptout": "GPTOut",
    "llmbar_manual": "Manual",
    "llmbar_adversarial": "LLMBar adversarial",
    "sample_natural": "sample natural",
    "sample_adversarial": "sample adversarial",
}


def pick(table, metric_of):
    """One number per judge and set as a wide table: rows are judges, columns (set title, metric title).

    Parameters
    ----------
    table : pandas.DataFrame
        What `score_table` returns.
    metric_of : dict of str to list of str
        Set to the metrics shown for it, in order.

    Returns
    -------
    list of dict
        For `judgekit.results.save_table`; cells that a judge lacks are None.
    """
    numbers = {(row.set, row.judge, row.metric): row.number for row in table.itertuples()}
    rows = []
    for judge in dict.fromkeys(table["judge"]):
        cells = {
            (TITLES.get(name, name), metric_title(metric)): numbers.get((name, judge, metric))
            for name, wanted in metric_of.items()
            for metric in wanted
        }
        if any(cell is not None for cell in cells.values()):
            rows.append({("", "judge"): judge, **cells})
    return rows


def metric_title(metric):
    """A metric's name as a head of a column.

    Examples
    --------
    >>> metric_title("macro_f1"), metric_title("first_rate")
    ('macro-F1', 'first rate')
    """
    return {"macro_f1": "macro-F1", "ece": "ECE", "nll": "NLL"}.get(metric, metric.replace("_", " "))


def forest_table(table, metric="accuracy"):
    """One metric of every judge and set, as `judgekit.plots.plot_forest` takes it: judge, set, value, low, high."""
    chosen = table[table["metric"] == metric]
    rows = [
        (row.judge, TITLES.get(row.set, row.set), row.number.value, row.number.low, row.number.high)
        for row in chosen.itertuples()
    ]
    return pd.DataFrame(rows, columns=["judge", "set", "value", "low", "high"])


def tradeoff_table(table, quality_sets, adversarial_set):
    """Mean accuracy on some sets against accuracy on another, for the judges that have all of them.

    Returns
    -------
    pandas.DataFrame
        Columns judge, x, x_low, x_high (the mean), y, y_low, y_high.
    """
    numbers = {(row.judge, row.set): row.number for row in table[table["metric"] == "accuracy"].itertuples()}
    rows = []
    for judge in dict.fromkeys(table["judge"]):
        wanted = [numbers.get((judge, name)) for name in (*quality_sets, adversarial_set)]
        if all(number is not None for number in wanted):
            x = mean_of_independent([(number.value, number.low, number.high) for number in wanted[:-1]])
            rows.append((judge, *x, wanted[-1].value, wanted[-1].low, wanted[-1].high))
    return pd.DataFrame(rows, columns=["judge", "x", "x_low", "x_high", "y", "y_low", "y_high"])
