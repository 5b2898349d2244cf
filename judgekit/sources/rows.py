"""Rows of a data file, with errors that name the file, the row and the field."""

import json
from collections.abc import Mapping

from judgekit.sources.errors import DataError
from judgekit.sources.fetching import open_source
from judgekit.sources.registry import find_source

MISSING = object()


class Row:
    """One record of a file, and where it stands.

    Parameters
    ----------
    values : dict
        The record as read.
    file : str
        Name of the file.
    number : int
        Row of the file, counted from 0.
    """

    __slots__ = ("file", "number", "values")

    def __init__(self, values, file, number):
        if not isinstance(values, Mapping):
            raise DataError(f"{file}:{number}: the row is {type(values).__name__}, not an object with fields")
        self.values, self.file, self.number = values, file, number

    @property
    def where(self):
        """``file:row``, as it is kept in the records."""
        return f"{self.file}:{self.number}"

    def error(self, field, complaint):
        """A DataError that names file, row and field."""
        return DataError(f"{self.where}: field {field!r} {complaint}")

    def get(self, field, default=MISSING):
        """The value of a field; DataError if it is absent and no default is given."""
        value = self.values.get(field, default)
        if value is MISSING:
            raise self.error(field, f"is missing (the row has: {', '.join(map(str, self.values)) or 'nothing'})")
        return value

    def of_type(self, field, kind, words):
        """The value of a field, checked to be of a type (a boolean is not a number)."""
        value = self.get(field)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.error(field, f"is {type(value).__name__}, not {words}")
        return value

    def text(self, field):
        """A text."""
        return self.of_type(field, str, "text")

    def joined(self, first, second):
        """Two texts with a blank line between them; the first alone where the second is blank."""
        before, after = self.text(first), self.text(second)
        return f"{before}\n\n{after}" if after.strip() else before

    def whole(self, field):
        """A whole number."""
        return self.of_type(field, int, "a whole number")

    def number_of(self, field):
        """A number, as a float."""
        return float(self.of_type(field, (int, float), "a number"))

    def texts(self, field, n=None):
        """A list of texts, of length `n` where given."""
        return self.checked_list(field, str, "texts", n)

    def checked_list(self, field, kind, words, n=None):
        """A list whose elements are all of a type, of length `n` where given."""
        value = self.of_type(field, list, "a list")
        if not all(isinstance(element, kind) for element in value):
            raise self.error(field, f"is not a list of {words}")
        if n is not None and len(value) != n:
            raise self.error(field, f"holds {len(value)} {words}, not {n}")
        return value

    def code(self, field, meanings):
        """The meaning of a coded value, e.g. 0 -> "A"; codes are compared with their type (True is not 1)."""
        value = self.get(field)
        for code, meaning in meanings.items():
            if type(value) is type(code) and value == code:
                return meaning
        raise self.error(field, f"is {value!r}, not one of {', '.join(map(repr, meanings))}")

    def inner(self, field):
        """A field that is itself an object, as a `Row` of the same place."""
        return Row(self.of_type(field, dict, "an object"), self.file, self.number)


def parse_rows(text, file):
    """The rows of a JSON list or (where the name says so) of JSON lines.

    Raises
    ------
    DataError
        If a row does not parse or is no object, or the whole is no list.
    """
    if file.removesuffix(".gz").endswith(".jsonl"):
        # Only a line feed ends a line: texts may hold other characters that splitlines() would break at.
        lines = [line for line in text.split("\n") if line.strip()]
        return [Row(parse_json(line, f"{file}:{number}"), file, number) for number, line in enumerate(lines)]
    records = parse_json(text, file)
    if not isinstance(records, list):
        raise DataError(f"{file}: holds {type(records).__name__}, not a list of rows")
    return [Row(record, file, number) for number, record in enumerate(records)]


def parse_json(text, where):
    """A JSON value; DataError that says where it does not parse."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise DataError(f"{where}: is not JSON ({error})") from error


def read_document(name):
    """The text of a registered file.

    Raises
    ------
    DataError
        If it cannot be had or is not UTF-8.
    """
    source = find_source(name)
    try:
        with open_source(source) as stream:
            return stream.read()
    except UnicodeDecodeError as error:
        raise DataError(f"{source.name}: is not UTF-8 text ({error})") from error


def read_rows(name, within=None):
    """The rows of a registered JSON or JSON-lines file.

    Parameters
    ----------
    name : str
    within : str, optional
        Field that holds the rows, where the file is one JSON object.

    Returns
    -------
    list of Row

    Raises
    ------
    DataError
        If the file cannot be had, or a row does not parse.
    """
    source = find_source(name)
    text = read_document(source)
    if within is None:
        return parse_rows(text, source.name)
    document = Row(parse_json(text, source.name), source.name, 0)
    records = document.checked_list(within, dict, within)
    return [Row(record, source.name, number) for number, record in enumerate(records)]
