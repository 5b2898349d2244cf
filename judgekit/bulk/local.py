"""Judging a file in this process, chunk by chunk."""

from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import islice

from judgekit.bulk.combining import result_row
from judgekit.bulk.partial import Partial
from judgekit.bulk.source import DELAY, ROWS
from judgekit.bulk.tally import LISTED, Tally
from judgekit.pairfile.places import Place
from judgekit.progress import progress_bar, skip
from judgekit.scoring import run_judge
from judgekit.store import VerdictStore

REMEMBERED = 4 * ROWS  # texts: those of a chunk and somewhat more
CHEAP = ("baseline", "encoder")  # providers for whom a chunk is seconds, and a store of each verdict a large share


def keeps_store(source, judge):
    """Whether the verdict store is the durable memory of a run; otherwise its finished chunks are.

    The store remembers each verdict as it is made and what was asked twice, at a cost per verdict that grows with the
    store (a table in the order of hashes). A judge that takes a second for a chunk of a million rows is better off
    losing that second.
    """
    return source.n_rows <= ROWS or judge.name.partition("/")[0] not in CHEAP


@dataclass
class LocalRun:
    """One run of a judge over a checked file.

    Parameters
    ----------
    source : judgekit.bulk.source.PairSource
    judge : judgekit.judges.Judge
    orders : tuple of {"ab", "ba"}
    partial : judgekit.bulk.partial.Partial
        Takes the result rows. Those that it holds already are not judged again, those of status ``error`` are.
    store : judgekit.store.VerdictStore, optional
        Durable memory of single verdicts; without one they are forgotten with their chunk.
    progress : bool

    Attributes
    ----------
    reasons : dict
        Why rows failed, by id, of the first that did.
    """

    source: object
    judge: object
    orders: tuple
    partial: Partial
    store: VerdictStore | None = None
    progress: bool = True
    reasons: dict = field(default_factory=dict)

    def work(self):
        """Judge every row that is not finished; the `Tally` of all."""
        total, tally = self.source.n_rows * len(self.orders), Tally()
        if hasattr(self.judge, "cache_size"):  # of a stream, what was seen chunks ago seldom comes again
            self.judge.cache_size = min(self.judge.cache_size, REMEMBERED)
        shown = self.progress and total > self.judge.batch_size
        with progress_bar(total, self.judge.name, "verdict", shown=shown, delay=DELAY) as bar:
            if self.partial.n_failed:
                self.retry()
            finished = self.partial.rows()
            for rows in self.source.chunks():
                carried = self.carried(rows, finished)
                skip(bar, len(carried) * len(self.orders))
                fresh = self.judged(rows[len(carried) :], bar)
                self.partial.append(fresh)
                tally.add(rows, carried + fresh)
        return tally

    def retry(self):
        """Judge the failed rows among the finished ones again; all of them change in one step."""
        finished, left = self.partial.rows(), self.partial.n_rows
        with_retried = Partial(f"{self.partial.path}.new", keep=False)
        for rows in self.source.chunks():
            carried = self.carried(rows, finished)
            failed = [place for place, result in enumerate(carried) if result["status"] == "error"]
            for place, result in zip(failed, self.judged([rows[place] for place in failed]), strict=True):
                carried[place] = result
            with_retried.append(carried)
            left -= len(carried)
            if not left:
                break
        self.partial.replace_by(with_retried)

    def carried(self, rows, finished):
        """The finished results of the first of these rows, after a look at whether they are theirs."""
        results = list(islice(finished, len(rows)))
        for row, result in zip(rows, results, strict=False):  # results end where the finished rows do
            if row.id != result["id"]:
                said = f"{self.partial.path} holds {result['id']!r:.80} in its place; move that file away"
                raise Place(row.place.path, row.place.line, row.place.unit).error(said, "id")
        return results

    def judged(self, rows, bar=None):
        """Result rows for some rows, in order."""
        if not rows:
            return []
        pairs = [row.pair for row in rows]
        with VerdictStore(":memory:") if self.store is None else nullcontext(self.store) as store:
            verdicts = run_judge(self.judge, pairs, store, self.orders, progress=False, bar=bar)
        size, results = len(self.orders), []
        for number, row in enumerate(rows):
            shown = verdicts[number * size : (number + 1) * size]
            results.append(result_row(row, shown, self.judge.name))
            self.note_failure(row, shown)
        return results

    def note_failure(self, row, verdicts):
        """Remember why a row failed, as long as few have."""
        failed = next((verdict for verdict in verdicts if verdict.status == "error"), None)
        if failed is not None and len(self.reasons) < LISTED:
            self.reasons[row.id] = failed.raw or "no reason given"
