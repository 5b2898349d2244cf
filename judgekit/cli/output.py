"""The file that a command writes, whole or not at all, and the store beside it."""

import json
import os
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

from judgekit.bulk.writing import replacing
from judgekit.cli.messages import BAD_INPUT, UNEXPECTED, Stop, reason, silence_stdout
from judgekit.locks import try_lock


def store_path(out):
    """Where the verdicts or replies of an unfinished run are kept."""
    return f"{out}.store.sqlite"


def remove_store(path):
    """Delete the verdict store and SQLite's own files beside it."""
    if path != ":memory:":
        for suffix in ("", "-wal", "-shm"):
            Path(path + suffix).unlink(missing_ok=True)


@contextmanager
def only_writer(out):
    """Let no other process write the same output meanwhile: two would share, and remove, one store.

    The lock is the operating system's, on a file beside the output: it goes with its process, however that ends.

    Raises
    ------
    Stop
        If another process writes it.
    """
    lock = None if out is None or out == "-" else taken(out)
    if lock is False:
        raise Stop(BAD_INPUT, f"--out {out}: another process is writing it")
    try:
        yield
    finally:
        if lock is not None:
            Path(lock.name).unlink(missing_ok=True)
            lock.close()


def taken(out):
    """The open file of an output's lock; False where another process holds it, None where no such file can be made."""
    while True:
        try:
            path = f"{os.path.realpath(out)}.lock"
            lock = open(path, "w")  # noqa: SIM115 - held until the command ends
        except (OSError, ValueError):  # `check_out` says what is wrong
            return None
        if not try_lock(lock.fileno()):
            lock.close()
            return False
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock.fileno()), os.stat(path)):
                return lock
        lock.close()  # its last holder removed it in between


def check_out(out, source):
    """Refuse, before any work, an output file that could not or should not be written."""
    if out == "-":
        return
    try:
        if complaint := out_complaint(Path(out), Path(source)):
            raise Stop(BAD_INPUT, f"--out {out}: {complaint}")
    except (OSError, ValueError) as bad:  # a name that is too long, a folder that may not be entered
        raise Stop(BAD_INPUT, f"--out {out}: {reason(bad)}") from None


def out_complaint(path, source):
    """What is wrong with an output path, or None."""
    folder = Path(os.path.realpath(path)).parent
    if path.is_dir():
        return "is a folder; name a file in it"
    if not folder.is_dir():
        return f"the folder {folder} does not exist"
    if path.exists():
        if not path.is_file():
            return "is not a regular file (use - for standard output)"
        if source.exists() and path.samefile(source):
            return "is the input file itself"
    if not os.access(folder, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.W_OK)):
        return "may not be written to (permission denied)"
    return None


def write_lines(out, lines):
    """Write a file in one step (or to standard output): it is there whole or not at all."""
    if out == "-":
        sys.stdout.writelines(lines)
        sys.stdout.flush()
        return
    with replacing(out) as part, open(part, "x", encoding="utf-8", newline="\n") as stream:
        stream.writelines(lines)


def write_rows(out, rows, kept=""):
    """Write rows as JSON lines, in one step.

    Parameters
    ----------
    out : str
        File, or ``-``.
    rows : list of dict
    kept : str
        Half a sentence on what is not lost if that fails.

    Raises
    ------
    Stop
        If they could not be written.
    BrokenPipeError
        If the reader of standard output went away.
    """
    try:
        write_lines(out, [json.dumps(row) + "\n" for row in rows])
    except BrokenPipeError:
        raise
    except OSError as full:
        raise failed_write(out, full, kept) from None


def failed_write(out, error, kept=""):
    """The `Stop` about an output that could not be written."""
    silence_stdout(out == "-")
    name = "standard output" if out == "-" else out
    return Stop(UNEXPECTED, f"{name} could not be written ({error.strerror or error}){kept}")
