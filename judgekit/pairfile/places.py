"""Where a fault stands in a user's file, and in what words it is told."""

from dataclasses import dataclass
from pathlib import Path


class PairFileError(ValueError):
    """A file of pairs cannot be read; the message names file, line and field and says what was found."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file (a row of a table that has no lines), counted from 1, for error messages."""

    path: Path
    line: int | None = None
    unit: str = "line"

    def __str__(self):
        name = str(self.path)
        name = name if name.isprintable() else repr(name)
        return name if self.line is None else f"{name}, {self.at}"

    @property
    def at(self):
        """The line without its file: ``line 7``."""
        return f"{self.unit} {self.line}"

    def error(self, complaint, field=None):
        """A `PairFileError` about this line or one of its fields."""
        return PairFileError(f"{self}: " + (f"field {field!r} {complaint}" if field else complaint))


def names_of(fields):
    """Names of fields for an error message, shortened and without control characters."""
    text = ", ".join(map(str, fields)) or "nothing"
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= 120 else text[:117] + "..."


def kind_of(value):
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, int | float):
        return f"the number {value!r:.40}"
    return {list: "a list", str: "text"}.get(type(value), "an object")


def row_place(name, number, row):
    """Where a dictionary of a list stands, after a look at whether it is one."""
    place = Place(Path(f"{name}[{number}]"))
    if not isinstance(row, dict):
        raise place.error(f"is {kind_of(row)}, not an object with fields")
    return place
