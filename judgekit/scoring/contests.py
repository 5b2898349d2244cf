"""Contests between judges by name: what stored verdicts and judges of a run make of the sets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from judgekit.data.benchmarks import outputs
from judgekit.data.catalogue import load_set, set_hashes
from judgekit.data.paths import verdict_store_path
from judgekit.judges.names import slug, unique_slugs
from judgekit.records import ORDERS, Verdict
from judgekit.scoring.comparison import Contest, hold_contest, restricted
from judgekit.scoring.protocols import Protocol, majority_class, protocol_of
from judgekit.scoring.scores import N_BOOT, score
from judgekit.scoring.store import VerdictStore
from judgekit.scoring.tables import load_judges


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
    judges = load_judges([name for name in names if name not in covering], run, names)
    contests = {}
    with VerdictStore(verdict_store_path()) as store:
        for name, chosen in judged.items():
            whole, *models = parts.get(name, [name])
            own = {names[judge]: judges[names[judge]] for judge in chosen}
            contest = hold_contest(whole, load_set(whole), own, store)
            part = {names[f"replay/{model}"]: outputs.published_verdicts(model) for model in models}
            contests[name] = restricted(contest, name, part) if part else contest
    return contests


def sources_of(sets: Iterable[str], judges: Iterable[str]) -> dict[str, str]:
    """File to SHA-256 for all that some sets and the published verdicts of some judges are read from.

    Nothing of verdicts that a run tracks: the judge that gave them stands in the run's results by its fingerprint.
    """
    replayed = [judge.removeprefix("replay/") for judge in judges if judge.startswith("replay/")]
    hashes = [outputs.published_hashes(model) for model in replayed if model in outputs.PUBLISHED]
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
    """Every metric of everybody: columns set, judge (slug), metric, number (a `Number`), protocol (its words)."""
    protocol = protocol_of(contest.benchmark, protocol)
    rows = []
    for judge, verdicts in contest.verdicts.items():
        scores = score(verdicts, contest.pairs, contest.benchmark, protocol, n_boot, seed)
        rows += [(contest.name, judge, metric, number, protocol.name) for metric, number in scores.items()]
    return pd.DataFrame(rows, columns=["set", "judge", "metric", "number", "protocol"])
