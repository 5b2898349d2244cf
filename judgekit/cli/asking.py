"""Commands that put questions or answers to a model: ``judgekit collect`` and ``judgekit rate --judge``."""

from typing import Any

from judgekit.cli.keeping import Keeping
from judgekit.cli.messages import BAD_INPUT, DONE, LISTED, Stop, shortened, tell, tell_failed
from judgekit.cli.output import check_out, write_rows
from judgekit.cli.running import announce, loaded_engine, prepare
from judgekit.data.pairfile import PairFileError, read_response_rows

_TEACHER_FIELDS = ("total_score", "teacher", "ratings")


def collect_file(
    source: str, out: str, model: str, settings: list[str] | None, asked: dict[str, Any], keeping: Keeping
) -> int:
    """``judgekit collect``; returns the exit code. ``asked``: system, seed and n_samples."""
    from judgekit.studies.teacher import collect_responses, read_questions

    check_out(out, source)
    try:
        questions = read_questions(source)
    except PairFileError as bad:
        raise Stop(BAD_INPUT, str(bad)) from None
    engine = loaded_engine(model, settings)
    if asked["n_samples"] > 1 and not engine.settings.temperature:
        raise Stop(BAD_INPUT, "--samples: several responses need --set temperature=... above 0, or all are the same")
    _prepare(engine, keeping)
    with keeping.opened(engine.fingerprint, engine.name) as store:
        rows = collect_responses(questions, engine, store, progress=not keeping.quiet, **asked)
    write_rows(out, rows, keeping.sentence())
    places = [question.place for question in questions for _ in range(asked["n_samples"])]
    failed = [
        f"id {row['id']!r:.80} ({place}): {row['error']}"
        for row, place in zip(rows, places, strict=True)
        if row["status"] != "ok"
    ]
    return _report(len(rows), failed, engine, out, keeping)


def rate_by_model(
    source: str, out: str, model: str, aspects: str, settings: list[str] | None, share: float, keeping: Keeping
) -> int:
    """``judgekit rate --judge``; returns the exit code."""
    from judgekit.inside.aspects import load_aspects
    from judgekit.inside.rating.samples import best
    from judgekit.studies.teacher import rate_responses

    try:
        asked = load_aspects(aspects)
        rows = read_response_rows(source, reserved=(*asked, *_TEACHER_FIELDS))
    except ValueError as bad:
        raise Stop(BAD_INPUT, str(bad)) from None
    engine = loaded_engine(model, settings)
    _prepare(engine, keeping)
    given = [row.fields | {"response": row.response} for row in rows]
    with keeping.opened(engine.fingerprint, engine.name) as store:
        rated = rate_responses(given, asked, engine, store, progress=not keeping.quiet)
    write_rows(out, rated if share == 1 else best(rated, share), keeping.sentence())
    failed = [
        f"{row.place}: {aspect}: {rating['status']}: {rating.get('error') or rating.get('reply') or 'not asked'}"
        for row, result in zip(rows, rated, strict=True)
        for aspect, rating in result["ratings"].items()
        if rating["status"] != "ok"
    ]
    return _report(len(rated) * len(asked), failed, engine, out, keeping)


def _prepare(engine: Any, keeping: Keeping) -> None:
    if not keeping.quiet:
        announce(engine)
    prepare(engine)


def _report(n_rows: int, failed: list[str], engine: Any, out: str, keeping: Keeping) -> int:
    """Say on standard error what came out; returns the exit code. ``failed`` holds a line for each that failed."""
    if failed:
        headline = f"{len(failed)} of {n_rows} {keeping.noun} are missing{keeping.again()}:"
        return tell_failed(headline, [shortened(line) for line in failed[:LISTED]], len(failed))
    if not keeping.quiet:
        tell(f"{n_rows} {keeping.noun} by {engine.name}" + ("" if out == "-" else f": {out}"))
    return DONE
