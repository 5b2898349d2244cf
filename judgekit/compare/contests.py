"""Contests: one set with the verdicts of everybody who judged all of it, and what is read off it."""

from dataclasses import dataclass, field, replace

import pandas as pd

from judgekit.intervals import holm
from judgekit.records import ORDERS, Verdict
from judgekit.results import Number, slug
from judgekit.scoring import (
    N_BOOT,
    compare,
    compare_all,
    majority_class,
    pairs_judged_by,
    protocol_of,
    run_judge,
    score,
)

COMPARED = ("judge_a", "judge_b", "difference", "p_value", "p_holm", "mcnemar_p", "detectable")


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
    mine = contest.verdicts[ours]
    found = [
        replace(compare(mine, said, contest.pairs, contest.benchmark, None, n_boot, seed), judge_a=ours, judge_b=judge)
        for judge, said in contest.verdicts.items()
        if judge != ours
    ]
    adjusted = holm([one.p_value for one in found])
    return difference_table(contest, [replace(one, p_holm=float(p)) for one, p in zip(found, adjusted, strict=True)])


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
    return difference_table(contest, compare_all(chosen, contest.pairs, contest.benchmark, None, n_boot, seed))


def difference_table(contest, found):
    """Comparisons as a table, a row each."""
    rows = [[contest.name, *(getattr(one, name) for name in COMPARED)] for one in found]
    return pd.DataFrame(rows, columns=["set", *COMPARED])
