"""Features that need no model: what a probe on hidden states has to beat."""

import numpy as np

from judgekit.judges.surface import words_of


def length_features(texts):
    """Length of texts, as features of a single layer.

    Parameters
    ----------
    texts : sequence of str

    Returns
    -------
    array of float, shape (n_texts, 1, 2)
        Logarithm of one plus the number of characters, and of words.

    Examples
    --------
    >>> length_features(["", "two words"]).round(2).tolist()
    [[[0.0, 0.0]], [[2.3, 1.1]]]
    """
    return np.log1p([[[len(text), len(words_of(text))]] for text in texts])
