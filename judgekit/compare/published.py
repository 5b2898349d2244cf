"""Published figures beside the same figures recomputed from stored verdicts. Each carries the words of its protocol."""

from string import ascii_lowercase

import pandas as pd

from judgekit.benchmarks.published import counterpart_of, published_scores
from judgekit.compare.contests import Contest, contest_scores
from judgekit.results import Number, Stacked
from judgekit.scoring import N_BOOT
from judgekit.scoring.tables import metric_title


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
