"""Where the replies of a command are kept, and what is said of it."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from judgekit.cli.messages import BAD_INPUT, INTERRUPTED, UNEXPECTED, Stop, reason, tell

if TYPE_CHECKING:
    from judgekit.scoring.store import VerdictStore

MEMORY = ":memory:"


@dataclass
class Keeping:
    """The store that a command uses.

    ``temporary``: it is of this run alone and goes when all is done. ``fresh``: replies of earlier runs are replaced
    instead of used. ``noun``: what a reply is called, in the plural.
    """

    path: str
    quiet: bool
    fresh: bool = False
    temporary: bool = False
    noun: str = "verdicts"

    @property
    def durable(self) -> bool:
        """Whether a later run finds what this one was told."""
        return self.path != MEMORY

    def sentence(self, count: int | None = None) -> str:
        """Half a sentence on where the replies are and how to go on."""
        if not self.durable:
            return ""
        same = "the same command without --fresh" if self.fresh else "the same command"
        number = "the" if count is None else count
        return f"; {number} {self.noun} are kept in {self.path}, and {same} goes on from there"

    def again(self) -> str:
        """Half a sentence on what failed."""
        same = "the same command without --fresh" if self.fresh else "the same command"
        return f"; {same} tries them again (the rest is in {self.path})" if self.durable else ""

    @contextmanager
    def opened(self, fingerprint: str, name: str) -> "Iterator[VerdictStore]":
        """The store, for replies of one judge or model; an interruption and what fails is told in a sentence."""
        from judgekit.scoring.store import DamagedStore, StoreFailure, VerdictStore

        called = "verdict store" if self.noun == "verdicts" else f"store of {self.noun}"
        try:
            store = VerdictStore(self.path, self.fresh)
        except (ValueError, OSError) as broken:
            said = str(broken) if isinstance(broken, ValueError) else f"{self.path}: {reason(broken)}"
            raise Stop(BAD_INPUT, f"the {called} cannot be used: {said}") from None
        with store:
            try:
                if not self.quiet and not self.fresh and (before := store.count(fingerprint)):
                    tell(f"going on from {before} {self.noun} of {name} in {self.path}")
                yield store
            except KeyboardInterrupt:
                count = store.count(fingerprint)
                raise Stop(INTERRUPTED, f"interrupted; nothing was written{self.sentence(count)}") from None
            except DamagedStore as damaged:
                raise Stop(BAD_INPUT, str(damaged)) from None
            except StoreFailure as failed:
                raise Stop(UNEXPECTED, str(failed)) from None

    def done(self) -> None:
        """Remove the store if it was of this run alone."""
        if self.temporary and self.durable:
            for suffix in ("", "-wal", "-shm"):
                with suppress(OSError):
                    Path(self.path + suffix).unlink(missing_ok=True)


def keeping_of(
    judge: str, out: str, store: str | None, resume: bool, fresh: bool, quiet: bool, noun: str = "verdicts"
) -> Keeping:
    """Where a command keeps its replies: in ``--store``, else in the one store of this user.

    Verdicts of rules (``baseline/``) cost less to make than to keep: theirs are beside the output until all are there.
    """
    if not resume:
        return Keeping(MEMORY, quiet, fresh, noun=noun)
    if store is not None:
        return Keeping(store, quiet, fresh, noun=noun)
    if judge.startswith("baseline/"):
        return Keeping(MEMORY if out == "-" else f"{out}.store.sqlite", quiet, fresh, temporary=True, noun=noun)
    from judgekit.scoring.store import user_store_path

    left = f"{out}.store.sqlite"
    if judge and not quiet and Path(left).is_file():
        tell(f"note: an earlier version left replies in {left}; --store {left} goes on from there")
    return Keeping(str(user_store_path()), quiet, fresh, noun=noun)
