"""The encoder judge as a student of what a selection keeps: the short recipe, the same number of steps each time."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from judgekit.records import PreferencePair, fingerprint_of
from judgekit.stats import Floats
from judgekit.studies.data_mixture import Level, material_key, run_level
from judgekit.training.files import write_json

if TYPE_CHECKING:
    from judgekit.studies.selection.study import Question
    from judgekit.studies.selection.views import Views
    from judgekit.training.mixture import Material


def encoder_student(
    material: "Material", level: Level, folder: str | Path
) -> Callable[["Question", "Views", int], dict[str, Floats]]:
    """A student that is trained in full: preference part, encoder and gate, from the pairs kept and their questions.

    As `judgekit.studies.selection.study.student_of` gives it. The set ``misleading`` must be the pairs that
    `judgekit.studies.data_mixture.run_level` constructs.

    ``material``: of the whole pool, with the validation sets that students are compared on; ``level``: its recipe's
    seed is replaced; ``folder``: holds a folder for each training; a finished one is read back, so an interrupted study
    goes on.
    """

    def student(question: "Question", views: "Views", seed: int) -> dict[str, Floats]:
        told = [(pair.benchmark, pair.item_id, pair.label) for pair in views.pairs]
        own = level.changed(seed=seed)
        sets = {name: len(seen) for name, seen in question.comparing.items()}
        place = Path(folder) / fingerprint_of(repr(own), material_key(material), told, sets)[:16]
        path = place / "hits.json"
        if not path.is_file():
            write_json(made_folder(place) / "hits.json", trained(material, own, views.pairs, place))
        hits = json.loads(path.read_text(encoding="utf-8"))
        for name, seen in question.comparing.items():
            if len(hits.get(name, ())) != len(seen):
                raise ValueError(f"{name}: the judge was asked {len(hits.get(name, ()))} pairs, not {len(seen)}")
        return {name: np.array(hits[name], float) for name in question.comparing}

    return student


def made_folder(place: Path) -> Path:
    """A folder, made if absent."""
    place.mkdir(parents=True, exist_ok=True)
    return place


def trained(material: "Material", level: Level, pairs: list[PreferencePair], folder: Path) -> dict[str, Any]:
    """Hits by set of the judge that is trained on some of the material's pairs."""
    asked = {pair.asked for pair in pairs}
    of_encoder = [i for i in material.parts["train"] if material.bank.questions[i] in asked]
    parts = material.parts | {"train": np.array(of_encoder, int)}
    return run_level(level, replace(material, train=pairs, parts=parts), folder, folder)["hits"]
