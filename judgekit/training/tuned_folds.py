"""Finished folds of a tuned encoder, kept as one checksummed JSON file each."""

import hashlib
import json
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from judgekit.data.files import replaced


@dataclass(frozen=True)
class TunedFold:
    """One outer fold.

    Attributes
    ----------
    test : array of int
        Rows that were held out.
    probabilities : array, shape (len(test), n_scores)
    ridge, rate : float
        What the inner split chose; ``rate`` is 0 where no epoch helped.
    epochs : int
    history : list of dict
        One row per epoch of the inner runs: ridge or rate, epoch, train (loss), train_accuracy (of the epoch, before
        each step), validation (ranked probability score) and accuracy on the inner validation questions.
    final : list of dict
        ``train`` and ``train_accuracy`` of each epoch of the last run, on all training rows.
    seconds : float
        Wall clock.
    """

    test: np.ndarray
    probabilities: np.ndarray
    ridge: float
    rate: float
    epochs: int
    history: list
    final: list
    seconds: float


def read_fold(folder, key, n_test, recipe):
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


def write_fold(folder, key, fold):
    """Keep a finished fold under its key."""
    if folder is None:
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    document = asdict(fold) | {"test": fold.test.tolist(), "probabilities": fold.probabilities.tolist()}
    with replaced(Path(folder) / f"{key}.json") as temporary:
        temporary.write_text(json.dumps(document | {"sha256": sealed(document)}) + "\n", encoding="utf-8")


def sealed(document):
    """Checksum of a kept fold."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
