"""Commands that put messages to a model: the store beside the output file, and what is told at the end."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass

from judgekit.bulk.tally import LISTED
from judgekit.cli.messages import (
    BAD_INPUT,
    DONE,
    INTERRUPTED,
    SOME_FAILED,
    UNEXPECTED,
    Stop,
    reason,
    shortened,
    tell,
)
from judgekit.cli.output import check_out, remove_store, store_path, write_rows
from judgekit.cli.running import announce, given_settings, prepare
from judgekit.pairfile import PairFileError
from judgekit.store import VerdictStore


def collect_file(source, out, model, settings, asked, resume=True, quiet=False):
    """``judgekit collect``; returns the exit code.

    Parameters
    ----------
    source, out, model : str
    settings : list of str or None
        ``NAME=VALUE``.
    asked : dict
        ``system``, ``seed``, ``n_samples`` of `judgekit.teacher.collect_responses`.
    resume, quiet : bool
    """
    from judgekit.teacher import collect_responses, read_questions

    check_out(out, source)
    try:
        questions = read_questions(source)
    except PairFileError as bad:
        raise Stop(BAD_INPUT, str(bad)) from None
    engine = loaded_engine(model, settings)
    if asked["n_samples"] > 1 and not engine.settings.temperature:
        raise Stop(BAD_INPUT, "--samples: several responses need --set temperature=... above 0, or all are the same")
    if not quiet:
        announce(engine)
    prepare(engine)
    run = Asking(engine, store_path(out) if resume and out != "-" else ":memory:", quiet, "responses")
    rows = run.work(lambda store: collect_responses(questions, engine, store, progress=not quiet, **asked))
    run.write(out, rows)
    places = [question.place for question in questions for _ in range(asked["n_samples"])]
    failed = [
        f"id {row['id']!r:.80} ({place}): {row['error']}"
        for row, place in zip(rows, places, strict=True)
        if row["status"] != "ok"
    ]
    return run.report(len(rows), failed, out)


def loaded_engine(name, settings=None):
    """The model of a name, with ``NAME=VALUE`` settings; whatever is wrong with it is bad usage."""
    from judgekit.teacher import load_engine

    given = given_settings(settings)
    try:
        return load_engine(name, given)
    except ModuleNotFoundError as missing:
        raise Stop(BAD_INPUT, f"the model {name} needs the package {missing.name}, which is not installed") from None
    except ValueError as bad:
        raise Stop(BAD_INPUT, str(bad)) from None
    except Exception as bad:  # damaged files fail in many ways
        raise Stop(BAD_INPUT, f"the model {name} cannot be loaded: {reason(bad)}") from None


@dataclass
class Asking:
    """Work that keeps the replies of a model in a store, and ends in a file.

    Attributes
    ----------
    engine : judgekit.teacher.remote.ServerEngine or judgekit.teacher.local.LocalEngine
    path : str
        The store; ``:memory:`` for none.
    quiet : bool
    noun : str
        What a reply is called, in the plural.
    """

    engine: object
    path: str
    quiet: bool
    noun: str

    def work(self, do):
        """What ``do(store)`` returns; what can go wrong with the store, and an interruption, is told in a sentence."""
        try:
            store = VerdictStore(self.path)
        except (ValueError, OSError, sqlite3.Error) as broken:
            said = str(broken) if isinstance(broken, ValueError) else f"{self.path}: {reason(broken)}"
            raise Stop(BAD_INPUT, f"the store of {self.noun} cannot be used: {said}") from None
        with closing(store):
            try:
                if (before := store.count(self.engine.fingerprint)) and not self.quiet:
                    tell(f"going on from {before} {self.noun} in {self.path}")
                return do(store)
            except KeyboardInterrupt:
                count = store.count(self.engine.fingerprint)
                raise Stop(INTERRUPTED, f"interrupted; nothing was written{self.kept(count)}") from None
            except sqlite3.OperationalError as full:
                raise Stop(UNEXPECTED, f"the store {self.path} failed: {reason(full)}") from None
            except sqlite3.DatabaseError as broken:
                said = f"the store {self.path} is damaged ({broken}); move it away to start afresh"
                raise Stop(BAD_INPUT, said) from None

    def kept(self, count=None):
        """Half a sentence on where the replies are and how to go on."""
        if self.path == ":memory:":
            return ""
        number = "the" if count is None else count
        return f"; {number} {self.noun} are kept in {self.path}, and the same command goes on from there"

    def write(self, out, rows):
        """Write rows as JSON lines, in one step."""
        write_rows(out, rows, self.kept())

    def report(self, n_rows, failed, out):
        """Say on standard error what came out; returns the exit code. ``failed`` holds a line for each that failed."""
        if not failed:
            remove_store(self.path)
            if not self.quiet:
                tell(f"{n_rows} {self.noun} by {self.engine.name}" + ("" if out == "-" else f": {out}"))
            return DONE
        again = "" if self.path == ":memory:" else f"; the same command tries them again (the rest is in {self.path})"
        tell(f"{len(failed)} of {n_rows} {self.noun} are missing{again}:")
        for line in failed[:LISTED]:
            tell(f"  {shortened(line)}")
        if len(failed) > LISTED:
            tell(f"  and {len(failed) - LISTED} more")
        return SOME_FAILED
