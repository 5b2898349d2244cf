"""Files written whole or not at all, and how much one may unpack to."""

import glob
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

RECORD_BYTES = 2**23  # of one record, unpacked: a question and two responses with all that stands beside them
GROWTH = 200  # times its own size that a packed file may unpack to; texts reach 5 to 60


def unpacked_limit(packed: int) -> int:
    """Bytes that a file of a size may unpack to: `GROWTH` times as many, and always one record."""
    return max(RECORD_BYTES, GROWTH * packed)


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its name when the block ends well.

    Its own name ends in ``.part``, so that what a killed process leaves is never read for a file of its kind; the next
    writer of the same file removes it.
    """
    for left in path.parent.glob(f".*-{glob.escape(path.name)}.part"):
        if not _is_running(left.name[1:].partition("-")[0]):
            left.unlink(missing_ok=True)
    temporary = path.with_name(f".{os.getpid()}-{path.name}.part")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write a small JSON file, readable in a diff, in one step: what reads it back never finds a half of it."""
    with replaced(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def _is_running(pid: str) -> bool:
    """Whether a process with this number runs on this machine; what is no number counts as running."""
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (ValueError, OverflowError, PermissionError):
        return True
    return True
