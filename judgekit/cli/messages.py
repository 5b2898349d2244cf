"""What the command line says, and how it ends."""

import os
import sys
from contextlib import suppress

DONE, UNEXPECTED, BAD_INPUT, SOME_FAILED, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 3, 130, 141
LISTED = 20  # failed items that are named one by one
_EXTRAS = {  # optional dependencies by what brings them
    "label": ("starlette", "uvicorn", "markdown_it"),
    "openai": ("openai", "httpx2"),
    "studies": ("sklearn", "statsmodels", "crowdkit", "cleanlab", "ppi_py", "datasets", "datasketch", "matplotlib"),
    "train": ("trl",),
    "ray": ("ray",),
}
_LONGEST_REASON = 300  # characters of a foreign error message


class Stop(Exception):
    """The command ends here with an exit code and one sentence."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def tell(text: str) -> None:
    """One line on standard error; what could move a terminal's cursor is escaped."""
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    with suppress(OSError):  # nobody is listening: the exit code still tells
        print(safe.encode("utf-8", "backslashreplace").decode(), file=sys.stderr, flush=True)


def tell_failed(headline: str, lines: list[str], count: int) -> int:
    """A headline and the first of ``count`` failures; returns the exit code."""
    tell(headline)
    for line in lines[:LISTED]:
        tell(f"  {shortened(line)}")
    if count > LISTED:
        tell(f"  and {count - LISTED} more")
    return SOME_FAILED


def tell_done(said: str, out: str, quiet: bool) -> int:
    """A line on what is in the output file; returns the exit code."""
    if not quiet:
        tell(said + ("" if out == "-" else f": {out}"))
    return DONE


def shortened(text: str) -> str:
    """A foreign message on one line of bounded length."""
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 3] + "..."


def reason(error: BaseException) -> str:
    """Class and message of an exception on one line."""
    return shortened(f"{type(error).__name__}: {error}")


def is_ours(error: BaseException) -> bool:
    """Whether the message of an exception is a sentence of this package's own, which says all there is to say."""
    return type(error).__module__.startswith("judgekit.")


def silence_stdout() -> None:
    """Let what is still buffered for a closed standard output go nowhere, instead of into a second error."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def needs(missing: ModuleNotFoundError) -> str:
    """The package that is missing and what brings it, as the end of a sentence."""
    package = (missing.name or "").partition(".")[0]
    extra = next((extra for extra, packages in _EXTRAS.items() if package in packages), None)
    remedy = f" (pip install 'judgekit-notebooks[{extra}]')" if extra else ""
    return f"needs the package {package}, which is not installed{remedy}"
