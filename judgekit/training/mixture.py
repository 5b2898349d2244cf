"""What the encoder judge's recipe owes to each of its parts: one factor at a time, several seeds, validation only."""

import json
import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from judgekit.gate import GATE_FEATURES
from judgekit.intervals import cluster_sums, percentile_interval, resampled_sums
from judgekit.results import Number
from judgekit.training.bank import Embedder, misleading_pairs, share_of
from judgekit.training.features import feature_table, fit_features
from judgekit.training.files import write_json
from judgekit.training.gate import OPEN, fit_gate, gate_table
from judgekit.training.recipe import RelevanceRecipe
from judgekit.training.relevance import load_encoder, train_relevance
from judgekit.training.targets import source_weights, sources_with_ties

# Factor -> level -> what differs from the base. Names of `RelevanceRecipe` fields, or of `Level` fields.
FACTORS = {
    "gate_strength": {"open": {"share": 0.0}, "0_02": {"share": 0.02}, "0_25": {"share": 0.25}},
    "gate_inputs": {"cosines_only": {"inputs": GATE_FEATURES[:2]}},
    "sources": {"alpaca_eval_only": {"sources": ("alpaca_eval",)}, "human_only": {"label_kinds": ("human",)}},
    "pairs": {"tenth": {"pairs_share": 0.1}, "third": {"pairs_share": 1 / 3}},
    "ties": {"none": {"ties": False}},
    "penalty": {"weak": {"l2": 0.001}, "strong": {"l2": 0.1}},
    "reading_length": {"64": {"reads": 64}},
    "rank": {"frozen": {"r": 0}, "4": {"r": 4}, "64": {"r": 64}, "full": {"r": -1, "lr": 5e-5}},
    "layers": {"1": {"layers": 1}, "6": {"layers": 6}},
    "negatives": {"random": {"group": 1}, "groups_of_8": {"group": 8}},
    "loss": {"questions_only": {"loss": "questions"}},
    "questions": {"tenth": {"questions_share": 0.1}, "third": {"questions_share": 1 / 3}},
    "answers": {"pairs_only": {"answers": False}},
    "cut": {"none": {"cut_share": 0.0}},
}
BASE = "base"


@dataclass(frozen=True)
class Level:
    """A complete setting: the recipe, and what the preference part and the gate are fitted on.

    Attributes
    ----------
    recipe : RelevanceRecipe
    share : float
        Of misleading pairs, for the gate; 0 leaves it open.
    inputs : tuple of str
        What the gate sees.
    sources, label_kinds : tuple of str or None
        Corpora, or kinds of label, that the preference part learns from (None: all).
    pairs_share, questions_share : float
        Share of the prompts that the preference part, and of the questions that the encoder learns from.
    ties : bool
        Whether pairs labelled as ties are learnt from.
    answers : bool
        Whether questions of single responses are learnt from, too.
    l2 : float
        Penalty of the preference part.
    reads : int or None
        Tokens that the finished judge reads of a response, where not what the recipe says; training does not see it.
    """

    recipe: RelevanceRecipe
    share: float = 0.1
    inputs: tuple = GATE_FEATURES
    sources: tuple | None = None
    label_kinds: tuple | None = None
    pairs_share: float = 1.0
    questions_share: float = 1.0
    ties: bool = True
    answers: bool = True
    l2: float = 0.01
    reads: int | None = None

    @property
    def encoder(self):
        """What decides the encoder: settings that agree in it share one training."""
        return self.recipe, self.questions_share, self.answers

    def changed(self, **changes):
        """Another level, with fields of the recipe or of the level replaced."""
        own = {name: value for name, value in changes.items() if name in self.__dataclass_fields__}
        recipe = {name: value for name, value in changes.items() if name not in own}
        return replace(self, recipe=replace(self.recipe, **recipe), **own)


@dataclass(frozen=True)
class Material:
    """The data of a study.

    Attributes
    ----------
    train : list of PreferencePair
    shares : dict of str to float
    validation : dict of str to list of PreferencePair
    bank : AnswerBank
    parts : dict of str to array of int
        Of the bank's questions, as `judgekit.training.encoder.bank_of` gives them.
    """

    train: list
    shares: dict
    validation: dict
    bank: object
    parts: dict

    @cached_property
    def features(self):
        """Surface features of the training pairs."""
        return feature_table(self.train)


def levels_of(base, factors):
    """The settings of a study: (factor, level) to `Level`, the base first.

    Raises
    ------
    KeyError
        If there is no such factor; the message lists those there are.
    """
    found = {(BASE, BASE): base}
    for factor in factors:
        if factor not in FACTORS:
            raise KeyError(f"no factor {factor!r}; there are {', '.join(FACTORS)}")
        found |= {(factor, name): base.changed(**changes) for name, changes in FACTORS[factor].items()}
    return found


def learnt_from(level, material):
    """Indices of the training pairs that a level's preference part learns from."""
    return [
        i
        for i, pair in enumerate(material.train)
        if (level.sources is None or pair.benchmark in level.sources)
        and (level.label_kinds is None or pair.label_kind in level.label_kinds)
        and (level.ties or pair.label != "tie")
        and share_of(pair.asked, "pairs") < level.pairs_share
    ]


def questions_of(level, material):
    """Indices of the bank's questions that a level's encoder learns from."""
    of_pairs = {pair.asked for pair in material.train}
    bank = material.bank
    chosen = [
        i
        for i in material.parts["train"]
        if (level.answers or bank.questions[i] in of_pairs)
        and share_of(bank.questions[i], "questions") < level.questions_share
    ]
    return np.array(chosen, int)


def run_level(level, material, folder, embedder=None, n_misleading=200):
    """Train one setting and judge the validation sets with it.

    Parameters
    ----------
    level : Level
        Its recipe holds the seed.
    material : Material
    folder : path
        Where the encoder goes; one that is there is not trained again.
    embedder : Embedder, optional
        With the folder's encoder, where it was used before.
    n_misleading : int
        Questions from which misleading pairs are built, in the calibration and in the validation part.

    Returns
    -------
    dict
        ``hits``: set to list of 0 and 1 (in the order of the pairs, ``misleading`` last); ``clusters``: set to prompts;
        ``seconds``: of training; and ``embedder``.
    """
    recipe, bank, parts = level.recipe, material.bank, material.parts
    chosen = learnt_from(level, material)
    weight = source_weights([material.train[i] for i in chosen], material.shares)
    looks = material.features.of(chosen)
    started = time.perf_counter()
    quality = fit_features(looks, weight=weight, l2=level.l2)
    seconds = time.perf_counter() - started
    if recipe.r:
        training = train_relevance(
            recipe, bank, questions_of(level, material), parts["validation"], folder, progress=False
        )
        seconds += training["seconds"]
    embedder = embedder or Embedder(load_encoder(recipe, folder), recipe.bf16)
    reading = replace(recipe, max_response_tokens=level.reads or recipe.max_response_tokens)
    held_out = [pair for pairs in material.validation.values() for pair in pairs]
    tied = sources_with_ties(material.train) | sources_with_ties(held_out)

    def table(pairs):
        return gate_table(pairs, quality, embedder, reading, tied)

    def misleading(part, seed):
        usable = np.random.default_rng(0).permutation(parts[part])[:n_misleading]
        return table(misleading_pairs(bank, np.sort(usable), np.random.default_rng(seed)))

    gate = OPEN
    if level.share:
        calibration = {bank.questions[i] for i in parts["calibration"]}
        natural = [pair for pair in material.train if pair.asked in calibration]
        natural = sorted(natural, key=lambda pair: share_of(pair.item_id, "natural"))[:n_misleading]
        weight = source_weights(natural, material.shares)
        gate = fit_gate(
            table(natural), misleading("calibration", [recipe.seed, 1]), level.share, weight, inputs=level.inputs
        )
    tables = {name: table(pairs) for name, pairs in material.validation.items()}
    tables["misleading"] = misleading("validation", 2)
    hits = {name: one.hits(gate).astype(int).tolist() for name, one in tables.items()}
    clusters = {name: one.clusters for name, one in tables.items()}
    return {"hits": hits, "clusters": clusters, "seconds": seconds, "embedder": embedder}


def run_study(levels, material, seeds, folder, progress=None):
    """Run every setting with every seed; a finished run is read back, so an interrupted study goes on.

    Parameters
    ----------
    levels : dict of (str, str) to Level
        As `levels_of` gives it.
    material : Material
    seeds : list of int
    folder : path
        Holds one JSON file per run and one folder per trained encoder.
    progress : callable, optional
        Wraps the list of runs, e.g. a progress bar.

    Returns
    -------
    dict of (str, str, int) to dict
        (factor, level, seed) to what `run_level` gives.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    runs = [(factor, name, seed) for seed in seeds for factor, name in levels]
    found, last, embedder = {}, None, None
    for factor, name, seed in progress(runs) if progress else runs:
        level = levels[factor, name].changed(seed=seed)
        stem = f"{factor}-{name}-{seed}"
        path = folder / f"{stem}.json"
        identity = json.loads(json.dumps([repr(level), material_key(material)]))
        if path.is_file():
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["identity"] == identity:
                found[factor, name, seed] = kept
                continue
        shared = level.encoder == levels[BASE, BASE].changed(seed=seed).encoder
        where = folder / (f"{BASE}-{seed}" if shared else stem)
        result = run_level(level, material, where, embedder if where == last else None)
        last, embedder = where, result.pop("embedder")
        write_json(path, {"identity": identity, **result})
        found[factor, name, seed] = result
    return found


def material_key(material):
    """What identifies the data of a study: sizes and a hash of its questions."""
    sizes = {name: len(pairs) for name, pairs in material.validation.items()}
    parts = {name: [len(part), int(part.sum())] for name, part in material.parts.items()}
    return {"train": len(material.train), "shares": material.shares, "validation": sizes, "parts": parts}


def study_table(found, n_boot=2000, seed=0):
    """Scores of every setting, and its difference from the base on the same pairs.

    Parameters
    ----------
    found : dict of (str, str, int) to dict
        Of `run_study`.
    n_boot, seed : int

    Returns
    -------
    pandas.DataFrame
        One row per factor, level and set (``ordinary``: the mean over the ordinary sets; ``misleading``: the
        misleading pairs). Columns factor, level, set, mean and sd over seeds, difference (a `Number`: hits averaged
        over seeds, prompts resampled), seconds (mean).
    """
    import pandas as pd

    rows = []
    seeds = sorted({number for *_, number in found})
    first = next(iter(found.values()))
    ordinary = [name for name in first["hits"] if name != "misleading"]
    averaged = {}
    for factor, level in dict.fromkeys(key[:2] for key in found):
        runs = [found[factor, level, number] for number in seeds]
        hits = {name: np.array([run["hits"][name] for run in runs], float) for name in first["hits"]}
        averaged[factor, level] = {name: values.mean(0) for name, values in hits.items()}
        scores = {name: values.mean(1) for name, values in hits.items()}
        scores["ordinary"] = np.mean([scores[name] for name in ordinary], axis=0)
        cost = float(np.mean([run["seconds"] for run in runs]))
        for name, values in scores.items():
            parts = ordinary if name == "ordinary" else [name]
            gap = difference(averaged[factor, level], averaged[BASE, BASE], parts, first["clusters"], n_boot, seed)
            sd = float(values.std(ddof=1)) if len(values) > 1 else 0.0
            rows.append((factor, level, name, float(values.mean()), sd, gap, cost))
    return pd.DataFrame(rows, columns=["factor", "level", "set", "mean", "sd", "difference", "seconds"])


def difference(hits, base, sets, clusters, n_boot, seed):
    """Mean over sets of the difference of two settings' accuracies, with an interval (prompts resampled per set)."""
    values, spreads = [], []
    for name in sets:
        gap = hits[name] - base[name]
        sums = cluster_sums(np.column_stack([gap, np.ones(len(gap))]), clusters[name])
        drawn = resampled_sums(sums, n_boot, seed)
        values.append(gap.mean())
        spreads.append(drawn[:, 0] / drawn[:, 1])
    low, high = percentile_interval(np.mean(spreads, axis=0))
    return Number(float(np.mean(values)), low, high, n=sum(len(hits[name]) for name in sets), spec="+.1%")
