"""Judges on the same items: contests between them, how far apart they are, and whether that could be chance."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
import pandas as pd

from judgekit import stats
from judgekit.data.benchmarks import outputs
from judgekit.data.catalogue import load_set, set_hashes
from judgekit.judges import Judge
from judgekit.judges.names import slug, unique_slugs
from judgekit.records import ORDERS, PreferencePair, Verdict
from judgekit.scoring.items import credits_of, item_table
from judgekit.scoring.protocols import Pairs, Rule, Verdicts, majority_class, protocol_of
from judgekit.scoring.running import run_judge
from judgekit.scoring.scores import N_BOOT, score
from judgekit.scoring.store import VerdictStore, shared_store
from judgekit.scoring.tables import load_judges
from judgekit.stats import Number


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference between two judges on one set under one protocol."""

    judge_a: str
    judge_b: str
    difference: Number  # score of the first less that of the second; n items (or votes) that both are scored on
    p_value: float  # two-sided, from the same resamples of prompts as the interval: the test to quote
    p_holm: float  # adjusted over the comparisons made together
    only_a: int  # items on which one judge earns more than the other
    only_b: int
    mcnemar_p: float  # exact, on these two counts: takes items as independent, so too small where they share prompts
    detectable: float | None  # smallest difference shown with 80 % power at the 5 % level; None with a single prompt


def compare(
    verdicts_a: Verdicts,
    verdicts_b: Verdicts,
    pairs: Pairs,
    benchmark: str,
    protocol: Rule = None,
    n_boot: int = N_BOOT,
    seed: int = 0,
) -> Comparison:
    """Paired comparison of two judges on the same pairs (`pairs_judged_by` gives those), as `compare_all`."""
    (one,) = compare_all({"a": verdicts_a, "b": verdicts_b}, pairs, benchmark, protocol, n_boot, seed)
    return replace(one, judge_a=verdicts_a[0].judge, judge_b=verdicts_b[0].judge)


def compare_all(
    judges: Mapping[str, Verdicts],
    pairs: Pairs,
    benchmark: str,
    protocol: Rule = None,
    n_boot: int = N_BOOT,
    seed: int = 0,
) -> list[Comparison]:
    """Every two of several judges (name to verdicts) on a set, on one draw of prompts, with Holm's adjustment.

    In the order of ``itertools.combinations`` of the names; the items of each are those both judges keep. ValueError
    where a judge lacks verdicts, or, under a rule that reads both orders, one was shown both and another one.
    """
    from statsmodels.stats.contingency_tables import mcnemar  # of the extra "studies"

    protocol = protocol_of(benchmark, protocol)
    tables = {name: item_table(verdicts, pairs, protocol) for name, verdicts in judges.items()}
    if any(table.empty for table in tables.values()):
        raise ValueError(f"{benchmark}: no item has a reference label")
    # A judge with one order under the rule ``joined`` has joined its orders already, which compares like with like.
    if len(protocol.orders) == 2 and protocol.rule != "joined" and pd.concat(tables)["has_ba"].nunique() == 2:
        raise ValueError(f"{benchmark}: some verdicts are of both orders and some of one order only")
    earned = {name: credits_of(table, protocol) for name, table in tables.items()}
    kept = {name: table["kept"].to_numpy(float) for name, table in tables.items()}
    names = list(combinations(judges, 2))
    both = np.stack([kept[a] * kept[b] for a, b in names], 1)
    gaps = np.stack([earned[a] - earned[b] for a, b in names], 1) * both
    if not both.sum(0).all():
        raise ValueError(f"{benchmark}: two judges have no item in common under '{protocol.name}'")
    sums = stats.cluster_sums(np.stack([gaps, both], 2), tables[names[0][0]]["cluster"].tolist())
    drawn = stats.resampled_sums(sums, n_boot, seed)
    seen = sums[..., 1] > 0  # a prompt all of whose items are dropped is none of a comparison
    gains = [stats.share_of(drawn[drawn[:, k, 1] > 0, k]) for k in range(len(names))]
    p_values = [stats.two_sided_p(gain, n) for gain, n in zip(gains, seen.sum(0), strict=True)]
    comparisons = []
    for k, adjusted in enumerate(stats.holm(p_values)):
        ends = stats.cluster_bootstrap(sums[:, k], stats.share_of, drawn=drawn[:, k], signed=True)
        difference = Number(*ends, n=int(both[:, k].sum()), spec=".1%")
        only = int((gaps[:, k] > 0).sum()), int((gaps[:, k] < 0).sum())
        exact = float(mcnemar([[0, only[0]], [only[1], 0]], exact=True).pvalue)
        detectable = stats.detectable_difference(sums[seen[:, k], k]) if seen[:, k].sum() > 1 else None
        comparisons.append(Comparison(*names[k], difference, p_values[k], float(adjusted), *only, exact, detectable))
    return comparisons


def pairs_judged_by(
    pairs: Iterable[PreferencePair], *verdict_lists: Iterable[Verdict], orders: Sequence[str] = ("ab",)
) -> list[PreferencePair]:
    """The pairs on which every list has a verdict in every one of the orders (parsed or not)."""
    judged = [{(verdict.item_id, verdict.order) for verdict in verdicts} for verdicts in verdict_lists]
    return [pair for pair in pairs if all((pair.item_id, order) in cells for cells in judged for order in orders)]


@dataclass(frozen=True)
class Contest:
    """One set, or a part of one, with the verdicts of everybody who judged all of it."""

    name: str  # a part has one of its own, e.g. ``mtbench_gpt4``
    benchmark: str  # the set whose protocols apply
    pairs: list[PreferencePair]
    verdicts: dict[str, list[Verdict]] = field(default_factory=dict)  # by slug


def hold_contest(name: str, pairs: list[PreferencePair], judges: Mapping[str, Judge], store: VerdictStore) -> Contest:
    """Have judges (by slug) judge a set, in the orders each of them has; what the store holds is not asked again.

    ValueError where a judge failed on an item or never judged it, which would count as wrong (but `restricted`).
    """
    orders = {own: getattr(judge, "orders", ORDERS) for own, judge in judges.items()}
    verdicts = {own: run_judge(judges[own], pairs, store, orders[own], progress=False) for own in judges}
    for own, given in verdicts.items():
        if lacking := sum(verdict.status == "error" for verdict in given):
            raise ValueError(f"{name}: {own} has no verdict in {lacking} of {len(given)} cases")
    return Contest(name, name, pairs, verdicts)


def restricted(contest: Contest, name: str, verdicts: Mapping[str, list[Verdict]]) -> Contest:
    """The contest on those of its items that further judges, by slug, have verdicts on, with these judges added."""
    pairs = pairs_judged_by(contest.pairs, *verdicts.values())
    covered = {pair.item_id for pair in pairs}
    everybody = {**contest.verdicts, **verdicts}
    kept = {judge: [one for one in given if one.item_id in covered] for judge, given in everybody.items()}
    return replace(contest, name=name, pairs=pairs, verdicts=kept)


def contests_of(
    judges: Mapping[str, Sequence[str]],
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
    names = unique_slugs([*(judge for chosen in judges.values() for judge in chosen), *covering], slugs)
    loaded = load_judges([name for name in names if name not in covering], run, names)
    contests = {}
    with shared_store() as store:
        for name, chosen in judges.items():
            whole, *models = parts.get(name, [name])
            own = {names[judge]: loaded[names[judge]] for judge in chosen}
            contest = hold_contest(whole, load_set(whole), own, store)
            part = {names[f"replay/{model}"]: outputs.published_verdicts(model) for model in models}
            contests[name] = restricted(contest, name, part) if part else contest
    return contests


def sources_of(sets: Iterable[str], judges: Iterable[str]) -> dict[str, str]:
    """File to SHA-256 for all that some sets and the published verdicts of some judges are read from."""
    replayed = [judge.removeprefix("replay/") for judge in judges if judge.startswith("replay/")]
    hashes = [outputs.published_hashes(model) for model in replayed if model in outputs.PUBLISHED]
    return {file: sha256 for one in [set_hashes(sets), *hashes] for file, sha256 in one.items()}


def with_constant(contest: Contest) -> Contest:
    """The contest with ``majority_class``, which gives the most frequent label of these pairs: parts have their own."""
    label = majority_class(contest.pairs, protocol_of(contest.benchmark))
    name = "baseline/majority_class"
    verdicts = [Verdict(pair.item_id, name, order, label) for pair in contest.pairs for order in ORDERS]
    return replace(contest, verdicts=contest.verdicts | {slug(name): verdicts})


def contest_scores(contest: Contest, protocol: Rule = None, n_boot: int = N_BOOT, seed: int = 0) -> pd.DataFrame:
    """Every metric of everybody: columns set, judge (slug), metric, number (a `Number`), protocol (its words)."""
    protocol = protocol_of(contest.benchmark, protocol)
    rows = []
    for judge, verdicts in contest.verdicts.items():
        scores = score(verdicts, contest.pairs, contest.benchmark, protocol, n_boot, seed)
        rows += [(contest.name, judge, metric, number, protocol.name) for metric, number in scores.items()]
    return pd.DataFrame(rows, columns=["set", "judge", "metric", "number", "protocol"])
