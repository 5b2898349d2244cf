"""Where the replies of a command are kept, and what is said of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from judgekit.cli.messages import BAD_INPUT, INTERRUPTED, Stop, reason, tell
from judgekit.cli.output import only_writer

if TYPE_CHECKING:
    from judgekit.scoring.store import VerdictStore


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
        from judgekit.scoring.store import user_store_path

        return (self.store or str(user_store_path())) if self.resume else ""

    def sentence(self, count: int | None = None) -> str:
        """Half a sentence on where the replies are and how to go on."""
        if not self.resume:
            return ""
        same = "the same command without --fresh" if self.fresh else "the same command"
        number = "the" if count is None else count
        return f"; {number} {self.noun} are kept in {self.path}, and {same} goes on from there"

    @contextmanager
    def opened(self, asked: Any) -> "Iterator[VerdictStore]":
        """The store, for replies of one judge or model, while no other process writes the same output."""
        from judgekit.scoring.store import VerdictStore

        with only_writer(self.out):
            try:
                store = VerdictStore(self.path, self.fresh)
            except (ValueError, OSError) as broken:
                said = str(broken) if isinstance(broken, ValueError) else f"{self.path}: {reason(broken)}"
                raise Stop(BAD_INPUT, f"the store of {self.noun} cannot be used: {said}") from None
            with store:
                if not self.quiet and not self.fresh and (before := store.count(asked.fingerprint)):
                    tell(f"going on from {before} {self.noun} of {asked.name} in {self.path}")
                try:
                    yield store
                except KeyboardInterrupt:
                    kept = self.sentence(store.count(asked.fingerprint))
                    raise Stop(INTERRUPTED, f"interrupted; nothing was written{kept}") from None
