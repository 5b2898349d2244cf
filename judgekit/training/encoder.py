"""Train the encoder judge: looks from surface features, relevance from a tuned encoder, joined by a gate.

Three parts, each from data the others do not see where that matters: the preference part is fitted on all training
pairs; the encoder learns relevance from the questions outside the calibration part; the gate is fitted on the
calibration part, where the encoder's cosines are what they will be on new questions. How strong the gate may be is
chosen on validation pairs by a rule (`judgekit.training.gate.choose_share`).
"""

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from judgekit.judges.encoder import FORMAT, OTHERS, WEIGHTS
from judgekit.judges.gate import GATE_FEATURES, RELEVANCE_INPUTS
from judgekit.models.files import break_seal, seal
from judgekit.training.bank import Embedder
from judgekit.training.constructed import BESIDE, KINDS
from judgekit.training.features import fit_features, rounded_parts
from judgekit.training.files import write_json
from judgekit.training.gate import choose_share, compare_gates, fit_gate, fit_relevance
from judgekit.training.material import Material
from judgekit.training.recipe import RelevanceRecipe
from judgekit.training.relevance import load_encoder, train_relevance
from judgekit.training.tables import Reader, joined
from judgekit.training.targets import source_weights

GATES = (0.02, 0.05, 0.1, 0.15, 0.25)  # shares of misleading pairs that are tried
PER_QUESTION = 4  # misleading pairs per question that a gate is fitted on
N_OTHERS = 4096  # training questions that a response's relevance is measured against
PER_KIND = 500  # validation questions per kind of constructed pair


def reader_of(
    material: Material,
    recipe: RelevanceRecipe,
    quality: dict[str, Any],
    embedder: Embedder,
    n_others: int = N_OTHERS,
) -> Reader:
    """What makes the tables of a judge with this preference part and this encoder.

    Relevance is measured against ``n_others`` of the encoder's training questions, the same ones each time.
    """
    chosen = np.random.default_rng(0).permutation(material.parts["train"])[:n_others]
    others = [material.bank.questions[i] for i in np.sort(chosen)]
    found = embedder.embed(others, recipe.max_question_tokens)
    vectors = np.array([found[question] for question in others], np.float16)
    limits = recipe.max_question_tokens, recipe.max_response_tokens
    return Reader(quality, embedder, vectors, material.tied, *limits)


def fit_gates(
    material: Material,
    reader: Reader,
    gates: Sequence[float],
    seed: int,
    kinds: Sequence[str] = tuple(BESIDE),
    limit: int | None = None,
    inputs: Collection[str] = RELEVANCE_INPUTS + GATE_FEATURES,
) -> dict[float, dict[str, Any]]:
    """Gates of several strengths, from the calibration part: share of misleading pairs to ``relevance`` and ``gate``.

    ``kinds``: of misleading pairs; ``limit``: ordinary pairs, and questions of misleading ones, at most; ``inputs``:
    what relevance and the gate may use.
    """
    pairs = material.calibration_pairs(limit)
    constructed = material.constructed("calibration", kinds, [seed, 1], limit, PER_QUESTION)
    misleading = joined([reader.table(constructed)] if constructed else [])
    relevance = fit_relevance(misleading, inputs=inputs)
    natural, weight = reader.table(pairs), source_weights(pairs, material.shares)
    return {
        share: {
            "relevance": relevance,
            "gate": fit_gate(natural, misleading, share, relevance, weight, inputs=inputs),
        }
        for share in gates
    }


def train_encoder(
    recipe: RelevanceRecipe,
    material: Material,
    folder: str | Path,
    gates: Sequence[float] = GATES,
    progress: bool = True,
) -> dict[str, Any]:
    """Train an encoder judge and write its folder, with the checkpoint on the way there.

    Gives ``relevance`` (the run of `train_relevance`), ``gates`` (table of `compare_gates`), ``share`` (the one chosen
    of ``gates``, shares of misleading pairs), ``fitted`` (all gates by share), ``quality`` (the preference part),
    ``reader``, and ``tables`` (the validation tables by set or kind of constructed pair; kinds that gave no pair are
    left out). ValueError if the questions are too few, or their responses too alike, to construct misleading pairs
    from.
    """
    quality = fit_features(material.features, weight=source_weights(material.train, material.shares), l2=0.01)
    parts = material.parts
    relevance = train_relevance(recipe, material.bank, parts["train"], parts["validation"], folder, progress)
    reader = reader_of(material, recipe, quality, Embedder(load_encoder(recipe, folder), recipe.bf16))
    fitted = fit_gates(material, reader, gates, recipe.seed)
    ordinary = {name: reader.table(pairs) for name, pairs in material.validation.items()}
    constructed = {kind: material.constructed("validation", [kind], 2, PER_KIND) for kind in KINDS}
    kinds = {kind: reader.table(pairs) for kind, pairs in constructed.items() if pairs}
    misleading = joined([table for kind, table in kinds.items() if kind in BESIDE])
    comparison = compare_gates(fitted, ordinary, misleading, seed=recipe.seed)
    share = choose_share(comparison)
    save_encoder(recipe, reader, fitted.get(share), folder)
    report = {"relevance": relevance, "gates": comparison, "share": share, "fitted": fitted, "quality": quality}
    return report | {"reader": reader, "tables": ordinary | kinds}


def save_encoder(recipe: RelevanceRecipe, reader: Reader, parts: Mapping[str, Any] | None, folder: str | Path) -> None:
    """Write ``judge.json`` and the other questions: with the adapter, the judge. No parts leave the gate open."""
    rounded = {
        part: {name: np.round(value, 6).tolist() for name, value in found.items()}
        for part, found in (parts or {}).items()
    }
    config = {
        "format": FORMAT,
        "base": recipe.base,
        "revision": recipe.revision,
        "trained": {0: "nothing", 1: "adapter", -1: "model"}[int(np.sign(recipe.r))],
        "max_question_tokens": recipe.max_question_tokens,
        "max_response_tokens": recipe.max_response_tokens,
        "relevance": rounded.get("relevance"),
        "gate": rounded.get("gate"),
        **rounded_parts(reader.quality),
    }
    Path(folder).mkdir(parents=True, exist_ok=True)
    break_seal(folder)
    save_file({"vectors": reader.others}, Path(folder) / OTHERS)
    write_json(Path(folder) / "judge.json", json.loads(json.dumps(config)))
    seal(folder, (*WEIGHTS, OTHERS))
