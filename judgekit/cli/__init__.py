"""The command line: judge, label and rate one's own files, attack judges, collect responses; fetch data.

Heavy modules are imported where they are used, so that ``--help`` and bad input are answered at once.
"""

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Literal

import typer

from judgekit import __version__
from judgekit.cli.bulk.source import PairSource, check_source
from judgekit.cli.keeping import keeping_of
from judgekit.cli.messages import (
    BAD_INPUT,
    BROKEN_PIPE,
    DONE,
    INTERRUPTED,
    SOME_FAILED,
    UNEXPECTED,
    Stop,
    complain,
    needs,
    reason,
    silence_stdout,
    tell,
)
from judgekit.cli.output import check_out, only_writer
from judgekit.cli.running import (
    announce,
    foretell,
    given_settings,
    judge_file,
    loaded_judge,
    prepare,
    shown_orders,
)
from judgekit.data.pairfile import PairFileError

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Judge or label pairs of responses, rate single answers, attack judges, collect responses, and fetch data. "
    "Exit codes: 0 done; 2 bad usage or input, nothing is written; 3 finished with failed items; 130 interrupted; "
    "1 anything else.",
)


Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Setting of the judge or model, e.g. max_cost=5; repeatable."),
]
Store = Annotated[
    str | None,
    typer.Option(
        metavar="PATH", help="Verdict store; by default JUDGEKIT_STORE, or the one in this user's data folder."
    ),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Ask again, and replace what the store holds.")]
Resume = Annotated[bool, typer.Option(help="Keep every reply in the store, and ask for none that is there.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bar and no notes; failures are still shown.")]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line, the console script ``judgekit``; returns the exit code.

    0 done, 2 bad usage or input, 3 finished with failed items, 130 interrupted, 1 anything else.
    """
    try:
        command = typer.main.get_command(app)
        return command(args=arguments, prog_name="judgekit", standalone_mode=False) or DONE
    except typer.TyperException as usage:
        return complain(BAD_INPUT, usage.format_message())
    except Stop as stop:
        return complain(stop.code, str(stop))
    except PairFileError as changed:  # after it was checked
        return complain(BAD_INPUT, str(changed))
    except ModuleNotFoundError as missing:
        return complain(BAD_INPUT, f"this command {needs(missing)}")
    except Exception as unexpected:
        if os.environ.get("JUDGEKIT_DEBUG") == "1":
            raise
        return complain(UNEXPECTED, f"{reason(unexpected)} (JUDGEKIT_DEBUG=1 shows where)")


def _interruptible(command: Callable) -> Callable:
    """Answer Ctrl-C and a reader that went away in the command, before typer does; let one process write a file."""

    @wraps(command)
    def wrapped(*args: object, **kwargs: object) -> int | None:
        try:
            with only_writer(kwargs.get("out")):  # type: ignore[arg-type]
                return command(*args, **kwargs)
        except KeyboardInterrupt:
            raise Stop(INTERRUPTED, "interrupted; nothing was written") from None
        except BrokenPipeError:
            silence_stdout()
            return BROKEN_PIPE

    return wrapped


def _print_version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        print(f"judgekit {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options before the command."""


# ---------------------------------------------------------------- judgekit judge


@app.command()
@_interruptible
def judge(
    pairs: Annotated[
        str, typer.Argument(metavar="PAIRS", help="JSON lines or CSV (.csv), either may be .gz; or Parquet (.parquet).")
    ],
    out: Annotated[
        str, typer.Option(metavar="VERDICTS", help="File of verdicts, JSON lines or .parquet; - is standard output.")
    ],
    judge_name: Annotated[
        str,
        typer.Option(
            "--judge", metavar="NAME", help="Judge: provider/model, encoder/FOLDER, hf/MODEL#STRATEGY, openai/MODEL."
        ),
    ] = "encoder/minilm",
    order: Annotated[
        Literal["both", "ab", "ba"], typer.Option(help="Order in which the responses are shown.")
    ] = "both",
    store: Store = None,
    fresh: Fresh = False,
    resume: Resume = True,
    quiet: Quiet = False,
    settings: Settings = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what a language model would be asked and cost; ask nothing.")
    ] = False,
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="Judge in this process, or on the workers of Ray (docs/scaling.md).")
    ] = "local",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Workers of Ray; one per GPU or processor by default.")
    ] = None,
) -> int:
    """Judge every pair of a file.

    PAIRS has one row per pair: question, response_a, response_b, and optionally id, reference and label (A, B or
    tie). Rows of prompt, chosen, rejected (texts or lists of messages) are accepted; chosen is then response A.

    The file is checked to its end, then judged a chunk at a time: memory does not grow with the number of rows.

    VERDICTS gets one row per pair, in the same order: id, verdict (A, B or tie; null if there is none), p_a, p_b, p_tie
    (null if the judge gives none), status (ok, unparsed, ambiguous, error) and judge.

    With --order both, each pair is shown in both orders. Probabilities are the means of the two orders. Where the two
    verdicts agree, that is the verdict; where they differ, it is the most probable by the means (a tie if A and B are
    equal), or a tie if the judge gives no probabilities. A pair has a verdict only if both orders have.

    Every reply is kept in a verdict store (JUDGEKIT_STORE, or one file of this user), found by what was asked: an
    interrupted run is continued by the same command, and a row that is added to PAIRS is all that is asked. Failed
    items are listed, give exit code 3 and are tried again by the same command. Verdicts of baseline/ rules are kept
    beside VERDICTS, until all are there.

    openai/MODEL is any server that talks like OpenAI's: OPENAI_BASE_URL and OPENAI_API_KEY name it. hf/MODEL runs a
    model here: a folder, a folder with a LoRA adapter, or a name on the Hugging Face hub; vllm/MODEL does so with vLLM.
    --set mode=one_pass reads its verdict from token probabilities instead of from generated text. Without #STRATEGY
    a language model is asked with the pairwise prompt of the assignment. #FILE.txt is a prompt of your
    own. own/NAME is a judge of your own, registered by a package that you installed (docs/use_your_own.md).
    """
    check_out(out, pairs)
    if engine == "ray":
        from judgekit.cli.bulk.ray_engine import RayRun, Task, check_ray

        check_ray(out)
    elif workers is not None:
        raise Stop(BAD_INPUT, "--workers: only --engine ray has workers")
    source = _read_input(pairs, not quiet)
    asked = loaded_judge(judge_name, source.labels, source.first.place, settings)
    orders = shown_orders(asked, order)
    if orders == ("ab",) and source.first.form == "chosen" and not quiet:
        tell("note: chosen responses are always shown first; a judge that favours the first will look right")
    if not quiet or dry_run:
        announce(asked)
    keeping = keeping_of(judge_name, out, store, resume, fresh, quiet)
    if dry_run:
        return foretell(source, asked, orders, keeping)
    if engine == "local":
        prepare(asked)
        return judge_file(source, asked, orders, out, keeping)
    task = Task(asked.name, given_settings(settings), getattr(asked, "label", None), f"{os.path.realpath(out)}.ray")
    return judge_file(source, asked, orders, out, keeping, RayRun(source, task, asked, orders, workers, not quiet).ask)


def _read_input(pairs: str, progress: bool) -> PairSource:
    """The user's file, checked."""
    try:
        return check_source(pairs, progress)
    except PairFileError as bad:
        raise Stop(BAD_INPUT, str(bad)) from None


# ---------------------------------------------------------------- judgekit rate


@app.command()
@_interruptible
def rate(
    answers: Annotated[
        str, typer.Argument(metavar="ANSWERS", help="JSON lines, a JSON list (.json) or CSV (.csv); each may be .gz.")
    ],
    out: Annotated[str, typer.Option(metavar="RATED", help="File of rated answers, JSON lines; - is standard output.")],
    probe: Annotated[
        str | None, typer.Option(metavar="NAME", help="Probe that comes with the package (gsm8k-binary), or a folder.")
    ] = None,
    judge_name: Annotated[
        str | None, typer.Option("--judge", metavar="NAME", help="Instead of a probe: openai/MODEL or hf/MODEL.")
    ] = None,
    aspects: Annotated[
        str, typer.Option(metavar="NAME", help="What a model is asked for: reasoning, sft, or a YAML file of aspects.")
    ] = "reasoning",
    top_percent: Annotated[
        float, typer.Option(metavar="SHARE", help="Keep this share, best first; 1 keeps all in the order given.")
    ] = 1.0,
    batch_size: Annotated[int, typer.Option(help="Answers per step; an interruption loses one step at most.")] = 64,
    store: Store = None,
    fresh: Fresh = False,
    resume: Annotated[
        bool, typer.Option(help="Keep ratings (a probe's: in RATED.ratings.jsonl until all are there), and go on.")
    ] = True,
    quiet: Quiet = False,
    settings: Settings = None,
) -> int:
    """Rate every single answer of a file on several aspects.

    ANSWERS has one row per answer: question and response (or prediction); other fields are carried along. RATED gets
    the same rows with a whole number per aspect, total_score (their sum) and total_expected (the sum of expected
    scores, which ranks: whole totals tie).

    --probe names probes on hidden states of a frozen model, such as gsm8k-binary or gpqa-five; all aspects are rated
    from one pass over each answer.

    --judge asks a model for each aspect by itself, with its definition and rubric, as a teacher of probes is asked; an
    aspect without a readable score is null, and total_expected is left out. Failed answers are listed, give exit code
    3 and are asked again by the same command. Server and key come from OPENAI_BASE_URL and OPENAI_API_KEY.
    """
    if judge_name is not None and probe is not None:
        raise Stop(BAD_INPUT, "--probe and --judge: name one of the two")
    check_out(out, answers)
    if not 0 < top_percent <= 1:
        raise Stop(BAD_INPUT, f"--top-percent {top_percent:g}: a share above 0 and up to 1")
    if judge_name is not None:
        from judgekit.cli.asking import rate_by_model

        keeping = keeping_of(judge_name, out, store, resume, fresh, quiet, "ratings")
        return rate_by_model(answers, out, judge_name, aspects, settings, top_percent, keeping)
    if store is not None or fresh:
        raise Stop(BAD_INPUT, "--store, --fresh: only with --judge; a probe's ratings are kept beside RATED")
    from judgekit.cli.rating import rate_file

    return rate_file(answers, probe or "gsm8k-binary", out, top_percent, batch_size, resume, quiet)


# ---------------------------------------------------------------- judgekit attack


@app.command()
@_interruptible
def attack(
    pairs: Annotated[str, typer.Argument(metavar="PAIRS", help="As for judge; rows need a label, or chosen/rejected.")],
    out: Annotated[str, typer.Option(metavar="REPORT", help="File of results, JSON lines; - is standard output.")],
    judge_name: Annotated[
        str, typer.Option("--judge", metavar="NAME", help="Judge that reads what it is shown, as for judge.")
    ] = "encoder/minilm",
    attacks: Annotated[
        list[str] | None, typer.Option("--attack", metavar="NAME", help="Only this attack; repeatable.")
    ] = None,
    queries: Annotated[
        int, typer.Option(min=0, help="Verdicts that a search may ask for on each pair; 0 is no search.")
    ] = 12,
    store: Store = None,
    fresh: Fresh = False,
    resume: Resume = True,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bars and no summary.")] = False,
    settings: Settings = None,
) -> int:
    """Edit the worse response of every labelled pair and see whether a judge falls for it.

    An attack succeeds on a pair that the worse response had lost in both orders and wins in both once it is edited.
    REPORT gets one row per attack: attack, judge, success with success_low, success_high (95 %) and success_n, and the
    same for success_one_order and tied; then the mean over attacks, and clean_accuracy on the pairs as they were.

    Attacks: null_response, structured_null, refusal, empty, correct_assertion, authority, confident_tone, emoji,
    markdown, repeated_list, very_long, question_stuffing, verdict_injection, ignore_above, forged_end,
    other_languages, zero_width, combined; placebo is a polite sentence that claims nothing.

    An interrupted run is continued by the same command and repeats no finished verdict. Exit code 3: the judge failed
    on a pair; the same command tries it again.
    """
    from judgekit.cli.attacking import attack_file

    keeping = keeping_of(judge_name, out, store, resume, fresh, quiet)
    return attack_file(pairs, judge_name, out, attacks, queries, settings, keeping)


# ---------------------------------------------------------------- judgekit label


@app.command()
@_interruptible
def label(
    pairs: Annotated[str, typer.Argument(metavar="PAIRS", help="JSON lines or CSV (.csv), as for judge.")],
    votes: Annotated[str, typer.Option(metavar="VOTES", help="File of votes, JSON lines; it is gone on from.")],
    annotators: Annotated[
        list[str], typer.Option("--annotator", metavar="NAME", help="Who votes; repeatable, each gets a link.")
    ],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 is any free one.")] = 0,
    order: Annotated[
        Literal["random", "active", "file"], typer.Option(help="Which pair comes next; random is by annotator.")
    ] = "random",
    judge_name: Annotated[
        str | None, typer.Option("--judge", metavar="NAME", help="With --order active: what it is least sure of first.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the order and of the sides.")] = 0,
    store: Store = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print the links only.")] = False,
    settings: Settings = None,
) -> int:
    """Let people say which response is better, in a browser on this machine.

    Prints a link for each annotator; the page says which keys vote. It shows neither labels nor who wrote what, and the
    sides are drawn anew for each annotator and pair. Ctrl-C ends it, and the same command goes on from there.

    VOTES gets one line per vote, on disk before the page confirms it: item_id, annotator, label (A, B or tie in the
    file's own order; null takes the vote back), shown (ab or ba), seconds, at, pair (a hash of the texts). Later lines
    supersede earlier ones.

    With --order active and --judge, the pairs that the judge is least sure of come first; without a judge, those with
    the fewest votes. Exit code 3: the judge failed on some pairs, which came last; their votes are there.
    """
    from judgekit.cli.labelling import label_file

    keeping = keeping_of(judge_name or "", votes, store, True, False, quiet)
    return label_file(pairs, votes, annotators, port, judge_name, order, seed, settings, keeping)


# ---------------------------------------------------------------- judgekit collect


@app.command()
@_interruptible
def collect(
    questions: Annotated[str, typer.Argument(metavar="QUESTIONS", help="JSON lines or CSV (.csv), either may be .gz.")],
    out: Annotated[str, typer.Option(metavar="RESPONSES", help="File of responses, JSON lines; - is standard output.")],
    model: Annotated[str, typer.Option(metavar="NAME", help="Model: openai/MODEL or hf/MODEL.")],
    system: Annotated[str | None, typer.Option(metavar="TEXT", help="System message before every question.")] = None,
    samples: Annotated[int, typer.Option(min=1, help="Responses per question; more than one need a temperature.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the order of options.")] = 0,
    store: Store = None,
    fresh: Fresh = False,
    resume: Resume = True,
    quiet: Quiet = False,
    settings: Settings = None,
) -> int:
    """Collect a model's responses to the questions of a file.

    QUESTIONS has one row per question: question, and optionally id, options (a list of texts, shown in an order that
    is drawn once) and reference.

    RESPONSES gets one row per question, in the same order: id, sample, question (as it was asked, options included),
    options, reference, response (null if there is none), status (ok, error, skipped), error, model, tokens_in and
    tokens_out. With --samples N, N rows per question.

    An interrupted run is continued by the same command and asks nothing again that was answered; failed questions are
    listed, give exit code 3 and are asked again by the same command. Questions that are too long for the model are
    skipped, listed, and give exit code 3 too.

    Server and key of openai/MODEL come from OPENAI_BASE_URL and OPENAI_API_KEY. --set max_cost=5 --set price_in=1
    --set price_out=4 stops before the cost is exceeded (prices per million tokens).
    """
    from judgekit.cli.asking import collect_file

    asked = {"system": system, "seed": seed, "n_samples": samples}
    keeping = keeping_of(model, out, store, resume, fresh, quiet, "responses")
    return collect_file(questions, out, model, settings, asked, keeping)


# ---------------------------------------------------------------- judgekit fetch


@app.command()
@_interruptible
def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Sources such as pandalm, or files such as pandalm/testset-v1.json."),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the sources (with NAME, their files) instead of fetching them.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
) -> int:
    """Fetch the pinned data files, all of them by default, and check their SHA-256.

    Files are read from the mirror that the environment variable JUDGEKIT_DATA names, or else downloaded. Exit code 3:
    some could not be had; the others are kept, and the same command tries again.
    """
    from judgekit.data import paths
    from judgekit.data.sources import DataError, fetch_all, find_source, sources

    try:
        paths.data_mirror()  # a wrong JUDGEKIT_DATA is told here, before anything is fetched
        chosen = {record.name: record for name in names or () for record in sources(name) or [find_source(name)]}
        if listed:
            _print_sources([*chosen.values()] if names else sources(), by_file=bool(names))
            return DONE
    except (DataError, NotADirectoryError) as bad:
        raise Stop(BAD_INPUT, str(bad)) from None
    try:
        fetched = fetch_all(names or None, progress=not quiet)
    except DataError as failed:
        for line in str(failed).splitlines():
            tell(f"error: {line}")
        return SOME_FAILED
    if not quiet:
        tell(f"{len(fetched)} files are here and are what they should be")
    return DONE


def _print_sources(chosen: list, by_file: bool) -> None:
    """A table on standard output: a line per file, or per family, split and licence."""
    from judgekit.data import paths

    # In the mirror, or without one in the cache; content is not checked here.
    folder = paths.data_mirror() or paths.data_cache()
    groups: dict[tuple[str, str, str], list] = {}
    for record in chosen:
        key = (record.name if by_file else record.source, record.split, record.licence)
        groups.setdefault(key, []).append(record)
    lines = [("name" if by_file else "source", "files", "MB", "here", "split", "licence")]
    for (name, split, licence), records in groups.items():
        size = f"{sum(record.bytes for record in records) / 1e6:.1f}"
        files = [folder / record.mirror_path for record in records]
        here = sum(path.is_file() or path.with_name(path.name + ".gz").is_file() for path in files)
        lines.append((name, str(len(records)), size, "yes" if here == len(records) else f"{here}", split, licence))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for cells in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())
    sys.stdout.flush()
