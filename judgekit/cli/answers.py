"""``judgekit collect`` and ``judgekit rate``: a model's responses to the questions of a file, and ratings of responses.

Answers are rated on several aspects, by saved probes or by a model that is asked.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from judgekit.cli.files import check_out, tell_odd, tell_odd_rows, written
from judgekit.cli.keeping import Failures, Fresh, Keeping, Out, Quiet, Resume, Settings, Store, rows_of
from judgekit.cli.messages import BAD_INPUT, Stop, shortened, tell
from judgekit.cli.running import loaded, loading
from judgekit.data.pairfile import ResponseRow, read_response_rows


def collect(
    questions: Annotated[str, rows_of("QUESTIONS", "JSON lines or CSV (.csv), either may be .gz")],
    out: Out,
    model: Annotated[str, typer.Option(metavar="NAME", help="openai/MODEL or hf/MODEL.")],
    system: Annotated[str | None, typer.Option(help="System message before every question.")] = None,
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

    --out gets one row per question, in the same order: id, sample, question (as it was asked, options included),
    options, reference, response (null if there is none), status (ok, error, skipped), error, model, tokens_in and
    tokens_out. With --samples N, N rows per question.

    An interrupted run is continued by the same command and asks nothing again that was answered; failed questions are
    listed, give exit code 3 and are asked again by the same command. Questions that are too long for the model are
    skipped, listed, and give exit code 3 too.

    Server and key of openai/MODEL come from OPENAI_BASE_URL and OPENAI_API_KEY. --set max_cost=5 --set price_in=1
    --set price_out=4 stops before the cost is exceeded (prices per million tokens).
    """
    from judgekit.judges.completions import load_chat_model
    from judgekit.scoring.teacher import collect_responses, read_questions

    check_out(out, questions)
    asked = read_questions(questions)
    chat = loaded(load_chat_model, model, settings, quiet)
    if samples > 1 and not chat.settings.temperature:
        raise Stop(BAD_INPUT, "--samples: several responses need --set temperature=... above 0, or all are the same")
    keeping = Keeping(out, store, fresh, resume, quiet, "responses")
    with keeping.opened(chat) as replies:
        rows = collect_responses([row for _, row in asked], chat, replies, system, seed, samples, not quiet)
    failed = Failures()
    for number, row in enumerate(rows):
        if row["status"] != "ok":
            failed.add(f"id {row['id']!r:.80} ({asked[number // samples][0]})", row["error"])
    with written(out, keeping.sentence()) as write:
        write(rows)
    return keeping.report(len(rows), "responses", chat.name, failed)


def rate(
    answers: Annotated[str, rows_of("ANSWERS", "JSON lines, a JSON list (.json) or CSV (.csv); each may be .gz")],
    out: Out,
    probe: Annotated[
        str | None, typer.Option(help="Shipped probe or a folder of one; gsm8k-binary, where no --judge is named.")
    ] = None,
    judge: Annotated[str | None, typer.Option(help="Instead of a probe: openai/MODEL or hf/MODEL.")] = None,
    aspects: Annotated[str | None, typer.Option(help="What a model rates: reasoning, sft, or a YAML file.")] = None,
    top_percent: Annotated[float, typer.Option(help="Keep this share, best first; 1 keeps all in order.")] = 1.0,
    batch_size: Annotated[int, typer.Option(min=1, help="Answers per step; an interruption loses one step.")] = 64,
    store: Store = None,
    fresh: Fresh = False,
    resume: Resume = True,
    quiet: Quiet = False,
    settings: Settings = None,
) -> int:
    """Rate every single answer of a file on several aspects.

    ANSWERS has one row per answer: question and response (or prediction); other fields are carried along, and rows for
    which collect got no response left out. --out (.jsonl or .csv, either may be .gz) gets these rows with a whole
    number per aspect, total_score (their sum) and total_expected (that of expected scores, which ranks: totals tie).

    --probe names probes on hidden states of a frozen model, such as gsm8k-binary or gpqa-five; all aspects are rated
    from one pass over each answer.

    --judge asks a model for each aspect (of reasoning, where --aspects says nothing) by itself, with its definition and
    rubric; one without a readable score is null (--fresh asks again), and total_expected is left out. Failed answers
    are listed, give exit code 3 and are asked again by the same command. Server, key: OPENAI_BASE_URL, OPENAI_API_KEY.
    """
    from judgekit.inside.rating import best

    if judge is not None and probe is not None:
        raise Stop(BAD_INPUT, "--probe and --judge: name one of the two")
    if judge is None and (aspects or settings):
        raise Stop(BAD_INPUT, f"{'--aspects' if aspects else '--set'}: a probe takes none, a --judge does")
    check_out(out, answers, ".csv")
    if not 0 < top_percent <= 1:
        raise Stop(BAD_INPUT, f"--top-percent {top_percent:g}: a share above 0 and up to 1")
    keeping = Keeping(out, store, fresh, resume, quiet, "ratings")
    if judge is None:
        rated, name = _rated_by_probe(answers, probe or "gsm8k-binary", batch_size, keeping)
        count, failed = len(rated), Failures()
    else:
        rated, name, count, failed = _rated_by_model(answers, judge, aspects or "reasoning", settings, keeping)
    with written(out, keeping.sentence()) as write:
        write(rated if top_percent == 1 else best(rated, top_percent))
    return keeping.report(count, "ratings", name, failed)


def _responses(answers: str, reserved: Sequence[str], quiet: bool) -> list[ResponseRow]:
    """The responses of a file, with notes on those that are odd or were never given."""
    rows = read_response_rows(answers, reserved, left_out := Counter[str]())
    tell_odd_rows(rows, quiet)
    tell_odd(left_out, len(rows) + left_out.total())
    return rows


def _rated_by_probe(answers: str, probe: str, batch_size: int, keeping: Keeping) -> tuple[list[dict[str, Any]], str]:
    """Rated rows, and the name of the rater."""
    from judgekit.inside.rating import added_fields, load_rater, rated_rows
    from judgekit.inside.representations import rated_text

    rater = load_rater(probe)
    rows = _responses(answers, added_fields(rater), keeping.quiet)
    with loading(rater.model):
        reader = rater.reader
    if not keeping.quiet and (cut := sum(reader.fills(rated_text(row.question, row.response)) for row in rows)):
        tell(f"{answers}: {cut} of {len(rows)} answers fill the {reader.limit} tokens that are read; the middle goes")
    with keeping.opened(rater) as replies:
        return rated_rows(rows, rater, batch_size, reader, not keeping.quiet, replies), rater.name


def _rated_by_model(
    answers: str, model: str, aspects: str, settings: list[str] | None, keeping: Keeping
) -> tuple[list[dict[str, Any]], str, int, Failures]:
    """Rated rows, the name of the model, how many ratings were asked for, and those that are missing."""
    from judgekit.inside.aspects import load_aspects
    from judgekit.judges.completions import load_chat_model
    from judgekit.scoring.teacher import ADDED, rate_responses

    asked = load_aspects(aspects)
    rows = _responses(answers, (*asked, *ADDED), keeping.quiet)
    chat = loaded(load_chat_model, model, settings, keeping.quiet)
    given = [row.fields | {"response": row.response} for row in rows]
    with keeping.opened(chat) as replies:
        rated = rate_responses(given, asked, chat, replies, progress=not keeping.quiet)
    failed, unread = Failures(), []
    for row, result in zip(rows, rated, strict=True):
        for aspect, rating in result["ratings"].items():
            if rating["status"] == "unparsed":  # it was given, and is asked for again by --fresh alone
                unread.append(f"{row.place}: {aspect}: {rating['reply']!r}")
            elif rating["status"] != "ok":
                failed.add(f"{row.place}: {aspect}", f"{rating['status']}: {rating.get('error') or 'not asked'}")
    count = len(rated) * len(asked)
    if unread:
        tell(f"{len(unread)} of {count} ratings are none because the reply could not be read; {shortened(unread[0])}")
    return rated, chat.name, count, failed
