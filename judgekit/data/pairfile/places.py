"""Where a fault stands in a user's file, and in what words it is reported."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class PairFileError(ValueError):
    """A file of pairs cannot be read; the message names file, line and field and says what stands there."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file (a row of a table that has no lines), counted from 1, for error messages."""

    path: Path
    line: int | None = None
    unit: str = "line"

    def __str__(self) -> str:
        name = str(self.path)
        name = name if name.isprintable() else repr(name)
        return name if self.line is None else f"{name}, {self.at}"

    @property
    def at(self) -> str:
        """The line without its file: ``line 7``."""
        return f"{self.unit} {self.line}"

    def error(self, complaint: str, field: str | None = None) -> PairFileError:
        """A `PairFileError` about this line or one of its fields."""
        return PairFileError(f"{self}: " + (f"field {field!r} {complaint}" if field else complaint))


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


def row_place(name: str, number: int, row: Any) -> Place:
    """Where a dictionary of a list stands; PairFileError if it is none."""
    place = Place(Path(f"{name}[{number}]"))
    if not isinstance(row, dict):
        raise place.error(f"is {kind_of(row)}, not an object with fields")
    return place


def missing(fields: Mapping[str, Any], name: str, place: Place) -> PairFileError:
    """The error about a field that a row lacks."""
    return place.error(f"is missing (the row has: {names_of(fields)})", name)
