"""What is too long for `11_audit_benchmarks`: findings, their effects over prompts, cues that tell labels, near texts.

`tests/test_planted_audit.py` counts how often the intervals hold planted truths.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from judgekit.data.cleaning.texts import N_PERMUTATIONS, minhash, normalise, similarity
from judgekit.records import LABELS, PreferencePair
from judgekit.scoring.comparison import Contest
from judgekit.scoring.items import credits_of, item_table
from judgekit.scoring.protocols import protocol_of
from judgekit.stats import Array, Floats, Number, Statistic, cluster_sums, interval, prompt_folds, share_of, widening

N_BOOT = 2000
LOOKS = 100  # cues times sets, about
KINDS = {
    "text": "texts",
    "repeat": "repeats",
    "contradiction": "contradictions",
    "overlap": "overlap",
    "artefact": "artefacts",
    "people": "disagreement",
    "label": "label errors",
    "clustering": "clustering",
    "code": "evaluation code",
}
# Replaced and control characters, and UTF-8 read as Latin-1 or Windows-1252: "â€™" for an apostrophe.
DAMAGED = "\ufffd|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|â€[™œ\x9d\x9c\x99“”˜¦]|Ã[©¨¢¤¶¼±³¡ª]|Â[ °£§»«]"
REPAIRED = {  # what a loader counts while it repairs
    "boolean_responses": "responses stored as true or false",
    "missing_responses": "votes on a response that is missing",
    "empty_turns": "votes on a conversation with an empty turn",
    "skipped_identical": "identical responses, skipped on loading",
    "skipped_no_preference": "pairs without a preference",
    "annotator_not_of_folder": "annotator is not that of the folder",
    "no_majority": "items without a majority",
}
MAX_ROWS, MIN_ROWS = 6000, 60  # labels that a fit reads at most (whole prompts are drawn from longer sets) and at least
MAX_NAMES = 80  # names (of models, annotators, parts) beyond which a name tells little but itself
CUES = {
    "length": "lengths of the responses",
    "models": "names of the models",
    "annotator": "who voted",
    "part": "part of the set",
    "all": "all of these",
}
Finding = dict[str, Any]


def finding(
    name: str,
    kind: str,
    finding: str,
    what: str,
    count: int,
    n: int,
    effect: Number | None = None,
    effect_on: str = "",
    examples: Sequence[str] = (),
) -> Finding:
    """A row on one thing that is odd about a set: how many of how many, its effect if any, ids of all items.

    ValueError where the kind is none of `KINDS`, or the count is not within n.
    """
    if kind not in KINDS or not 0 <= count <= n:
        raise ValueError(f"{name}: {finding} of kind {kind!r} has {count} of {n}")
    row = {"set": name, "kind": KINDS[kind], "finding": finding, "what": what, "count": int(count), "n": int(n)}
    return row | {"share": count / n, "effect": effect, "effect_on": effect_on, "examples": tuple(examples)}


def finding_frame(findings: Sequence[Finding]) -> pd.DataFrame:
    """All findings, by kind; ValueError where two of a set share a name."""
    table = pd.DataFrame(findings)
    if table.duplicated(["set", "finding"]).any():
        raise ValueError(f"found twice: {table[table.duplicated(['set', 'finding'])].iloc[0].to_dict()}")
    order = list(KINDS.values())
    return table.sort_values("kind", key=lambda kinds: kinds.map(order.index), kind="stable").reset_index(drop=True)


# ---------------------------------------------------------------- effects


def earned(contest: Contest, judge: str, protocol: str | None = None) -> tuple[pd.DataFrame, Floats]:
    """A judge's items under a protocol (the set's primary one by default), and what each adds to its score."""
    rules = protocol_of(contest.benchmark, protocol)
    table = item_table(contest.verdicts[judge], contest.pairs, rules)
    return table, credits_of(table, rules)


def over_prompts(
    statistic: Statistic,
    clusters: Array,
    values: Array,
    n: int | None = None,
    spec: str = ".1%",
    n_boot: int = N_BOOT,
    seed: int = 0,
    least: float = -1,
) -> Number:
    """`judgekit.stats.interval`, stretched for few prompts by `widening`, within [least, 1]."""
    found, k = interval(statistic, clusters, values, n=n, spec=spec, n_boot=n_boot, seed=seed), len(set(clusters))
    if k < 3:
        return found
    low, high = (found.value + widening(k) * (end - found.value) for end in (found.low, found.high))
    return replace(found, low=max(low, least), high=min(high, 1.0))


def is_clear(effect: Number, looks: int = LOOKS) -> bool:
    """Whether an effect is clear of zero though it is one of many that were looked at (Bonferroni, 5 % together).

    >>> is_clear(Number(0.1, 0.06, 0.14)), is_clear(Number(0.05, 0.01, 0.09))
    (True, False)
    """
    error = (effect.high - effect.low) / (2 * ndtri(0.975))
    return bool(abs(effect.value) > ndtri(1 - 0.025 / looks) * error)


def share(hits: Array, clusters: Array, n_boot: int = N_BOOT, seed: int = 0) -> Number:
    """Share of items that something holds for."""
    return over_prompts(share_of, clusters, np.asarray(hits, float), n_boot=n_boot, seed=seed, least=0)


def share_gap(sums: Floats) -> Floats:
    """First column over second, less third over fourth."""
    return share_of(sums[..., :2]) - share_of(sums[..., 2:])


def difference(
    first: Array,
    among_first: Array,
    second: Array,
    among_second: Array,
    clusters: Array,
    n_boot: int = N_BOOT,
    seed: int = 0,
) -> Number:
    """Mean of one quantity among some items less that of another among others, on the same draws of prompts.

    All of shape (n_items,), ``among_...`` bool; ``n`` counts the first. ValueError where either group is empty.
    """
    first, second, one, other = (np.asarray(x, float) for x in (first, second, among_first, among_second))
    if not one.any() or not other.any():
        raise ValueError("no item to compare")
    values = np.column_stack([first * one, one, second * other, other])
    return over_prompts(share_gap, clusters, values, int(one.sum()), "+.1%", n_boot, seed)


def design_effect(credit: Array, clusters: Array) -> Number:
    """Width of an interval over prompts over that of one over items: 1 where items of a prompt have nothing in common.

    The square root of the design effect of Kish (1965), *Survey Sampling*: the sum over prompts of squared sums of
    deviations, over the sum of squared deviations. Its interval is the jackknife's over prompts, on logarithms: a few
    large prompts make percentiles of a bootstrap too narrow. ValueError where all credits are equal.
    """
    credit = np.asarray(credit, float)
    sums = cluster_sums(np.column_stack([credit, np.ones(len(credit)), credit**2]), clusters)
    if np.ptp(credit) == 0 or len(sums) < 3:
        raise ValueError("all items earn the same, or there are fewer than three prompts: no spread to compare")
    own = np.column_stack([sums, sums[:, 0] ** 2, sums[:, 0] * sums[:, 1], sums[:, 1] ** 2])

    def logarithm(total: Floats) -> Any:
        earned, n, squares, between, cross, sizes = total.T
        mean = earned / n
        return 0.5 * np.log((between - 2 * mean * cross + mean**2 * sizes) / (squares - n * mean**2))

    value, left_out, k = logarithm(own.sum(0)), logarithm(own.sum(0) - own), len(own)
    error = np.sqrt((k - 1) / k * ((left_out - left_out.mean()) ** 2).sum())
    width, low, high = np.exp([value, value - 1.96 * error, value + 1.96 * error]).tolist()
    return Number(width, low, high, n=len(credit), spec=".2f")


# ---------------------------------------------------------------- labels that can be told without reading


def cues_of(rows: Sequence[tuple[PreferencePair, str, str]]) -> dict[str, Floats]:
    """What is known of each label (pair, label, annotator) without reading: by cue, arrays (n_rows, n_columns).

    ``length``: the log ratio of characters, its sign and size, and the log length of the shorter; ``models``: who wrote
    A less who wrote B, and who wrote either; ``annotator`` and ``part``: which of them. A cue that a set lacks is left
    out.
    """
    sides = np.log1p([[len(text.strip()) for text in pair.responses] for pair, *_ in rows])
    gap = sides[:, 0] - sides[:, 1]
    cues = {"length": np.column_stack([gap, np.sign(gap), np.abs(gap), gap == 0, sides.min(1)])}
    models: list[list[Any]] = [[pair.model_a for pair, *_ in rows], [pair.model_b for pair, *_ in rows]]
    names = sorted({name for side in models for name in side if name})
    if 1 < len(names) <= MAX_NAMES and all(map(all, models)):
        wrote = [pd.get_dummies(pd.Categorical(side, names)).to_numpy(float) for side in models]
        cues["models"] = np.hstack([wrote[0] - wrote[1], wrote[0] + wrote[1]])
    for name, values in (("annotator", [row[2] for row in rows]), ("part", [pair.subset for pair, *_ in rows])):
        if 1 < len(set(values)) <= MAX_NAMES:
            cues[name] = pd.get_dummies(np.array(values, object)).to_numpy(float)
    return cues | ({"all": np.hstack(list(cues.values()))} if len(cues) > 1 else {})


def cross_fitted(cues: Array, codes: Array, clusters: Array, n_folds: int = 5, seed: int = 0) -> Array:
    """Labels that a logistic regression on other prompts predicts."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import PredefinedSplit, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    return cross_val_predict(model, cues, codes, cv=PredefinedSplit(prompt_folds(clusters, n_folds, seed)))


def gain_over_majority(predicted: Array, codes: Array, clusters: Array, n_boot: int = N_BOOT, seed: int = 0) -> Number:
    """Share predicted rightly less that of the most frequent label of these very rows, which favours the latter."""
    gain = (predicted == codes) * 1.0 - (codes == np.bincount(codes).argmax())
    return over_prompts(share_of, clusters, gain, spec="+.1%", n_boot=n_boot, seed=seed)


def artefacts(pairs: Sequence[PreferencePair], n_folds: int = 5, n_boot: int = N_BOOT, seed: int = 0) -> list[Finding]:
    """Cues that tell labels, and a side that is preferred: what is clear of chance for all that is looked at."""
    rows = [(pair, label, who.split("#")[0]) for pair in pairs for who, label in pair.votes.items()]
    rows = rows or [(pair, pair.label, "") for pair in pairs if pair.label is not None]
    if len(rows) > MAX_ROWS:
        prompts = sorted({pair.cluster for pair, *_ in rows})
        order = {prompt: rank for rank, prompt in enumerate(np.random.default_rng(seed).permutation(prompts))}
        rows = sorted(rows, key=lambda row: order[row[0].cluster])[:MAX_ROWS]
    codes, clusters = np.array([LABELS.index(row[1]) for row in rows]), [row[0].cluster for row in rows]
    found: list[Finding] = []
    if len(rows) < MIN_ROWS or len(set(clusters)) < 2 * n_folds:
        return found
    folds = prompt_folds(clusters, n_folds, seed)
    several = all(len(np.unique(codes[folds != fold])) > 1 for fold in range(n_folds))
    for cue, values in cues_of(rows).items() if several else ():
        predicted = cross_fitted(values, codes, clusters, n_folds, seed)
        gain = gain_over_majority(predicted, codes, clusters, n_boot, seed)
        if gain.value > 0 and is_clear(gain):
            told = (f"told_by_{cue}", f"label told by {CUES[cue]}", int((predicted == codes).sum()), len(rows))
            found.append(finding(pairs[0].benchmark, "artefact", *told, gain, "over the majority label"))
    decided = [pair for pair in pairs if pair.label in ("A", "B")]
    if len(decided) >= MIN_ROWS:
        first = [pair.label == "A" for pair in decided]
        rate = share(first, [pair.cluster for pair in decided], n_boot, seed)
        effect = Number(rate.value - 0.5, rate.low - 0.5, rate.high - 0.5, n=rate.n, spec="+.1%")
        if is_clear(effect):
            one = ("side", "one side is preferred more often", sum(first), len(first), effect, "A, over a half")
            found.append(finding(pairs[0].benchmark, "artefact", *one))
    return found


# ---------------------------------------------------------------- circles and near questions


def circles(pairs: Sequence[PreferencePair]) -> list[tuple[str, bool, list[str]]]:
    """Every three responses to one question that were all compared: cluster, whether the labels go round, item ids.

    Only threes without a tie. Responses are told apart by their models or texts, conversations by their length.
    """
    graphs: dict[tuple[str, str, int], dict[Any, tuple[str, str, str, str]]] = defaultdict(dict)
    for pair in pairs:
        first, second = pair.model_a or pair.response_a, pair.model_b or pair.response_b
        if pair.label in ("A", "B") and pair.response_a != pair.response_b and first != second:
            graph = graphs[pair.cluster, pair.question, len(pair.turns)]
            graph.setdefault(frozenset((first, second)), (first, second, pair.label, pair.item_id))
    found = []
    for (cluster, *_), graph in graphs.items():
        for three in combinations(sorted({name for edge in graph for name in edge}), 3):
            edges: list[Any] = [graph.get(frozenset(two)) for two in combinations(three, 2)]
            if None not in edges:
                winners = {first if label == "A" else second for first, second, label, _ in edges}
                found.append((cluster, len(winners) == 3, [edge[3] for edge in edges]))
    return found


def question_form(text: str) -> str:
    """What "the same question" means: words alone, without the mark "Input:" in which sets differ."""
    return " ".join(word for word in normalise(text).split() if word != "input")


def near_texts(texts: Sequence[str], min_jaccard: float = 0.7, min_words: int = 5) -> dict[str, list[str]]:
    """For each text that has any the others that nearly equal it, by the share of common 3-word shingles.

    MinHash (Broder 1997) proposes. ``texts``: normalised, each once; shorter ones are the same by chance.
    """
    from datasketch import MinHashLSH

    index, found = MinHashLSH(threshold=min_jaccard, num_perm=N_PERMUTATIONS), defaultdict(list)
    for text in texts:
        if len(text.split()) < min_words:
            continue
        signature = minhash(text)
        for other in index.query(signature):
            if similarity(text, other) >= min_jaccard:
                found[text].append(other)
                found[other].append(text)
        index.insert(text, signature, check_duplication=False)
    return dict(found)
