"""Users' own preference pairs and single responses, read from JSON lines, CSV or Parquet.

Whatever is wrong with a file is told in one sentence that names the file, the line and the field.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, Field, StrictStr, ValidationError

from judgekit.data.loading import text_key
from judgekit.data.pairfile.lines import OPTIONAL, Fields, Place, kind_of, missing, records
from judgekit.data.pairfile.lines import PairFileError as PairFileError
from judgekit.records import PreferencePair, Turn, majority_label

LABEL_WORDS = {"a": "A", "response_a": "A", "b": "B", "response_b": "B", "tie": "tie", "draw": "tie"}
Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class PairRow:
    """One row of a user's file as a pair; ``pair.item_id`` is the id as text, ``cluster_id`` a hash of the prompt."""

    id: str | int  # as given; the number of the line or row where it has none
    pair: PreferencePair
    place: Place  # where the row begins
    form: Literal["response_a/response_b", "chosen/rejected"]
    odd: tuple[str, ...]  # what is worth a note, though it can be judged all the same


@dataclass(frozen=True, slots=True)
class ResponseRow:
    """One row of a user's file as a single response; ``fields`` is the whole row as given."""

    question: str
    response: str
    fields: Fields
    place: Place
    odd: tuple[str, ...]


def _oddities(question: str, *responses: str) -> Iterator[str]:
    """What is worth a note about a row that can be judged (of two responses) or rated (of one) all the same."""
    texts = [text.strip() for text in responses]
    if not question.strip():
        yield "an empty question"
    if len(texts) == 2 and len(set(texts)) == 1:
        yield "two equal responses" if texts[0] else "two empty responses"
    elif not all(texts):
        yield "one empty response"


@lru_cache(maxsize=1024)
def _meant(name: str) -> str | None:
    """The optional field that another name may be a misspelling of; "notes" are no votes."""
    near = get_close_matches(name.lower(), OPTIONAL, n=1, cutoff=0.8)
    return near[0] if near and near[0][0] == name[0].lower() else None


# --- what a row may hold: a ValueError of a validator is the end of a sentence that names file, line and field


def _given_id(value: Any) -> str | int:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"is {kind_of(value)}, not text or a whole number")
    if value == "":
        raise ValueError("is empty (leave the field out to use line numbers)")
    return value


def _label(value: str | None) -> str | None:
    word = (value or "").strip().lower()
    if word in ("0", "1", "2"):
        raise ValueError(f"is {value!r}, which may count from 0 or from 1: write A, B or tie")
    if word and word not in LABEL_WORDS:
        raise ValueError(f"is {value!r:.80}, not A, B or tie")
    return LABEL_WORDS[word] if word else None


def _label_of_chosen(value: str | None) -> str:
    if _label(value) not in (None, "A"):
        raise ValueError(f"is {value!r:.40}, but the chosen response is A by definition")
    return "A"


class _Message(BaseModel):
    role: Literal["system", "user", "assistant"]
    content: StrictStr


def _said_by(role: str) -> BeforeValidator:
    """A text is one message of ``role``."""
    return BeforeValidator(lambda value: [{"role": role, "content": value}] if isinstance(value, str) else value)


Id = Annotated[Any, AfterValidator(_given_id)]
Label = Annotated[StrictStr | None, AfterValidator(_label)]
Messages = Annotated[list[_Message], Field(min_length=1)]
EXPECTED = {
    "string_type": "text",
    "dict_type": "an object from annotator to label",
    "list_type": "text or a list of messages",
    "model_type": "an object with role and content",
}


class _Responses(BaseModel):
    id: Id = None
    question: Annotated[Messages, _said_by("user")]
    response_a: StrictStr
    response_b: StrictStr
    label: Label = None
    votes: dict[StrictStr, Label] | None = None
    reference: StrictStr | None = None


class _Chosen(BaseModel):
    id: Id = None
    label: Annotated[StrictStr | None, AfterValidator(_label_of_chosen)] = "A"
    chosen: Annotated[Messages, _said_by("assistant")]
    rejected: Annotated[Messages, _said_by("assistant")]
    prompt: Annotated[Messages, _said_by("user")] = []
    reference: StrictStr | None = None


class _Single(BaseModel):
    question: StrictStr
    response: StrictStr = Field(validation_alias=AliasChoices("response", "prediction"))


def checked(model: type[Model], fields: Fields, place: Place) -> Model:
    """A row after a look at its fields; PairFileError about the first that is wrong."""
    try:
        return model.model_validate(fields)
    except ValidationError as bad:
        first = bad.errors(include_url=False)[0]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).removeprefix(".")
    if first["type"] == "missing":
        raise missing(first["input"], name, place)
    if first["type"] == "too_short":
        raise place.error("is an empty list of messages", name)
    if first["type"] == "literal_error":
        raise place.error(f"is {first['input']!r:.40}, not one of {first['ctx']['expected']}", name)
    expected = EXPECTED.get(first["type"])
    raise place.error(f"is {kind_of(first['input'])}, not {expected}" if expected else str(first["ctx"]["error"]), name)


# --- pairs


def read_pairs(path: str | Path) -> list[PreferencePair]:
    """The preference pairs of a user's file, in its order; PairFileError if anything is wrong with the file.

    JSON lines, a JSON list (``.json``, at most 64 MiB), CSV with a header (``.csv``; ``.tsv`` with tabs), in UTF-8, may
    be gzipped (``.gz``); or Parquet (``.parquet``), its rows counted from 1. A row takes at most 8 MiB, unpacked.

    A row is ``question``, ``response_a``, ``response_b`` (text; empty is allowed), and optionally ``id`` (text or a
    whole number; by default the line's, or in a list the row's), ``reference`` and ``label`` (``A``, ``B`` or ``tie``
    in any case), or ``votes`` (an object from annotator to label; without a label their majority is it). Or it is
    ``prompt``, ``chosen``, ``rejected``; the chosen response is then A, and the label is A. Of these and of
    ``question`` each is a text or a list of ``{"role", "content"}`` messages. Other fields are ignored.
    """
    return [row.pair for row in iterate_unique_rows(path)]


def iterate_unique_rows(path: str | Path) -> Iterator[PairRow]:
    """The rows of a user's file one by one, with ids as given; otherwise as `read_pairs`."""
    # SQLite's database without a name is on disk and goes when closed: ids need no memory.
    with closing(sqlite3.connect("")) as seen:
        seen.execute("CREATE TABLE ids (id TEXT PRIMARY KEY, line INTEGER) WITHOUT ROWID")
        for row in iterate_pair_rows(path):
            put = "INSERT INTO ids VALUES (?, ?) ON CONFLICT DO UPDATE SET line = line RETURNING line"
            ((line,),) = seen.execute(put, (row.pair.item_id, row.place.line)).fetchall()
            if line != row.place.line:
                earlier = replace(row.place, line=line, aside="").at
                raise row.place.error(f"is {row.id!r:.80}, which also stands in {earlier}", "id")
            yield row


def iterate_pair_rows(path: str | Path) -> Iterator[PairRow]:
    """The rows of a user's file one by one; otherwise as `iterate_unique_rows`, but an id may come twice."""
    path, first = Path(path), None
    for place, fields in records(path):
        row = pair_row(fields, place)
        first = first or row
        if row.form != first.form:
            raise place.error(f"has {row.form}, but {first.place.at} has {first.form}: use one of the two throughout")
        yield row
    if first is None:
        raise Place(path).error("holds no pairs (the file is empty, or has only a header)")


def id_text(given: str | int) -> str:
    """An id as the text that names an item: a lone surrogate cannot be hashed or stored as UTF-8."""
    return str(given).encode("utf-8", "backslashreplace").decode("utf-8")


def pair_row(fields: Fields, place: Place) -> PairRow:
    chosen = "chosen" in fields or "rejected" in fields
    if chosen and ("response_a" in fields or "response_b" in fields):
        raise place.error("has both response_a/response_b and chosen/rejected: which pair is meant?")
    row: _Chosen | _Responses
    turns: tuple[Turn, ...] = ()
    if chosen:
        row = checked(_Chosen, fields, place)
        turns, texts = _conversation(row, fields, place)
    else:
        row = checked(_Responses, fields, place)
        turns, asked = _asked(row.question, "question", place)
        texts = (asked, row.response_a, row.response_b)
    given: Any = place.line if row.id is None else row.id
    cluster = text_key(json.dumps([texts[0], [turn.question for turn in turns]]))
    given_votes = {} if isinstance(row, _Chosen) else row.votes or {}
    votes = {who: vote for who, vote in given_votes.items() if vote}  # as Parquet has those who gave none
    label = row.label or majority_label(votes)
    own: Fields = {"label": label, "votes": votes, "reference": row.reference, "source": str(place), "turns": turns}
    pair = PreferencePair(id_text(given), "pairs", *texts, cluster_id=cluster, **own)
    against = ["a label that most of their votes contradict"] * (majority_label(votes) not in (None, label))
    meant = [(name, near) for name in fields if (near := _meant(name)) and near not in fields]
    unread = [f"a field {name!r}, which is not read ({near!r} is)" for name, near in meant]
    unread += ["votes beside 'chosen', which are not read"] * (chosen and bool(fields.get("votes")))
    odd = (*_oddities(pair.asked, *pair.responses), *against, *unread)
    return PairRow(given, pair, place, "chosen/rejected" if chosen else "response_a/response_b", odd)


def _conversation(row: _Chosen, fields: Fields, place: Place) -> tuple[tuple[Turn, ...], tuple[str, str, str]]:
    """Earlier turns, question and responses, which may be whole conversations: what both share is the prompt."""
    chosen, rejected = row.chosen, row.rejected
    shared = 0
    while shared < min(len(chosen), len(rejected)) - 1 and chosen[shared] == rejected[shared]:
        shared += 1
    for name, messages in (("chosen", chosen), ("rejected", rejected)):
        if [message.role for message in messages[shared:]] != ["assistant"]:
            raise place.error("does not hold exactly one assistant message after the shared messages", name)
    # With the conversation inside the responses the prompt may be left out.
    if not row.prompt and not shared:
        raise missing(fields, "prompt", place)
    prompt, context = row.prompt, chosen[:shared]
    if prompt not in (context[: len(prompt)], context[len(context) - len(prompt) :]):
        context = prompt + context
    turns, asked = _asked(context, "prompt", place)
    return turns, (asked, chosen[-1].content, rejected[-1].content)


def _asked(messages: Sequence[_Message], name: str, place: Place) -> tuple[tuple[Turn, ...], str]:
    """Earlier turns, which both responses share, and what is asked in the end."""
    turns: list[Turn] = []
    asked: list[str] = []  # a system message stands before the user's text
    for message in messages:
        if message.role == "assistant":
            turns.append(Turn("\n\n".join(asked), message.content, message.content))
            asked = []
        else:
            asked.append(message.content)
    if not asked:
        raise place.error("does not end with a user message", name)
    return tuple(turns), "\n\n".join(asked)


# --- single responses


def read_response_rows(
    path: str | Path, reserved: Sequence[str] = (), left_out: Counter[str] | None = None
) -> list[ResponseRow]:
    """The responses of a user's file, of a form as of `read_pairs`, in its order; PairFileError if anything is wrong.

    A row has ``question`` and ``response`` (``prediction`` is accepted for it), both text, empty allowed. Other fields
    are carried along, except the ``reserved`` ones, which will be added: they are refused. ``left_out`` counts rows for
    which `judgekit collect` got no response; without it they are refused.
    """
    path, rows = Path(path), []
    for place, fields in records(path):
        if left_out is not None and fields.get("status") in ("error", "skipped") and not fields.get("response"):
            left_out["no response, left out"] += 1
        else:
            rows.append(_response_row(fields, place, reserved))
    if not rows:
        raise Place(path).error("holds no responses (the file is empty, or has only a header)")
    return rows


def checked_responses(samples: Sequence[Any], reserved: Sequence[str] = ()) -> list[ResponseRow]:
    """A list of dictionaries, looked at as `read_response_rows` does; messages call them ``samples[1]``."""
    return [_response_row(sample, Place(Path(f"samples[{n}]")), reserved) for n, sample in enumerate(samples)]


def _response_row(fields: Any, place: Place, reserved: Sequence[str]) -> ResponseRow:
    if not isinstance(fields, dict):
        raise place.error(f"is {kind_of(fields)}, not an object with fields")
    if "response" in fields and "prediction" in fields:
        raise place.error("and 'response' are both there: which is meant?", "prediction")
    if clash := next((name for name in reserved if name in fields), None):
        raise place.error("is there already and would be overwritten", clash)
    row = checked(_Single, fields, place)
    odd = tuple(_oddities(row.question, row.response))
    return ResponseRow(row.question, row.response, dict(fields), place, odd)
