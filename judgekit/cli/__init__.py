"""The command line: judge, label and rate one's own files, attack judges, collect responses; fetch data.

Heavy modules are imported where they are used, so that ``--help`` and bad input are answered at once.
"""

import os
from functools import wraps
from typing import Annotated, Literal

import typer

from judgekit import __version__
from judgekit.bulk.source import check_source
from judgekit.cli.messages import (
    BAD_INPUT,
    BROKEN_PIPE,
    DONE,
    INTERRUPTED,
    SOME_FAILED,
    UNEXPECTED,
    Stop,
    complain,
    reason,
    silence_stdout,
    tell,
)
from judgekit.cli.output import check_out, only_writer
from judgekit.cli.running import Run, announce, loaded_judge, prepare, shown_orders
from judgekit.pairfile import PairFileError

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Judge or label pairs of responses, rate single answers, attack judges, collect responses, and fetch data. "
    "Exit codes: 0 done; 2 bad usage or input, nothing is written; 3 finished with failed items; 130 interrupted; "
    "1 anything else.",
)


def main(arguments=None):
    """Run the command line; the console script ``judgekit``.

    Parameters
    ----------
    arguments : list of str, optional
        ``sys.argv[1:]`` by default.

    Returns
    -------
    int
        The exit code: 0 done, 2 bad usage or input, 3 finished with failed items, 130 interrupted, 1 anything else.
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
    except Exception as unexpected:
        if os.environ.get("JUDGEKIT_DEBUG") == "1":
            raise
        return complain(UNEXPECTED, f"{reason(unexpected)} (JUDGEKIT_DEBUG=1 shows where)")


def interruptible(command):
    """Answer Ctrl-C and a reader that went away in the command, before typer does; let one process write a file."""

    @wraps(command)
    def wrapped(*args, **kwargs):
        try:
            with only_writer(kwargs.get("out")):
                return command(*args, **kwargs)
        except KeyboardInterrupt:
            raise Stop(INTERRUPTED, "interrupted; nothing was written") from None
        except BrokenPipeError:
            silence_stdout()
            return BROKEN_PIPE

    return wrapped


def print_version(wanted: bool):
    """Print the version and end."""
    if wanted:
        print(f"judgekit {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
):
    """Options before the command."""


# ---------------------------------------------------------------- judgekit judge


@app.command()
@interruptible
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
    resume: Annotated[
        bool, typer.Option(help="Keep verdicts beside VERDICTS until all are there, and go on from them.")
    ] = True,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="No progress bar and no notes; failures and accuracy are still shown.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Setting of an openai/, hf/, vllm/ or layers/ judge, e.g. mode=one_pass; repeatable.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what a language model would be asked and cost; ask nothing.")
    ] = False,
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="Judge in this process, or on the workers of Ray (docs/scaling.md).")
    ] = "local",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Workers of Ray; one per GPU or processor by default.")
    ] = None,
):
    """Judge every pair of a file.

    PAIRS has one row per pair: question, response_a, response_b, and optionally id, reference and label (A, B or
    tie). Rows of prompt, chosen, rejected (texts or lists of messages) are accepted; chosen is then response A.

    The file is checked to its end, then judged a chunk at a time: memory does not grow with the number of rows.

    VERDICTS gets one row per pair, in the same order: id, verdict (A, B or tie; null if there is none), p_a, p_b, p_tie
    (null if the judge gives none), status (ok, unparsed, ambiguous, error) and judge.

    With --order both, each pair is shown in both orders. Probabilities are the means of the two orders. Where the two
    verdicts agree, that is the verdict; where they differ, it is the most probable by the means (a tie if A and B are
    equal), or a tie if the judge gives no probabilities. A pair has a verdict only if both orders have.

    An interrupted run is continued by the same command and repeats no finished verdict; failed items are listed, give
    exit code 3 and are tried again by the same command.

    openai/MODEL is any server that talks like OpenAI's: OPENAI_BASE_URL and OPENAI_API_KEY name it. hf/MODEL runs a
    model here: a folder, a folder with a LoRA adapter, or a name on the Hugging Face hub; vllm/MODEL does so with vLLM.
    --set mode=one_pass reads its verdict from token probabilities instead of from generated text. Without #STRATEGY
    a language model is asked with the pairwise prompt of the assignment. #FILE.txt is a prompt of your
    own. own/NAME is a judge of your own, registered by a package that you installed (docs/use_your_own.md).
    """
    check_out(out, pairs)
    if engine == "ray":
        from judgekit.cli.distributing import check_ray, judge_by_ray

        check_ray(out)
    elif workers is not None:
        raise Stop(BAD_INPUT, "--workers: only --engine ray has workers")
    source = read_input(pairs, not quiet)
    asked = loaded_judge(judge_name, source.labels, source.first.place, settings)
    orders = shown_orders(asked, order)
    if orders == ("ab",) and source.first.form == "chosen" and not quiet:
        tell("note: chosen responses are always shown first; a judge that favours the first will look right")
    if not quiet or dry_run:
        announce(asked)
    run = Run(source, asked, orders, out, resume, quiet)
    if dry_run:
        return run.foretell()
    if engine == "ray":
        return judge_by_ray(source, asked, orders, out, settings, workers, resume, quiet)
    prepare(asked)
    return run.finish()


def read_input(pairs, progress):
    """The user's file, checked."""
    try:
        return check_source(pairs, progress)
    except PairFileError as bad:
        raise Stop(BAD_INPUT, str(bad)) from None


# ---------------------------------------------------------------- judgekit rate


@app.command()
@interruptible
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
    resume: Annotated[
        bool, typer.Option(help="Keep ratings in RATED.ratings.jsonl until all are there, and go on from it.")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar and no notes.")] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Setting of the model, e.g. max_cost=5; repeatable."),
    ] = None,
):
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
    from judgekit.cli.rating import rate_by_model, rate_file

    if judge_name is not None:
        if probe is not None:
            raise Stop(BAD_INPUT, "--probe and --judge: name one of the two")
        return rate_by_model(answers, judge_name, aspects, settings, out, top_percent, resume, quiet)
    return rate_file(answers, probe or "gsm8k-binary", out, top_percent, batch_size, resume, quiet)


# ---------------------------------------------------------------- judgekit attack


@app.command()
@interruptible
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
    resume: Annotated[
        bool, typer.Option(help="Keep verdicts in REPORT.store.sqlite until all are there, and go on from it.")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bars and no summary.")] = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Setting of the judge; repeatable.")
    ] = None,
):
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

    return attack_file(pairs, judge_name, out, attacks, queries, settings, resume, quiet)


# ---------------------------------------------------------------- judgekit label


@app.command()
@interruptible
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
    quiet: Annotated[bool, typer.Option("--quiet", help="Print the links only.")] = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Setting of the judge; repeatable.")
    ] = None,
):
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

    return label_file(pairs, votes, annotators, port, judge_name, order, seed, settings, quiet)


# ---------------------------------------------------------------- judgekit collect


@app.command()
@interruptible
def collect(
    questions: Annotated[str, typer.Argument(metavar="QUESTIONS", help="JSON lines or CSV (.csv), either may be .gz.")],
    out: Annotated[str, typer.Option(metavar="RESPONSES", help="File of responses, JSON lines; - is standard output.")],
    model: Annotated[str, typer.Option(metavar="NAME", help="Model: openai/MODEL or hf/MODEL.")],
    system: Annotated[str | None, typer.Option(metavar="TEXT", help="System message before every question.")] = None,
    samples: Annotated[int, typer.Option(min=1, help="Responses per question; more than one need a temperature.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the order of options.")] = 0,
    resume: Annotated[
        bool, typer.Option(help="Keep responses in RESPONSES.store.sqlite until all are there, and go on from it.")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar and no notes; failures are shown.")] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Setting of the model, e.g. max_cost=5; repeatable."),
    ] = None,
):
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
    from judgekit.cli.collecting import collect_file

    asked = {"system": system, "seed": seed, "n_samples": samples}
    return collect_file(questions, out, model, settings, asked, resume, quiet)


# ---------------------------------------------------------------- judgekit fetch


@app.command()
@interruptible
def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Sources such as pandalm, or files such as pandalm/testset-v1.json."),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the sources (with NAME, their files) instead of fetching them.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
):
    """Fetch the pinned data files, all of them by default, and check their SHA-256.

    Files are read from the mirror that the environment variable JUDGEKIT_DATA names, or else downloaded. Exit code 3:
    some could not be had; the others are kept, and the same command tries again.
    """
    from judgekit.cli.listing import chosen_sources, print_sources
    from judgekit.sources import DataError, fetch_all

    try:
        chosen = chosen_sources(names)
        if listed:
            print_sources(chosen, by_file=bool(names))
            return DONE
    except (DataError, NotADirectoryError) as bad:
        raise Stop(BAD_INPUT, str(bad)) from None
    try:
        found = fetch_all(names or None, progress=not quiet)
    except DataError as failed:
        for line in str(failed).splitlines():
            tell(f"error: {line}")
        return SOME_FAILED
    if not quiet:
        tell(f"{len(found)} files are here and are what they should be")
    return DONE
