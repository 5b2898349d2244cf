"""Long inputs: the longest response is cut in its middle, visibly, until the prompt fits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LEAST_KEPT = 200  # characters of a response that are always left


@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages (``role`` and ``content``) of one call, and the characters of responses left out to make it fit."""

    messages: tuple[dict[str, str], ...]
    truncated: int = 0


class PromptTooLong(ValueError):
    """Even with every response cut to the least, the prompt is longer than the judge may be sent."""


def message_characters(messages: Sequence[Mapping[str, str]]) -> int:
    """Characters of all messages."""
    return sum(len(message["content"]) for message in messages)


def cut_middle(text: str, keep: int) -> tuple[str, int]:
    """A text without its middle, where a mark stands, and how many characters were left out.

    ``keep``: characters that stay, half of them from the front (one more where it is odd), half from the end.

    >>> cut_middle("abcdefghij", 4)
    ('ab\\n[... 6 characters left out ...]\\nij', 6)
    """
    if len(text) <= keep:
        return text, 0
    tail = keep // 2
    dropped = len(text) - keep
    return f"{text[: keep - tail]}\n[... {dropped:,} characters left out ...]\n{text[len(text) - tail :]}", dropped


def fit(cut_to: Callable[[int], Prompt], longest: int, limit: int | None, measure: Callable[[Any], int]) -> Prompt:
    """The prompt whose responses keep as many characters as fit: it measures ``limit`` at most.

    ``cut_to``: the prompt with every response cut to a number of characters; ``longest``: those of the longest one.
    The rule looks at lengths only, so it treats both positions alike. Questions and references are never cut.
    PromptTooLong if `LEAST_KEPT` characters of each are too much.
    """
    best = cut_to(longest)
    if limit is None or measure(best.messages) <= limit:
        return best
    low, high, best = LEAST_KEPT, longest, cut_to(LEAST_KEPT)
    if (size := measure(best.messages)) > limit:
        cut = f"with every response cut to {low} characters"
        raise PromptTooLong(f"the prompt has {size:,} units {cut}; {limit:,} are allowed")
    while high - low > 1:
        middle = (low + high) // 2
        prompt = cut_to(middle)
        if measure(prompt.messages) <= limit:
            low, best = middle, prompt
        else:
            high = middle
    return best
