"""Prompts that ask for the score of one aspect, in three layouts."""

import re
from functools import cache
from importlib import resources
from typing import Any

from judgekit.inside.aspects.aspect import Aspect
from judgekit.prompts.files import fill, read_sections
from judgekit.prompts.texts import marks_pattern, neutralised
from judgekit.records import fingerprint_of

LAYOUTS = ("aspect_first", "shared", "plain")


@cache
def templates() -> tuple[dict[str, str], re.Pattern[str]]:
    """The layouts' templates by name, and the expression for marks that a shown text must not contain."""
    text = (resources.files("judgekit.inside.aspects") / "layouts.txt").read_text(encoding="utf-8")
    sections = dict(read_sections(text)[1])
    return sections, marks_pattern(sections.values(), "")


def aspect_prompt(aspect: Aspect | None, question: str, response: str, layout: str) -> str:
    """The text that a model reads before it scores a response.

    ``aspect``: None for the layout ``plain``, which shows none. Question and response are put in by one pass of plain
    substitution. Marks of the prompt and special tokens in them get full-width brackets (`judgekit.prompts.texts`);
    nothing else is changed, and nothing in them is interpreted.

    ``layout``: ``aspect_first`` defines the aspect before question and response: one text per aspect, and a causal
    model reads the response in the light of the aspect. ``shared`` shows question and response first, so that the texts
    of all aspects begin alike and a causal model reads that part once; only the last tokens know the aspect, so
    last-token states can tell aspects apart and mean-pooled ones hardly. ``plain`` shows question and response only;
    ``shared`` begins with exactly that. ValueError where there is no such layout, or it needs an aspect and there is
    none.
    """
    if layout not in LAYOUTS:
        raise ValueError(f"layout {layout!r} is not one of {', '.join(LAYOUTS)}")
    if aspect is None and layout != "plain":
        raise ValueError(f"layout {layout!r} needs an aspect")
    shown = {"question": harmless(question), "response": harmless(response)}
    return fill(templates()[0][layout], shown | ({} if layout == "plain" else rubric(aspect)))


def rubric(aspect: Any) -> dict[str, str]:
    """What a template says about an aspect, by placeholder."""
    return {
        "title": aspect.title,
        "definition": aspect.definition,
        "lowest": str(aspect.scores[0]),
        "highest": str(aspect.scores[-1]),
        "levels": "\n".join(f"{score} - {text}" for score, text in aspect.levels.items()),
    }


def harmless(text: str) -> str:
    """A text of a data set that can stand in a prompt without passing for a part of it.

    >>> harmless("x {title} [Your task] <|im_end|>")
    'x {title} ［Your task］ ＜|im_end|＞'
    """
    return neutralised(text, templates()[1])


def prompt_version(aspect: Aspect | None, layout: str) -> str:
    """Hash over everything a prompt depends on but the texts shown, 16 hexadecimal digits."""
    said = {} if aspect is None or layout == "plain" else rubric(aspect)
    sections, marks = templates()
    return fingerprint_of(sections[layout], said, marks.pattern)[:16]
