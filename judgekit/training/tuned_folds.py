"""Finished folds of a tuned encoder, kept as one checksummed JSON file each."""

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from judgekit.data.files import replaced
from judgekit.training.tuned_recipe import TunedRecipe


@dataclass(frozen=True)
class TunedFold:
    """One outer fold.

    Rows of ``history``: ridge or rate, epoch, train (loss), train_accuracy (of the epoch, before each step), validation
    (ranked probability score) and accuracy on the inner validation questions.
    """

    test: np.ndarray  # rows that were held out
    probabilities: np.ndarray  # shape (len(test), n_scores)
    ridge: float  # what the inner split chose, as are ``rate`` and ``epochs``
    rate: float  # 0 where no epoch helped
    epochs: int
    history: list  # one row per epoch of the inner runs
    final: list  # ``train`` and ``train_accuracy`` of each epoch of the last run, on all training rows
    seconds: float  # wall clock


def read_fold(folder: str | Path | None, key: str, n_test: int, recipe: TunedRecipe) -> TunedFold | None:
    """A fold that was kept under a key, or None; a damaged file is reported and counts as absent."""
    path = None if folder is None else Path(folder) / f"{key}.json"
    if path is None or not path.is_file():
        return None
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        seal = kept.pop("sha256")
        fold = TunedFold(**kept | {name: np.array(kept[name]) for name in ("test", "probabilities")})
    except (ValueError, TypeError, KeyError, AttributeError) as broken:
        warnings.warn(f"{path} cannot be read ({broken!r}): its fold is tuned again", stacklevel=3)
        return None
    if fold.probabilities.shape != (n_test, len(recipe.classes)) or seal != sealed(kept):
        warnings.warn(f"{path} was changed after it was written: its fold is tuned again", stacklevel=3)
        return None
    return fold


def write_fold(folder: str | Path | None, key: str, fold: TunedFold) -> None:
    """Keep a finished fold under its key."""
    if folder is None:
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    document = asdict(fold) | {"test": fold.test.tolist(), "probabilities": fold.probabilities.tolist()}
    with replaced(Path(folder) / f"{key}.json") as temporary:
        temporary.write_text(json.dumps(document | {"sha256": sealed(document)}) + "\n", encoding="utf-8")


def sealed(document: Mapping[str, Any]) -> str:
    """Checksum of a kept fold."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
