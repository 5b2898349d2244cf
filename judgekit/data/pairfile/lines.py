"""A user's file as rows of named fields, with their places: JSON lines, a JSON list, CSV or Parquet, in bounds."""

import codecs
import csv
import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from judgekit.data.files import RECORD_BYTES, unpacked_limit

OPTIONAL = ("label", "votes", "reference")
LIST_BYTES = 2**26  # of a JSON list, which is read whole
BUFFER = 2**20  # bytes read ahead per Parquet column: a whole row group is never held
AT_ONCE = 8  # rows of a Parquet file decoded at a time: a text stored once may stand in many
# First bytes of what people save rows in and is not read.
_OTHERS = {b"PK\x03\x04": "a ZIP archive, as .xlsx and .docx are", b"%PDF-": "a PDF", b"\xd0\xcf\x11\xe0": "an .xls"}
_OTHERS |= {b"SQLite format 3": "a database of SQLite", b"PAR1": "Parquet by another name"}
_OTHERS |= {b"\x1f\x8b": "gzip data without .gz in its name"}
_OTHERS |= {bytes([128, protocol]): "a pickle" for protocol in (2, 3, 4, 5)}
_OTHERS |= dict.fromkeys((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE), "text in UTF-16 or UTF-32")
_READ = "text in UTF-8 as JSON lines (.jsonl), CSV (.csv, .tsv), either may be .gz, and Parquet (.parquet) are"
_LONGEST_TOKEN = 16  # characters of JSON that only whole say what they are: -Infinity, an escape
VALUE_BYTES = 16  # a value of a list takes at least as many once it is decoded

Fields = dict[str, Any]


class PairFileError(ValueError):
    """A file of pairs cannot be read; the message names file, line and field and says what stands there."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file (a row of a table that has no lines), counted from 1, for error messages."""

    path: Path
    line: int | None = None
    unit: str = "line"
    aside: str = ""  # where that is

    def __str__(self) -> str:
        name = str(self.path)
        name = name if name.isprintable() else repr(name)
        return name if self.line is None else f"{name}, {self.at}"

    @property
    def at(self) -> str:
        """``line 7``."""
        return f"{self.unit} {self.line}{self.aside}"

    def error(self, complaint: str, field: str | None = None) -> PairFileError:
        """A `PairFileError` about this line or one of its fields."""
        return PairFileError(f"{self}: " + (complaint if field is None else f"field {field!r} {complaint}"))


def names_of(fields: Iterable[Any]) -> str:
    """Names of fields for an error message, shortened and without control characters."""
    text = ", ".join(map(str, fields)) or "nothing"
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= 120 else text[:117] + "..."


def kind_of(value: Any) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, int | float):
        return f"the number {value!r:.40}"
    return "a list" if isinstance(value, list) else "text" if isinstance(value, str) else "an object"


def missing(fields: Fields, name: str, place: Place) -> PairFileError:
    """The error about a field that a row lacks."""
    return place.error(f"is missing (the row has: {names_of(fields)})", name)


# --- the forms of a file


def records(path: Path, optional: Sequence[str] = OPTIONAL) -> Iterator[tuple[Place, Fields]]:
    """Rows of a file with their places; a ``.json`` file may hold one JSON list of them.

    ``optional``: fields that an empty cell of a CSV leaves out.
    """
    if "\0" in str(path):
        raise Place(path).error("no file has a NUL in its name")
    suffix = (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()
    if path.suffix.lower() == ".parquet":
        return _parquet_records(path)
    if suffix in (".csv", ".tsv"):
        return _csv_records(path, "," if suffix == ".csv" else "\t", optional)
    return _list_records(path) if suffix == ".json" else _json_records(path)


def _too_long(place: Place, longest: int = RECORD_BYTES) -> PairFileError:
    return place.error(f"is longer than {longest >> 20} MiB: no row of texts")


def repeated(names: Iterable[str]) -> str | None:
    """The first name that stands twice."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def _json_records(path: Path) -> Iterator[tuple[Place, Fields]]:
    for number, text in decoded_lines(path, RECORD_BYTES):
        if text.strip(" \t\r\n"):
            yield Place(path, number), _json_fields(text.rstrip("\r\n"), Place(path, number))


def _decode(text: str, start: int, place: Place) -> tuple[Fields, int]:
    """The JSON object that begins at ``start``, and where it ends; JSONDecodeError if there is none."""
    twice: list[str] = []

    def keep(pairs: list[tuple[str, Any]]) -> Fields:
        if (name := repeated(name for name, _ in pairs)) is not None:  # of votes and messages, too
            twice.append(name)
        return dict(pairs)

    try:
        value, end = json.JSONDecoder(object_pairs_hook=keep).raw_decode(text, start)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise place.error("not JSON that can be read (nested too deeply)") from None
    except ValueError as bad:  # a number of thousands of digits
        raise place.error(f"not JSON that can be read ({bad})") from None
    if not isinstance(value, dict):
        raise place.error(f"is {kind_of(value)}, not an object with the fields of a row")
    if twice:
        raise place.error("stands twice in this row", twice[0])
    return value, end


def _json_fields(text: str, place: Place) -> Fields:
    if text.lstrip().startswith("["):
        raise place.error("begins a JSON array, not an object: write one object per line (jq -c '.[]' does it)")
    try:
        fields, end = _decode(text, _after_blanks(text, 0), place)
        if (rest := _after_blanks(text, end)) < len(text):
            raise json.JSONDecodeError("Extra data", text, rest)
        return fields
    except json.JSONDecodeError as bad:
        hint = "; write one whole object per line" if bad.pos >= len(text.rstrip()) else ""
        raise place.error(f"column {bad.colno}: not JSON ({bad.msg}){hint}") from None


def _after_blanks(text: str, position: int) -> int:
    """Where the next character stands that is no blank; the text's length if there is none."""
    mark = re.compile(r"\S").search(text, position)
    return mark.start() if mark else len(text)


def _list_records(path: Path) -> Iterator[tuple[Place, Fields]]:
    """The objects of a JSON list, each with its number (and line, which several may share); else JSON lines."""
    text = "".join(read for _, read in decoded_lines(path, LIST_BYTES, LIST_BYTES))
    row, line, counted = 0, 1, 0
    position = _after_blanks(text, 0)
    if text[position : position + 1] != "[":
        yield from _json_records(path)
        return
    position = _after_blanks(text, position + 1)
    more = text[position : position + 1] != "]"
    while more:
        row, line, counted = row + 1, line + text.count("\n", counted, position), position
        value, end = _bounded(text, position, Place(path, line))
        yield Place(path, row, "row", f" (line {line})"), value
        position = _after_blanks(text, end)
        if text[position : position + 1] not in (",", "]"):
            place = Place(path, line + text.count("\n", counted, position))
            raise place.error("neither ',' nor ']' follows the object")
        more = text[position] == ","
        position = _after_blanks(text, position + 1) if more else position
    if text[position + 1 :].strip():
        raise Place(path).error("goes on after the end of the list")


def _bounded(text: str, start: int, place: Place) -> tuple[Fields, int]:
    """`_decode`, which is never shown more than a row may hold: a short part first, and longer ones where it is cut."""
    size = 2**12
    while True:
        part = text[start : start + min(size, RECORD_BYTES)]
        try:
            value, end = _decode(part, 0, place)
            return value, start + end
        except json.JSONDecodeError as bad:
            cut = bad.msg.startswith("Unterminated") or bad.pos > len(part) - _LONGEST_TOKEN
            if not cut or start + len(part) == len(text):
                raise place.error(f"not JSON ({bad.msg})") from None
        if size >= RECORD_BYTES:
            raise _too_long(place)
        size *= 4


def _csv_records(path: Path, delimiter: str, optional: Sequence[str]) -> Iterator[tuple[Place, Fields]]:
    """Rows of a CSV file; a row's line is the one it begins in."""
    before = csv.field_size_limit(RECORD_BYTES)  # the csv module's own limit is 131,072 characters
    place, size = Place(path, 1), 0

    def lines() -> Iterator[str]:  # quoted cells go over many of them
        nonlocal size
        for _, text in decoded_lines(path, RECORD_BYTES):
            size += len(text)
            if size > RECORD_BYTES:
                raise _too_long(place)
            yield text

    try:
        reader, header = csv.reader(lines(), strict=True, delimiter=delimiter), None
        while True:
            place, size = Place(path, reader.line_num + 1), 0
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as bad:
                raise place.error(f"not CSV ({bad})") from None
            if not any(cells):  # a spreadsheet writes empty rows as commas
                continue
            if header is None:
                header = [name.strip() for name in cells]
                while header and not header[-1]:  # a spreadsheet's columns that were emptied
                    header.pop()
                if (twice := repeated(header)) is not None:
                    raise place.error("stands twice in the header", twice)
                if len(header) == 1 and ";" in header[0]:
                    raise place.error("has semicolons between columns: save it with commas, or with tabs as .tsv")
                continue
            while len(cells) > len(header) and not cells[-1]:
                cells.pop()
            if len(cells) != len(header):
                raise place.error(f"has {len(cells)} columns, but the header has {len(header)} ({names_of(header)})")
            else:  # an empty optional cell is an absent field
                filled = zip(header, cells, strict=True)
                yield place, {name: cell for name, cell in filled if cell or name not in optional}
    finally:
        csv.field_size_limit(before)


def decoded_lines(path: Path, longest: int, most: int | None = None) -> Iterator[tuple[int, str]]:
    """Lines of a UTF-8 file, gzipped or not, as (number, text with its line end).

    PairFileError for a line of more than ``longest`` bytes, unpacked, or ``most`` in all, for a ``.gz`` that unpacks
    beyond reason (`judgekit.data.files.unpacked_limit`), and for what is no text.
    """
    offset = 0
    try:
        with _opened(path) as stream:
            limit = unpacked_limit(path.stat().st_size) if path.suffix.lower() == ".gz" else None
            for number, line in enumerate(iter(lambda: stream.readline(longest + 1), b""), 1):
                if len(line) > longest:
                    raise _too_long(Place(path, number), longest)
                yield number, _decoded(line, offset, Place(path, number))
                offset += len(line)
                if most is not None and offset > most:
                    raise Place(path).error(f"holds more than {most >> 20} MiB: write one object per line")
                if limit is not None and offset > limit:
                    raise Place(path, number).error(f"the file unpacks to more than {limit >> 20} MiB: no texts do")
    except (gzip.BadGzipFile, EOFError, zlib.error) as bad:
        raise Place(path).error(f"is no gzip file, or a damaged one ({bad})") from None
    except OSError as bad:  # in the middle of the file
        raise Place(path).error(f"cannot be read ({bad.strerror or bad})") from None


def _opened(path: Path) -> IO[bytes]:
    """The bytes of a file, gunzipped where its name ends in ``.gz``; what cannot be opened is one sentence."""
    try:
        if path.is_char_device():  # /dev/zero never ends a line
            raise Place(path).error("is a device, not a file of rows")
        if path.suffix.lower() == ".gz":
            return cast(IO[bytes], gzip.open(path, "rb"))
        return open(path, "rb")
    except FileNotFoundError:
        raise Place(path).error("there is no such file") from None
    except IsADirectoryError:
        raise Place(path).error("is a folder, not a file") from None
    except OSError as bad:
        raise Place(path).error(f"cannot be read ({bad.strerror or bad})") from None


def _decoded(line: bytes, offset: int, place: Place) -> str:
    """One line as text; what is not text is named by its byte offset in the (uncompressed) file."""
    if offset == 0:
        if other := next((kind for first, kind in _OTHERS.items() if line.startswith(first)), None):
            raise place.error(f"is {other} (byte offset 0), which is not read: {_READ}")
        if line.startswith(codecs.BOM_UTF8):
            return _decoded(line[len(codecs.BOM_UTF8) :], len(codecs.BOM_UTF8), place)
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as bad:
        byte = f"0x{line[bad.start]:02x} at byte offset {offset + bad.start}"
        raise place.error(f"is not UTF-8 text ({byte}): save the file as UTF-8") from None
    if "\0" in text:
        raise place.error(f"holds a NUL byte in column {text.index(chr(0)) + 1}: not text (in JSON, write \\u0000)")
    return text


def _parquet_records(path: Path) -> Iterator[tuple[Place, Fields]]:
    """Rows of a Parquet file; the first row is row 1."""
    import pyarrow
    from pyarrow.parquet import ParquetFile

    def message(bad: Exception) -> str:
        return str(bad).partition("\n")[0][:200]

    with _opened(path) as stream:
        try:
            table = ParquetFile(stream, buffer_size=BUFFER, pre_buffer=False)
        except (pyarrow.ArrowException, OSError) as bad:
            raise Place(path).error(f"is no Parquet file, or a damaged one ({message(bad)})") from None
        if (twice := repeated(table.schema_arrow.names)) is not None:
            raise Place(path).error("stands twice among the columns", twice)
        for number in range(table.num_row_groups):
            _check_row_group(table.metadata.row_group(number), table.schema, Place(path, number + 1, "row group"))
        number = 0
        try:
            for batch in table.iter_batches(AT_ONCE, use_threads=False):
                for row in batch.to_pylist():
                    number += 1
                    if _size(row) > RECORD_BYTES:
                        raise _too_long(Place(path, number, "row"))
                    yield Place(path, number, "row"), row
        except PairFileError:
            raise
        except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as bad:  # a date beyond Python's
            raise Place(path, number + 1, "row").error(f"or one after it is damaged ({message(bad)})") from None


def _check_row_group(group: Any, schema: Any, place: Place) -> None:
    """Refuse a row group that is to unpack beyond reason, by what the file itself states of it."""
    columns = [group.column(index) for index in range(group.num_columns)]
    nested = [column.num_values for index, column in enumerate(columns) if schema.column(index).max_repetition_level]
    unpacked = sum(column.total_uncompressed_size for column in columns) + VALUE_BYTES * sum(nested)
    limit = unpacked_limit(sum(column.total_compressed_size for column in columns))
    if unpacked > limit:
        raise place.error(f"unpacks to more than {limit >> 20} MiB: no rows of texts")


def _size(value: Any) -> int:
    """Characters of a value and of all that it holds."""
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    return sum(map(_size, value)) if isinstance(value, list) else len(value) if isinstance(value, str | bytes) else 1
