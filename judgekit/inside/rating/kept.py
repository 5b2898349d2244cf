"""Ratings that an interrupted run has made already: one line per response, appended as soon as it is rated."""

import hashlib
import json
from pathlib import Path

from judgekit.records import fingerprint_of


class KeptRatings:
    """Ratings by content, in memory and in a file.

    Parameters
    ----------
    path : path
        JSON lines, made when the first rating comes. A last line that was cut off is left out.
    fingerprint : str
        Of the rater; ratings of another one are not used.
    """

    def __init__(self, path, fingerprint):
        self.path, self.fingerprint = Path(path), fingerprint
        content = self.path.read_bytes() if self.path.is_file() else b""
        self.torn = not content.endswith(b"\n") and bool(content)
        rows = map(whole_row, content.split(b"\n"))
        self.rows = {row["key"]: row for row in rows if row is not None}

    def key(self, text):
        """Content key of a text that is rated."""
        return fingerprint_of(self.fingerprint, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())

    def get(self, text):
        """Classes and expected classes by aspect, or None."""
        row = self.rows.get(self.key(text))
        return None if row is None else (row["classes"], row["expected"])

    def put(self, rated):
        """Keep ratings: a dictionary from texts to their classes and expected classes."""
        rows = [
            {"key": self.key(text), "classes": classes, "expected": expected}
            for text, (classes, expected) in rated.items()
        ]
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(("\n" if self.torn else "") + "".join(json.dumps(row) + "\n" for row in rows))
        self.torn = False
        self.rows |= {row["key"]: row for row in rows}

    def remove(self):
        """Delete the file: everything is where it belongs."""
        self.path.unlink(missing_ok=True)


def whole_row(line):
    """A row of the file; None for a line that was cut off."""
    try:
        row = json.loads(line)
        return row if {"key", "classes", "expected"} <= set(row) else None
    except (ValueError, TypeError, RecursionError):
        return None
