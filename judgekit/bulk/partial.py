"""The rows that are finished, in a file that only grows."""

import json
import os
from itertools import islice
from pathlib import Path

from judgekit.locks import try_lock

WRITTEN_TOGETHER = 1024  # rows read back at a time


class Busy(RuntimeError):
    """Another process is writing the same file."""


class Partial:
    """Result rows as JSON lines, in the order of the input; appended rows are durable when the call returns.

    Parameters
    ----------
    path : path
        Its name should tell input, judge and orders (`partial_path`): what is in it is taken for theirs.
    keep : bool
        Go on after the rows that are there; otherwise begin with none. The last line of a killed process may be cut
        short: it is removed.

    Raises
    ------
    Busy
        If another process has it open.
    OSError
        If it cannot be written.
    """

    def __init__(self, path, keep=True):
        self.path = Path(path)
        self.stream = locked(self.path)
        try:
            if not keep:
                self.stream.truncate(0)
            self.n_rows, self.n_failed = self.scan()
        except BaseException:
            self.stream.close()
            raise

    def scan(self):
        """Count rows and failed rows; cut off what is no row, and all after it."""
        count, failed, end = 0, 0, 0
        self.stream.seek(0)
        for line in self.stream:
            row = row_of(line)
            if row is None:
                break
            count, failed, end = count + 1, failed + (row["status"] == "error"), end + len(line)
        self.stream.truncate(end)
        self.stream.seek(0, os.SEEK_END)
        return count, failed

    def rows(self):
        """The rows that are there now, from the first; may be read while others are appended."""
        with open(self.path, "rb") as stream:
            yield from islice(map(json.loads, stream), self.n_rows)

    def batches(self):
        """`rows` in lists."""
        rows = self.rows()
        while batch := list(islice(rows, WRITTEN_TOGETHER)):
            yield batch

    def append(self, results):
        """Write rows to the end of the file and to the disk."""
        if results:
            self.stream.write("".join(json.dumps(row) + "\n" for row in results).encode())
            self.stream.flush()
            os.fsync(self.stream.fileno())
            self.n_rows += len(results)
            self.n_failed += sum(row["status"] == "error" for row in results)

    def replace_by(self, other):
        """Let another partial's rows take the place of these, in one step."""
        os.replace(other.path, self.path)
        self.stream.close()
        self.stream, self.n_rows, self.n_failed = other.stream, other.n_rows, other.n_failed

    def remove(self):
        """Delete the file."""
        self.path.unlink(missing_ok=True)

    def close(self):
        """Close the file; it stays."""
        self.stream.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def locked(path):
    """The file open for reading and appending, and nobody else's; made if absent."""
    stream = open(path, "a+b")  # noqa: SIM115 - stays open as long as the `Partial`
    # A file that is no longer there was finished by another process between our two calls.
    held = try_lock(stream.fileno()) and path.exists()
    if not held or not os.path.samestat(os.fstat(stream.fileno()), path.stat()):
        stream.close()
        raise Busy(f"{path} is being written by another process")
    return stream


def row_of(line):
    """A line as a result row, or None if it is not a whole one."""
    try:
        row = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    return row if isinstance(row, dict) and "id" in row and "status" in row else None


def partial_path(target, digest):
    """Where the finished rows of a run are kept: beside its output, under a name that tells the runs apart.

    Parameters
    ----------
    target : path
        The output file.
    digest : str
        Hash of input, judge and orders.
    """
    target = Path(os.path.realpath(target))
    return target.with_name(f"{target.name[:200]}.{digest[:12]}.part")
