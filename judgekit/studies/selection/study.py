"""Does filtered training data beat a random sample of the same size? Students of every selection, seed by seed."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from judgekit.records import PreferencePair
from judgekit.stats import (
    Array,
    Floats,
    Number,
    cluster_sums,
    holm,
    percentile_interval,
    resampled_sums,
    two_sided_p,
)
from judgekit.studies.selection.keeping import drawn_like, keep
from judgekit.studies.selection.learners import LEARNERS, cross_fit
from judgekit.studies.selection.noise import flipped_rows
from judgekit.studies.selection.scores import of_label
from judgekit.studies.selection.threshold import choose_threshold
from judgekit.studies.selection.views import Views
from judgekit.training.bank import share_of
from judgekit.training.mixture import source_weights

TRUTH = "truth"  # the scorer that knows which labels were exchanged
ORDINARY, MISLEADING = "ordinary", "misleading"
COLUMNS = ["student", "scorer", "rule", "share", "table"]


@dataclass(frozen=True)
class Question:
    """What a study asks, and of what."""

    pool: object  # `Views` of the training pairs
    choosing: object  # `Views` of the validation pairs that thresholds are chosen on
    # By set, `Views` of the validation pairs that students are compared on; none of their prompts is in the others.
    comparing: dict
    mixture: dict  # share of each source of the pool in what a student learns from
    scorers: tuple  # names of `LEARNERS`, which are cross-fitted, and of ``fixed``
    # Scorers that learn nothing from the pool: views to the score of each label (`judgekit.studies.selection.by_judge`,
    # `judgekit.studies.selection.by_rater`).
    fixed: dict[str, Callable[[Views], Floats]] = field(default_factory=dict)
    shares: tuple[float, ...] = (0.5,)
    wrong_share: float = 0.2  # share of wrong labels that a threshold expects
    n_folds: int = 5

    def __post_init__(self) -> None:
        asked: dict[str, Any] = {"the pool": self.pool, "choosing": self.choosing, **self.comparing}
        prompts = {name: {*views.questions} for name, views in asked.items()}
        for name in self.comparing:
            for other in ("the pool", "choosing"):
                if shared := prompts[name] & prompts[other]:
                    raise ValueError(f"{name} shares {len(shared)} prompts with {other}")
        if shared := prompts["the pool"] & prompts["choosing"]:
            raise ValueError(f"{len(shared)} prompts of the pool are validation prompts, too")


def prompts_apart(
    held_out: Mapping[str, Sequence[PreferencePair]],
    corpora: Collection[str],
    wanted: Sequence[str],
    share: float = 0.4,
) -> tuple[list[PreferencePair], dict[str, list[PreferencePair]]]:
    """Validation pairs cut by prompt: those to choose a threshold on, and by set those to compare students on.

    ``corpora``: sets that the pool comes from: thresholds are chosen on pairs like those that are cut. Where none of
    them holds pairs out, thresholds are chosen on the wanted sets. ``wanted``: sets that students are compared on.
    ``share``: of the prompts of ``corpora``, for the threshold.
    """
    named = sorted(set(corpora) & set(held_out)) or list(wanted)
    own = [pair for name in named for pair in held_out.get(name, ())]
    choosing = [pair for pair in own if share_of(pair.asked, "threshold") < share]
    asked = {pair.asked for pair in choosing}
    return choosing, {name: [pair for pair in held_out.get(name, ()) if pair.asked not in asked] for name in wanted}


def label_scores(question: Any, pool: Views, seed: int) -> dict[str, tuple[Floats, ...]]:
    """Scores by scorer: of a pool's labels, and of the labels of ``choosing`` as they are and exchanged.

    ``pool``: that of the `Question`, or the same pairs with labels exchanged; ``seed``: of the folds.
    """
    weight, choosing, found = source_weights(pool.pairs, question.mixture), question.choosing, {}
    for name in question.scorers:
        if name in question.fixed:
            others = choosing.flipped(np.ones(len(choosing), bool))
            found[name] = tuple(question.fixed[name](views) for views in (pool, choosing, others))
        else:
            judge = cross_fit(LEARNERS[name], pool, weight, question.n_folds, seed)
            right = of_label(judge(choosing), choosing.prefers_a)
            found[name] = of_label(judge(pool), pool.prefers_a), right, 1 - right
    return found


def selections(
    question: Question,
    pool: Views,
    scores: Mapping[str, tuple[Floats, ...]],
    seed: int,
    flipped: Array | None = None,
) -> dict[tuple[str, str, float | None], tuple[Array, Array]]:
    """Every selection of a pool, each with a random one of the same size.

    (scorer, rule, share) to the places kept, and to those drawn at random; ``("all", "all", 1.0)`` is the whole pool.

    ``scores``: of `label_scores`; ``flipped``: labels known to be wrong: `TRUTH` is then a scorer, too, which shows
    what the best selection could do.
    """
    sources, random = pool.sources, {}

    def beside(kept: Array) -> tuple[Array, Array]:
        counts = tuple(sorted(Counter(sources[i] for i in kept).items()))
        if counts not in random:
            random[counts] = drawn_like(kept, sources, [seed, 1])
        return kept, random[counts]

    everything = np.arange(len(pool))
    found: dict[tuple[str, str, float | None], tuple[Array, Array]] = {("all", "all", 1.0): (everything, everything)}
    for name, (own, right, wrong) in scores.items():
        for share in question.shares:
            for rule in ("top", "bottom"):
                found[name, rule, share] = beside(keep(pool.pairs, own, rule, share, None, sources, seed).kept)
        cut = choose_threshold(right, wrong, question.wrong_share).cut
        found[name, "threshold", None] = beside(keep(pool.pairs, own, "threshold", threshold=cut).kept)
    if flipped is not None:
        for share in question.shares:
            found[TRUTH, "top", share] = beside(keep(pool.pairs, ~flipped, "top", share, None, sources, seed).kept)
    return found


def student_of(name: str) -> Callable[[Question, Views, int], dict[str, Floats]]:
    """A student that is one of `LEARNERS`: a function of (question, views kept, seed) that gives hits by set."""

    def student(question: Question, views: Views, seed: int) -> dict[str, Floats]:
        judge = LEARNERS[name](views, source_weights(views.pairs, question.mixture), seed)
        return {key: ((judge(seen) > 0.5) == seen.prefers_a) * 1.0 for key, seen in question.comparing.items()}

    return student


def run_selection(
    question: Any,
    students: Mapping[str, Callable[[Any, Views, int], dict[str, Floats]]],
    seeds: Iterable[int],
    flip_share: float = 0.0,
    wanted: Callable[[str, str, float | None], bool] | None = None,
    progress: Callable[[list[Any]], Iterable[Any]] | None = None,
) -> tuple[dict[tuple[str, str, str, float | None], list[Any]], dict[str, dict[str, Array]]]:
    """Hits of every student (`student_of`) trained on every selection of a `Question`, and what scorers say.

    Hits: (student, scorer, rule, share) to, for each seed, hits by set after the selection and after the random sample.
    Finds: scorer to ``scores`` and ``flipped``, shape (n_seeds, n_pairs), and ``kept``: shares kept by the threshold.

    ``seeds``: a seed decides the folds, the random samples, the labels exchanged and what the student draws.
    ``flip_share``: share of the pool's labels that are exchanged before anything looks at them.
    ``wanted``: says of a selection's scorer, rule and share whether students are trained on it; all by default.
    ``progress``: wraps the list of trainings.
    """
    plan, finds = (
        [],
        {name: {"scores": [], "flipped": [], "kept": []} for name in question.scorers},
    )  # type: list[Any], dict[str, dict[str, list[Any]]]
    for seed in seeds:
        flipped = flipped_rows(len(question.pool), flip_share, [seed, 2])
        pool = question.pool.flipped(flipped)
        scores = label_scores(question, pool, seed)
        chosen = selections(question, pool, scores, seed, flipped if flip_share else None)
        for name, (own, *_) in scores.items():
            kept = np.isin(np.arange(len(pool)), chosen[name, "threshold", None][0])
            for part, value in (("scores", own), ("flipped", flipped), ("kept", kept)):
                finds[name][part].append(value)
        for key, (kept, drawn) in chosen.items():
            if wanted is None or wanted(*key):
                plan += [(name, key, seed, pool, kept, drawn) for name in students]
    hits, known = {}, {}  # type: dict[Any, list[Any]], dict[Any, dict[str, Floats]]
    for name, key, seed, pool, kept, drawn in progress(plan) if progress else plan:
        both = []
        for rows in (kept, drawn):
            cell = name, seed, rows.tobytes()
            if cell not in known:
                known[cell] = students[name](question, pool.of(rows), seed)
            both.append(known[cell])
        hits.setdefault((name, *key), []).append(tuple(both))
    return hits, {name: {part: np.array(rows) for part, rows in found.items()} for name, found in finds.items()}


def seed_draws(n_seeds: int, n_boot: int, seed: int) -> Floats:
    """How often each seed is drawn in each resample, as a share: shape (n_boot, n_seeds)."""
    rng = np.random.default_rng([seed, n_seeds])
    return rng.multinomial(n_seeds, np.full(n_seeds, 1 / n_seeds), size=n_boot) / n_seeds


def mean_over(
    gaps: Mapping[str, Array], clusters: Mapping[str, Sequence[str]], n_boot: int = 10_000, seed: int = 0
) -> tuple[float, Floats]:
    """Mean of values per pair over seeds and sets, and the same with prompts and seeds resampled, shape (n_boot,).

    ``gaps``: by set, shape (n_seeds, n_pairs); sets count alike. ``clusters``: prompts of the sets' pairs.

    Prompts and seeds are crossed, so both are resampled (Owen 2007, Annals of Applied Statistics 1, "The pigeonhole
    bootstrap"), which errs on the wide side where the seeds are many, and on the narrow side where they are few.
    """
    values, spreads = [], []
    for name, gap in gaps.items():
        sums = cluster_sums(np.column_stack([gap.T, np.ones(gap.shape[1])]), clusters[name])
        drawn = resampled_sums(sums, n_boot, seed)
        weights = seed_draws(len(gap), n_boot, seed)
        values.append(gap.mean())
        spreads.append((drawn[:, :-1] * weights).sum(1) / drawn[:, -1])
    return float(np.mean(values)), np.mean(spreads, axis=0)


def comparison_table(
    hits: Mapping[tuple[str, str, str, float | None], Sequence[Any]],
    question: Question,
    ordinary: Sequence[str],
    family: Collection[str] = ("top", "threshold"),
    n_boot: int = 10_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Accuracy after each selection, and its difference from a random sample of the same size.

    Columns student, scorer, rule, share (NaN for thresholds), table, mean and random (`Number`: accuracy), and
    difference (`Number`; None for the whole pool), p_value, p_holm (NaN outside the family).

    ``hits``: of `run_selection`. ``ordinary``: sets of ordinary pairs, which count alike; each other set is a table of
    its own. ``family``: rules whose differences are tested, all together and per table: Holm's correction is over them.
    """
    clusters = {name: views.clusters for name, views in question.comparing.items()}
    tables = {ORDINARY: list(ordinary)} | {name: [name] for name in clusters if name not in ordinary}
    rows = []
    for (student, scorer, rule, share), runs in hits.items():
        for table, sets in tables.items():
            kept, drawn = ({name: np.array([run[side][name] for run in runs]) for name in sets} for side in (0, 1))
            told = {"mean": kept, "random": drawn, "difference": {name: kept[name] - drawn[name] for name in sets}}
            row = dict(zip(COLUMNS, (student, scorer, rule, share, table), strict=True))
            for part, values in told.items():
                value, spread = mean_over(values, clusters, n_boot, seed)
                spec = "+.1%" if part == "difference" else ".1%"
                n = sum(len(clusters[name]) for name in sets)
                row[part] = Number(value, *percentile_interval(spread), n=n, spec=spec)
            row["p_value"] = two_sided_p(spread) if rule in family and scorer != TRUTH else np.nan
            rows.append(row if scorer != "all" else row | {"difference": None, "random": None})
    found = pd.DataFrame(rows)
    found["p_holm"] = np.nan
    for table in tables:
        tested = (found["table"] == table) & found["p_value"].notna()
        if tested.any():
            found.loc[tested, "p_holm"] = holm(found.loc[tested, "p_value"])
    return found
