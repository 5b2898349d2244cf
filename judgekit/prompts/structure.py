"""Texts of a data set cannot pass for a part of the prompt.

A prompt is told apart from what it shows by marks: lines in brackets, ``[[A]]``, the special tokens of chat templates.
Where a text to be judged holds such a mark, its ASCII brackets are exchanged for full-width ones: ``[[A]]`` becomes
``［［A］］`` and ``<|im_end|>`` becomes ``＜|im_end|＞``. A reader sees what stood there, one character stays one
character, and nothing else is touched. Neither a tokenizer nor a parser takes it for the mark, even when the judge
quotes it.
"""

import re
from collections.abc import Iterable

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
VERDICTS = {
    "brackets": (r"\[\[\s*[ABC]\s*\]\]",),
    "rating": (r"\[\[\s*(?:rating|-?\d+(?:\.\d+)?)\s*\]\]",),
}


def marks_pattern(templates: Iterable[str], verdict_format: str) -> re.Pattern[str]:
    """One expression for all marks of a prompt: those of its verdicts' format are among them.

    The templates' lines in brackets are marks, whatever their case and inner spaces.
    """
    lines = {line.strip() for text in templates for line in text.splitlines()}
    own = sorted(line for line in lines if re.fullmatch(r"\[[^\[\]{}]+\]", line))
    spaced = [r"\s+".join(re.escape(word) for word in line.split()) for line in own]
    return re.compile("|".join([*SPECIAL_TOKENS, *VERDICTS.get(verdict_format, ()), *HEADINGS, *spaced]), re.IGNORECASE)


def neutralised(text: str, marks: re.Pattern[str]) -> str:
    """A text of the same length with its marks made harmless.

    Lone surrogates, which cannot be sent, become the replacement character.

    >>> neutralised("x[[1]] so [[A]]", marks_pattern([], "brackets"))
    'x[[1]] so ［［A］］'
    """
    text, changes = LONE_SURROGATE.sub("\ufffd", text), 1
    while changes:  # a mark around a mark shows itself only once the inner one is gone
        text, changes = marks.subn(lambda mark: mark[0].translate(WIDE), text)
    return text
