"""Options that several commands have; where the replies of a command are kept, and what is said of it."""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from judgekit.cli.messages import BAD_INPUT, DONE, INTERRUPTED, SOME_FAILED, Stop, reason, shortened, tell

if TYPE_CHECKING:
    from judgekit.scoring.store import VerdictStore


def rows_of(metavar: str, forms: str) -> typer.models.ArgumentInfo:
    """The argument that names a file of rows."""
    told = f"{forms}; - is standard input, JSON lines."
    return typer.Argument(metavar=metavar, callback=lambda name: "/dev/stdin" if name == "-" else name, help=told)


Pairs = Annotated[str, rows_of("PAIRS", "JSON lines, a list (.json) or CSV (.csv), also as .gz; or Parquet (.parquet)")]
Out = Annotated[str, typer.Option(metavar="FILE", help="File that is written; - is standard output, JSON lines.")]
JudgeName = Annotated[str, typer.Option(metavar="NAME", help="provider/model, such as encoder/FOLDER or openai/MODEL.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Setting of the judge or model, e.g. max_cost=5; repeatable."),
]
Store = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Verdict store; by default JUDGEKIT_STORE, or one in this user's data folder."),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Ask again, and replace what the store holds.")]
Resume = Annotated[bool, typer.Option(help="Keep every reply in the store, and ask for none that is there.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bar and no notes; failures are still shown.")]
LISTED, ALIKE = 20, 3  # failed items that are named one by one, and those of them with the same reason
OTHER_STORE = "(--store FILE or JUDGEKIT_STORE names another)"


def store_file(named: str | None) -> str:
    """The file of the store that ``--store`` names, or of this user's; Stop where nobody knows a home."""
    from judgekit.scoring.store import user_store_path

    try:
        return named or str(user_store_path())
    except RuntimeError as homeless:
        raise Stop(BAD_INPUT, f"no verdict store: {homeless} {OTHER_STORE}") from None


def opened_store(path: str, fresh: bool = False, noun: str = "verdicts") -> "VerdictStore":
    """The store in a file; Stop where it is none."""
    from judgekit.scoring.store import VerdictStore

    try:
        return VerdictStore(path, fresh)
    except (ValueError, OSError) as broken:
        raise Stop(BAD_INPUT, f"the store of {noun} cannot be used: {broken} {OTHER_STORE}") from None


@dataclass
class Failures:
    """What failed: how many, and a line on each of the first, but on no more than `ALIKE` with the same reason."""

    count: int = 0
    lines: list[str] = field(default_factory=list)
    alike: Counter[str] = field(default_factory=Counter)  # by reason, of those that have a line

    def add(self, place: str, reason: str) -> None:
        self.count += 1
        if len(self.lines) < LISTED and self.alike[reason] < ALIKE:
            self.alike[reason] += 1
            self.lines.append(f"{place}: {reason}")


@dataclass
class Keeping:
    """The store that a command uses: that of ``--store``, else the one of this user; with ``--no-resume``, none.

    ``fresh``: replies of earlier runs are replaced instead of used. ``noun``: what a reply is called, in the plural.
    """

    out: str
    store: str | None
    fresh: bool
    resume: bool
    quiet: bool
    noun: str = "verdicts"

    @property
    def path(self) -> str:
        """The store's file; empty without one, which is SQLite's name for a database on disk that goes when closed."""
        return store_file(self.store) if self.resume else ""

    def sentence(self, count: int | None = None) -> str:
        """Half a sentence on where the replies are and how to go on."""
        if not self.resume:
            return ""
        same = "the same command without --fresh" if self.fresh else "the same command"
        number = "the" if count is None else count
        return f"; {number} {self.noun} are kept in {self.path}, and {same} goes on from there"

    def report(self, count: int, what: str, name: str, failed: Failures) -> int:
        """Say what came of ``count`` pieces of work, or that some failed; the exit code."""
        if not failed.count:
            if not self.quiet:
                counted = f"1 {what[:-1]}" if count == 1 else f"{count} {what}"
                tell(f"{counted} by {name}" + ("" if self.out == "-" else f": {self.out}"))
            return DONE
        tell(f"{failed.count} of {count} {what} failed{self.sentence()}:")
        for line in failed.lines:
            tell(f"  {shortened(line)}")
        if more := failed.count - len(failed.lines):
            tell(f"  and {more} more" + ", for the same reasons" * (len(failed.lines) < LISTED))
        return SOME_FAILED

    @contextmanager
    def opened(self, asked: Any) -> "Iterator[VerdictStore]":
        """The store, for replies of one judge or model, while no other process writes the same output."""
        from filelock import FileLock, Timeout

        with ExitStack() as stack:
            if self.out != "-":
                if self.resume and os.path.realpath(self.out) == os.path.realpath(self.path):
                    raise Stop(BAD_INPUT, f"--out {self.out}: is the store of {self.noun} itself")
                lock = FileLock(f"{os.path.realpath(self.out)}.lock", timeout=0)  # it goes with its process
                try:
                    stack.enter_context(lock)
                except Timeout:
                    raise Stop(BAD_INPUT, f"--out {self.out}: another process is writing it") from None
                except OSError as bad:
                    raise Stop(BAD_INPUT, f"--out {self.out}: {reason(bad)}") from None
                if os.name != "nt":  # which removes no open file; an old lock file locks nothing
                    stack.callback(Path(lock.lock_file).unlink, missing_ok=True)
            store = stack.enter_context(opened_store(self.path, self.fresh, self.noun))
            if not self.quiet and not self.fresh and (before := store.count(asked.fingerprint)):
                tell(f"going on from {before} {self.noun} of {asked.name} (on any file) in {self.path}")
            try:
                yield store
            except KeyboardInterrupt:
                kept = self.sentence(store.count(asked.fingerprint))
                raise Stop(INTERRUPTED, f"interrupted; nothing was written{kept}") from None
