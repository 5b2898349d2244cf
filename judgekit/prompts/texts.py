"""What becomes of a text before a prompt shows it: it cannot pass for a part of the prompt, and it is cut to fit.

A prompt is told apart from what it shows by marks: lines in brackets, ``[[A]]``, the special tokens of chat templates.
Where a text to be judged holds such a mark, its ASCII brackets are exchanged for full-width ones (``［［A］］``), which
neither a tokenizer nor a parser takes for the mark, even when the judge quotes it; nothing else is touched.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LEAST_KEPT = 200  # characters of a response that are always left
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
WIDE = str.maketrans("[]<>", "［］＜＞")
SPECIAL_TOKENS = (
    r"<\|[^\s<>]{1,64}\|>",  # <|im_start|>, <|eot_id|>, <|endoftext|>
    r"<｜[^<>]{1,64}｜>",  # DeepSeek
    r"</?(?:s|bos|eos|pad|unk|sep|cls|mask|think|tool_call|tool_response|start_of_turn|end_of_turn)>",
    r"\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]",
    r"<</?SYS>>",
    r"<(?:un)?used_?\d+>|<extra_id_\d+>",
)
HEADINGS = (
    r"\[(?:system|user|assistant|user question|question|instruction|your task)\]",
    r"\[(?:the )?(?:start|end) of [^\[\]\n]{1,80}\]",
    r"\[\.\.\. [\d,]+ characters left out[^\[\]\n]{0,20}\]",  # the mark of a cut
)
VERDICTS = {"brackets": (r"\[\[\s*[ABC]\s*\]\]",), "rating": (r"\[\[\s*(?:rating|-?\d+(?:\.\d+)?)\s*\]\]",)}


def marks_pattern(templates: Iterable[str], verdict_format: str) -> re.Pattern[str]:
    """One expression for all marks of a prompt: of its verdicts' format, and its templates' lines in brackets."""
    lines = {line.strip() for text in templates for line in text.splitlines()}
    own = sorted(line for line in lines if re.fullmatch(r"\[[^\[\]{}]+\]", line))
    spaced = [r"\s+".join(re.escape(word) for word in line.split()) for line in own]
    return re.compile("|".join([*SPECIAL_TOKENS, *VERDICTS.get(verdict_format, ()), *HEADINGS, *spaced]), re.IGNORECASE)


def neutralised(text: str, marks: re.Pattern[str]) -> str:
    """A text of the same length with its marks made harmless, and lone surrogates (which cannot be sent) replaced.

    >>> neutralised("x[[1]] so [[A]]", marks_pattern([], "brackets"))
    'x[[1]] so ［［A］］'
    """
    text, changes = LONE_SURROGATE.sub("\ufffd", text), 1
    while changes:  # a mark around a mark shows itself only once the inner one is gone
        text, changes = marks.subn(lambda mark: mark[0].translate(WIDE), text)
    return text


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
    """A text without its middle, of which ``keep`` characters stay, and how many characters were left out.

    >>> cut_middle("abcdefghij", 4)
    ('ab\\n[... 6 characters left out ...]\\nij', 6)
    """
    if len(text) <= keep:
        return text, 0
    tail = keep // 2
    dropped = len(text) - keep
    return f"{text[: keep - tail]}\n[... {dropped:,} characters left out ...]\n{text[len(text) - tail :]}", dropped


def fit(cut_to: Callable[[int], Prompt], longest: int, limit: int | None, measure: Callable[[Any], int]) -> Prompt:
    """The prompt whose responses keep as many characters as fit: it measures ``limit`` at most, else PromptTooLong.

    ``cut_to``: the prompt with every response cut to a number of characters; ``longest``: those of the longest one.
    The rule looks at lengths only, so it treats both positions alike. Questions and references are never cut.
    """
    whole = cut_to(longest)
    if limit is None or measure(whole.messages) <= limit:
        return whole
    if (size := measure(cut_to(LEAST_KEPT).messages)) > limit:
        cut = f"with every response cut to {LEAST_KEPT} characters"
        raise PromptTooLong(f"the prompt has {size:,} units {cut}; {limit:,} are allowed")
    fewer = range(longest - 1, LEAST_KEPT, -1)
    left_out = bisect_left(fewer, True, key=lambda keep: measure(cut_to(keep).messages) <= limit)
    return cut_to(longest - 1 - left_out)
