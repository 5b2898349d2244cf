"""One run of a judge over a user's file, from the name of the judge to the report."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from judgekit.cli.bulk.source import DELAY, ROWS, PairSource
from judgekit.cli.combining import Tally, combined
from judgekit.cli.keeping import Keeping
from judgekit.cli.messages import BAD_INPUT, DONE, Stop, needs, reason, tell, tell_failed
from judgekit.cli.output import written
from judgekit.data.pairfile import PairFileError, PairRow, read_pair_rows
from judgekit.data.progress import progress_bar
from judgekit.judges import ASKED, Judge, UnknownJudge, load_judge
from judgekit.models.batching import few_kernels
from judgekit.records import LABELS, ORDERS

REMEMBERED = 4 * ROWS  # texts that a judge with a memory of its own keeps: those of a chunk and somewhat more


def loaded_judge(name: str, labels: Counter[str], place: object, settings: list[str] | None = None) -> Judge:
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
    with _loading(f"the judge {name}", told=name.partition("/")[0] in ASKED):
        few_kernels()
        return load_judge(name, label=label, settings=given)


@contextmanager
def _loading(what: str, told: bool = False) -> Iterator[None]:
    """Whatever is wrong with a judge or a model is bad usage; ``told``: its ValueErrors are sentences of our own."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # libraries warn each other, not the reader
            yield
    except UnknownJudge as unknown:
        raise Stop(BAD_INPUT, str(unknown)) from None
    except ModuleNotFoundError as missing:
        raise Stop(BAD_INPUT, f"{what} {needs(missing)}") from None
    except Exception as bad:  # damaged weights fail in many ways
        own = told and isinstance(bad, ValueError)
        raise Stop(BAD_INPUT, str(bad) if own else f"{what} cannot be loaded: {reason(bad)}") from None


def loaded_engine(name: str, settings: list[str] | None = None) -> Any:
    """The model of a name, with ``NAME=VALUE`` settings; whatever is wrong with it is bad usage."""
    from judgekit.studies.teacher import load_engine

    given = given_settings(settings)
    with _loading(f"the model {name}", told=True):
        return load_engine(name, given)


def given_settings(texts: list[str] | None) -> dict[str, str]:
    """Names and values from ``NAME=VALUE`` texts."""
    if wrong := [text for text in texts or () if not text.partition("=")[1]]:
        raise Stop(BAD_INPUT, f"--set {wrong[0]}: write NAME=VALUE")
    return {name.strip(): value.strip() for name, _, value in (text.partition("=") for text in texts or ())}


def announce(asked: Any) -> None:
    """What a judge or a model wants known before it begins: what memory it takes."""
    for line in asked.notes() if hasattr(asked, "notes") else ():
        tell(line)


def prepare(asked: Any) -> None:
    """Let a judge or a model read its weights; whatever is wrong with them is bad usage."""
    if hasattr(asked, "load"):
        with _loading(f"the judge {asked.name}"):
            asked.load()


def read_rows(path: str) -> list[PairRow]:
    """The rows of a file of pairs, for a command that holds them all; whatever is wrong with it is bad input."""
    try:
        return read_pair_rows(path)
    except PairFileError as bad:
        raise Stop(BAD_INPUT, str(bad)) from None


def judge_for(name: str, rows: list[PairRow], settings: list[str] | None) -> Judge:
    """The judge of a name, for these rows."""
    labels = Counter(row.pair.label for row in rows if row.pair.label is not None)
    return loaded_judge(name, labels, rows[0].place, settings)


def shown_orders(asked: Judge, order: str) -> tuple[str, ...]:
    """The orders to show; a replayed judge may have one only."""
    available = getattr(asked, "orders", ORDERS)
    orders = tuple(each for each in ORDERS if order in ("both", each) and each in available)
    if not orders:
        raise Stop(BAD_INPUT, f"--order {order}: {asked.name} has verdicts in order {', '.join(available)} only")
    return orders


def foretell(source: PairSource, judge: Any, orders: tuple[str, ...], keeping: Keeping) -> int:
    """Say what a judge would be asked; returns the exit code."""
    from judgekit.scoring import waiting_requests

    if not hasattr(judge, "forecast"):
        raise Stop(BAD_INPUT, f"--dry-run: {judge.name} asks no language model, there is nothing to foretell")
    if not Path(keeping.path).is_file():  # a dry run leaves no file behind
        keeping = Keeping(":memory:", keeping.quiet)
    with keeping.opened(judge.fingerprint, judge.name) as store:
        waiting = waiting_requests(judge, [row.pair for row in source.rows()], store, orders)
    tell(str(judge.forecast(waiting)))
    return DONE


def judge_file(
    source: PairSource, judge: Any, orders: tuple[str, ...], out: str, keeping: Keeping, ask: Callable | None = None
) -> int:
    """Judge a checked file a chunk at a time and write its verdicts; returns the exit code.

    Every reply is in the store when its batch returns; the rows are put together from there. ``ask`` takes the store,
    asks all that is missing, and returns replies that failed by key: others judge then, and nothing is asked here.
    """
    from judgekit.scoring.running import plan, run_judge
    from judgekit.scoring.store import VerdictStore

    total, tally = source.n_rows * len(orders), Tally()
    if hasattr(judge, "cache_size"):  # of a stream, what was seen chunks ago seldom comes again
        judge.cache_size = min(judge.cache_size, REMEMBERED)
    with keeping.opened(judge.fingerprint, judge.name) as store:
        failed = ask(store) if ask else {}
        shown = not keeping.quiet and not ask and total > judge.batch_size
        bar = progress_bar(total, judge.name, "verdict", shown=shown, delay=DELAY)
        with bar, written(out, source.whole_ids, keeping.sentence()) as write:
            for rows in source.chunks():
                pairs = [row.pair for row in rows]
                # What is not kept is forgotten with its chunk.
                with nullcontext(store) if keeping.durable or ask else VerdictStore(keeping.path) as chunk_store:
                    if ask:
                        planned = plan(judge, pairs, chunk_store, orders)
                        planned.replies |= {key: failed[key] for key, _ in planned.waiting}
                        verdicts = planned.verdicts(judge.name)
                    else:
                        verdicts = run_judge(judge, pairs, chunk_store, orders, progress=False, bar=bar)
                results = []
                for number, row in enumerate(rows):
                    both = verdicts[number * len(orders) : (number + 1) * len(orders)]
                    results.append({"id": row.id, **combined(both), "judge": judge.name})
                    tally.add(row, both, results[-1])
                write(results)
    return report(tally, judge.name, orders, out, keeping)


def report(tally: Tally, name: str, orders: tuple[str, ...], out: str, keeping: Keeping) -> int:
    """Say on standard error what came out of a run; returns the exit code."""
    if tally.n_unread and not keeping.quiet:
        tell(f"{tally.n_unread} of {tally.n_rows} pairs have no verdict because the reply could not be read")
    if line := tally.accuracy_line(orders):
        tell(line)
    if tally.n_failed:
        headline = f"{tally.n_failed} of {tally.n_rows} pairs failed{keeping.again()}:"
        return tell_failed(headline, tally.failed, tally.n_failed)
    keeping.done()
    if not keeping.quiet:
        counted = "1 pair" if tally.n_rows == 1 else f"{tally.n_rows} pairs"
        tell(f"{counted} judged by {name}" + ("" if out == "-" else f": {out}"))
    return DONE
