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
    from judgekit.studies.asking import load_engine, read_questions
    from judgekit.studies.teacher import collect_responses

    check_out(out, questions)
    asked = read_questions(questions)
    engine = loaded(load_engine, model, settings, quiet)
    if samples > 1 and not engine.settings.temperature:
        raise Stop(BAD_INPUT, "--samples: several responses need --set temperature=... above 0, or all are the same")
    keeping = Keeping(out, store, fresh, resume, quiet, "responses")
    with keeping.opened(engine) as replies:
        rows = collect_responses(
            asked, engine, replies, system=system, seed=seed, n_samples=samples, progress=not quiet
        )
    places = [question.place for question in asked for _ in range(samples)]
    failed = [
        f"id {row['id']!r:.80} ({place}): {row['error']}"
        for row, place in zip(rows, places, strict=True)
        if row["status"] != "ok"
    ]
    with written(out, keeping.sentence()) as write:
        write(rows)
    return keeping.report(len(rows), "responses", engine.name, failed, len(failed))
