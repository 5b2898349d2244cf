"""``judgekit judge``: one run of a judge over a user's file, from the name of the judge to the report."""

import math
import warnings
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from judgekit.cli.files import DELAY, ROWS, PairSource, check_out, check_source, is_table, written
from judgekit.cli.keeping import LISTED, Fresh, JudgeName, Keeping, Out, Pairs, Quiet, Resume, Settings, Store
from judgekit.cli.messages import BAD_INPUT, DONE, Stop, is_ours, reason, tell
from judgekit.data.pairfile import PairRow
from judgekit.data.progress import progress_bar
from judgekit.judges import Judge, load_judge
from judgekit.models import few_kernels
from judgekit.records import LABELS, ORDERS, Verdict, label_of_gap

REMEMBERED = 4 * ROWS  # texts that a judge with a memory of its own keeps: those of a chunk and somewhat more
_RAY_ROWS = 32 * ROWS  # of a chunk that is handed out to workers
_N_BOOT = 10_000  # resamples
_PROBABILITIES = ("p_a", "p_b", "p_tie")


def judge(
    pairs: Pairs,
    out: Out,
    judge: JudgeName = "encoder/minilm",
    order: Annotated[Literal["both", "ab", "ba"], typer.Option(help="Which response is shown first.")] = "both",
    store: Store = None,
    fresh: Fresh = False,
    resume: Resume = True,
    quiet: Quiet = False,
    settings: Settings = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be asked and cost; ask nothing.")] = False,
    engine: Annotated[Literal["local", "ray"], typer.Option(help="Judge here, or on the workers of Ray.")] = "local",
    workers: Annotated[int | None, typer.Option(min=1, help="Of Ray; by default one per GPU or processor.")] = None,
) -> int:
    """Judge every pair of a file.

    PAIRS has one row per pair: question, response_a, response_b, and optionally id, reference and label (A, B or
    tie). Rows of prompt, chosen, rejected (texts or lists of messages) are accepted; chosen is then response A.

    --out (.parquet, too) gets one row per pair, in the same order: id, verdict (A, B or tie; null if there is none),
    p_a, p_b, p_tie (null if the judge gives none), status (ok, unparsed, ambiguous, error) and judge.

    With --order both, each pair is shown in both orders. Probabilities are the means of the two orders. Where the two
    verdicts agree, that is the verdict; where they differ, it is the most probable by the means (a tie if A and B are
    equal), or a tie if the judge gives no probabilities. A pair has a verdict only if both orders have.

    Every reply is kept in a verdict store (JUDGEKIT_STORE, or one file of this user), found by what was asked: an
    interrupted run is continued by the same command, and a row that is added to PAIRS is all that is asked. Failed
    items are listed, give exit code 3 and are tried again by the same command.

    openai/MODEL is any server that talks like OpenAI's: OPENAI_BASE_URL and OPENAI_API_KEY name it. hf/MODEL runs a
    model here: a folder, a folder with a LoRA adapter, or a name on the Hugging Face hub; vllm/MODEL does so with vLLM.
    --set mode=one_pass reads its verdict from token probabilities instead of from generated text. Without #STRATEGY
    a language model is asked with the pairwise prompt of the assignment. #FILE.txt is a prompt of your
    own. own/NAME is a judge of your own, registered by a package that you installed (docs/use_your_own.md).
    """
    check_out(out, pairs, tables=True)
    if engine == "ray":
        import ray.util  # noqa: F401 - where it is missing, that is told before any work
    elif workers is not None:
        raise Stop(BAD_INPUT, "--workers: only --engine ray has workers")
    source = check_source(pairs, not quiet)
    label = None
    if judge == "baseline/majority_class":
        if not source.labels:
            raise Stop(BAD_INPUT, f"{pairs}: field 'label' is missing everywhere, and {judge} needs labels")
        label = max(LABELS, key=lambda each: source.labels[each])
    here = engine == "local" and not dry_run
    asked: Any = loaded_judge(judge, settings, quiet and not dry_run, label, weights=here)
    available = getattr(asked, "orders", ORDERS)
    orders = tuple(each for each in ORDERS if order in ("both", each) and each in available)
    if not orders:
        raise Stop(BAD_INPUT, f"--order {order}: {asked.name} has verdicts in order {', '.join(available)} only")
    if orders == ("ab",) and source.first.form == "chosen/rejected" and not quiet:
        tell("note: chosen responses are always shown first; a judge that favours the first will look right")
    keeping = Keeping(out, store, fresh, resume, quiet)
    if dry_run:
        return _foretell(source, asked, orders, keeping)
    if engine == "ray":
        from judgekit.cli.ray_engine import RayJudge

        asked = RayJudge(asked, {"name": judge, "label": label, "settings": given_settings(settings)}, workers)
    return _judge_file(source, asked, orders, keeping, _RAY_ROWS if engine == "ray" else ROWS)


def given_settings(texts: list[str] | None) -> dict[str, str]:
    """Names and values from ``NAME=VALUE`` texts."""
    if wrong := [text for text in texts or () if "=" not in text]:
        raise Stop(BAD_INPUT, f"--set {wrong[0]}: write NAME=VALUE")
    return {name.strip(): value.strip() for name, _, value in (text.partition("=") for text in texts or ())}


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Whatever is wrong with a judge or a model is bad usage."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # libraries warn each other, not the reader
            yield
    except ModuleNotFoundError:
        raise
    except Exception as bad:  # damaged weights fail in many ways
        raise Stop(BAD_INPUT, str(bad) if is_ours(bad) else f"{name} cannot be loaded: {reason(bad)}") from None


def loaded(load: Callable[..., Any], name: str, settings: list[str] | None, quiet: bool, weights: bool = True) -> Any:
    """What ``load`` makes of a name and ``NAME=VALUE`` settings, its weights read; says what memory it takes."""
    given = given_settings(settings)
    with loading(name):
        few_kernels()
        asked = load(name, settings=given)
        for line in asked.notes() if hasattr(asked, "notes") and not quiet else ():
            tell(line)
        if weights and hasattr(asked, "load"):
            asked.load()
    return asked


def loaded_judge(
    name: str, settings: list[str] | None, quiet: bool, label: str | None = None, weights: bool = True
) -> Judge:
    """The judge of a name; ``label`` is for the one that always gives the same."""
    if name.startswith("replay/"):
        said = "repeats the verdicts published on its own benchmark; it cannot judge other pairs"
        raise Stop(BAD_INPUT, f"{name} {said}")
    return loaded(partial(load_judge, label=label), name, settings, quiet, weights)


def combined(verdicts: list[Verdict]) -> dict[str, Any]:
    """Verdict, mean probabilities and status of a pair from the orders it was shown in, as `judge` says of both."""
    statuses = [verdict.status for verdict in verdicts]
    for status in ("error", "unparsed", "ambiguous"):
        if status in statuses:
            return dict.fromkeys(("verdict", *_PROBABILITIES)) | {"status": status}
    columns = [[getattr(verdict, name) for verdict in verdicts] for name in _PROBABILITIES]
    given = all(p is not None and math.isfinite(p) for column in columns for p in column)
    means: list[Any] = [sum(column) / len(column) for column in columns] if given else [None] * 3
    labels = {verdict.verdict for verdict in verdicts}
    most_probable = "tie" if not given or means[2] >= max(means[:2]) else label_of_gap(means[0] - means[1])
    decided = labels.pop() if len(labels) == 1 else most_probable
    rounded = [None if p is None else round(p, 6) for p in means]
    return {"verdict": decided, **dict(zip(_PROBABILITIES, rounded, strict=True)), "status": "ok"}


@dataclass
class Tally:
    """Counts over the rows of a run; of a labelled row 8 bytes stay."""

    n_rows: int = 0
    n_failed: int = 0
    n_unread: int = 0  # unparsed or ambiguous
    failed: list[str] = field(default_factory=list)  # a line for each of the first
    # Of each labelled row 63 bits that name its cluster; the last bit tells whether the verdict is the label.
    marked: array = field(default_factory=lambda: array("Q"))

    def add(self, row: PairRow, verdicts: list[Verdict], result: dict[str, Any]) -> None:
        """Count a row with its verdicts and what is written for it."""
        self.n_rows += 1
        self.n_unread += result["status"] in ("unparsed", "ambiguous")
        if result["status"] == "error":
            self.n_failed += 1
            if self.n_failed <= LISTED:
                why = next(verdict.raw for verdict in verdicts if verdict.status == "error")
                self.failed.append(f"id {row.id!r:.80} ({row.place}): {why or 'no reason given'}")
        if row.pair.label is not None:
            self.marked.append(int(row.pair.cluster_id, 16) & ~1 | (row.pair.label == result["verdict"]))

    def accuracy(self) -> tuple[float, float, float, int, int]:
        """Share of labelled rows whose verdict is the label, its 95 % interval, rows and clusters.

        Clusters with the same counts are exchangeable: a resample is one multinomial draw of how often each occurs.
        """
        import numpy as np

        from judgekit.stats import interval_of, share_of

        marked = np.sort(np.frombuffer(self.marked, np.uint64))
        starts = np.flatnonzero(np.diff(marked >> 1, prepend=marked[0] + 2))
        sums = np.column_stack([np.add.reduceat(marked & 1, starts), np.diff(starts, append=len(marked))])
        kinds, counts = np.unique(sums.astype(float), axis=0, return_counts=True)
        drawn = np.random.default_rng(0).multinomial(len(sums), counts / len(sums), size=_N_BOOT) @ kinds
        value = float(share_of(counts @ kinds))
        return value, *interval_of(value, share_of(drawn), len(sums)), len(marked), len(sums)

    def accuracy_line(self, orders: tuple[str, ...]) -> str:
        """`accuracy` with its protocol, in words."""
        value, low, high, n_rows, n_clusters = self.accuracy()
        interval = f"{low:.1%} to {high:.1%}" if n_clusters > 1 else "not defined for one question"
        shown = "both orders combined" if len(orders) == 2 else f"order {orders[0]}"
        return (
            f"accuracy {value:.1%} (95% interval {interval}; n = {n_rows} labelled pairs, {n_clusters} questions; "
            f"A, B or tie must match the label, {shown}, no verdict counts as wrong; bootstrap over questions)"
        )


def _foretell(source: PairSource, judge: Any, orders: tuple[str, ...], keeping: Keeping) -> int:
    """Say what a judge would be asked; returns the exit code."""
    from judgekit.scoring import waiting_requests

    if not hasattr(judge, "forecast"):
        raise Stop(BAD_INPUT, f"--dry-run: {judge.name} asks no language model, there is nothing to foretell")
    keeping.resume &= Path(keeping.path).is_file()  # a dry run leaves no file behind
    with keeping.opened(judge) as store:
        waiting = waiting_requests(judge, [row.pair for row in source.rows()], store, orders)
    tell(str(judge.forecast(waiting)))
    return DONE


def _judge_file(source: PairSource, judge: Any, orders: tuple[str, ...], keeping: Keeping, size: int) -> int:
    """Judge a checked file in chunks of ``size`` rows and write its verdicts; returns the exit code."""
    from judgekit.scoring import run_judge

    out, total, tally = keeping.out, source.n_rows * len(orders), Tally()
    ids_as_text = is_table(out) and not source.whole_ids
    if hasattr(judge, "cache_size"):  # of a stream, what was seen chunks ago seldom comes again
        judge.cache_size = min(judge.cache_size, REMEMBERED)
    shown = not keeping.quiet and total > judge.batch_size
    bar = progress_bar(total, judge.name, "verdict", shown=shown, delay=DELAY)
    with keeping.opened(judge) as store, bar, written(out, keeping.sentence(), source.whole_ids) as write:
        for rows in source.chunks(size):
            verdicts = iter(run_judge(judge, [row.pair for row in rows], store, orders, bar=bar))
            results = []
            for row in rows:
                both = [next(verdicts) for _ in orders]
                id_ = row.pair.item_id if ids_as_text else row.id
                results.append({"id": id_, **combined(both), "judge": judge.name})
                tally.add(row, both, results[-1])
            write(results)
    if tally.n_unread and not keeping.quiet:
        tell(f"{tally.n_unread} of {tally.n_rows} pairs have no verdict because the reply could not be read")
    if tally.marked:
        tell(tally.accuracy_line(orders))
    return keeping.report(tally.n_rows, "pairs", judge.name, tally.failed, tally.n_failed)
