"""Long inputs: the longest response is cut in its middle, visibly, until the prompt fits."""

from collections.abc import Callable, Mapping
from typing import TypeVar

LEAST_KEPT = 200  # characters of a response that are always left

Built = TypeVar("Built")


class PromptTooLong(ValueError):
    """Even with every response cut to the least, the prompt is longer than the judge may be sent."""


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


def fit(
    responses: Mapping[str, str],
    build: Callable[[Mapping[str, str]], Built],
    measure: Callable[[Built], int],
    limit: int | None,
) -> tuple[Built, int]:
    """What is built from responses, these cut until it measures ``limit`` at most, and the characters left out.

    The longest response is cut to the length of the second longest, then both, and so on: in the end all responses
    that were cut keep the same number of characters. The rule looks at lengths only, so it treats both positions
    alike. Questions and references are never cut. PromptTooLong if `LEAST_KEPT` characters of each are too much.
    """
    built = build(responses)
    if limit is None or measure(built) <= limit:
        return built, 0
    low, high = LEAST_KEPT, max(map(len, responses.values()), default=0)
    best = _cut_all(responses, low)
    if (size := measure(build(best[0]))) > limit:
        raise PromptTooLong(
            f"the prompt has {size:,} units with every response cut to {low} characters; {limit:,} are allowed"
        )
    while high - low > 1:
        middle = (low + high) // 2
        tried = _cut_all(responses, middle)
        if measure(build(tried[0])) <= limit:
            low, best = middle, tried
        else:
            high = middle
    return build(best[0]), best[1]


def _cut_all(responses: Mapping[str, str], keep: int) -> tuple[dict[str, str], int]:
    """Every response cut to at most ``keep`` characters, and how many were left out."""
    cut = {name: cut_middle(text, keep) for name, text in responses.items()}
    return {name: text for name, (text, _) in cut.items()}, sum(dropped for _, dropped in cut.values())
