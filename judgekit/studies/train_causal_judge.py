"""What `21_train_causal_judge` needs beside its trainings: data, first lessons, baselines without the question."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, spmatrix
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from judgekit.data.catalogue import load_set, set_hashes
from judgekit.records import PreferencePair
from judgekit.stats import proportion_interval
from judgekit.training.causal import train_rows
from judgekit.training.causal_data import CausalRecipe, strategy_of
from judgekit.training.causal_tasks import APART, tiny_drills, tiny_tasks
from judgekit.training.causal_tiny import drill_rows
from judgekit.training.mixture import select_split

_Pairs = Sequence[PreferencePair]


def response_only(train: _Pairs, test: _Pairs) -> np.ndarray:
    """Whether a bag-of-words classifier that never sees a question is right, per test pair.

    No part may hold ties. ValueError where the training pairs have but one label.
    """
    counter = CountVectorizer(analyzer=str.split, dtype=float)
    counter.fit(text for pair in train for text in pair.responses)

    def differences(pairs: _Pairs) -> spmatrix:
        a, b = (counter.transform([pair.responses[side] for pair in pairs]) for side in (0, 1))
        return csr_matrix(a - b)

    return _fitted(train, test, differences)


def length_only(train: _Pairs, test: _Pairs) -> np.ndarray:
    """As `response_only`, from the lengths of the responses in words and characters, and which is longer."""

    def differences(pairs: _Pairs) -> np.ndarray:
        a, b = (np.array([[len(p.responses[s].split()), len(p.responses[s])] for p in pairs], float) for s in (0, 1))
        return np.concatenate([a - b, np.sign(a - b)], axis=1)

    return _fitted(train, test, differences)


def _fitted(train: _Pairs, test: _Pairs, features: Callable[[_Pairs], Any]) -> np.ndarray:
    model = make_pipeline(StandardScaler(with_mean=False), LogisticRegression(C=0.1, max_iter=300))
    model.fit(features(train), [pair.label for pair in train])
    return model.predict(features(test)) == np.array([pair.label for pair in test])


def blind_table(train: _Pairs, test: _Pairs, by: str = "subset") -> pd.DataFrame:
    """Accuracy in [0, 1] without the question, each family (field ``by``) by itself: family, n, length, responses."""
    rows = []
    for family in sorted({getattr(pair, by) for pair in test}):
        parts = [[pair for pair in part if getattr(pair, by) == family] for part in (train, test)]
        length, responses = (float(rule(*parts).mean()) for rule in (length_only, response_only))
        rows.append({"family": family, "n": len(parts[1]), "length": length, "responses": responses})
    return pd.DataFrame(rows)


def accuracy_table(right: Mapping[str, np.ndarray], pairs: _Pairs, by: str = "subset") -> pd.DataFrame:
    """Accuracy of several judges on the same pairs, in all (family "all", first) and by family.

    ``right``: judge to whether it was right, per pair. Columns judge, family, n, value, low, high (Wilson's interval:
    pairs count as independent draws).
    """
    wide = pd.DataFrame({"family": [getattr(pair, by) for pair in pairs], **right})
    both = pd.concat([wide.assign(family="all"), wide])
    long = both.melt("family", var_name="judge", value_name="right")
    order = ["all", *sorted(set(wide["family"]))]
    groups: Any = long.groupby(["judge", "family"])["right"]
    index = pd.MultiIndex.from_product([right, order], names=["judge", "family"])
    table: pd.DataFrame = groups.agg(n="size", value="mean").reindex(index).reset_index()
    table["low"], table["high"] = proportion_interval(table["value"], table["n"])
    return table


def read_parts(
    split: pd.DataFrame | None, shares: Mapping[str, float], n_pairs: int, n_test: int
) -> tuple[list[PreferencePair], list[PreferencePair], list[PreferencePair], list[PreferencePair], dict[str, str]]:
    """Pairs for training, validation and test, those of families that are not trained on, and hashes of files.

    Without a ``split`` (the table ``training_split`` of cleaning) they are tiny tasks; with one, pairs of the corpora
    of ``shares`` without ties: at most ``n_test`` of each that cleaning held out, every other one for the test.
    """
    if split is None:
        train, validation = tiny_tasks(n_pairs), tiny_tasks(300, "validation")
        return train, validation, tiny_tasks(n_test, "test"), tiny_tasks(n_test, "test", families=APART), {}
    split = split[split["benchmark"].isin(shares)]
    sets = {name: load_set(name) for name in shares}
    parts = [select_split(split, sets, part, limit=limit) for part, limit in (("train", None), ("validation", n_test))]
    train, held_out = ([pair for pair in part if pair.label != "tie"] for part in parts)
    return train, held_out[::2], held_out[1::2], [], set_hashes(shares)


def first_lessons(recipe: CausalRecipe, n_drills: int, folder: Path, measured_on: _Pairs) -> dict[str, Any]:
    """The report of training a model from nothing on single responses, marked right or wrong (``drill``)."""
    drills, strategy = [tiny_drills(n_drills), tiny_drills(300, "validation")], strategy_of(recipe)

    def rows(tokenizer: Any) -> list[list[dict[str, Any]]]:
        return [drill_rows(part, strategy, tokenizer) for part in drills]

    return train_rows(recipe, rows, folder, measured_on=measured_on)
