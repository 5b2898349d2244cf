"""What a parser returns, and verdicts from pairs of scores."""

import math
from typing import NamedTuple

LABELS = ("first", "second", "tie")


class Parsed(NamedTuple):
    """A reading of a completion.

    Attributes
    ----------
    verdict : {"first", "second", "tie"} or None
        None unless status is ``ok``, and for a single score.
    status : {"ok", "unparsed", "ambiguous"}
    scores : tuple of float or None
        Marks of the first and the second response, or the one mark of a single response.
    """

    verdict: str | None
    status: str
    scores: tuple | None


UNPARSED = Parsed(None, "unparsed", None)
AMBIGUOUS = Parsed(None, "ambiguous", None)


def verdict_of_scores(first, second, margin=0.0):
    """The verdict that two single scores imply.

    Parameters
    ----------
    first, second : float
    margin : float, at least 0
        Scores that differ by no more are a tie.

    Returns
    -------
    {"first", "second", "tie"}

    Raises
    ------
    ValueError
        For NaN, or a negative margin.

    Examples
    --------
    >>> verdict_of_scores(7, 5), verdict_of_scores(7, 6.5, margin=0.5)
    ('first', 'tie')
    """
    if math.isnan(first) or math.isnan(second) or margin < 0:
        raise ValueError(f"scores {first}, {second}, margin {margin}: no verdict from these")
    if abs(first - second) <= margin:
        return "tie"
    return "first" if first > second else "second"
