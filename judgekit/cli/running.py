"""One run of a judge over a user's file, from the name of the judge to the report."""

import sqlite3
import tempfile
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from judgekit.cli.combining import accuracy_line
from judgekit.cli.messages import BAD_INPUT, DONE, INTERRUPTED, SOME_FAILED, UNEXPECTED, Stop, reason, shortened, tell
from judgekit.cli.output import failed_write, remove_store, store_path
from judgekit.fingerprints import fingerprint_of
from judgekit.judges import ASKED, UnknownJudge, load_judge
from judgekit.models.batching import few_kernels
from judgekit.records import LABELS, ORDERS
from judgekit.store import VerdictStore


def loaded_judge(name, labels, place, settings=None):
    """The judge of a name, with ``NAME=VALUE`` settings; whatever is wrong with it is bad usage.

    ``labels`` counts the rows by label and ``place`` is the first row's, for the judge that repeats the commonest.
    """
    label, given = None, given_settings(settings)
    if name.startswith("replay/"):
        raise Stop(
            BAD_INPUT, f"{name} repeats the verdicts published on its own benchmark; it cannot judge other pairs"
        )
    if name == "baseline/majority_class":
        if not labels:
            raise Stop(BAD_INPUT, f"{place}: field 'label' is missing everywhere, and {name} needs labels")
        label = max(LABELS, key=lambda each: labels[each])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # libraries warn each other, not the reader
            few_kernels()
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


def asked_digest(source, asked, orders):
    """Hash of the input, the judge and the orders: what finished rows may be taken for."""
    return fingerprint_of("bulk", 1, source.digest, asked.fingerprint, asked.decoding, asked.name, list(orders))


@dataclass
class Run:
    """One run of a judge over a file.

    Attributes
    ----------
    source : judgekit.bulk.source.PairSource
    judge : judgekit.judges.Judge
    orders : tuple of {"ab", "ba"}
    out : str
    resume, quiet : bool
    """

    source: object
    judge: object
    orders: tuple
    out: str
    resume: bool
    quiet: bool

    def __post_init__(self):
        from judgekit.bulk.local import keeps_store

        durable = self.resume and self.out != "-"
        # A store that an interrupted run left is gone on from, whatever would be chosen today.
        self.stored = durable and (keeps_store(self.source, self.judge) or Path(store_path(self.out)).exists())
        self.path = store_path(self.out) if self.stored else ":memory:"
        self.chunked = durable and not self.stored

    def finish(self):
        """Judge all pairs, write the verdicts, tell what came out; returns the exit code."""
        from judgekit.bulk.local import LocalRun

        with self.partial() as partial, self.store() as store:
            self.tell_resumed(partial, store)
            work = LocalRun(self.source, self.judge, self.orders, partial, store, not self.quiet)
            try:
                tally = work.work()
                self.deliver(partial, tally)
            except KeyboardInterrupt:
                raise Stop(INTERRUPTED, f"interrupted; nothing was written{self.kept(partial, store)}") from None
            except BrokenPipeError:
                raise
            except OSError as full:
                raise failed_write(self.out, full, self.kept(partial)) from None
            return self.report(tally, work.reasons, partial)

    @contextmanager
    def partial(self):
        """The file of finished rows. Where it is not the durable memory of the run, it goes when the run ends."""
        from judgekit.bulk.partial import Busy, Partial, partial_path

        digest = asked_digest(self.source, self.judge, self.orders)
        with tempfile.TemporaryDirectory() as folder:
            path = partial_path(Path(folder, "verdicts") if self.out == "-" else self.out, digest)
            try:
                partial = Partial(path, keep=self.chunked)
            except Busy as busy:
                raise Stop(BAD_INPUT, f"--out {self.out}: {busy}") from None
            except OSError as full:
                raise failed_write(self.out, full) from None
            with partial:
                try:
                    yield partial
                finally:
                    if not self.chunked:
                        partial.remove()

    @contextmanager
    def store(self):
        """The verdict store, or None where it is not kept; what can go wrong with it is told in a sentence."""
        if not self.stored:
            yield None
            return
        try:
            store = VerdictStore(self.path)
        except (ValueError, OSError, sqlite3.Error) as broken:
            said = str(broken) if isinstance(broken, ValueError) else f"{self.path}: {reason(broken)}"
            raise Stop(BAD_INPUT, f"the verdict store cannot be used: {said}") from None
        with store:
            try:
                yield store
            except sqlite3.OperationalError as full:
                raise Stop(UNEXPECTED, f"the verdict store {self.path} failed: {reason(full)}") from None
            except sqlite3.DatabaseError as broken:
                said = f"the verdict store {self.path} is damaged ({broken}); move it away to start afresh"
                raise Stop(BAD_INPUT, said) from None

    def tell_resumed(self, partial, store):
        """Say what is there already."""
        if self.quiet:
            return
        if store is not None and (before := store.count(self.judge.fingerprint)):
            tell(f"going on from {before} verdicts in {self.path}")
        elif partial.n_rows:
            tell(f"going on from {partial.n_rows} pairs in {partial.path}")

    def foretell(self):
        """Say what the judge would be asked; returns the exit code."""
        from judgekit.scoring import waiting_requests

        if not hasattr(self.judge, "forecast"):
            raise Stop(BAD_INPUT, f"--dry-run: {self.judge.name} asks no language model, there is nothing to foretell")
        path = self.path if Path(self.path).is_file() else ":memory:"  # a dry run leaves no file behind
        with VerdictStore(path) as store:
            waiting = waiting_requests(self.judge, [row.pair for row in self.source.rows()], store, self.orders)
        tell(str(self.judge.forecast(waiting)))
        return DONE

    def deliver(self, partial, tally):
        """Write the output file in one step, from the finished rows."""
        from judgekit.bulk.writing import is_parquet, move_over, write_batches

        keep = self.chunked and tally.n_failed
        if self.out == "-" or keep or is_parquet(self.out):
            write_batches(partial.batches(), self.out, self.source.whole_ids)
            if not keep:
                partial.remove()
        else:
            move_over(partial.path, self.out)

    def kept(self, partial, store=None):
        """Half a sentence on where the verdicts are and how to go on."""
        if not (self.stored or self.chunked):
            return ""
        if self.chunked:
            what = f"{partial.n_rows} pairs are kept in {partial.path}"
        else:
            number = "the" if store is None else store.count(self.judge.fingerprint)
            what = f"{number} verdicts are kept in {self.path}"
        return f"; {what}, and the same command goes on from there"

    def report(self, tally, reasons, partial):
        """Say on standard error what came out; returns the exit code."""
        rest = self.path if self.stored else partial.path if self.chunked else None
        code = report(tally, reasons, self.judge.name, self.orders, self.out, self.quiet, rest)
        if code == DONE:
            remove_store(self.path)
        return code


def report(tally, reasons, name, orders, out, quiet, rest=None):
    """Say on standard error what came out of a run; returns the exit code.

    Parameters
    ----------
    tally : judgekit.bulk.tally.Tally
    reasons : dict
        Why rows failed, by id.
    name : str
        The judge's.
    orders : tuple of {"ab", "ba"}
    out : str
    quiet : bool
    rest : path or None
        Where the finished rows are kept for the next try.
    """
    if tally.n_unread and not quiet:
        tell(f"{tally.n_unread} of {tally.n_rows} pairs have no verdict because the reply could not be read")
    if line := accuracy_line(tally, orders):
        tell(line)
    if not tally.n_failed:
        if not quiet:
            counted = "1 pair" if tally.n_rows == 1 else f"{tally.n_rows} pairs"
            tell(f"{counted} judged by {name}" + ("" if out == "-" else f": {out}"))
        return DONE
    again = "" if rest is None else f"; the same command tries them again (the rest is in {rest})"
    tell(f"{tally.n_failed} of {tally.n_rows} pairs failed{again}:")
    for row in tally.failed:
        tell(f"  id {row.id!r:.80} ({row.place}): {shortened(reasons.get(row.id, 'no reason given'))}")
    if tally.n_failed > len(tally.failed):
        tell(f"  and {tally.n_failed - len(tally.failed)} more")
    return SOME_FAILED
