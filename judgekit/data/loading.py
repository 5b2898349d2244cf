"""Sets as loaders: one form for all of them, and the records their rows become: pairs, single responses, dialogues."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from judgekit.data.sources import source_hashes, source_names
from judgekit.data.sources.rows import Row, read_rows
from judgekit.records import PreferencePair, Response, Turn

Loaded = tuple[list[Any], dict[str, int]]  # items, and counts of what was repaired, skipped or is odd
Rows = Iterable[Row]
Build = Callable[[list[Row]], Loaded]
Column = str | Callable[[Row], Any]  # a field that holds text, or what is made of the row
Messages = list[tuple[str, str]]  # speakers and texts


class DataSet(NamedTuple):
    """A set: how it is loaded, name to SHA-256 of what it is read from, and what its rows become, where it has rows."""

    load: Callable[[], Loaded]
    hashes: Callable[[], dict[str, str]]
    build: Build | None = None


def of_files(build: Build, *files: str, read: Callable[[str], list[Row]] = read_rows) -> DataSet:
    """A set made of all rows of registered files, which patterns may name (``alpaca_eval/*/annotations.json``)."""
    return DataSet(
        lambda: build([row for file in source_names(*files) for row in read(file)]),
        lambda: source_hashes(source_names(*files)),
        build,
    )


def each(items: Callable[[Row], Iterable[Any]], *counts: str) -> Build:
    """A set row by row: ``items`` yields a row's items, and names among ``counts`` for what the report counts."""

    def build(rows: list[Row]) -> Loaded:
        made = [item for row in rows for item in items(row)]
        report = {name: made.count(name) for name in counts}
        return [item for item in made if not isinstance(item, str)], report

    return build


def columns(
    record: Callable[..., Any], benchmark: str, texts: Sequence[Column], kind: str = "", **fields: Column
) -> Build:
    """A set with one ``record`` a row (`pair_of`, `turned_pair`, `response_of`): columns of texts and fields."""

    def value(row: Row, column: Column) -> Any:
        return row.text(column) if isinstance(column, str) else column(row)

    def items(row: Row) -> Iterable[Any]:
        values = {field: value(row, column) for field, column in fields.items()}
        yield record(row, benchmark, *(value(row, text) for text in texts), **values, label_kind=kind)

    return each(items)


def text_key(text: str) -> str:
    """A short key of a text: equal for equal texts, 16 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def pair_of(row: Row, benchmark: str, question: str, response_a: str, response_b: str, **fields: Any) -> PreferencePair:
    """A row's pair, named by its number and clustered by its question unless ``fields`` say otherwise."""
    fields = {"item_id": str(row.number), "cluster_id": text_key(question), "source": row.where} | fields
    return PreferencePair(
        benchmark=benchmark, question=question, response_a=response_a, response_b=response_b, **fields
    )


def turned_pair(row: Row, benchmark: str, *texts: str, **fields: Any) -> PreferencePair:
    """`pair_of`, for sets that list the better response, or the baseline's, on a fixed side: some are swapped.

    No judge can then learn the label from the position; `heads` says which.
    """
    pair = pair_of(row, benchmark, *texts, **fields)
    return pair if heads(f"{benchmark}:{pair.item_id}") else pair.swapped()


def heads(name: str) -> bool:
    """A fair coin that falls the same way for the same name: an item (``set:id``) keeps the sides of its file by it."""
    return hashlib.sha256(f"side:{name}".encode("utf-8", "surrogatepass")).digest()[0] % 2 == 0


def response_of(row: Row, benchmark: str, question: str, response: str, **fields: Any) -> Response:
    """A row's single response, named by its number and clustered by its question unless ``fields`` say otherwise."""
    fields = {"item_id": str(row.number), "cluster_id": text_key(question), "source": row.where} | fields
    return Response(benchmark=benchmark, question=question, response=response, **fields)


# --- dialogues


def merge_speakers(messages: Messages) -> Messages:
    """Messages with consecutive ones of one speaker joined by a blank line."""
    groups = groupby(messages, key=itemgetter(0))
    return [(speaker, "\n\n".join(text for _, text in said)) for speaker, said in groups]


def chat_of(row: Row, field: str, speaker: str = "role", text: str = "content") -> Messages:
    """The messages of a field with a list of objects, a system message put before the first question.

    Consecutive ones of a speaker are joined: the person and the assistant alternate.
    """
    messages = [(message[speaker], message[text]) for message in row.checked_list(field, dict, "messages")]
    if len(messages) > 1 and messages[0][0] == "system":
        (_, system), (first, question), *rest = messages
        messages = [(first, f"{system}\n\n{question}" if system.strip() else question), *rest]
    return merge_speakers(messages)


def dialogue_fields(messages: Messages) -> dict[str, Any]:
    """The fields ``turns``, ``question``, ``cluster_id`` (the whole dialogue) of messages; the person's is the last."""
    texts = [text for _, text in messages]
    turns = tuple(Turn(asked, said, said) for asked, said in zip(texts[:-1:2], texts[1::2], strict=True))
    return {"turns": turns, "question": texts[-1], "cluster_id": text_key("\n".join(texts))}
