"""Aspects and their files: YAML that is checked field by field."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from judgekit.data.plain_yaml import PlainSafeLoader

FIELDS = {"title", "definition", "levels", "example"}
EXAMPLE = {"question", "response", "score", "justification"}
NAME = re.compile(r"[a-z][a-z0-9_]*")
FEWEST, LOWEST, HIGHEST = 2, 0, 100


class AspectError(ValueError):
    """Aspects cannot be had; the message names the file and the field."""


@dataclass(frozen=True, slots=True)
class Example:
    """A scored response that shows a teacher the scale and the form of its reply."""

    question: str
    response: str
    score: int
    justification: str


@dataclass(frozen=True)
class Aspect:
    """One thing that a response is scored by.

    ``name``: lower case, as it stands in columns and result keys. ``title``: as it stands in a prompt. ``levels``:
    score to what it means, consecutive whole numbers, ascending. ``example``: shown to teachers; probes never see it.
    """

    name: str
    title: str
    definition: str
    levels: dict
    example: Example | None = None

    @property
    def scores(self) -> tuple[int, ...]:
        """The scores there are, ascending."""
        return tuple(self.levels)


class SafeOnceLoader(PlainSafeLoader):
    """The safe loader, which also refuses a key that stands twice: it would keep the last in silence."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """A mapping, each key once."""
        seen = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise AspectError(f"line {key.start_mark.line + 1}: field {key.value!r} stands twice")
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def preset_names() -> list[str]:
    """Names of the aspects that come with the package."""
    files = resources.files("judgekit.inside.aspects").iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


def load_aspects(name_or_path: str | Path) -> dict[str, Aspect]:
    """Aspects of a preset, or of a file of one's own, by name and in the order of the file.

    ``name_or_path``: ``reasoning`` (five aspects of a worked answer, 1-5), ``sft`` (seven aspects of examples for
    fine-tuning, 1-9), or a YAML file: names of aspects to ``title``, ``definition``, ``levels`` (whole score to what it
    means, consecutive and ascending) and optionally ``example`` (``question``, ``response``, ``score``,
    ``justification``). AspectError names file and field.

    >>> list(load_aspects("reasoning")), load_aspects("sft")["relevance"].scores[-1]
    (['semantic_consistency', 'logicality', 'informativeness', 'fluency', 'factuality'], 9)
    """
    if str(name_or_path) in preset_names():
        source = resources.files("judgekit.inside.aspects") / f"{name_or_path}.yaml"
        where = f"{name_or_path}.yaml"
    else:
        source, where = Path(name_or_path), str(name_or_path)
    try:
        values = yaml.load(source.read_text(encoding="utf-8-sig"), Loader=SafeOnceLoader)
    except AspectError as wrong:
        raise AspectError(f"{where}: {wrong}") from None
    except FileNotFoundError:
        known = ", ".join(preset_names())
        raise AspectError(f"{where}: neither a file nor one of the aspects that come with judgekit ({known})") from None
    except (OSError, UnicodeDecodeError) as bad:
        raise AspectError(f"{where}: cannot be read ({bad})") from None
    except (yaml.YAMLError, ValueError, RecursionError) as bad:  # ValueError: a date that is none
        raise AspectError(f"{where}: not YAML ({' '.join(str(bad).split())[:300]})") from None
    if not isinstance(values, dict) or not values:
        raise AspectError(f"{where}: holds no aspects (names, each with title, definition and levels)")
    return {name: aspect_of(name, fields, where) for name, fields in values.items()}


def aspect_of(name: Any, fields: Any, where: str) -> Aspect:
    """One checked aspect."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise AspectError(f"{where}: the name {name!r} is not lower-case letters, digits and _")
    place = f"{where}: {name}"
    check_names(fields, FIELDS, place, optional={"example"})
    title, definition = (text_of(fields, field, place) for field in ("title", "definition"))
    levels = levels_of(fields["levels"], f"{place}.levels")
    example = example_of(fields["example"], levels, f"{place}.example") if "example" in fields else None
    return Aspect(name, title, definition, levels, example)


def check_names(fields: Any, known: set[str], place: str, optional: Iterable[str] = ()) -> None:
    """Refuse unknown and missing fields."""
    if not isinstance(fields, dict):
        raise AspectError(f"{place} is {kind_of(fields)}, not fields with values")
    if unknown := [field for field in fields if field not in known]:
        raise AspectError(f"{place}: there is no field {unknown[0]!r}; there are {', '.join(sorted(known))}")
    if missing := sorted(known - set(optional) - set(fields)):
        raise AspectError(f"{place}: field {missing[0]!r} is missing")


def text_of(fields: Mapping[Any, Any], field: Any, place: str) -> str:
    """A text that says something, without blanks around it."""
    value = fields[field]
    if not isinstance(value, str) or not value.strip():
        raise AspectError(f"{place}.{field} is {kind_of(value)}, not text")
    return value.strip()


def levels_of(given: Any, place: str) -> dict[int, str]:
    """Scores and what they mean."""
    if not isinstance(given, dict):
        raise AspectError(f"{place} is {kind_of(given)}, not scores with descriptions")
    for score in given:
        if not is_whole(score) or not LOWEST <= score <= HIGHEST:
            raise AspectError(f"{place}: {score!r} is not a whole number from {LOWEST} to {HIGHEST}")
    scores = list(given)
    if len(scores) < FEWEST:
        raise AspectError(f"{place} holds {len(scores)} scores; at least {FEWEST} are needed")
    if scores != sorted(scores):
        raise AspectError(f"{place}: scores stand in the order {scores}; write them ascending")
    if missing := sorted(set(range(scores[0], scores[-1])) - set(scores)):
        raise AspectError(f"{place}: level {missing[0]} is missing")
    return {score: text_of(given, score, place) for score in scores}


def example_of(fields: Any, levels: Mapping[int, str], place: str) -> Example:
    """A checked example."""
    check_names(fields, EXAMPLE, place)
    if not is_whole(fields["score"]) or fields["score"] not in levels:
        raise AspectError(f"{place}.score is {fields['score']!r}, not one of {', '.join(map(str, levels))}")
    question, response, justification = (
        text_of(fields, field, place) for field in ("question", "response", "justification")
    )
    return Example(question, response, fields["score"], justification)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number (true and false are none)."""
    return isinstance(value, int) and not isinstance(value, bool)


def kind_of(value: Any) -> str:
    """What a YAML value is, in words."""
    kinds = {str: "empty text", dict: "fields with values", list: "a list", type(None): "empty"}
    return kinds.get(type(value), f"{type(value).__name__} {value!r:.40}")
