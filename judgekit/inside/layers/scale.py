"""Which tokens say a score: from a scale and the words around a score to a plan of token ids."""

import numbers
from collections.abc import Callable, Sequence
from typing import Any

from judgekit.models.one_pass import Plan, plan_of


def checked_scores(scores: Any) -> tuple[int, ...]:
    """A scale as a tuple; ValueError where it has fewer than two scores, or they are not whole and ascending."""
    scores = tuple(scores)
    if not all(isinstance(score, numbers.Integral) and not isinstance(score, bool) for score in scores):
        raise ValueError(f"a scale has whole scores, not {list(scores)}")
    scores = tuple(map(int, scores))
    if len(scores) < 2 or list(scores) != sorted(set(scores)):
        raise ValueError(f"a scale has two scores or more, ascending, not {list(scores)}")
    return scores


def score_plan(
    scores: Sequence[int], tokenise: Callable[[str], tuple[list[int], list[int]]], reply: str = "{score}"
) -> Plan:
    """The token ids to look at for the scores of a scale, which are the plan's ``names``.

    ``tokenise``: from a text to token ids and, for each, where it ends in the text
    (`judgekit.models.chat_tokens.ChatTokenizer.reply_tokens`). ``reply``: what the model is taken to write, with
    ``{score}`` in it: ``"{score}"``, ``"Rating: [[{score}]]"``. All that stands before the score is put into its mouth.

    Several tokens per score are handled as in `judgekit.models.one_pass`. The published code has one token id per
    score, and so no scale beyond 9 with a tokenizer that splits numbers into digits.

    ValueError where the scale is none, the reply does not hold ``{score}`` exactly once, or the tokens of one score
    begin those of another (``1`` and ``10`` where digits are tokens of their own): something must follow the score
    then, whose probability tells them apart.
    """
    scores = checked_scores(scores)
    if reply.count("{score}") != 1:
        raise ValueError(f"the reply {reply!r} must hold {{score}} exactly once")
    plan = plan_of({score: reply.replace("{score}", str(score)) for score in scores}, tokenise)
    for score, path in zip(scores, plan.paths, strict=True):
        longer = [other for other, ids in zip(scores, plan.paths, strict=True) if ids[: len(path)] == path]
        if len(longer) > 1:
            raise ValueError(
                f"the tokens of {reply.replace('{score}', str(score))!r} begin those of {longer[-1]}: let something "
                f"follow the score, e.g. '{reply}.' or '[[{{score}}]]'"
            )
    return plan


def score_place(written: Sequence[int], plan: Plan) -> int | None:
    """Position of the first token of a completion's last score, with what the plan puts before it; or None.

    The published code looks for score tokens from the end, too. Tokens of one digit are found inside longer numbers:
    with a scale from 1 to 5, a completion that ends in "of 10" says 1. Words around the score, in the plan, avoid it.

    >>> from judgekit.models.one_pass import Plan
    >>> plan = Plan((1, 2), ("1", "2"), (), ((11,), (12,)))
    >>> score_place([30, 11, 7, 12, 4], plan), score_place([30, 7], plan)
    (3, None)
    """
    wanted = [(*plan.forced, *path) for path in plan.paths]
    for place in reversed(range(len(written))):
        if any(tuple(written[place : place + len(ids)]) == ids for ids in wanted):
            return place
    return None
