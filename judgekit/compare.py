"""Published figures beside recomputed ones, and judges against each other on the same items.

A contest is one set with the verdicts of everybody who judged all of it; tables of scores, of differences and of
published figures are made from contests. Every figure carries the words of its protocol.
"""

from dataclasses import dataclass, field, replace
from string import ascii_lowercase

import pandas as pd

from judgekit import metrics
from judgekit.benchmarks.published import (
    counterpart_of,
    fitting_counts,
    owner_statistics,
    published_scores,
    published_table,
)
from judgekit.intervals import holm
from judgekit.records import ORDERS, Verdict
from judgekit.results import Number, Stacked, slug
from judgekit.scoring import N_BOOT, compare, compare_all, pairs_judged_by, protocol_of, run_judge, score
from judgekit.scoring.protocols import majority_class
from judgekit.scoring.tables import metric_title

DIFFERENCES = ["set", "judge_a", "judge_b", "difference", "p_value", "p_holm", "mcnemar_p", "detectable"]


@dataclass(frozen=True)
class Contest:
    """One set and the verdicts on it.

    Attributes
    ----------
    name : str
        As in result keys. A part of a set has a name of its own, e.g. ``mtbench_gpt4``.
    benchmark : str
        The set whose protocols apply.
    pairs : list of PreferencePair
    verdicts : dict of str to list of Verdict
        By slug, on all of the pairs.
    """

    name: str
    benchmark: str
    pairs: list
    verdicts: dict = field(default_factory=dict)


def hold_contest(name, pairs, judges, slugs, store, benchmark=None):
    """Have judges judge a set, in the orders each of them has; what the store holds is not asked again.

    Parameters
    ----------
    name : str
    pairs : list of PreferencePair
    judges : iterable of Judge
    slugs : dict of str to str
        Judge's name to slug.
    store : judgekit.store.VerdictStore
    benchmark : str, optional
        The set whose protocols apply; ``name`` by default.

    Returns
    -------
    Contest

    Raises
    ------
    ValueError
        If a judge failed on an item, or a replayed one never judged it: that would count as wrong. `restricted` makes
        a contest of the items that such a judge covers.
    """
    verdicts = {slugs[j.name]: run_judge(j, pairs, store, getattr(j, "orders", ORDERS), progress=False) for j in judges}
    for judge, said in verdicts.items():
        if lacking := sum(verdict.status == "error" for verdict in said):
            raise ValueError(f"{name}: {judge} has no verdict in {lacking} of {len(said)} cases")
    return Contest(name, benchmark or name, pairs, verdicts)


def restricted(contest, name, verdicts):
    """The contest on those of its items that further judges have verdicts on, with these judges added.

    Parameters
    ----------
    contest : Contest
    name : str
        Of the part.
    verdicts : dict of str to list of Verdict
        By slug; each may cover some items only.
    """
    pairs = pairs_judged_by(contest.pairs, *verdicts.values())
    kept = {pair.item_id for pair in pairs}
    everybody = contest.verdicts | verdicts
    return Contest(
        name,
        contest.benchmark,
        pairs,
        {slug: [v for v in said if v.item_id in kept] for slug, said in everybody.items()},
    )


def with_constant(contest):
    """The contest with ``majority_class``: the constant judge that is told the most frequent label of these pairs.

    A part of a set has a majority of its own, so it is added to each contest for itself. Nothing is asked: its
    verdict on every pair is known.
    """
    label = majority_class(contest.pairs, protocol_of(contest.benchmark))
    name = "baseline/majority_class"
    said = [Verdict(pair.item_id, name, order, label) for pair in contest.pairs for order in ORDERS]
    return replace(contest, verdicts=contest.verdicts | {slug(name): said})


def contest_scores(contest, protocol=None, n_boot=N_BOOT, seed=0):
    """Every metric of everybody: table of set, judge, metric, number, protocol, as `judgekit.scoring.score_table`."""
    protocol = protocol_of(contest.benchmark, protocol)
    rows = []
    for judge, verdicts in contest.verdicts.items():
        scores = score(verdicts, contest.pairs, contest.benchmark, protocol, n_boot, seed)
        rows += [(contest.name, judge, metric, number, protocol.name) for metric, number in scores.items()]
    return pd.DataFrame(rows, columns=["set", "judge", "metric", "number", "protocol"])


def against_others(contest, ours, n_boot=N_BOOT, seed=0):
    """One judge against every other one under the set's primary protocol, Holm-adjusted within the set.

    Returns
    -------
    pandas.DataFrame
        Columns set, judge_a (ours), judge_b, difference (a `Number`), p_value, p_holm, mcnemar_p (exact; it takes
        items as independent, and is not adjusted), detectable (the smallest difference that the set would show with
        80 % power).
    """
    mine, others = contest.verdicts[ours], {slug: said for slug, said in contest.verdicts.items() if slug != ours}
    found = [compare(mine, said, contest.pairs, contest.benchmark, None, n_boot, seed) for said in others.values()]
    adjusted = holm([one.p_value for one in found])
    rows = [
        (contest.name, ours, slug, one.difference, one.p_value, float(p), one.mcnemar_p, one.detectable)
        for slug, one, p in zip(others, found, adjusted, strict=True)
    ]
    return pd.DataFrame(rows, columns=DIFFERENCES)


def mcnemar_alone(differences, level=0.05):
    """How many differences McNemar's test calls real and the bootstrap over prompts does not, before any adjustment.

    Parameters
    ----------
    differences : pandas.DataFrame
        As `against_others`.
    level : float

    Returns
    -------
    Number
        ``n`` is the number of differences.
    """
    alone = (differences["mcnemar_p"] < level) & (differences["p_value"] >= level)
    return Number(int(alone.sum()), n=len(differences))


def every_two(contest, judges, n_boot=N_BOOT, seed=0):
    """Every two of some judges, Holm-adjusted over all of these comparisons; columns as `against_others`."""
    chosen = {judge: contest.verdicts[judge] for judge in judges if judge in contest.verdicts}
    rows = [
        (contest.name, one.judge_a, one.judge_b, one.difference, one.p_value, one.p_holm, one.mcnemar_p, one.detectable)
        for one in compare_all(chosen, contest.pairs, contest.benchmark, None, n_boot, seed)
    ]
    return pd.DataFrame(rows, columns=DIFFERENCES)


# ---------------------------------------------------------------- published beside recomputed


def published_beside(contests, tables=None, n_boot=N_BOOT, seed=0):
    """Published figures of which verdicts are stored, recomputed under the set's own protocol and under theirs.

    Parameters
    ----------
    contests : dict of str to Contest
        By set; where a judge covers a part of it only, the part's contest under ``<set>/<slug>``.
    tables : list of str, optional
        Published tables; all by default.
    n_boot, seed : int

    Returns
    -------
    pandas.DataFrame
        Columns table, judge (theirs), ours, set, metric, published, protocol (its words), recomputed (primary
        protocol), same_rule (their protocol, None where it cannot be applied), points (same rule less published, in
        percentage points), why, source. Empty when nothing can be recomputed.
    """
    rows = []
    for published in (figure for name in tables or [None] for figure in published_scores(name)):
        counterpart = counterpart_of(published)
        if counterpart is None:
            continue
        contest = contests.get(f"{published.set}/{counterpart.ours}") or contests.get(published.set)
        if contest is None or counterpart.ours not in contest.verdicts:
            continue
        metric = "accuracy" if published.metric.startswith("agreement_with") else published.metric
        part = Contest(contest.name, contest.benchmark, contest.pairs, {0: contest.verdicts[counterpart.ours]})
        numbers = {}
        for rule in {None, "primary", published.scored_as} - {None}:
            name = None if rule == "primary" else rule
            table = contest_scores(part, name, n_boot, seed).set_index("metric")["number"]
            numbers[rule] = table[metric]
        same = numbers.get(published.scored_as)
        points = None if same is None else Number(round(100 * (same.value - published.value), 2) + 0.0, spec="+.2f")
        rows.append(
            (
                *(published.table, published.judge, counterpart.ours, published.set, published.metric),
                *(Number(published.value, spec=f".{published.decimals}%"), published.protocol, numbers["primary"]),
                *(same, points, counterpart.why, published.source),
            )
        )
    names = "table judge ours set metric published protocol recomputed same_rule points why source".split()
    return pd.DataFrame(rows, columns=names)


class Tags:
    """Letters that stand for protocols, in the order they are first asked for.

    Examples
    --------
    >>> tags = Tags()
    >>> tags.of("single order"), tags.of("right in both orders"), tags.of("single order")
    ('a', 'b', 'a')
    """

    def __init__(self):
        self.words = []

    def of(self, protocol):
        """The letter of a protocol."""
        if protocol not in self.words:
            self.words.append(protocol)
        return ascii_lowercase[self.words.index(protocol)]

    def table(self):
        """Letter and words of every protocol asked for, for `judgekit.results.save_table`."""
        return pd.DataFrame({"tag": list(ascii_lowercase[: len(self.words)]), "protocol": self.words})


def figure_table(table, scores, judges, titles, tags, recomputed_on=None, intervals="beside"):
    """A published table rebuilt: published beside recomputed, then judges that the paper did not have.

    Parameters
    ----------
    table : str
        Name of the published table.
    scores : pandas.DataFrame
        As `contest_scores`, of all sets.
    judges : list of str
        Slugs of the further judges, in order.
    titles : dict of str to str
        Set to its title.
    tags : Tags
        Collects the protocols.
    recomputed_on : dict, optional
        Set to the part of it that the counterpart of a published row covers.
    intervals : {"beside", "below"}
        Where the intervals of recomputed scores stand: in wide tables below them, in small type.

    Returns
    -------
    list of dict
        Rows for `judgekit.results.save_table`; cells are text with the letter of their protocol, or None.

    Raises
    ------
    ValueError
        If ``intervals`` is neither of the two.
    """
    if intervals not in ("beside", "below"):
        raise ValueError(f"intervals {intervals!r}: 'beside' or 'below'")
    found = {(row.set, row.judge, row.metric): (row.number, row.protocol) for row in scores.itertuples()}
    figures = published_scores(table)
    columns = list(dict.fromkeys((figure.set, figure.metric) for figure in figures))
    several = len({metric for _, metric in columns}) > 1
    printed = {(figure.judge, figure.set, figure.metric): figure for figure in figures}

    def cell(name, part, judge, metric):
        number, words = found.get((part, judge, metric), (None, None))
        if number is None:
            return None
        words += "" if part == name else f", on the {number.n:,} items that {judge} judged"
        tag, interval = tags.of(words), number.interval.replace("-", "–")
        return Stacked(f"{number} [{tag}]", interval) if intervals == "below" else f"{number} ({interval}) [{tag}]"

    rows = []
    for judge in [*dict.fromkeys(figure.judge for figure in figures), *judges]:
        theirs = [figure for figure in figures if figure.judge == judge]
        row = {("", "judge"): theirs[0].title if theirs else judge}
        for name, metric in columns:
            figure = printed.get((judge, name, metric))
            head = titles.get(name, name) + (f" {metric_title(metric)}" if several else "")
            row[head, "published"] = figure and f"{figure.printed} [{tags.of(figure.protocol)}]"
            ours, part = judge, name
            if figure is not None:
                counterpart = counterpart_of(figure)
                ours, part = (counterpart.ours if counterpart else None), (recomputed_on or {}).get(name, name)
            row[head, "recomputed"] = cell(name, part, ours, metric)
        rows.append(row)
    return without_empty(rows)


def without_empty(rows):
    """The rows less those that hold a name only, and less the columns in which none has a value."""
    rows = [row for row in rows if sum(cell is not None for cell in row.values()) > 1]
    kept = [column for column in rows[0] if any(row[column] is not None for row in rows)] if rows else []
    return [{column: row[column] for column in kept} for row in rows]


# ---------------------------------------------------------------- what published evaluations get wrong


def impossible_figures(table, sizes, step=1.0):
    """Published figures that no count of items rounds to.

    Parameters
    ----------
    table : str
    sizes : dict of str to int
        Items of each set.
    step : float
        What an item can add: 1 in one order, 1/2 in the mean of two.

    Returns
    -------
    list of PublishedScore
    """
    figures = [figure for figure in published_scores(table) if figure.set in sizes]
    return [figure for figure in figures if not fitting_counts(figure.printed, sizes[figure.set], step)]


def owner_table(contests, models):
    """An owner's own statistics beside the same quantities recomputed from the verdicts shipped with them.

    Parameters
    ----------
    contests : dict of str to Contest
    models : list of str
        Evaluators by the names of their outputs, e.g. ``"gpt-4-vanilla"``.

    Returns
    -------
    pandas.DataFrame
        Columns set, judge, own_accuracy, accuracy (mean of both orders), own_kappa, kappa (of the given order):
        ``own_...`` as published, the others recomputed. One row per evaluator and set that it has a file for.
    """
    rows = []
    for model in models:
        own = owner_statistics(model)
        rows += [(n, slug(model), *owner_row(contests[n], slug(model), own[n])) for n in own if n in contests]
    return pd.DataFrame(rows, columns=["set", "judge", "own_accuracy", "accuracy", "own_kappa", "kappa"])


def owner_row(contest, judge, own):
    """Published accuracy, ours, published kappa, ours."""
    references = metrics.label_codes(pair.label for pair in contest.pairs)
    said = {order: {v.item_id: v.verdict for v in contest.verdicts[judge] if v.order == order} for order in ORDERS}
    codes = {order: metrics.label_codes(said[order].get(pair.item_id) for pair in contest.pairs) for order in ORDERS}
    right = sum(float((codes[order] == references).mean()) for order in ORDERS) / 2
    kappa = metrics.cohen_kappa(metrics.confusion(references, codes["ab"]).sum(0))
    return own["accuracy"], right, own["kappa"], float(kappa)


def published_spread():
    """Judges of whom more than one score on the same set was published, widest apart first.

    Returns
    -------
    pandas.DataFrame
        Columns judge, set, metric, lowest, highest, spread (all in [0, 1]), sources (how many).
    """
    table = published_table()
    groups = table.groupby(["judge", "set", "metric"], sort=False)
    rows = [
        (*key, part["value"].min(), part["value"].max(), part["value"].max() - part["value"].min(), len(part))
        for key, part in groups
        if len(part) > 1
    ]
    columns = ["judge", "set", "metric", "lowest", "highest", "spread", "sources"]
    return pd.DataFrame(rows, columns=columns).sort_values("spread", ascending=False, ignore_index=True)


def published_below(table, name, metric, value):
    """How many judges of a published table score below a value on a set, and how many there are: a `Number`."""
    values = [figure.value for figure in published_scores(table) if (figure.set, figure.metric) == (name, metric)]
    return Number(sum(one < value for one in values), n=len(values))
