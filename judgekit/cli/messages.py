"""What the command line says, and how it ends."""

import os
import sys
from contextlib import suppress
from typing import Any

import typer
import typer.core

DONE, UNEXPECTED, BAD_INPUT, SOME_FAILED, INTERRUPTED = 0, 1, 2, 3, 130
_EXTRAS = {  # optional dependencies by what brings them
    "label": ("starlette", "uvicorn", "markdown_it"),
    "openai": ("openai", "httpx2"),
    "studies": ("sklearn", "statsmodels", "crowdkit", "cleanlab", "ppi_py", "datasets", "datasketch", "matplotlib"),
    "ray": ("ray",),
}
_LONGEST_REASON = 300  # characters of a foreign error message


class Stop(Exception):
    """The command ends here with an exit code and one sentence."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Command(typer.core.TyperCommand):
    """A command that takes an option of one value once: of two values the last would be used without a word."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What is left of the words; Stop about the first option that stands twice."""
        given = self.make_parser(ctx).parse_args(list(args))[2]
        for option in given:
            if given.count(option) > 1 and not (getattr(option, "is_flag", False) or option.multiple):
                raise Stop(BAD_INPUT, f"{option.opts[0]}: is given {given.count(option)} times, and takes one value")
        return super().parse_args(ctx, args)


def tell(text: str) -> None:
    """One line on standard error; what could move a terminal's cursor is escaped."""
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    with suppress(OSError):  # nobody is listening: the exit code still tells
        print(safe.encode("utf-8", "backslashreplace").decode(), file=sys.stderr, flush=True)


def shortened(text: str) -> str:
    """A foreign message on one line of bounded length."""
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 3] + "..."


def reason(error: BaseException) -> str:
    """What the system says of a file or port, or else class (of a foreign one) and message, on one line."""
    if isinstance(error, OSError) and error.strerror:
        return shortened(error.strerror + (f": {error.filename}" if error.filename else ""))
    return shortened(str(error) if is_ours(error) else f"{type(error).__name__}: {error}")


def is_ours(error: BaseException) -> bool:
    """Whether the message of an exception is a sentence of this package's own, which says all there is to say."""
    return type(error).__module__.startswith("judgekit.")


def silence_stdout() -> None:
    """Let what is still buffered for a closed standard output go nowhere, instead of into a second error."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def ending(error: BaseException) -> tuple[int, str]:
    """Exit code and sentence for what ended a command; what nobody foresaw is raised where JUDGEKIT_DEBUG is 1."""
    match error:
        case Stop():
            return error.code, str(error)
        case KeyboardInterrupt():
            return INTERRUPTED, "interrupted; nothing was written"
        case typer.TyperException():
            return BAD_INPUT, error.format_message()
        case ModuleNotFoundError():
            package = (error.name or "").partition(".")[0]
            extra = next((extra for extra, packages in _EXTRAS.items() if package in packages), None)
            remedy = f" (pip install 'judgekit-notebooks[{extra}]')" if extra else ""
            return BAD_INPUT, f"this command needs the package {package}, which is not installed{remedy}"
        case _ if is_ours(error):
            return BAD_INPUT if isinstance(error, ValueError) else UNEXPECTED, str(error)
    if os.environ.get("JUDGEKIT_DEBUG") == "1":
        raise error
    return UNEXPECTED, f"{reason(error)} (JUDGEKIT_DEBUG=1 shows where)"
