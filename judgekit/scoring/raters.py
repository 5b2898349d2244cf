"""Judges as raters: how far they agree with each other and with themselves, where nothing says who is right."""

from itertools import combinations

import numpy as np

from judgekit import metrics
from judgekit.agreement import MISSING, coincidences, krippendorff_alpha, rating_counts
from judgekit.intervals import cluster_sums
from judgekit.records import LABELS, ORDERS
from judgekit.scoring.humans import bounded
from judgekit.scoring.protocols import joined_verdict
from judgekit.scoring.scores import N_BOOT, share_of


def verdicts_by_order(verdicts, pairs):
    """What one judge says of each pair in the two orders.

    Parameters
    ----------
    verdicts : list of Verdict
        Of one judge, in both orders.
    pairs : list of PreferencePair

    Returns
    -------
    list of (label or None, label or None)
        Given order, exchanged order, in the order of the pairs; None where the reply holds no verdict.

    Raises
    ------
    ValueError
        If there are no pairs, or a pair was not shown in both orders.
    """
    if not pairs:
        raise ValueError("no pairs")
    said = {(verdict.item_id, verdict.order): verdict.verdict for verdict in verdicts}
    for pair in pairs:
        if lacking := [order for order in ORDERS if (pair.item_id, order) not in said]:
            who = verdicts[0].judge if verdicts else "nobody"
            raise ValueError(f"{pair.where}: {who} was not shown it in order {lacking[0]}")
    return [tuple(said[pair.item_id, order] for order in ORDERS) for pair in pairs]


def final_verdicts(verdicts, pairs):
    """One verdict of a judge per pair: what it says in both orders, a tie where these differ, None where one lacks."""
    return [joined_verdict(ab, ba, "any") for ab, ba in verdicts_by_order(verdicts, pairs)]


def clusters_of(pairs):
    """The prompt of every pair."""
    return np.array([pair.cluster for pair in pairs])


def judge_with_itself(verdicts, pairs, n_boot=N_BOOT, seed=0):
    """How steady a judge is when the two responses change places.

    Parameters
    ----------
    verdicts : list of Verdict
        Of one judge, in both orders.
    pairs : list of PreferencePair
        Labels are not read. Prompts are resampled.
    n_boot, seed : int

    Returns
    -------
    dict of str to Number
        ``consistency``: the same verdict in both orders, among pairs read in both; ``first_rate``: share of decided
        verdicts that go to the response shown first; ``tie_rate``: share of ties among single verdicts;
        ``coverage``: share of replies that hold a verdict. A share of nothing is left out.

    Raises
    ------
    ValueError
        If a pair was not shown in both orders, or no reply holds a verdict.
    """
    shown = verdicts_by_order(verdicts, pairs)
    counted = {"consistency": [], "first_rate": [], "tie_rate": [], "coverage": []}
    for ab, ba in shown:
        read = [label for label in (ab, ba) if label is not None]
        counted["consistency"].append([ab == ba, 1] if len(read) == 2 else [0, 0])
        counted["first_rate"].append([(ab == "A") + (ba == "B"), sum(label != "tie" for label in read)])
        counted["tie_rate"].append([read.count("tie"), len(read)])
        counted["coverage"].append([len(read), len(ORDERS)])
    if not any(n for _, n in counted["tie_rate"]):
        raise ValueError(f"{verdicts[0].judge}: no reply holds a verdict")
    return {name: share(rows, clusters_of(pairs), n_boot, seed) for name, rows in counted.items() if total(rows)}


def total(rows):
    """How much a share is of."""
    return sum(n for _, n in rows)


def share(rows, clusters, n_boot, seed):
    """A share as a `Number`, from (hits, n) of every pair."""
    return bounded(cluster_sums(rows, clusters), share_of, total(rows), n_boot, seed, ".1%")


def judges_with_each_other(judges, pairs, n_boot=N_BOOT, seed=0):
    """Agreement of every two judges in their final verdicts.

    Parameters
    ----------
    judges : dict of str to list of Verdict
        Name to verdicts in both orders.
    pairs, n_boot, seed
        As for `judge_with_itself`.

    Returns
    -------
    dict of (str, str) to dict of str to Number
        Two judges to ``agreement`` and Cohen's ``kappa`` over the pairs that both have a final verdict on, and
        ``decided``: agreement over those that neither calls a tie; left out where there are none.

    Raises
    ------
    ValueError
        If a pair was not shown to a judge in both orders, or two judges share no pair with a verdict.

    Notes
    -----
    A judge that wavers on swapping says "tie" here, so position bias lowers ``kappa``; ``decided`` tells what the
    judges say where they are steady.
    """
    final = {name: np.array(final_verdicts(verdicts, pairs), dtype=object) for name, verdicts in judges.items()}
    prompts, found = clusters_of(pairs), {}
    for first, second in combinations(final, 2):
        both = np.array([None not in said for said in zip(final[first], final[second], strict=True)])
        if not both.any():
            raise ValueError(f"{first} and {second} have no pair in common with a final verdict")
        codes = [metrics.label_codes(final[name][both]) for name in (first, second)]
        sums, n = cluster_sums(metrics.confusion(*codes), prompts[both]), int(both.sum())
        found[first, second] = {
            "agreement": bounded(sums, metrics.accuracy, n, n_boot, seed, ".1%"),
            "kappa": bounded(sums, metrics.cohen_kappa, n, n_boot, seed, ".2f"),
        }
        tie = LABELS.index("tie")
        decided = (codes[0] != tie) & (codes[1] != tie)
        if decided.any():
            rows = np.column_stack([codes[0] == codes[1], np.ones(n)])[decided]
            number = share(rows.astype(int).tolist(), prompts[both][decided], n_boot, seed)
            found[first, second]["decided"] = number
    return found


def judges_together(judges, pairs, n_boot=N_BOOT, seed=0):
    """Krippendorff's alpha over all judges.

    Parameters
    ----------
    judges, pairs, n_boot, seed
        As for `judges_with_each_other`.

    Returns
    -------
    dict of str to Number
        ``alpha`` of the final verdicts; ``alpha_one_order`` of the verdicts in the given order, which a habit that
        the judges share raises or lowers. ``n`` counts the pairs that two judges or more have a verdict on.
    """
    given = [[ab for ab, _ in verdicts_by_order(verdicts, pairs)] for verdicts in judges.values()]
    final = [final_verdicts(verdicts, pairs) for verdicts in judges.values()]
    found = {}
    for name, said in (("alpha", final), ("alpha_one_order", given)):
        codes = np.array([metrics.label_codes(one) for one in said]).T
        counts = rating_counts(np.where(codes == metrics.NO_VERDICT, MISSING, codes), len(LABELS))
        sums = cluster_sums(coincidences(counts), clusters_of(pairs))
        n = int((counts.sum(1) > 1).sum())
        found[name] = bounded(sums, krippendorff_alpha, n, n_boot, seed, ".2f")
    return found


def matrix_rows(found, itself, above="kappa", below="decided"):
    """Everybody against everybody as a table: one quantity above the diagonal, another below it.

    Parameters
    ----------
    found : dict of (str, str) to dict of str to Number
        As `judges_with_each_other`.
    itself : dict of str to dict of str to Number
        Judge to its own quantities (`judge_with_itself`), which follow as columns; the rows are in its order.
    above, below : str

    Returns
    -------
    list of dict
        Rows for `judgekit.results.save_table`; None on the diagonal and where there is no number.
    """
    own = list(dict.fromkeys(quantity for numbers in itself.values() for quantity in numbers))
    rows = []
    for i, judge in enumerate(itself):
        row = {("", "judge"): judge}
        for j, other in enumerate(itself):
            pair, quantity = ((judge, other), above) if i < j else ((other, judge), below)
            row["with", other] = None if i == j else found[pair].get(quantity)
        rows.append(row | {("with itself", name.replace("_", " ")): itself[judge].get(name) for name in own})
    return rows
