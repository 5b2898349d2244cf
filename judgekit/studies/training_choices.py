"""One short training of a language model, again and again with one thing changed, judged on held-out pairs."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from judgekit.data.progress import progress_over
from judgekit.judges import Judge, load_judge
from judgekit.records import PreferencePair, fingerprint_of
from judgekit.scoring.running import run_judge
from judgekit.scoring.store import VerdictStore
from judgekit.studies.data_mixture import Cleaned
from judgekit.training.causal import train_judge
from judgekit.training.causal_data import CausalRecipe, checked
from judgekit.training.constructed import OFF_TOPIC
from judgekit.training.encoder import RelevanceRecipe, base_encoder
from judgekit.training.mixture import make_material

_FOLD = 5  # of the held-out prompts one in so many gives the loss by which a checkpoint is kept; the rest is judged


def parts_of(data: Cleaned, shares: dict[str, float], longest: int, most: int) -> dict[str, list[PreferencePair]]:
    """Decided pairs of at most ``longest`` characters (0: any): ``train``, ``misleading`` ones made of its questions.

    Of others, at most ``most`` of each set and misleading ones, spread evenly: ``loss`` and ``judged``.
    """
    material = make_material(
        data.train, shares, data.validation, base_encoder(RelevanceRecipe()), data.answers, data.held_out_answers
    )

    def fitting(pairs: Sequence[PreferencePair]) -> list[PreferencePair]:
        lengths = [len(pair.asked) + sum(map(len, pair.responses)) for pair in pairs]
        return [p for p, n in zip(pairs, lengths, strict=True) if p.label != "tie" and n <= (longest or n)]

    made = {part: fitting(material.constructed(part, tuple(OFF_TOPIC), 3, None)) for part in ("train", "validation")}
    held_out = []
    for pairs in [*map(fitting, data.validation.values()), made["validation"]]:
        n = min(len(pairs), most)
        held_out += [pairs[i * len(pairs) // n] for i in range(n)]
    prompts = {prompt: number for number, prompt in enumerate(dict.fromkeys(pair.cluster for pair in held_out))}
    folds = [[p for p in held_out if (prompts[p.cluster] % _FOLD == 0) == first] for first in (True, False)]
    return {"train": fitting(data.train), "misleading": made["train"], "loss": folds[0], "judged": folds[1]}


def judged_by(judge: Judge, pairs: Sequence[PreferencePair], store: VerdictStore) -> pd.DataFrame:
    """A row for each pair: set, item, prompt, ``right`` by the lead averaged over both orders, ``same`` in both."""
    known, lead_of = {pair.item_id: pair for pair in pairs}, {"A": 1.0, "B": -1.0, "tie": 0.0}
    given = [
        (one.item_id, one.verdict, lead_of[one.verdict] if one.p_a is None or one.p_b is None else one.p_a - one.p_b)
        for one in run_judge(judge, pairs, store, progress=False)
        if one.verdict is not None
    ]
    table = pd.DataFrame(given, columns=["item", "verdict", "lead"]).groupby("item", sort=False)
    found = table.agg(lead=("lead", "mean"), same=("verdict", lambda both: both.nunique() == 1)).reset_index()
    of = [known[item] for item in found["item"]]
    lead = found["lead"].round(6) * [1 if pair.label == "A" else -1 for pair in of]
    named = {"set": [pair.benchmark for pair in of], "prompt": [fingerprint_of(pair.cluster)[:12] for pair in of]}
    return found.assign(**named, right=(lead > 0) + 0.5 * (lead == 0)).drop(columns="lead")


def run_levels(
    levels: Mapping[str, Mapping[str, Any]],
    seeds: Sequence[int],
    parts: Mapping[str, list[PreferencePair]],
    shares: Mapping[str, float],
    settings: Mapping[str, Any],
    folder: Path,
    store: VerdictStore,
    table: pd.DataFrame,
    keep: Callable[[pd.DataFrame], Any],
) -> pd.DataFrame:
    """A row for each level, seed and judged pair: ``training`` (what it was), minutes, and the columns of `judged_by`.

    A level is fields of the recipe, and ``misleading``, the share of misleading pairs in what is drawn. ``table``: the
    rows of an earlier call; a training that it holds is not repeated. ``keep`` is given all rows after each training,
    whose judge is then thrown away.
    """
    wanted = []
    for seed, level in progress_over([(seed, level) for seed in seeds for level in levels]):
        fields = {**settings, **levels[level], "seed": seed}
        misleading = fields.pop("misleading", 0.0)
        each = sum(shares.values()) * misleading / (1 - misleading) / len(OFF_TOPIC)
        recipe, drawn = checked(CausalRecipe, fields), {**shares, **dict.fromkeys(OFF_TOPIC if each else (), each)}
        pairs = [pair for pair in [*parts["train"], *parts["misleading"]] if pair.benchmark in drawn]
        items = [[pair.item_id for pair in part] for part in (pairs, parts["loss"], parts["judged"])]
        wanted.append(fingerprint_of(level, recipe.as_dict(), drawn, items)[:12])
        if wanted[-1] not in set(table["training"]):
            place = folder / f"{level}-{seed}"
            minutes = train_judge(recipe, pairs, parts["loss"], place, drawn)["seconds"] / 60
            asked = {"mode": "one_pass"} if recipe.method != "reward" else None
            name = f"hf/{place}#{recipe.strategy}-{recipe.policy}" if asked else f"reward/{place}"
            rows = judged_by(load_judge(name, settings=asked), parts["judged"], store)
            given = {"level": level, "seed": seed, "training": wanted[-1], "minutes": round(minutes, 1)}
            table = pd.concat([table, rows.assign(**given)], ignore_index=True)
            keep(table)
            shutil.rmtree(place)
    return table[table["training"].isin(wanted)]
