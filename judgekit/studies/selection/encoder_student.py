"""The encoder judge as a student of what a selection keeps: the short recipe, the same number of steps each time."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from judgekit.records import fingerprint_of
from judgekit.training.files import write_json
from judgekit.training.mixture import material_key, run_level


def encoder_student(material, level, folder):
    """A student that is trained in full: preference part, encoder and gate, from the pairs kept and their questions.

    Parameters
    ----------
    material : judgekit.training.material.Material
        Of the whole pool, with the validation sets that students are compared on.
    level : judgekit.training.mixture.Level
        Its recipe's seed is replaced.
    folder : path
        Holds a folder for each training; a finished one is read back, so an interrupted study goes on.

    Returns
    -------
    callable
        As `judgekit.studies.selection.study.student_of` gives it. The set ``misleading`` must be the pairs that
        `judgekit.training.mixture.run_level` constructs.
    """

    def student(question, views, seed):
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


def made_folder(place):
    """A folder, made if absent."""
    place.mkdir(parents=True, exist_ok=True)
    return place


def trained(material, level, pairs, folder):
    """Hits by set of the judge that is trained on some of the material's pairs."""
    asked = {pair.asked for pair in pairs}
    of_encoder = [i for i in material.parts["train"] if material.bank.questions[i] in asked]
    parts = material.parts | {"train": np.array(of_encoder, int)}
    return run_level(level, replace(material, train=pairs, parts=parts), folder, folder)["hits"]
