"""Rows of a user's file as single responses: a question, a response, and whatever else the row carries."""

import json
from dataclasses import dataclass
from pathlib import Path

from judgekit.pairfile.lines import Fields, decoded_lines, json_object, records
from judgekit.pairfile.places import Place, row_place
from judgekit.pairfile.rows import text_of

RESPONSE_FIELDS = ("response", "prediction")


@dataclass(frozen=True, slots=True)
class ResponseRow:
    """One row of a user's file.

    Attributes
    ----------
    question, response : str
    fields : dict
        The whole row as given.
    place : Place
        Where the row begins.
    """

    question: str
    response: str
    fields: dict
    place: Place


def read_response_rows(path, reserved=()):
    """The responses of a user's file.

    Parameters
    ----------
    path : path
        JSON lines, a JSON list (``.json``), or CSV with a header (``.csv``); each may be gzipped (``.gz``). UTF-8.
    reserved : sequence of str
        Fields that a row must not have, since they will be added.

    Returns
    -------
    list of ResponseRow
        In the order of the file.

    Raises
    ------
    PairFileError
        If anything is wrong with the file; the message names file, line and field.

    Notes
    -----
    A row has ``question`` and ``response`` (``prediction`` is accepted for it), both text, empty allowed. Other fields
    are carried along.
    """
    path = Path(path)
    rows = [response_row(fields, place, reserved) for place, fields in placed_fields(path)]
    if not rows:
        raise Place(path).error("holds no responses (the file is empty, or has only a header)")
    return rows


def checked_responses(samples, reserved=(), name="samples"):
    """A list of dictionaries, looked at as the rows of a file are.

    Parameters
    ----------
    samples : list of dict
    reserved : sequence of str
        As for `read_response_rows`.
    name : str
        What the list is called in messages: ``samples[1]``.

    Returns
    -------
    list of ResponseRow

    Raises
    ------
    PairFileError
        If anything is wrong with a sample; the message names its place in the list and the field.
    """
    return [response_row(sample, row_place(name, n, sample), reserved) for n, sample in enumerate(samples)]


def response_row(fields, place, reserved):
    """One row after a look at its fields."""
    given = [name for name in RESPONSE_FIELDS if name in fields]
    if len(given) > 1:
        raise place.error("and 'response' are both there: which is meant?", "prediction")
    if clash := next((name for name in reserved if name in fields), None):
        raise place.error("is there already and would be overwritten", clash)
    question = text_of(fields, "question", place)
    return ResponseRow(question, text_of(fields, given[0] if given else "response", place), dict(fields), place)


def placed_fields(path):
    """Rows of a file as (Place, Fields); a ``.json`` file may hold one list of them."""
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    if plain.suffix.lower() != ".json":
        yield from records(path)
        return
    text = "".join(line for _, line in decoded_lines(path))
    if text.lstrip().startswith("["):
        yield from listed_fields(text, path)
    else:
        yield from records(path)


def listed_fields(text, path):
    """The objects of a JSON list, each with the line it begins in."""
    decoder, position, line = json.JSONDecoder(object_pairs_hook=Fields), text.index("[") + 1, 1
    counted = 0
    separator = "["
    while True:
        rest = len(text) - len(text[position:].lstrip())
        line, counted = line + text.count("\n", counted, rest), rest
        place = Place(path, line)
        if rest == len(text):
            raise place.error("the list does not end: ']' is missing")
        if text[rest] == "]" and separator != ",":
            if text[rest + 1 :].strip():
                raise place.error("goes on after the end of the list")
            return
        try:
            value, position = decoder.raw_decode(text, rest)
        except RecursionError:
            raise place.error("not JSON that can be read (nested too deeply)") from None
        except ValueError as bad:
            raise place.error(f"not JSON ({getattr(bad, 'msg', bad)})") from None
        yield place, json_object(value, place)
        after = len(text) - len(text[position:].lstrip())
        separator = text[after : after + 1]
        if separator == ",":
            position = after + 1
        elif separator == "]":
            position = after
        else:
            raise Place(path, line + text.count("\n", counted, after)).error("neither ',' nor ']' follows the object")
