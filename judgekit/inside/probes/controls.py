"""Features that need no model: what a probe on hidden states has to beat."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from judgekit.judges.surface import words_of

if TYPE_CHECKING:
    from judgekit.stats import Floats


def length_features(texts: Sequence[str]) -> "Floats":
    """Logarithm of one plus the number of characters, and of words, as features of one layer, shape (n_texts, 1, 2).

    >>> length_features(["", "two words"]).round(2).tolist()
    [[[0.0, 0.0]], [[2.3, 1.1]]]
    """
    return np.log1p([[[len(text), len(words_of(text))]] for text in texts])
