"""What can be told of pairs without their questions: the baselines that a set without tells leaves at one half."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from judgekit.records import PreferencePair
from judgekit.stats import Floats


def word_differences(pairs: Sequence[PreferencePair], words: Mapping[str, int]) -> Floats:
    """Counts of words in the first response less those in the second, shape (n_pairs, n_words).

    ``words``: word to column; other words are left out.
    """
    counts = np.zeros((len(pairs), len(words)))
    for row, pair in enumerate(pairs):
        for sign, text in ((1, pair.response_a), (-1, pair.response_b)):
            for word in text.split():
                if word in words:
                    counts[row, words[word]] += sign
    return counts


def length_differences(pairs: Sequence[PreferencePair]) -> Floats:
    """How much longer the first response is: in words and in characters, and the sign of each, shape (n_pairs, 4)."""
    gaps = [
        (len(p.response_a.split()) - len(p.response_b.split()), len(p.response_a) - len(p.response_b)) for p in pairs
    ]
    return np.concatenate([gaps, np.sign(gaps)], axis=1).astype(float)


def response_only(train: Sequence[PreferencePair], test: Sequence[PreferencePair]) -> np.ndarray:
    """Whether a bag-of-words classifier that never sees a question is right, per test pair.

    No part may hold ties. ValueError where the training pairs have but one label.
    """
    said = sorted({word for pair in train for text in (pair.response_a, pair.response_b) for word in text.split()})
    words = {word: column for column, word in enumerate(said)}
    return _fitted(train, test, lambda pairs: word_differences(pairs, words))


def length_only(train: Sequence[PreferencePair], test: Sequence[PreferencePair]) -> np.ndarray:
    """As `response_only`, from the lengths of the responses."""
    return _fitted(train, test, length_differences)


def _fitted(
    train: Sequence[PreferencePair],
    test: Sequence[PreferencePair],
    features: Callable[[Sequence[PreferencePair]], Floats],
) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(with_mean=False), LogisticRegression(C=0.1, max_iter=300))
    model.fit(features(train), [pair.label for pair in train])
    return model.predict(features(test)) == np.array([pair.label for pair in test])


def blind_table(train: Sequence[PreferencePair], test: Sequence[PreferencePair], by: str = "subset") -> pd.DataFrame:
    """Accuracy in [0, 1] without the question, each family (field ``by``) by itself.

    Columns family, n, length, responses.
    """
    rows = []
    for family in sorted({getattr(pair, by) for pair in test}):
        parts = [[pair for pair in part if getattr(pair, by) == family] for part in (train, test)]
        length, responses = (float(rule(*parts).mean()) for rule in (length_only, response_only))
        rows.append({"family": family, "n": len(parts[1]), "length": length, "responses": responses})
    return pd.DataFrame(rows)
