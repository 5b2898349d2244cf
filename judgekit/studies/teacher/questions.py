"""Questions that a model is asked, with their options in an order that is drawn once and kept."""

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, StrictStr

from judgekit.data.pairfile import models
from judgekit.data.pairfile.lines import Fields, records
from judgekit.data.pairfile.places import Place, kind_of, missing, row_place
from judgekit.prompts.texts import LONE_SURROGATE

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Question:
    """A question to be asked, as given."""

    id: str | int  # the line number (from 1) or the place in the list (from 0) where none was given
    text: str
    options: tuple  # texts, of a multiple-choice question; empty for others
    reference: str | None  # what is right, as a text; kept beside the response and shown to nobody
    place: Place

    def shuffled(self, seed: int) -> list[str]:
        """The options in the order they are shown in.

        The order depends on the seed, the question and the set of options, and on nothing else: neither on the order
        that was given (where the right one often stands first), nor on the rest of the file, nor on the run.
        """
        options = sorted(self.options)
        random.Random(json.dumps([seed, self.text, options])).shuffle(options)
        return options

    def asked(self, options: Sequence[str]) -> str:
        """The text that is asked: the question, and its options with letters."""
        lines = [f"({letter}) {option}" for letter, option in zip(LETTERS, options, strict=False)]
        text = "\n\n".join([self.text, "\n".join(lines)] if lines else [self.text])
        return LONE_SURROGATE.sub("\ufffd", text)  # a text that holds one cannot be sent


def read_questions(path: str | Path) -> list[Question]:
    """The questions of a file: JSON lines, or CSV (without options) where its name says so; either may be gzipped.

    Rows of ``question`` and optionally ``id``, ``options`` (a list of texts) and ``reference``.
    `judgekit.data.pairfile.PairFileError` names file, line and field.
    """
    questions = checked([(place, fields) for place, fields in records(Path(path))])
    if not questions:
        raise Place(Path(path)).error("holds no questions (the file is empty, or has only a header)")
    return questions


def checked_questions(rows: Iterable[Mapping[str, Any]]) -> list[Question]:
    """Questions from dictionaries; the fields are those of `read_questions`.

    `judgekit.data.pairfile.PairFileError` names the place in the list and the field.
    """
    return checked([(row_place("questions", n, row), Fields({"id": n, **row}.items())) for n, row in enumerate(rows)])


def checked(rows: Iterable[tuple[Place, Fields]]) -> list[Question]:
    """Questions from places and fields, each id once."""
    questions, seen = [], {}  # type: list[Question], dict[str, Place]
    for place, fields in rows:
        question = question_of(fields, place)
        if (name := str(question.id)) in seen:
            raise place.error(f"is {question.id!r:.80}, which also stands in {seen[name]}", "id")
        seen[name] = place
        questions.append(question)
    return questions


class QuestionFields(BaseModel):
    """What a question file's row may hold beside ``options``."""

    id: models.Id = None
    question: StrictStr
    reference: StrictStr | None = None


def question_of(fields: Fields, place: Place) -> Question:
    """One checked question."""
    row = models.checked(QuestionFields, fields, place)
    if not row.question.strip():
        raise place.error("is empty", "question")
    options = fields.get("options")
    if options is not None:
        check_options(options, place)
    given = place.line if row.id is None else row.id
    if given is None:
        raise missing(fields, "id", place)
    return Question(given, row.question, tuple(options or ()), row.reference, place)


def check_options(options: Any, place: Place) -> None:
    """Refuse options that are not two or more texts; the same text may stand twice, as in some items of GPQA."""
    if not isinstance(options, list | tuple):
        raise place.error(f"is {kind_of(options)}, not a list of texts", "options")
    for number, option in enumerate(options):
        if not isinstance(option, str) or not option.strip():
            said = "is empty" if isinstance(option, str) else f"is {kind_of(option)}, not text"
            raise place.error(said, f"options[{number}]")
    if not 2 <= len(options) <= len(LETTERS):
        raise place.error(f"holds {len(options)} options; from 2 to {len(LETTERS)} can be asked", "options")
