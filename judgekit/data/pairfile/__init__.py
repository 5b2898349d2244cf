"""Users' own preference pairs and single responses, read from JSON lines, CSV or Parquet.

Whatever is wrong with a file is told in one sentence that names the file, the line and the field.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from judgekit.data.pairfile.lines import Fields, records
from judgekit.data.pairfile.places import PairFileError, Place, missing, row_place
from judgekit.data.sources import text_key
from judgekit.records import PreferencePair, Turn

if TYPE_CHECKING:
    from judgekit.data.pairfile.models import ChosenFields

__all__ = [
    "PairFileError",
    "PairRow",
    "ResponseRow",
    "checked_responses",
    "iterate_pair_rows",
    "read_pair_rows",
    "read_pairs",
    "read_response_rows",
    "repeated_id",
]
FORMS = {"responses": "response_a/response_b", "chosen": "chosen/rejected"}


@dataclass(frozen=True, slots=True)
class PairRow:
    """One row of a user's file as a pair; ``pair.item_id`` is the id as text, ``cluster_id`` a hash of the prompt."""

    id: str | int  # as given; the line number where the row has none
    pair: PreferencePair
    place: Place  # where the row begins
    form: Literal["responses", "chosen"]  # response_a/response_b, or chosen/rejected


@dataclass(frozen=True, slots=True)
class ResponseRow:
    """One row of a user's file as a single response; ``fields`` is the whole row as given."""

    question: str
    response: str
    fields: Fields
    place: Place


# --- pairs


def read_pairs(path: str | Path) -> list[PreferencePair]:
    """The preference pairs of a user's file, in its order; PairFileError if anything is wrong with the file.

    JSON lines, or CSV with a header (``.csv``), in UTF-8, may be gzipped (``.gz``); rows of Parquet (``.parquet``) are
    counted from 1 as lines are. A row takes at most 8 MiB, unpacked.

    A row is ``question``, ``response_a``, ``response_b`` (text; empty is allowed), and optionally ``id`` (text or
    a whole number, the line number by default), ``reference`` and ``label`` (``A``, ``B`` or ``tie`` in any case; ``C``
    is a tie; ``1`` and ``2`` are refused because they may count from 0). Or it is ``prompt``, ``chosen``, ``rejected``,
    each a text or a list of ``{"role", "content"}`` messages; the chosen response is then A, and the label is A. Other
    fields are ignored.
    """
    return [row.pair for row in read_pair_rows(path)]


def read_pair_rows(path: str | Path) -> list[PairRow]:
    """The rows of a user's file, with ids as given; otherwise as `read_pairs`."""
    rows: dict[str, PairRow] = {}
    for row in iterate_pair_rows(path):
        if (earlier := rows.setdefault(row.pair.item_id, row)) is not row:
            raise repeated_id(row, earlier.place)
    return list(rows.values())


def iterate_pair_rows(path: str | Path) -> Iterator[PairRow]:
    """The rows of a user's file one by one; otherwise as `read_pair_rows`, but an id may come twice."""
    path, first = Path(path), None
    for place, fields in records(path):
        row = _pair_row(fields, place)
        first = first or row
        if row.form != first.form:
            had, has = FORMS[first.form], FORMS[row.form]
            raise place.error(f"has {has}, but {first.place.at} has {had}: use one of the two throughout")
        yield row
    if first is None:
        raise Place(path).error("holds no pairs (the file is empty, or has only a header)")


def repeated_id(row: PairRow, earlier: Place) -> PairFileError:
    """The `PairFileError` about a row whose id stands at an earlier place too."""
    return row.place.error(f"is {row.id!r:.80}, which also stands in {earlier.at}", "id")


def _pair_row(fields: Fields, place: Place) -> PairRow:
    chosen = "chosen" in fields or "rejected" in fields
    if chosen and ("response_a" in fields or "response_b" in fields):
        raise place.error("has both response_a/response_b and chosen/rejected: which pair is meant?")
    from judgekit.data.pairfile import models

    row: models.ChosenFields | models.ResponsesFields
    turns: tuple[Turn, ...] = ()
    if chosen:
        row = models.checked(models.ChosenFields, fields, place)
        turns, texts = _conversation(row, fields, place)
    else:
        row = models.checked(models.ResponsesFields, fields, place)
        texts = (row.question, row.response_a, row.response_b)
    given: Any = place.line if row.id is None else row.id
    cluster = text_key(json.dumps([texts[0], [turn.question for turn in turns]]))
    # A lone surrogate cannot be hashed or stored as UTF-8; the id as given is kept beside the pair.
    item_id = str(given).encode("utf-8", "backslashreplace").decode("utf-8")
    fields = {"label": row.label, "reference": row.reference, "source": str(place), "turns": turns}
    pair = PreferencePair(item_id, "pairs", *texts, cluster_id=cluster, **fields)
    return PairRow(given, pair, place, "chosen" if chosen else "responses")


def _conversation(row: "ChosenFields", fields: Fields, place: Place) -> tuple[tuple[Turn, ...], tuple[str, str, str]]:
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
    turns: list[Turn] = []
    asked: list[str] = []  # a system message stands before the user's text
    for message in context:
        if message.role == "assistant":
            turns.append(Turn("\n\n".join(asked), message.content, message.content))
            asked = []
        else:
            asked.append(message.content)
    if not asked:
        raise place.error("does not end with a user message", "prompt")
    return tuple(turns), ("\n\n".join(asked), chosen[-1].content, rejected[-1].content)


# --- single responses


def read_response_rows(path: str | Path, reserved: Sequence[str] = ()) -> list[ResponseRow]:
    """The responses of a user's file, in its order; PairFileError if anything is wrong with the file.

    JSON lines, a JSON list (``.json``, 64 MiB at most, unpacked), or CSV with a header (``.csv``); each may be gzipped
    (``.gz``). UTF-8. Or Parquet.

    A row has ``question`` and ``response`` (``prediction`` is accepted for it), both text, empty allowed. Other fields
    are carried along, except the ``reserved`` ones, which will be added: they are refused.
    """
    path = Path(path)
    rows = [_response_row(fields, place, reserved) for place, fields in records(path, lists=True)]
    if not rows:
        raise Place(path).error("holds no responses (the file is empty, or has only a header)")
    return rows


def checked_responses(samples: Sequence[Any], reserved: Sequence[str] = (), name: str = "samples") -> list[ResponseRow]:
    """A list of dictionaries, looked at as `read_response_rows` does; messages call it ``name``: ``samples[1]``."""
    return [_response_row(sample, row_place(name, n, sample), reserved) for n, sample in enumerate(samples)]


def _response_row(fields: Fields, place: Place, reserved: Sequence[str]) -> ResponseRow:
    if "response" in fields and "prediction" in fields:
        raise place.error("and 'response' are both there: which is meant?", "prediction")
    if clash := next((name for name in reserved if name in fields), None):
        raise place.error("is there already and would be overwritten", clash)
    from judgekit.data.pairfile import models

    row = models.checked(models.SingleFields, fields, place)
    return ResponseRow(row.question, row.response, dict(fields), place)
