"""What can be told of pairs without their questions: the baselines that a set without tells leaves at one half."""

import numpy as np
import pandas as pd


def word_differences(pairs, words):
    """Counts of words in the first response less those in the second.

    Parameters
    ----------
    pairs : list of PreferencePair
    words : dict of str to int
        Word to column; other words are left out.

    Returns
    -------
    array of float, shape (n_pairs, n_words)
    """
    counts = np.zeros((len(pairs), len(words)))
    for row, pair in enumerate(pairs):
        for sign, text in ((1, pair.response_a), (-1, pair.response_b)):
            for word in text.split():
                if word in words:
                    counts[row, words[word]] += sign
    return counts


def length_differences(pairs):
    """How much longer the first response is: in words and in characters, and the sign of each.

    Returns
    -------
    array of float, shape (n_pairs, 4)
    """
    gaps = [
        (len(p.response_a.split()) - len(p.response_b.split()), len(p.response_a) - len(p.response_b)) for p in pairs
    ]
    return np.concatenate([gaps, np.sign(gaps)], axis=1).astype(float)


def response_only(train, test):
    """Whether a bag-of-words classifier that never sees a question is right, per test pair.

    Parameters
    ----------
    train, test : list of PreferencePair
        Without ties.

    Returns
    -------
    array of bool, shape (n_test,)

    Raises
    ------
    ValueError
        If the training pairs have but one label.
    """
    said = sorted({word for pair in train for text in (pair.response_a, pair.response_b) for word in text.split()})
    words = {word: column for column, word in enumerate(said)}
    return _fitted(train, test, lambda pairs: word_differences(pairs, words))


def length_only(train, test):
    """As `response_only`, from the lengths of the responses."""
    return _fitted(train, test, length_differences)


def _fitted(train, test, features):
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(with_mean=False), LogisticRegression(C=0.1, max_iter=300))
    model.fit(features(train), [pair.label for pair in train])
    return model.predict(features(test)) == np.array([pair.label for pair in test])


def blind_table(train, test, by="subset"):
    """Accuracy without the question, fitted and tested for each family by itself.

    Parameters
    ----------
    train, test : list of PreferencePair
    by : str
        Field that names the family.

    Returns
    -------
    pandas.DataFrame
        Columns ``family, n, length, responses``; accuracies in [0, 1].
    """
    rows = []
    for family in sorted({getattr(pair, by) for pair in test}):
        parts = [[pair for pair in part if getattr(pair, by) == family] for part in (train, test)]
        length, responses = (float(rule(*parts).mean()) for rule in (length_only, response_only))
        rows.append({"family": family, "n": len(parts[1]), "length": length, "responses": responses})
    return pd.DataFrame(rows)
