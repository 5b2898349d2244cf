"""Sets as loaders: one form for all of them, and the records their rows become: pairs, single responses, dialogues."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from judgekit.data.sources import Row, heads, read_rows, source_hashes, source_names, text_key
from judgekit.records import PreferencePair, Response, Turn, with_counts

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
    """A set made of all rows of registered files, which may be named by patterns (``llmzoo/*/review.jsonl``)."""
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


def pairs(
    benchmark: str,
    texts: Sequence[Column],
    kind: str,
    label: Callable[[Row], Any] | None = None,
    turned: bool = True,
    **fields: Column,
) -> Build:
    """A set with one pair a row: the columns of question and responses, and of further fields of the pair.

    Without ``label`` the file names the better response first. ``turned``: a coin says which response is A (`place`).
    """

    def items(row: Row) -> Iterable[PreferencePair]:
        values = {field: _value(row, column) for field, column in fields.items()}
        values |= {"label": label(row) if label else "A", "label_kind": kind}
        yield (turned_pair if turned else pair_of)(row, benchmark, *(_value(row, text) for text in texts), **values)

    return each(items)


def responses(benchmark: str, texts: Sequence[Column], kind: str = "", **fields: Column) -> Build:
    """A set with one response a row: the columns of question and response, and of further fields."""

    def items(row: Row) -> Iterable[Response]:
        values = {field: _value(row, column) for field, column in fields.items()}
        yield response_of(row, benchmark, *(_value(row, text) for text in texts), **values, label_kind=kind)

    return each(items)


def _value(row: Row, column: Column) -> Any:
    return row.text(column) if isinstance(column, str) else column(row)


def coded(field: str, meanings: Mapping[Any, Any]) -> Callable[[Row], Any]:
    """The meaning of a coded field (`Row.code`), as a column."""
    return lambda row: row.code(field, meanings)


def load_named(kind: str, sets: Mapping[str, DataSet], name: str) -> Loaded:
    """The items of a named set and its report, as `judgekit.records.with_counts` gives them.

    KeyError, which lists the sets there are, if there is no such set; ValueError if two items share an id; DataError
    if a file cannot be had or a row is malformed (names file, row and field).
    """
    if name not in sets:
        raise KeyError(f"no {kind} {name!r}; there are {', '.join(sets)}")
    return with_counts(*sets[name].load())


def pair_of(row: Row, benchmark: str, question: str, response_a: str, response_b: str, **fields: Any) -> PreferencePair:
    """A row's pair, named by its number and clustered by its question unless ``fields`` say otherwise."""
    fields = {"item_id": str(row.number), "cluster_id": text_key(question), "source": row.where} | fields
    return PreferencePair(
        benchmark=benchmark, question=question, response_a=response_a, response_b=response_b, **fields
    )


def turned_pair(row: Row, benchmark: str, *texts: str, **fields: Any) -> PreferencePair:
    """`pair_of`, for sets that list the better response, or the baseline's, on a fixed side: see `place`."""
    return place(pair_of(row, benchmark, *texts, **fields))


def place(pair: PreferencePair) -> PreferencePair:
    """The pair as it is or swapped, as `keeps_sides` says: no judge can then learn the label from the position."""
    return pair if keeps_sides(pair.benchmark, pair.item_id) else pair.swapped()


def keeps_sides(benchmark: str, item_id: str) -> bool:
    """Whether an item keeps the sides of its file: a fair coin that is a hash of its name."""
    return heads(f"{benchmark}:{item_id}")


def response_of(row: Row, benchmark: str, question: str, response: str, **fields: Any) -> Response:
    """A row's single response, named by its number and clustered by its question unless ``fields`` say otherwise."""
    fields = {"item_id": str(row.number), "cluster_id": text_key(question), "source": row.where} | fields
    return Response(benchmark=benchmark, question=question, response=response, **fields)


# --- dialogues


def merge_speakers(messages: Messages) -> Messages:
    """Messages with consecutive ones of one speaker joined by a blank line.

    >>> merge_speakers([("human", "Hi."), ("human", "Well?"), ("model", "Hello.")])
    [('human', 'Hi.\\n\\nWell?'), ('model', 'Hello.')]
    """
    merged: Messages = []
    for speaker, text in messages:
        if merged and merged[-1][0] == speaker:
            text = f"{merged.pop()[1]}\n\n{text}"
        merged.append((speaker, text))
    return merged


def chat_of(row: Row, field: str, last: str) -> Messages:
    """The messages of a field with a list of ``{"role", "content"}``, a system message put before the first question.

    Consecutive ones of a role are joined. DataError unless user and assistant then alternate, ending with ``last``.
    """
    inner = [Row(message, row.file, row.number) for message in row.checked_list(field, dict, "messages")]
    messages = merge_speakers(without_system([(message.text("role"), message.text("content")) for message in inner]))
    expected = (["user", "assistant"] * len(messages))[: len(messages)]
    if not messages or [speaker for speaker, _ in messages] != expected or messages[-1][0] != last:
        raise row.error(field, f"does not alternate between user and assistant, from the user to the {last}")
    return messages


def without_system(messages: Messages) -> Messages:
    """The messages with a system message, where they begin with one, put before the first question.

    >>> without_system([("system", "Be brief."), ("user", "Hi.")])
    [('user', 'Be brief.\\n\\nHi.')]
    """
    if len(messages) < 2 or messages[0][0] != "system":
        return messages
    (_, system), (speaker, question), *rest = messages
    return [(speaker, f"{system}\n\n{question}" if system.strip() else question), *rest]


def dialogue_fields(messages: Messages) -> dict[str, Any]:
    """The fields ``turns``, ``question`` and ``cluster_id`` of messages that begin and end with the person's.

    Both sides share the dialogue up to the last question; all of it is the cluster, as what is asked depends on it.
    """
    texts = [text for _, text in messages]
    turns = tuple(Turn(asked, said, said) for asked, said in zip(texts[:-1:2], texts[1::2], strict=True))
    return {"turns": turns, "question": texts[-1], "cluster_id": text_key("\n".join(texts))}
