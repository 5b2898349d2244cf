"""Prompts that ask for a score on a scale: by a criterion, with what the levels mean."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

from judgekit.data.files import read_plain
from judgekit.prompts.files import PromptError, fill, template_names, template_of
from judgekit.prompts.strategy import Call, Strategy, turn_templates

_MOST_SCORES = 1000  # of a scale: each is a reply that is weighed
_QUALITY = "How good the response is: it does what the instruction asks, what it says is true, and it is clear."


def checked_scores(scores: Iterable[Any]) -> tuple[int, ...]:
    """A scale as a tuple; PromptError where it has fewer than two scores, or they are not whole and ascending."""
    scale = tuple(scores)
    whole = all(isinstance(score, Integral) and not isinstance(score, bool) for score in scale)
    if not whole or len(scale) < 2 or list(scale) != sorted(set(scale)):
        raise PromptError(f"a scale has two whole scores or more, ascending, not {list(scale)}")
    return tuple(map(int, scale))


@dataclass(frozen=True)
class Rubric:
    """What a score means; PromptError if the criterion is no text, the scale none, or a level is not on it."""

    criterion: str = _QUALITY
    scores: tuple[int, ...] = (1, 2, 3, 4, 5)  # ascending
    levels: tuple[tuple[int, str], ...] = ()  # what some of the scores mean; by default the ends

    def __post_init__(self) -> None:
        if not (isinstance(self.criterion, str) and self.criterion.strip()):
            raise PromptError("the criterion of a rubric must be a text")
        checked_scores(self.scores)
        for score, text in self.levels:
            if score not in self.scores:
                raise PromptError(f"level {score!r} is not on the scale from {self.scores[0]} to {self.scores[-1]}")
            if not (isinstance(text, str) and text.strip()):
                raise PromptError(f"what level {score} means must be a text")

    @property
    def described(self) -> str:
        """The levels, a line each, lowest first."""
        ends = (self.scores[0], "not at all, or the worst there can be"), (self.scores[-1], "fully, or the best")
        return "\n".join(f"{score}: {text}" for score, text in sorted(self.levels or ends))


def scale_of(text: str) -> tuple[int, ...]:
    """A scale from its ends, ``"1-5"``: every whole score between them; PromptError if the text is none.

    >>> scale_of("0-4")
    (0, 1, 2, 3, 4)
    """
    ends = re.fullmatch(r"(\d+)-(\d+)", text)
    if ends is None or not 0 < int(ends[2]) - int(ends[1]) < _MOST_SCORES:
        raise PromptError(f"scale {text!r} is not LOWEST-HIGHEST, e.g. 1-5, of at most {_MOST_SCORES:,} scores")
    return tuple(range(int(ends[1]), int(ends[2]) + 1))


def read_rubric(path: str | Path, scores: Iterable[int]) -> Rubric:
    """A rubric from a YAML file of ``criterion`` and perhaps ``levels``; PromptError names the file and the field."""
    values = read_plain(Path(path), str(path), PromptError)
    if not isinstance(values, dict) or "criterion" not in values:
        raise PromptError(f"{path}: field 'criterion' is missing")
    if unknown := sorted(map(str, set(values) - {"criterion", "levels"})):
        raise PromptError(f"{path}: field {unknown[0]!r} is not one of criterion, levels")
    levels = values.get("levels") or {}
    if not isinstance(levels, dict):
        raise PromptError(f"{path}: field 'levels' is no mapping from a score to a text")
    try:
        return Rubric(values["criterion"], tuple(scores), tuple(levels.items()))
    except PromptError as wrong:
        raise PromptError(f"{path}: {wrong}") from None


def score_prompt(name: str, rubric: Rubric | None = None) -> Strategy:
    """A prompt for scores (``direct``, ``reasoning``, ...) as a strategy; by default for quality from 1 to 5.

    Its call ``verdict`` shows question and response (or the question alone), ``with_reference`` a reference too, where
    the prompt has room for one. ``said["score"]`` is the form of the reply, with ``{score}`` in it.

    >>> score_prompt("direct", Rubric(scores=(1, 2, 3))).said["score"]
    'Rating: [[{score}]]'
    """
    rubric = rubric or Rubric()
    if name not in (known := template_names("scores")):
        raise PromptError(f"no prompt for scores is called {name!r}; there are {', '.join(known)}")
    head, sections = template_of(f"scores/{name}.txt")
    texts, view = dict(sections), head["kind"]
    ends = {"lowest": str(rubric.scores[0]), "highest": str(rubric.scores[-1])}
    system = fill(texts["system"], {"criterion": rubric.criterion, "levels": rubric.described, **ends})
    calls = [Call("verdict", view, system, texts["user"])]
    if "with reference" in texts:
        calls.append(Call("with_reference", view, system, texts["with reference"]))
    said = {"score": head["reply"], "scale": json.dumps(rubric.scores)}
    return Strategy(f"scores/{name}", "single", "rating", tuple(calls), turn_templates(), said, name != "reasoning")
