"""Aspects that a single response is scored by: definition, described levels, and how a response is shown."""

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, StrictInt, StringConstraints, TypeAdapter, ValidationError, field_validator, model_validator
from pydantic.dataclasses import dataclass

from judgekit.data.files import read_plain
from judgekit.prompts.texts import marks_pattern, neutralised

_SCALES = Path(__file__).with_name("scales")
_MARKS = marks_pattern(["[Instruction]", "[Question]", "[Response]", "[Your Task]"], "")
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
NAME = r"^[a-z][a-z0-9_]*$"  # of an aspect
Score = Annotated[StrictInt, Field(ge=0, le=100)]


class AspectError(ValueError):
    """Aspects cannot be had; the message names the file and the field."""


@dataclass(frozen=True, config={"extra": "forbid"})
class Example:
    """A scored response that shows a teacher the scale and the form of its reply."""

    question: Text
    response: Text
    score: Score
    justification: Text


@dataclass(frozen=True, config={"extra": "forbid"})
class Aspect:
    """One thing that a response is scored by."""

    name: Annotated[str, StringConstraints(pattern=NAME)]  # as it stands in columns and result keys
    title: Text  # as it stands in a prompt
    definition: Text
    levels: dict[Score, Text]  # score to what it means, consecutive and ascending
    example: Example | None = None  # shown to teachers; probes never see it

    @property
    def scores(self) -> tuple[int, ...]:
        """The scores there are, ascending."""
        return tuple(self.levels)

    @field_validator("levels")
    @classmethod
    def _consecutive(cls, levels: dict[int, str]) -> dict[int, str]:
        scores = list(levels)
        if len(scores) < 2 or scores != list(range(scores[0], scores[0] + len(scores))):
            raise ValueError(f"scores {scores}: two whole numbers or more are needed, ascending and without a gap")
        return levels

    @model_validator(mode="after")
    def _example_on_the_scale(self) -> Self:
        if self.example is not None and self.example.score not in self.levels:
            raise ValueError(f"the example's score is {self.example.score}, not one of {list(self.levels)}")
        return self


def load_aspects(name_or_path: str | Path) -> dict[str, Aspect]:
    """Aspects of a preset, or of one's own file, by name in the order of the file; AspectError names file and field.

    ``name_or_path``: ``reasoning`` (five aspects of a worked answer, 1-5), ``sft`` (seven, for fine-tuning, 1-9), or a
    YAML file: names of aspects to ``title``, ``definition``, ``levels`` (whole score to what it means, consecutive and
    ascending) and optionally ``example`` (``question``, ``response``, ``score``, ``justification``).

    >>> list(load_aspects("reasoning")), load_aspects("sft")["relevance"].scores[-1]
    (['semantic_consistency', 'logicality', 'informativeness', 'fluency', 'factuality'], 9)
    """
    presets = sorted(path.stem for path in _SCALES.iterdir())
    shipped = str(name_or_path) in presets
    where = f"{name_or_path}.yaml" if shipped else str(name_or_path)
    source = _SCALES / where if shipped else Path(name_or_path)
    if not source.exists():
        known = ", ".join(presets)
        raise AspectError(f"{where}: neither a file nor one of the aspects that come with judgekit ({known})")
    values = read_plain(source, where, AspectError)
    if not isinstance(values, dict) or not values:
        raise AspectError(f"{where}: holds no aspects (names, each with title, definition and levels)")
    return {name: _aspect_of(name, fields, where) for name, fields in values.items()}


def _aspect_of(name: Any, fields: Any, where: str) -> Aspect:
    if not isinstance(fields, dict) or "name" in fields:
        raise AspectError(f"{where}: {name}: title, definition, levels and example are the fields of an aspect")
    given = {str(field): value for field, value in fields.items()} | {"name": name}
    try:
        return TypeAdapter(Aspect).validate_python(given)
    except ValidationError as wrong:
        first = min(wrong.errors(), key=lambda error: "missing" in error["type"])
        field = ".".join(str(part) for part in (name, *first["loc"]))
        raise AspectError(f"{where}: {field}: {first['msg']} (not {first['input']!r:.60})") from None


def shown_response(question: str, response: str) -> str:
    """A question and a response as one text; marks of a prompt and special tokens in them get full-width brackets."""
    return f"[Question]\n\n{neutralised(question, _MARKS)}\n\n[Response]\n\n{neutralised(response, _MARKS)}"


def rubric(aspect: Aspect) -> dict[str, str]:
    """What a template says about an aspect, by placeholder."""
    return {
        "title": aspect.title,
        "definition": aspect.definition,
        "lowest": str(aspect.scores[0]),
        "highest": str(aspect.scores[-1]),
        "levels": "\n".join(f"{score} - {text}" for score, text in aspect.levels.items()),
    }
