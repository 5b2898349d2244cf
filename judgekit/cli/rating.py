"""One run of a rater, or of a model that is asked, over a user's file of responses."""

import warnings

from judgekit.cli.messages import BAD_INPUT, DONE, INTERRUPTED, UNEXPECTED, Stop, reason, tell
from judgekit.cli.output import check_out, store_path, write_rows
from judgekit.cli.running import announce, prepare
from judgekit.pairfile import PairFileError, read_response_rows

TEACHER_FIELDS = ("total_score", "teacher", "ratings")


def rate_file(path, probe, out, top_percent, batch_size, resume, quiet):
    """Rate a file with saved probes; returns the exit code.

    Raises
    ------
    Stop
        For bad input (2), an interruption (130) or an output that cannot be written (1).
    """
    check_out(out, path)
    check_share(top_percent)
    if batch_size < 1:
        raise Stop(BAD_INPUT, f"--batch-size {batch_size}: at least 1")
    rater = loaded_rater(probe)
    from judgekit.rating.kept import KeptRatings
    from judgekit.rating.samples import added_fields, best, rated_rows

    try:
        rows = read_response_rows(path, reserved=added_fields(rater))
    except PairFileError as bad:
        raise Stop(BAD_INPUT, str(bad)) from None
    reader = loaded_reader(rater)
    kept = KeptRatings(f"{out}.ratings.jsonl", rater.fingerprint) if resume and out != "-" else None
    if kept is not None and kept.rows and not quiet:
        tell(f"going on from {len(kept.rows)} ratings in {kept.path}")
    try:
        rated = rated_rows(rows, rater, batch_size, reader, not quiet, kept)
    except KeyboardInterrupt:
        raise Stop(INTERRUPTED, f"interrupted; nothing was written{said_of(kept)}") from None
    except OSError as full:
        raise Stop(UNEXPECTED, f"{kept.path} could not be written ({full.strerror or full})") from None
    chosen = rated if top_percent == 1 else best(rated, top_percent)
    write_rows(out, chosen, said_of(kept))
    if kept is not None:
        kept.remove()
    if not quiet:
        tell(
            f"{len(rated)} responses rated by {rater.name}, {len(chosen)} written" + ("" if out == "-" else f": {out}")
        )
    return DONE


def check_share(top_percent):
    """Refuse a share that is none."""
    if not 0 < top_percent <= 1:
        raise Stop(BAD_INPUT, f"--top-percent {top_percent:g}: a share above 0 and up to 1")


def said_of(kept):
    """Half a sentence on what is kept."""
    return (
        "" if kept is None else f"; the ratings so far are kept in {kept.path}, and the same command goes on from there"
    )


def loaded_rater(probe):
    """The rater of a name; whatever is wrong with it is bad usage."""
    from judgekit.rating.rater import load_rater

    try:
        return load_rater(probe)
    except ValueError as bad:
        raise Stop(BAD_INPUT, f"--probe {probe}: {bad}") from None


def loaded_reader(rater):
    """The frozen model behind the probes, checked to be the one they were fitted on."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # libraries warn each other, not the reader
            reader = rater.reader()
        for probe in rater.probes.values():
            probe.check_model(reader.fingerprint, reader.limit, reader.bf16)
    except ValueError as bad:
        raise Stop(BAD_INPUT, f"the probe {rater.name} cannot be used: {bad}") from None
    except Exception as bad:  # damaged weights fail in many ways
        raise Stop(BAD_INPUT, f"the model {rater.inputs.model} cannot be loaded: {reason(bad)}") from None
    return reader


def rate_by_model(path, model, aspects, settings, out, top_percent, resume, quiet):
    """Let a model rate a file aspect by aspect; returns the exit code.

    Raises
    ------
    Stop
        As `rate_file`, and for a store that cannot be used.
    """
    from judgekit.aspects import load_aspects
    from judgekit.cli.collecting import Asking, loaded_engine
    from judgekit.rating.samples import best
    from judgekit.teacher import rate_responses

    check_out(out, path)
    check_share(top_percent)
    try:
        asked = load_aspects(aspects)
        rows = read_response_rows(path, reserved=(*asked, *TEACHER_FIELDS))
    except ValueError as bad:
        raise Stop(BAD_INPUT, str(bad)) from None
    engine = loaded_engine(model, settings)
    if not quiet:
        announce(engine)
    prepare(engine)
    run = Asking(engine, store_path(out) if resume and out != "-" else ":memory:", quiet, "ratings")
    given = [row.fields | {"response": row.response} for row in rows]
    rated = run.work(lambda store: rate_responses(given, asked, engine, store, progress=not quiet))
    run.write(out, rated if top_percent == 1 else best(rated, top_percent))
    failed = [
        f"{row.place}: {aspect}: {rating['status']}: {rating.get('error') or rating.get('reply') or 'not asked'}"
        for row, result in zip(rows, rated, strict=True)
        for aspect, rating in result["ratings"].items()
        if rating["status"] != "ok"
    ]
    return run.report(len(rated) * len(asked), failed, out)
