"""Published figures beside the same ones recomputed from stored verdicts; each carries the words of its protocol."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from string import ascii_lowercase
from typing import Any

import pandas as pd

from judgekit.data.benchmarks.published import published_scores
from judgekit.judges.names import display_name
from judgekit.scoring import N_BOOT, Contest
from judgekit.scoring.comparison import contest_scores
from judgekit.scoring.tables import metric_title
from judgekit.stats import Number

BESIDE = "table judge ours set metric published protocol recomputed same_rule points why source".split()


def published_beside(contests: Mapping[str, Contest], n_boot: int = N_BOOT, seed: int = 0) -> pd.DataFrame:
    """Published figures of which verdicts are stored, recomputed under the set's own protocol and under theirs.

    Columns `BESIDE`: recomputed is by the primary protocol, same_rule by theirs (None where it cannot be applied),
    points same_rule less published, in percentage points. ``contests``: by set, or where a judge covers a part of it
    only under ``<set>/<slug>``.
    """
    rows = []
    for figure in published_scores():
        ours = figure.ours
        contest = contests.get(f"{figure.set}/{ours}") or contests.get(figure.set)
        if ours is None or contest is None or ours not in contest.verdicts:
            continue
        metric = "accuracy" if figure.metric.startswith("agreement_with") else figure.metric
        alone = replace(contest, verdicts={ours: contest.verdicts[ours]})
        numbers = {}
        for rule in {None, "primary", figure.scored_as} - {None}:
            scores = contest_scores(alone, None if rule == "primary" else rule, n_boot, seed)
            numbers[rule] = scores.set_index("metric")["number"][metric]
        same = numbers.get(figure.scored_as)
        points = None if same is None else Number(round(100 * (same.value - figure.value), 2) + 0.0, spec=".2f")
        printed = Number(figure.value, spec=f".{figure.decimals}%")
        row = (figure.table, figure.judge, ours, figure.set, figure.metric, printed, figure.protocol)
        rows.append((*row, numbers["primary"], same, points, figure.why, figure.source))
    return pd.DataFrame(rows, columns=BESIDE)


def figure_table(
    table: str,
    scores: pd.DataFrame,
    judges: Sequence[str],
    titles: Mapping[str, str],
    tags: dict[str, str],
    recomputed_on: Mapping[str, str] | None = None,
    stacked: Callable[[str, str], Any] | None = None,
) -> list[dict[Any, Any]]:
    """A published table rebuilt: published beside recomputed, then judges that the paper did not have, in order.

    ``scores``: of `contest_scores`, for all sets; ``tags``: protocol to its letter, to which those that are met are
    added; ``recomputed_on``: set to the part of it that the counterpart of a published row covers; ``stacked`` makes a
    cell of a recomputed score and its interval, for wide tables (else they are one text).
    """
    numbers: Any = {(row.set, row.judge, row.metric): (row.number, row.protocol) for row in scores.itertuples()}
    figures = {(figure.judge, figure.set, figure.metric): figure for figure in published_scores(table)}
    columns = list(dict.fromkeys(key[1:] for key in figures))
    several = len({metric for _, metric in columns}) > 1
    names = {figure.judge: figure.title for figure in figures.values()}

    def tag(protocol: str) -> str:
        return f"[{tags.setdefault(protocol, ascii_lowercase[len(tags)])}]"

    def cell(name: str, part: str, judge: str | None, metric: str) -> Any:
        number, words = numbers.get((part, judge, metric), (None, None))
        if number is None:
            return None
        words += "" if part == name else f", on the {number.n:,} items that {display_name(judge or '')} judged"
        letter, ends = tag(words), (number.interval or "no interval").replace("-", "–")
        return stacked(f"{number} {letter}", ends) if stacked else f"{number} ({ends}) {letter}"

    rows = []
    for judge in [*names, *judges]:
        row: dict[Any, Any] = {("", "judge"): names.get(judge, judge)}
        for name, metric in columns:
            figure, ours, part = figures.get((judge, name, metric)), judge, name
            head = titles.get(name, name) + (f" {metric_title(metric)}" if several else "")
            row[head, "published"] = figure and f"{figure.printed} {tag(figure.protocol)}"
            if figure is not None:
                ours, part = figure.ours or "", (recomputed_on or {}).get(name, name)
            row[head, "recomputed"] = cell(name, part, ours, metric)
        rows.append(row)
    rows = [row for row in rows if sum(cell is not None for cell in row.values()) > 1]
    filled = [column for column in (rows[0] if rows else ()) if any(row[column] is not None for row in rows)]
    return [{column: row[column] for column in filled} for row in rows]
