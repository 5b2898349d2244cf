"""One run of a judge over a user's file, from the name of the judge to the report."""

import sqlite3
import warnings
from dataclasses import dataclass
from pathlib import Path

from judgekit.cli.combining import accuracy_line, combined
from judgekit.cli.messages import BAD_INPUT, DONE, INTERRUPTED, SOME_FAILED, UNEXPECTED, Stop, reason, shortened, tell
from judgekit.cli.output import remove_store
from judgekit.judges import ASKED, UnknownJudge, load_judge
from judgekit.records import LABELS, ORDERS
from judgekit.store import VerdictStore

LISTED = 20  # failed items named one by one


def loaded_judge(name, rows, settings=None):
    """The judge of a name, with ``NAME=VALUE`` settings; whatever is wrong with it is bad usage."""
    label, given = None, given_settings(settings)
    if name.startswith("replay/"):
        raise Stop(
            BAD_INPUT, f"{name} repeats the verdicts published on its own benchmark; it cannot judge other pairs"
        )
    if name == "baseline/majority_class":
        labels = [row.pair.label for row in rows if row.pair.label is not None]
        if not labels:
            raise Stop(BAD_INPUT, f"{rows[0].place}: field 'label' is missing everywhere, and {name} needs labels")
        label = max(LABELS, key=labels.count)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # libraries warn each other, not the reader
            return load_judge(name, label=label, settings=given)
    except UnknownJudge as unknown:
        raise Stop(BAD_INPUT, str(unknown)) from None
    except ValueError as bad:
        said = str(bad) if name.partition("/")[0] in ASKED else f"the judge {name} cannot be loaded: {reason(bad)}"
        raise Stop(BAD_INPUT, said) from None
    except ModuleNotFoundError as missing:
        raise Stop(BAD_INPUT, f"the judge {name} needs the package {missing.name}, which is not installed") from None
    except Exception as bad:  # damaged weights fail in many ways
        raise Stop(BAD_INPUT, f"the judge {name} cannot be loaded: {reason(bad)}") from None


def given_settings(texts):
    """Names and values from ``NAME=VALUE`` texts."""
    if wrong := [text for text in texts or () if not text.partition("=")[1]]:
        raise Stop(BAD_INPUT, f"--set {wrong[0]}: write NAME=VALUE")
    return {name.strip(): value.strip() for name, _, value in (text.partition("=") for text in texts or ())}


def announce(asked):
    """What a judge wants known before it begins: what memory its model takes."""
    for line in asked.notes() if hasattr(asked, "notes") else ():
        tell(line)


def prepare(asked):
    """Let a judge read its weights; whatever is wrong with them is bad usage."""
    if not hasattr(asked, "load"):
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            asked.load()
    except ModuleNotFoundError as missing:
        raise Stop(
            BAD_INPUT, f"the judge {asked.name} needs the package {missing.name}, which is not installed"
        ) from None
    except Exception as bad:  # damaged weights fail in many ways
        raise Stop(BAD_INPUT, f"the judge {asked.name} cannot be loaded: {reason(bad)}") from None


def shown_orders(asked, order):
    """The orders to show; a replayed judge may have one only."""
    available = getattr(asked, "orders", ORDERS)
    orders = tuple(each for each in ORDERS if order in ("both", each) and each in available)
    if not orders:
        raise Stop(BAD_INPUT, f"--order {order}: {asked.name} has verdicts in order {', '.join(available)} only")
    return orders


@dataclass
class Run:
    """One run of a judge over a file.

    Attributes
    ----------
    rows : list of PairRow
    judge : judgekit.judges.Judge
    orders : tuple of {"ab", "ba"}
    path : str
        The verdict store.
    quiet : bool
    """

    rows: list
    judge: object
    orders: tuple
    path: str
    quiet: bool

    def results(self):
        """Judge all pairs; the rows that are written, in order."""
        from judgekit.scoring import run_judge

        try:
            store = VerdictStore(self.path)
        except (ValueError, OSError, sqlite3.Error) as broken:
            said = str(broken) if isinstance(broken, ValueError) else f"{self.path}: {reason(broken)}"
            raise Stop(BAD_INPUT, f"the verdict store cannot be used: {said}") from None
        with store:
            try:
                verdicts = self.ask(store, run_judge)
            except sqlite3.OperationalError as full:
                raise Stop(UNEXPECTED, f"the verdict store {self.path} failed: {reason(full)}") from None
            except sqlite3.DatabaseError as broken:
                said = f"the verdict store {self.path} is damaged ({broken}); move it away to start afresh"
                raise Stop(BAD_INPUT, said) from None
        size = len(self.orders)
        self.verdicts = [verdicts[i : i + size] for i in range(0, len(verdicts), size)]
        given = zip(self.rows, self.verdicts, strict=True)
        return [{"id": row.id, **combined(shown), "judge": self.judge.name} for row, shown in given]

    def foretell(self):
        """Say what the judge would be asked; returns the exit code."""
        from judgekit.scoring import waiting_requests

        if not hasattr(self.judge, "forecast"):
            raise Stop(BAD_INPUT, f"--dry-run: {self.judge.name} asks no language model, there is nothing to foretell")
        path = self.path if Path(self.path).is_file() else ":memory:"  # a dry run leaves no file behind
        with VerdictStore(path) as store:
            waiting = waiting_requests(self.judge, [row.pair for row in self.rows], store, self.orders)
        tell(str(self.judge.forecast(waiting)))
        return DONE

    def ask(self, store, run_judge):
        """The verdicts in every order; an interruption says how many are kept."""
        if (before := store.count(self.judge.fingerprint)) and not self.quiet:
            tell(f"going on from {before} verdicts in {self.path}")
        pairs = [row.pair for row in self.rows]
        try:
            return run_judge(self.judge, pairs, store, self.orders, progress=not self.quiet)
        except KeyboardInterrupt:
            count = store.count(self.judge.fingerprint)
            raise Stop(INTERRUPTED, f"interrupted; nothing was written{self.kept(count)}") from None

    def kept(self, count=None):
        """Half a sentence on where the verdicts are and how to go on."""
        if self.path == ":memory:":
            return ""
        number = "the" if count is None else count
        return f"; {number} verdicts are kept in {self.path}, and the same command goes on from there"

    def report(self, results, out):
        """Say on standard error what came out; returns the exit code."""
        n_failed = sum(result["status"] == "error" for result in results)
        unread = [result for result in results if result["status"] in ("unparsed", "ambiguous")]
        if unread and not self.quiet:
            tell(f"{len(unread)} of {len(results)} pairs have no verdict because the reply could not be read")
        if line := accuracy_line(self.rows, results, self.orders):
            tell(line)
        if not n_failed:
            remove_store(self.path)
            if not self.quiet:
                counted = "1 pair" if len(results) == 1 else f"{len(results)} pairs"
                tell(f"{counted} judged by {self.judge.name}" + ("" if out == "-" else f": {out}"))
            return DONE
        self.list_failed(n_failed)
        return SOME_FAILED

    def list_failed(self, n_failed):
        """Name the failed items, and say how to try them again."""
        again = "" if self.path == ":memory:" else f"; the same command tries them again (the rest is in {self.path})"
        tell(f"{n_failed} of {len(self.rows)} pairs failed{again}:")
        failed = [
            (row, next(verdict for verdict in shown if verdict.status == "error"))
            for row, shown in zip(self.rows, self.verdicts, strict=True)
            if any(verdict.status == "error" for verdict in shown)
        ]
        for row, verdict in failed[:LISTED]:
            tell(f"  id {row.id!r:.80} ({row.place}): {shortened(verdict.raw or 'no reason given')}")
        if n_failed > LISTED:
            tell(f"  and {n_failed - LISTED} more")
