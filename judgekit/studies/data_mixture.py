"""The cleaned data that trainings read; and what the encoder judge's recipe owes to each of its parts.

One factor at a time, several seeds, validation only.
"""

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judgekit.data.catalogue import load_answer_set_with_report, load_set, set_hashes
from judgekit.data.files import write_json
from judgekit.data.progress import progress_over
from judgekit.judges.encoder import GATE_FEATURES, OTHERS, RELEVANCE_INPUTS, WEIGHTS
from judgekit.models.files import seal
from judgekit.records import PreferencePair, Response, fingerprint_of
from judgekit.training.bank import Embedder, share_of
from judgekit.training.constructed import BROKEN, KINDS, OFF_TOPIC
from judgekit.training.encoder import VERSION, RelevanceRecipe, load_encoder, reader_of, save_encoder, train_relevance
from judgekit.training.features import fit_features
from judgekit.training.gate import ALWAYS_CLOSED, fit_gates
from judgekit.training.mixture import Material, base_key, pairs_key, select_split, source_weights

BASE = "base"
_OTHERS = 512  # questions that relevance is measured against
_CONSTRUCTED_PAIRS = 150  # for the gate: ordinary pairs, questions of misleading ones; in validation: questions a set
_CONSTRUCTED = {"misleading": OFF_TOPIC, "broken": BROKEN}  # set of constructed validation pairs -> its kinds


@dataclass(frozen=True)
class Level:
    """A complete setting: the recipe, and what the preference part and the gate are fitted on."""

    recipe: RelevanceRecipe
    share: float = 0.1  # of misleading pairs, for the gate; 0 leaves it closed
    inputs: tuple[str, ...] = RELEVANCE_INPUTS + GATE_FEATURES  # what relevance and the gate see
    off_topic: tuple[str, ...] = tuple(OFF_TOPIC)  # kinds of misleading pairs that the gate is fitted on
    broken: bool = True  # whether the preference part learns from broken responses
    sources: tuple[str, ...] | None = None  # corpora that the preference part learns from; None: all
    label_kinds: tuple[str, ...] | None = None  # likewise
    pairs_share: float = 1.0  # share of the prompts that the preference part learns from
    questions_share: float = 1.0  # share of the questions that the encoder learns from
    ties: bool = True  # whether pairs labelled as ties are learnt from
    answers: bool = True  # whether questions of single responses are learnt from, too
    l2: float = 0.01  # penalty of the preference part
    reads: int | None = None  # tokens that the finished judge, not training, reads of a response; None: the recipe's

    @property
    def encoder(self) -> tuple[RelevanceRecipe, float, bool]:
        """What decides the encoder: settings that agree in it share one training."""
        return self.recipe, self.questions_share, self.answers

    def changed(self, **changes: Any) -> "Level":
        """Another level, with fields of the recipe or of the level replaced."""
        own = {name: value for name, value in changes.items() if name in self.__dataclass_fields__}
        recipe = {name: value for name, value in changes.items() if name not in own}
        return replace(self, recipe=replace(self.recipe, **recipe), **own)

    def pairs_of(self, material: Material) -> list[int]:
        """Indices of the training pairs that the preference part learns from."""

        def wanted(pair: PreferencePair) -> bool:
            if pair.benchmark in KINDS:
                return self.broken
            return (
                (self.sources is None or pair.benchmark in self.sources)
                and (self.label_kinds is None or pair.label_kind in self.label_kinds)
                and (self.ties or pair.label != "tie")
                and share_of(pair.asked, "pairs") < self.pairs_share
            )

        return [i for i, pair in enumerate(material.train) if wanted(pair)]

    def questions_of(self, material: Material) -> np.ndarray:
        """Indices of the bank's questions that the encoder learns from."""
        of_pairs = {pair.asked for pair in material.train if pair.benchmark not in KINDS}
        questions = material.bank.questions
        allowed = [i for i in material.parts["train"] if self.answers or questions[i] in of_pairs]
        return np.array([i for i in allowed if share_of(questions[i], "questions") < self.questions_share], int)


Levels = dict[tuple[str, str], Level]  # by factor and level, the base first


@lru_cache(maxsize=1)
def _embedder(recipe: RelevanceRecipe, folder: Path) -> Embedder:
    """Of an encoder that is trained already; settings that share one follow each other."""
    return Embedder(load_encoder(recipe, folder), recipe.bf16)


def run_level(level: Level, material: Material, folder: Path, judge_folder: Path) -> dict[str, Any]:
    """Train one setting (its recipe holds the seed), keep its judge, and judge the validation sets with it.

    ``hits`` and ``clusters``: set to 0 and 1, and to prompts, of its pairs; ``seconds``: of training. The encoder in
    ``folder`` is not trained again if it is there; ``judge_folder`` may be the same.
    """
    recipe, chosen = level.recipe, level.pairs_of(material)
    weight = source_weights([material.train[i] for i in chosen], material.shares)
    features = material.features.of(chosen)
    started = time.perf_counter()
    quality = fit_features(features, weight=weight, l2=level.l2)
    seconds = time.perf_counter() - started
    if recipe.r:
        parts = level.questions_of(material), material.parts["validation"]
        seconds += train_relevance(recipe, material.bank, *parts, folder, progress=False)["seconds"]
    reading = replace(recipe, max_response_tokens=level.reads or recipe.max_response_tokens)
    reader = reader_of(material, reading, quality, _embedder(recipe, folder), _OTHERS)
    judge = ALWAYS_CLOSED
    if level.share:
        limits = level.off_topic, _CONSTRUCTED_PAIRS, level.inputs
        judge = fit_gates(material, reader, [level.share], recipe.seed, *limits)[level.share]
    save_encoder(reading, reader, judge if level.share else None, judge_folder)
    if recipe.r and judge_folder != folder:
        part = "adapter" if recipe.r > 0 else "model"
        shutil.copytree(folder / part, judge_folder / part, dirs_exist_ok=True)
        seal(judge_folder, (*WEIGHTS, OTHERS))
    held_out = dict(material.validation)
    for name, kinds in _CONSTRUCTED.items():
        held_out[name] = material.constructed("validation", tuple(kinds), 2, _CONSTRUCTED_PAIRS)
    tables = {name: reader.table(pairs) for name, pairs in held_out.items()}
    hits = {name: table.hits(judge).astype(int).tolist() for name, table in tables.items()}
    return {"hits": hits, "clusters": {name: table.clusters for name, table in tables.items()}, "seconds": seconds}


def run_study(levels: Levels, material: Material, seeds: Sequence[int], folder: Path) -> pd.DataFrame:
    """Every setting with every seed: columns factor, level, seed, seconds (of training), set, pair, prompt, hit.

    ``folder`` holds a JSON file per run, and a folder with its judge; a finished run is read back.
    """
    _embedder.cache_clear()  # a folder may have been trained anew since a study that was interrupted
    runs, data = [], material_key(material)
    for seed in seeds:
        shared = levels[BASE, BASE].changed(seed=seed).encoder
        for factor, name in levels:
            level, stem = levels[factor, name].changed(seed=seed), f"{factor}-{name}-{seed}"
            runs.append((factor, name, seed, level, stem, f"{BASE}-{seed}" if level.encoder == shared else stem))
    rows = []
    for factor, name, seed, level, stem, encoder in progress_over(sorted(runs, key=lambda run: run[-1])):
        path = folder / f"{stem}.json"
        identity = fingerprint_of(repr(level), base_key(level.recipe.base), data)
        result = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        if (result.get("identity"), result.get("version", 2)) != (identity, VERSION):  # 2 made those that name none
            result = run_level(level, material, folder / encoder, folder / stem)
            write_json(path, {"identity": identity, "version": VERSION, **result})
        for held_out, hits in result["hits"].items():
            given = {"factor": factor, "level": name, "seed": seed, "seconds": result["seconds"], "set": held_out}
            prompts = result["clusters"][held_out]
            rows.append(pd.DataFrame({**given, "pair": range(len(hits)), "prompt": prompts, "hit": hits}))
    _embedder.cache_clear()
    return pd.concat(rows, ignore_index=True)


def material_key(material: Material) -> str:
    """What tells the data of a study from others: texts and labels of its pairs, its bank, its parts and shares."""
    bank, parts = material.bank, {name: part.tolist() for name, part in material.parts.items()}
    pairs = pairs_key(material.train), {name: pairs_key(own) for name, own in material.validation.items()}
    return fingerprint_of(*pairs, bank.questions, bank.responses, bank.sources, parts, material.shares)


@dataclass(frozen=True)
class Cleaned:
    """What `10_clean_preferences` kept, as a training reads it; training and validation share no prompt."""

    train: list[PreferencePair]
    validation: dict[str, list[PreferencePair]]  # by set
    answers: list[Response]  # single responses: every question teaches relevance
    held_out_answers: list[Response]
    hashes: dict[str, str]  # file to SHA-256


def read_cleaned(
    split: pd.DataFrame,
    answer_split: pd.DataFrame,
    shares: Mapping[str, float],
    validation_sets: Sequence[str],
    max_validation: int | None,
    max_answers: int | None,
) -> Cleaned:
    """The texts of the tables ``training_split`` and ``training_answers``: the corpora of ``shares`` and some sets.

    ``max_answers``: of each source and part. ValueError where a corpus of the mixture or a validation set has no pair.
    """
    corpora = [name for name in shares if name not in KINDS]
    pairs = {name: load_set(name) for name in [*corpora, *validation_sets] if name in set(split["benchmark"])}
    train = select_split(split[split["benchmark"].isin(corpora)], pairs, "train")
    chosen = split[split["benchmark"].isin(validation_sets)]
    validation = select_split(chosen, pairs, "validation", by_set=True, limit=max_validation)
    if missing := (set(corpora) - {pair.benchmark for pair in train}) | (set(validation_sets) - set(validation)):
        raise ValueError(f"{min(missing)}: cleaning kept no pair of it for this part")
    answer_split = answer_split.rename(columns={"source": "benchmark"})
    answers = {name: load_answer_set_with_report(name)[0] for name in answer_split["benchmark"].unique()}
    own, held_out = (select_split(answer_split, answers, part, limit=max_answers) for part in ("train", "validation"))
    hashes = set_hashes([*pairs, *answers])
    return Cleaned(train, {name: validation[name] for name in validation_sets}, own, held_out, hashes)
