"""``judgekit judge``: one run of a judge over a user's file, from the name of the judge to the report."""

import math
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from judgekit.cli import files
from judgekit.cli.files import PairSource
from judgekit.cli.keeping import Fresh, JudgeName, Keeping, Out, Pairs, Quiet, Resume, Settings, Store, store_file
from judgekit.cli.messages import BAD_INPUT, DONE, Stop, is_ours, reason, tell
from judgekit.cli.scoring import Tally, sentences
from judgekit.data.pairfile.lines import repeated
from judgekit.data.progress import progress_bar
from judgekit.judges import Judge, load_judge
from judgekit.models import few_kernels
from judgekit.records import LABELS, ORDERS, Verdict, label_of_gap

REMEMBERED = 4 * files.ROWS  # texts that a judge with a memory of its own keeps: those of a chunk and somewhat more
_PROBABILITIES = ("p_a", "p_b", "p_tie")


def judge(
    pairs: Pairs,
    out: Out,
    judge: JudgeName = "encoder/minilm",
    order: Annotated[Literal["both", "ab", "ba"], typer.Option(help="Which response is shown first.")] = "both",
    per_order: Annotated[bool, typer.Option("--per-order", help="Write a row for each order, not each pair.")] = False,
    summary: Annotated[str | None, typer.Option(metavar="FILE", help="JSON file for accuracy and other rates.")] = None,
    store: Store = None,
    fresh: Fresh = False,
    resume: Resume = True,
    quiet: Quiet = False,
    settings: Settings = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be asked and cost; ask nothing.")] = False,
    engine: Annotated[Literal["local", "ray"], typer.Option(help="Judge here, or on the workers of Ray.")] = "local",
    workers: Annotated[int | None, typer.Option(min=1, help="Ray workers, else one per GPU or processor.")] = None,
) -> int:
    """Judge every pair of a file.

    PAIRS has one row per pair: question, response_a, response_b, and optionally id, reference and label (A, B or
    tie). Rows of prompt, chosen, rejected (texts or lists of messages) are accepted; chosen is then response A.

    --out (.jsonl, .csv, either may be .gz; or .parquet) gets one row per pair, in the same order: id, verdict (A, B or
    tie; null if there is none), p_a, p_b, p_tie (null if the judge gives none), status (ok, unparsed, ambiguous,
    error), truncated (a response was too long for the judge, which read a part of it) and judge. What is said of all
    pairs (accuracy where there are labels, coverage, the share of ties, of pairs with one verdict in both orders, of
    verdicts for the response shown first) also goes to --summary.

    With --order both, each pair is shown in both orders. Probabilities are the means of the two orders. Where the two
    verdicts agree, that is the verdict; where they differ, it is the most probable by the means (a tie if A and B are
    equal), or a tie if the judge gives no probabilities. A pair has a verdict only if both orders have.

    Every reply is kept in a verdict store (JUDGEKIT_STORE, or one file of this user), found by what was asked: an
    interrupted run is continued by the same command, and a row that is added to PAIRS is all that is asked. Failed
    items are listed, give exit code 3 and are tried again by the same command.

    openai/MODEL is any server that talks like OpenAI's: OPENAI_BASE_URL and OPENAI_API_KEY name it. hf/MODEL runs a
    model here: a folder, a folder with a LoRA adapter, or a name on the Hugging Face hub; vllm/MODEL does so with vLLM.
    --set mode=one_pass reads its verdict from token probabilities instead of from generated text. Without #STRATEGY
    a language model is asked with the prompt "pairwise" (judgekit list prompts). #FILE.txt is a prompt of your
    own. own/NAME is a judge of your own, registered by a package that you installed (docs/use_your_own.md).
    """
    files.check_out(out, pairs, ".csv", ".parquet")
    if summary:
        files.check_out(summary, pairs, ".json", option="--summary")
        taken = os.path.realpath(store_file(store)) if resume else None
        if not summary.endswith(".json") or os.path.realpath(summary) == taken:
            raise Stop(BAD_INPUT, f"--summary {summary}: name a file of its own that ends in .json")
    if engine == "ray":
        limits = {"max_cost", "max_total_tokens", "requests_per_minute"}.intersection(given_settings(settings))
        if limits and judge.startswith("openai/"):
            raise Stop(BAD_INPUT, f"--set {min(limits)}: each worker of --engine ray would have its own; leave one out")
        import ray.util  # noqa: F401 - where it is missing, that is told before any work
    elif workers is not None:
        raise Stop(BAD_INPUT, "--workers: only --engine ray has workers")
    source = files.check_source(pairs, not quiet)
    label = None
    if judge == "baseline/majority_class":
        labels = Counter(row.pair.label for row in source.rows() if row.pair.label)
        if not labels:
            raise Stop(BAD_INPUT, f"{pairs}: field 'label' is missing everywhere, and {judge} needs labels")
        label = max(LABELS, key=lambda each: labels[each])
    here = engine == "local" and not dry_run
    asked: Any = loaded_judge(judge, settings, quiet and not dry_run, label, weights=here)
    available = getattr(asked, "orders", ORDERS)
    orders = tuple(each for each in ORDERS if order in ("both", each) and each in available)
    if not orders:
        raise Stop(BAD_INPUT, f"--order {order}: {asked.name} has verdicts in order {', '.join(available)} only")
    if orders == ("ab",) and next(source.rows()).form == "chosen/rejected" and not quiet:
        tell("note: chosen responses are always shown first; a judge that favours the first will look right")
    if not quiet:
        files.tell_odd(source.odd, source.n_rows)
    keeping = Keeping(out, store, fresh, resume, quiet)
    if dry_run:
        return _foretell(source, asked, orders, keeping)
    if engine == "ray":
        from judgekit.cli.ray_engine import RayJudge

        asked = RayJudge(asked, {"name": judge, "label": label, "settings": given_settings(settings)}, workers)
    return _judge_file(source, asked, orders, keeping, per_order, summary)


def given_settings(texts: list[str] | None, option: str = "--set", last: bool = False) -> dict[str, str]:
    """Names and values from ``NAME=VALUE`` texts, parted at the first sign or at the ``last``."""
    parted = str.rpartition if last else str.partition
    if wrong := [text for text in texts or () if "=" not in text]:
        raise Stop(BAD_INPUT, f"{option} {wrong[0]}: write NAME=VALUE")
    given = [(name.strip(), value.strip()) for name, _, value in (parted(text, "=") for text in texts or ())]
    if (twice := repeated(name for name, _ in given)) is not None:
        raise Stop(BAD_INPUT, f"{option} {twice}: is given twice")
    return dict(given)


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


def loaded(load: Callable[..., Any], name: str, settings: Settings, quiet: bool, weights: bool = True) -> Any:
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


def loaded_judge(name: str, settings: Settings, quiet: bool, label: str | None = None, weights: bool = True) -> Judge:
    """The judge of a name; ``label`` is for the one that always gives the same."""
    if name.startswith("replay/"):
        said = "repeats the verdicts published on its own benchmark; it cannot judge other pairs"
        raise Stop(BAD_INPUT, f"{name} {said}")
    return loaded(partial(load_judge, label=label), name, settings, quiet, weights)


def combined(verdicts: list[Verdict]) -> dict[str, Any]:
    """What is written of a pair, save id and judge, from the orders it was shown in, as `judge` says of both."""
    statuses, cut = [verdict.status for verdict in verdicts], any(verdict.truncated for verdict in verdicts)
    for status in ("error", "unparsed", "ambiguous"):
        if status in statuses:
            return dict.fromkeys(("verdict", *_PROBABILITIES)) | {"status": status, "truncated": cut}
    columns = [[getattr(verdict, name) for verdict in verdicts] for name in _PROBABILITIES]
    given = all(p is not None and math.isfinite(p) for column in columns for p in column)
    means: list[Any] = [round(sum(column) / len(column), 6) for column in columns] if given else [None] * 3
    labels = {verdict.verdict for verdict in verdicts}
    most_probable = "tie" if not given or means[2] >= max(means[:2]) else label_of_gap(means[0] - means[1])
    decided = labels.pop() if len(labels) == 1 else most_probable
    return {"verdict": decided, **dict(zip(_PROBABILITIES, means, strict=True)), "status": "ok", "truncated": cut}


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


def _judge_file(
    source: PairSource, judge: Any, orders: tuple[str, ...], keeping: Keeping, per_order: bool, summary: str | None
) -> int:
    """Judge a checked file in chunks of rows and write its verdicts; returns the exit code."""
    from judgekit.scoring import run_judge

    out, total, tally = keeping.out, source.n_rows * len(orders), Tally(orders)
    ids_as_text = files.form_of(out) == "parquet" and not source.whole_ids
    if hasattr(judge, "cache_size"):  # of a stream, what was seen chunks ago seldom comes again
        judge.cache_size = min(judge.cache_size, REMEMBERED)
    shown = not keeping.quiet and total > judge.batch_size
    bar = progress_bar(total, judge.name, "verdict", shown=shown, delay=files.DELAY)
    with keeping.opened(judge) as store, bar, files.written(out, keeping.sentence()) as write:
        for rows in source.chunks(getattr(judge, "chunk_rows", files.ROWS)):
            verdicts = iter(run_judge(judge, [row.pair for row in rows], store, orders, bar=bar))
            results: list[dict[str, Any]] = []
            for row in rows:
                both, id_ = [next(verdicts) for _ in orders], {"id": row.pair.item_id if ids_as_text else row.id}
                joined = combined(both)
                tally.add(row, both, joined)
                own = [{"order": one.order} | combined([one]) for one in both] if per_order else [joined]
                results += [id_ | each | {"judge": judge.name} for each in own]
            write(results)
    counted = tally.summary(judge.name)
    if summary:
        with files.written(summary, f"; the verdicts are in {out}") as write:
            write([counted])
    for line in sentences(counted, keeping.quiet):
        tell(line)
    return keeping.report(source.n_rows, "pairs", judge.name, tally.failed)
