"""``judgekit collect``: a model's responses to the questions of a file."""

from typing import Annotated

import typer

from judgekit.cli.files import check_out, written
from judgekit.cli.keeping import Fresh, Keeping, Out, Quiet, Resume, Settings, Store
from judgekit.cli.messages import BAD_INPUT, Stop
from judgekit.cli.running import loaded


def collect(
    questions: Annotated[str, typer.Argument(metavar="QUESTIONS", help="JSON lines or CSV (.csv), either may be .gz.")],
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
    failed = [
        f"id {row['id']!r:.80} ({asked[number // samples][0]}): {row['error']}"
        for number, row in enumerate(rows)
        if row["status"] != "ok"
    ]
    with written(out, keeping.sentence()) as write:
        write(rows)
    return keeping.report(len(rows), "responses", chat.name, failed, len(failed))
