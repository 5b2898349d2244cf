"""Rows of a data file, with errors that name file, row and field."""

import io
import json
import re
from collections.abc import Mapping
from typing import Any

from judgekit.data.sources import DataError, Source, find_source
from judgekit.data.sources.fetching import read_bytes


class Row:
    """One record of a file, with the file's name and the row's number in it, counted from 0."""

    __slots__ = ("file", "number", "values")

    def __init__(self, values: Mapping[str, Any], file: str, number: int) -> None:
        if not isinstance(values, Mapping):
            raise DataError(f"{file}:{number}: the row is {type(values).__name__}, not an object with fields")
        self.values, self.file, self.number = values, file, number

    @property
    def where(self) -> str:
        """``file:row``, as it is kept in the records."""
        return f"{self.file}:{self.number}"

    def error(self, field: str, complaint: str) -> DataError:
        """A DataError that names file, row and field."""
        return DataError(f"{self.where}: field {field!r} {complaint}")

    def get(self, field: str) -> Any:
        """The value of a field; DataError if it is absent."""
        if field not in self.values:
            raise self.error(field, f"is missing (the row has: {', '.join(map(str, self.values)) or 'nothing'})")
        return self.values[field]

    def of_type(self, field: str, kind: type | tuple[type, ...], words: str) -> Any:
        """The value of a field, checked to be of a type (a boolean is not a number)."""
        value = self.get(field)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.error(field, f"is {type(value).__name__}, not {words}")
        return value

    def text(self, field: str) -> str:
        return self.of_type(field, str, "text")

    def matched(self, field: str, pattern: re.Pattern[str]) -> tuple[str, ...]:
        """The groups of a pattern that a text is to hold."""
        match = pattern.search(self.text(field))
        if match is None:
            raise self.error(field, "does not hold the published markers")
        return match.groups()

    def joined(self, first: str, second: str) -> str:
        """Two texts with a blank line between them; the first alone where the second is blank."""
        before, after = self.text(first), self.text(second)
        return f"{before}\n\n{after}" if after.strip() else before

    def whole(self, field: str) -> int:
        return self.of_type(field, int, "a whole number")

    def number_of(self, field: str) -> float:
        return float(self.of_type(field, (int, float), "a number"))

    def texts(self, field: str, n: int | None = None) -> list[str]:
        return self.checked_list(field, str, "texts", n)

    def checked_list(self, field: str, kind: type | tuple[type, ...], words: str, n: int | None = None) -> list[Any]:
        """A list whose elements are all of a type, of length ``n`` where given."""
        value = self.of_type(field, list, "a list")
        if not all(isinstance(element, kind) for element in value):
            raise self.error(field, f"is not a list of {words}")
        if n is not None and len(value) != n:
            raise self.error(field, f"holds {len(value)} {words}, not {n}")
        return value

    def code(self, field: str, meanings: Mapping[Any, Any]) -> Any:
        """The meaning of a coded value, e.g. 0 -> "A"; codes are compared with their type (True is not 1)."""
        value = self.get(field)
        for code, meaning in meanings.items():
            if type(value) is type(code) and value == code:
                return meaning
        raise self.error(field, f"is {value!r}, not one of {', '.join(map(repr, meanings))}")

    def inner(self, field: str) -> "Row":
        """A field that is itself an object, as a `Row` of the same file and number."""
        return Row(self.of_type(field, dict, "an object"), self.file, self.number)


def parse_json(text: str | bytes, where: str) -> Any:
    """A JSON value; DataError that says where it does not parse."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise DataError(f"{where}: is not JSON ({error})") from error


def read_document(name: str | Source) -> str:
    """The text of a registered file; DataError if it cannot be had."""
    return read_bytes(name).decode("utf-8")


def read_rows(name: str | Source, within: str | None = None) -> list[Row]:
    """The rows of a registered file of JSON, JSON lines or Parquet; DataError if it cannot be had, or is malformed.

    ``within``: the field that holds the rows, where the file is one JSON object; ``*`` where each field does.
    """
    file = find_source(name).name
    if file.endswith(".parquet"):
        import pyarrow.parquet

        records: Any = pyarrow.parquet.read_table(io.BytesIO(read_bytes(name))).to_pylist()
    elif file.removesuffix(".gz").endswith(".jsonl"):
        # Only a line feed ends a line: texts may hold other characters that splitlines() would break at.
        lines = [line for line in read_document(name).split("\n") if line.strip()]
        records = [parse_json(line, f"{file}:{number}") for number, line in enumerate(lines)]
    else:
        records = parse_json(read_document(name), file)
    if within is not None:
        document = Row(records, file, 0)
        fields = list(document.values.values()) if within == "*" else [document.checked_list(within, dict, within)]
        records = [record for field in fields for record in (field if isinstance(field, list) else [field])]
    return [Row(record, file, number) for number, record in enumerate(records)]
