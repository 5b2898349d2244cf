"""Rows of a user's file as preference pairs."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from judgekit.pairfile.lines import records
from judgekit.pairfile.places import Place, kind_of, names_of
from judgekit.records import PreferencePair, Turn

LABEL_WORDS = {"a": "A", "response_a": "A", "b": "B", "response_b": "B", "tie": "tie", "draw": "tie", "c": "tie"}
ROLES = ("system", "user", "assistant")
FORMS = {"responses": "response_a/response_b", "chosen": "chosen/rejected"}


@dataclass(frozen=True, slots=True)
class PairRow:
    """One row of a user's file.

    Attributes
    ----------
    id : str or int
        As given; the line number where the row has none.
    pair : PreferencePair
        Its ``item_id`` is the id as text, its ``cluster_id`` a hash of the prompt.
    place : Place
        Where the row begins.
    form : {"responses", "chosen"}
        Whether the row had ``response_a``/``response_b`` or ``chosen``/``rejected``.
    """

    id: str | int
    pair: PreferencePair
    place: Place
    form: str


def read_pairs(path):
    """The preference pairs of a user's file.

    Parameters
    ----------
    path : path
        JSON lines, or CSV with a header where the name ends in ``.csv``; either may be gzipped (``.gz``). UTF-8. Or
        Parquet (``.parquet``); its rows are counted from 1 as lines are.

    Returns
    -------
    list of PreferencePair
        In the order of the file.

    Raises
    ------
    PairFileError
        If anything is wrong with the file.

    Notes
    -----
    A row is ``question``, ``response_a``, ``response_b`` (text; empty is allowed), and optionally ``id`` (text or
    a whole number, the line number by default), ``reference`` and ``label`` (``A``, ``B`` or ``tie`` in any case; ``C``
    is a tie; ``1`` and ``2`` are refused because they may count from 0). Or it is ``prompt``, ``chosen``, ``rejected``,
    each a text or a list of ``{"role", "content"}`` messages, as preference sets for training have them; the chosen
    response is then A, and the label is A. Other fields are ignored.
    """
    return [row.pair for row in read_pair_rows(path)]


def read_pair_rows(path):
    """The rows of a user's file, with ids as given; otherwise as `read_pairs`.

    Returns
    -------
    list of PairRow
    """
    rows, seen = [], {}
    for row in iterate_pair_rows(path):
        if row.pair.item_id in seen:
            raise repeated_id(row, seen[row.pair.item_id])
        seen[row.pair.item_id] = row.place
        rows.append(row)
    return rows


def iterate_pair_rows(path):
    """The rows of a user's file one by one; otherwise as `read_pair_rows`, but an id may come twice.

    Yields
    ------
    PairRow
    """
    path, first = Path(path), None
    for place, fields in records(path):
        row = pair_row(fields, place)
        first = first or row
        if row.form != first.form:
            had, has = FORMS[first.form], FORMS[row.form]
            raise place.error(f"has {has}, but {first.place.at} has {had}: use one of the two throughout")
        yield row
    if first is None:
        raise Place(path).error("holds no pairs (the file is empty, or has only a header)")


def repeated_id(row, earlier):
    """The `PairFileError` about a row whose id stands at an earlier place too."""
    return row.place.error(f"is {row.id!r:.80}, which also stands in {earlier.at}", "id")


def pair_row(fields, place):
    """One row as a `PairRow`."""
    chosen = "chosen" in fields or "rejected" in fields
    if chosen and ("response_a" in fields or "response_b" in fields):
        raise place.error("has both response_a/response_b and chosen/rejected: which pair is meant?")
    given = id_of(fields, place)
    texts = chosen_texts(fields, place) if chosen else response_texts(fields, place)
    prompt = json.dumps([texts["question"], [turn.question for turn in texts.get("turns", ())]])
    pair = PreferencePair(
        # A lone surrogate cannot be hashed or stored as UTF-8; the id as given is kept beside the pair.
        item_id=str(given).encode("utf-8", "backslashreplace").decode("utf-8"),
        benchmark="pairs",
        cluster_id=hashlib.sha256(prompt.encode()).hexdigest()[:16],
        reference=optional_text(fields, "reference", place),
        source=str(place),
        **texts,
    )
    return PairRow(given, pair, place, "chosen" if chosen else "responses")


def response_texts(fields, place):
    """Texts and label of a ``question``, ``response_a``, ``response_b`` row."""
    texts = {name: text_of(fields, name, place) for name in ("question", "response_a", "response_b")}
    return texts | {"label": label_of(fields, place)}


def chosen_texts(fields, place):
    """Texts, earlier turns and label of a ``prompt``, ``chosen``, ``rejected`` row.

    The responses may be whole conversations: what both share is then the prompt, or repeats it.
    """
    if label_of(fields, place) not in (None, "A"):
        raise place.error(f"is {fields['label']!r:.40}, but the chosen response is A by definition", "label")
    sides = {name: messages_of(fields, name, place, "assistant") for name in ("chosen", "rejected")}
    chosen, rejected = sides.values()
    shared = 0
    while shared < min(len(chosen), len(rejected)) - 1 and chosen[shared] == rejected[shared]:
        shared += 1
    for name, messages in sides.items():
        if [role for role, _ in messages[shared:]] != ["assistant"]:
            raise place.error("does not hold exactly one assistant message after the shared messages", name)
    # With the conversation inside the responses the prompt may be left out.
    prompt = messages_of(fields, "prompt", place, "user") if "prompt" in fields or not shared else []
    context = chosen[:shared]
    if prompt not in (context[: len(prompt)], context[len(context) - len(prompt) :]):
        context = prompt + context
    turns, question = turns_of(context, place)
    texts = {"question": question, "response_a": chosen[-1][1], "response_b": rejected[-1][1]}
    return texts | {"turns": turns, "label": "A"}


def turns_of(messages, place):
    """Earlier turns and the question; a system message stands before the user's text."""
    turns, asked = [], []
    for role, text in messages:
        if role == "assistant":
            turns.append(Turn("\n\n".join(asked), text, text))
            asked = []
        else:
            asked.append(text)
    if not asked:
        raise place.error("does not end with a user message", "prompt")
    return tuple(turns), "\n\n".join(asked)


def messages_of(fields, name, place, role):
    """A field as a list of (role, text): a plain text is one message of the given role."""
    value = present(fields, name, place)
    if isinstance(value, str):
        return [(role, value)]
    if not isinstance(value, list):
        raise place.error(f"is {kind_of(value)}, not text or a list of messages", name)
    if not value:
        raise place.error("is an empty list of messages", name)
    return [message_of(message, f"{name}[{index}]", place) for index, message in enumerate(value)]


def message_of(message, name, place):
    """One ``{"role", "content"}`` object as (role, text)."""
    if not isinstance(message, dict):
        raise place.error(f"is {kind_of(message)}, not an object with role and content", name)
    role = text_of(message, "role", place, name + ".")
    if role not in ROLES:
        raise place.error(f"is {role!r:.40}, not one of {', '.join(ROLES)}", f"{name}.role")
    return role, text_of(message, "content", place, name + ".")


def id_of(fields, place):
    """The id as given, or the line number."""
    value = fields.get("id", place.line)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise place.error(f"is {kind_of(value)}, not text or a whole number", "id")
    if value == "":
        raise place.error("is empty (leave the field out to use line numbers)", "id")
    return value


def label_of(fields, place):
    """The label, or None where there is none."""
    value = optional_text(fields, "label", place)
    word = (value or "").strip().lower()
    if not word:
        return None
    if word in ("0", "1", "2"):
        raise place.error(f"is {value!r}, which may count from 0 or from 1: write A, B or tie", "label")
    if word not in LABEL_WORDS:
        raise place.error(f"is {value!r:.80}, not A, B or tie", "label")
    return LABEL_WORDS[word]


def present(fields, name, place, prefix=""):
    """The value of a field that must be there."""
    if name not in fields:
        raise place.error(f"is missing (the row has: {names_of(fields)})", prefix + name)
    return fields[name]


def text_of(fields, name, place, prefix=""):
    """A field that must be text; empty is allowed."""
    value = present(fields, name, place, prefix)
    if not isinstance(value, str):
        raise place.error(f"is {kind_of(value)}, not text", prefix + name)
    return value


def optional_text(fields, name, place):
    """A field that may be absent or null."""
    return None if fields.get(name) is None else text_of(fields, name, place)
