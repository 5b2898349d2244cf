"""Contests between judges, and published figures beside the same ones recomputed from stored verdicts.

Every figure carries the words of its protocol.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from string import ascii_lowercase
from typing import Any

import pandas as pd

from judgekit.data.benchmarks.outputs import published_on, published_verdicts
from judgekit.data.benchmarks.published import (
    counterpart_of,
    owner_statistics,
    published_scores,
)
from judgekit.data.catalogue import load_set, set_hashes
from judgekit.data.paths import verdict_store_path
from judgekit.judges import load_judge
from judgekit.judges.names import slug, unique_slugs
from judgekit.judges.replay import replay_hashes
from judgekit.records import ORDERS, Verdict
from judgekit.scoring import metrics
from judgekit.scoring.comparison import Comparison, Contest, compare, compare_all, hold_contest, restricted
from judgekit.scoring.protocols import Protocol, majority_class, protocol_of
from judgekit.scoring.scores import N_BOOT, score
from judgekit.scoring.store import VerdictStore
from judgekit.scoring.tables import metric_title
from judgekit.stats import Number, holm

COMPARED = ("judge_a", "judge_b", "difference", "p_value", "p_holm", "mcnemar_p", "detectable")


def contests_of(
    judged: Mapping[str, Sequence[str]],
    run: str,
    parts: Mapping[str, Sequence[str]] | None = None,
    slugs: Mapping[str, str] | None = None,
) -> dict[str, Contest]:
    """A contest for each set, or part of one, of the judges named for it; what the store holds is not asked again.

    ``parts``: part of a set to the set, and the replay judges that have verdicts on just that part; ``slugs``: declared
    ones, others are derived. ValueError where a judge has no verdict on an item: it would look like one that is wrong.
    """
    parts = parts or {}
    covering = [f"replay/{model}" for _, *models in parts.values() for model in models]
    names = unique_slugs([*(judge for chosen in judged.values() for judge in chosen), *covering], slugs)
    judges: dict[str, Any] = {name: load_judge(name, run=run) for name in names if name not in covering}
    first: dict[str, Any] = {}
    for judge in judges.values():
        if hasattr(judge, "share_embeddings"):  # texts that two judges encode alike are encoded once
            judge.share_embeddings(first.setdefault(judge.encoder_key, judge))
    contests = {}
    with VerdictStore(verdict_store_path()) as store:
        for name, chosen in judged.items():
            whole, *models = parts.get(name, [name])
            contest = hold_contest(whole, load_set(whole), [judges[judge] for judge in chosen], names, store)
            part = {names[f"replay/{model}"]: published_verdicts(model) for model in models}
            contests[name] = restricted(contest, name, part) if part else contest
    return contests


def sources_of(sets: Iterable[str], judges: Iterable[str]) -> dict[str, str]:
    """File to SHA-256 for all that some sets and the stored verdicts of some judges are read from."""
    hashes = [replay_hashes(judge) for judge in judges if judge.startswith("replay/")]
    return {file: sha256 for one in [set_hashes(sets), *hashes] for file, sha256 in one.items()}


def with_constant(contest: Contest) -> Contest:
    """The contest with ``majority_class``: the constant judge that is told the most frequent label of these pairs.

    A part of a set has a majority of its own, so it is added to each contest for itself. Nothing is asked: its
    verdict on every pair is known.
    """
    label = majority_class(contest.pairs, protocol_of(contest.benchmark))
    name = "baseline/majority_class"
    verdicts = [Verdict(pair.item_id, name, order, label) for pair in contest.pairs for order in ORDERS]
    return replace(contest, verdicts=contest.verdicts | {slug(name): verdicts})


def contest_scores(
    contest: Contest, protocol: Protocol | str | None = None, n_boot: int = N_BOOT, seed: int = 0
) -> pd.DataFrame:
    """Every metric of everybody: table of set, judge, metric, number, protocol, as `judgekit.scoring.score_table`."""
    protocol = protocol_of(contest.benchmark, protocol)
    rows = []
    for judge, verdicts in contest.verdicts.items():
        scores = score(verdicts, contest.pairs, contest.benchmark, protocol, n_boot, seed)
        rows += [(contest.name, judge, metric, number, protocol.name) for metric, number in scores.items()]
    return pd.DataFrame(rows, columns=["set", "judge", "metric", "number", "protocol"])


def against_others(contest: Contest, ours: str, n_boot: int = N_BOOT, seed: int = 0) -> pd.DataFrame:
    """One judge against every other one under the set's primary protocol, Holm-adjusted within the set.

    Columns set, judge_a (ours), judge_b, difference (a `Number`), p_value, p_holm, mcnemar_p (exact; it takes items as
    independent, and is not adjusted), detectable (the smallest difference that the set would show with 80 % power).
    """
    mine = contest.verdicts[ours]
    rows = [
        replace(compare(mine, one, contest.pairs, contest.benchmark, None, n_boot, seed), judge_a=ours, judge_b=judge)
        for judge, one in contest.verdicts.items()
        if judge != ours
    ]
    adjusted = holm([one.p_value for one in rows])
    return _difference_table(contest, [replace(one, p_holm=float(p)) for one, p in zip(rows, adjusted, strict=True)])


def every_two(contest: Contest, judges: Sequence[str], n_boot: int = N_BOOT, seed: int = 0) -> pd.DataFrame:
    """Every two of some judges, Holm-adjusted over all of these comparisons; columns as `against_others`."""
    chosen = {judge: contest.verdicts[judge] for judge in judges if judge in contest.verdicts}
    return _difference_table(contest, compare_all(chosen, contest.pairs, contest.benchmark, None, n_boot, seed))


def _difference_table(contest: Contest, comparisons: Sequence[Comparison]) -> pd.DataFrame:
    rows = [[contest.name, *(getattr(one, name) for name in COMPARED)] for one in comparisons]
    return pd.DataFrame(rows, columns=["set", *COMPARED])


def owner_table(contests: Mapping[str, Contest], models: Sequence[str] | None = None) -> pd.DataFrame:
    """The statistics that LLMBar's owners publish beside the same ones recomputed from the verdicts shipped with them.

    Columns set, judge, own_accuracy, accuracy (mean of both orders), own_kappa, kappa (of the given order): ``own_...``
    as published. One row per evaluator (``"gpt-4-vanilla"``; all by default) and set that it has a file for.
    """
    models = published_on("llmbar_natural") if models is None else models
    rows = []
    for model in models:
        own = owner_statistics(model)
        rows += [(n, slug(model), *_owner_row(contests[n], slug(model), own[n])) for n in own if n in contests]
    return pd.DataFrame(rows, columns=["set", "judge", "own_accuracy", "accuracy", "own_kappa", "kappa"])


def _owner_row(contest: Contest, judge: str, own: Mapping[str, float]) -> tuple[float, ...]:
    """Published accuracy, ours, published kappa, ours."""
    references = metrics.label_codes(pair.label for pair in contest.pairs)
    given = {order: {v.item_id: v.verdict for v in contest.verdicts[judge] if v.order == order} for order in ORDERS}
    codes = {order: metrics.label_codes(given[order].get(pair.item_id) for pair in contest.pairs) for order in ORDERS}
    right = sum(float((codes[order] == references).mean()) for order in ORDERS) / 2
    kappa = metrics.cohen_kappa(metrics.confusion(references, codes["ab"]).sum(0))
    return own["accuracy"], right, own["kappa"], float(kappa)


# ---------------------------------------------------------------- published beside recomputed


def published_beside(
    contests: Mapping[str, Contest], tables: Sequence[str] | None = None, n_boot: int = N_BOOT, seed: int = 0
) -> pd.DataFrame:
    """Published figures of which verdicts are stored, recomputed under the set's own protocol and under theirs.

    Columns table, judge (theirs), ours, set, metric, published, protocol (its words), recomputed (primary protocol),
    same_rule (their protocol, None where it cannot be applied), points (same rule less published, in percentage
    points), why, source. Empty when nothing can be recomputed.

    ``contests``: by set; where a judge covers a part of it only, the part's contest under ``<set>/<slug>``; ``tables``:
    published ones, all by default.
    """
    rows = []
    for published in (figure for name in tables or [None] for figure in published_scores(name)):  # type: ignore[list-item] # None: all tables
        counterpart = counterpart_of(published)
        if counterpart is None:
            continue
        contest = contests.get(f"{published.set}/{counterpart.ours}") or contests.get(published.set)
        if contest is None or counterpart.ours not in contest.verdicts:
            continue
        metric = "accuracy" if published.metric.startswith("agreement_with") else published.metric
        part = replace(contest, verdicts={counterpart.ours: contest.verdicts[counterpart.ours]})
        numbers = {}
        for rule in {None, "primary", published.scored_as} - {None}:
            name = None if rule == "primary" else rule
            numbers[rule] = contest_scores(part, name, n_boot, seed).set_index("metric")["number"][metric]
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

    >>> tags = Tags()
    >>> tags.of("single order"), tags.of("right in both orders"), tags.of("single order")
    ('a', 'b', 'a')
    """

    def __init__(self) -> None:
        self.words: list[str] = []

    def of(self, protocol: str) -> str:
        """The letter of a protocol."""
        if protocol not in self.words:
            self.words.append(protocol)
        return ascii_lowercase[self.words.index(protocol)]

    def table(self) -> pd.DataFrame:
        """Letter and words of every protocol asked for, for `judgekit.report.save_table`."""
        return pd.DataFrame({"tag": list(ascii_lowercase[: len(self.words)]), "protocol": self.words})


def figure_table(
    table: str,
    scores: pd.DataFrame,
    judges: Sequence[str],
    titles: Mapping[str, str],
    tags: Tags,
    recomputed_on: Mapping[str, str] | None = None,
    stacked: Callable[[str, str], Any] | None = None,
) -> list[dict[Any, Any]]:
    """A published table rebuilt: published beside recomputed, then judges that the paper did not have, in order.

    ``scores``: as `contest_scores`, of all sets; ``titles``: of the sets; ``tags`` collects the protocols, and cells
    are text with the letter of theirs, or None; ``recomputed_on``: set to the part of it that the counterpart of a
    published row covers; ``stacked`` makes a cell of a recomputed score and its interval, for wide tables
    (`judgekit.report.Stacked`, in which the interval stands below in small type; beside the score by default).
    """
    numbers: dict[Any, Any] = {
        (row.set, row.judge, row.metric): (row.number, row.protocol) for row in scores.itertuples()
    }
    figures = published_scores(table)
    columns = list(dict.fromkeys((figure.set, figure.metric) for figure in figures))
    several = len({metric for _, metric in columns}) > 1
    printed = {(figure.judge, figure.set, figure.metric): figure for figure in figures}

    def cell(name: str, part: str, judge: str | None, metric: str) -> Any:
        number, words = numbers.get((part, judge, metric), (None, None))
        if number is None:
            return None
        words += "" if part == name else f", on the {number.n:,} items that {judge} judged"
        tag, ends = tags.of(words), number.interval.replace("-", "–")
        return stacked(f"{number} [{tag}]", ends) if stacked else f"{number} ({ends}) [{tag}]"

    rows = []
    for judge in [*dict.fromkeys(figure.judge for figure in figures), *judges]:
        theirs = [figure for figure in figures if figure.judge == judge]
        row: dict[Any, Any] = {("", "judge"): theirs[0].title if theirs else judge}
        for name, metric in columns:
            figure = printed.get((judge, name, metric))
            head = titles.get(name, name) + (f" {metric_title(metric)}" if several else "")
            row[head, "published"] = figure and f"{figure.printed} [{tags.of(figure.protocol)}]"
            ours, part = judge, name
            if figure is not None:
                counterpart = counterpart_of(figure)
                ours, part = (counterpart.ours if counterpart else None), (recomputed_on or {}).get(name, name)  # type: ignore[assignment] # or nobody
            row[head, "recomputed"] = cell(name, part, ours, metric)
        rows.append(row)
    return without_empty(rows)


def without_empty(rows: list[dict[Any, Any]]) -> list[dict[Any, Any]]:
    """The rows less those that hold a name only, and less the columns in which none has a value."""
    rows = [row for row in rows if sum(cell is not None for cell in row.values()) > 1]
    kept = [column for column in rows[0] if any(row[column] is not None for row in rows)] if rows else []
    return [{column: row[column] for column in kept} for row in rows]
