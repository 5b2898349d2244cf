"""What the command line says, and how it ends."""

import os
import sys
from contextlib import suppress

DONE, UNEXPECTED, BAD_INPUT, SOME_FAILED, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 3, 130, 141
LONGEST_REASON = 300  # characters of a foreign error message


class Stop(Exception):
    """The command ends here with an exit code and one sentence."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def tell(text):
    """One line on standard error; what could move a terminal's cursor is escaped."""
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    with suppress(OSError):  # nobody is listening: the exit code still tells
        print(safe.encode("utf-8", "backslashreplace").decode(), file=sys.stderr, flush=True)


def complain(code, message):
    """One line of error on standard error; returns the exit code."""
    tell(f"{'' if code == INTERRUPTED else 'error: '}{' '.join(message.split())}")
    return code


def shortened(text):
    """A foreign message on one line of bounded length."""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 3] + "..."


def reason(error):
    """Class and message of an exception on one line."""
    return shortened(f"{type(error).__name__}: {error}")


def silence_stdout(wanted=True):
    """Let what is still buffered for a closed standard output go nowhere, instead of into a second error."""
    if wanted:
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
