"""``judgekit rate`` by saved probes: one run of a rater over a user's file of responses."""

import warnings
from typing import Any

from judgekit.cli.messages import BAD_INPUT, DONE, INTERRUPTED, UNEXPECTED, Stop, reason, tell
from judgekit.cli.output import write_rows
from judgekit.data.pairfile import PairFileError, read_response_rows


def rate_file(source: str, probe: str, out: str, share: float, batch_size: int, resume: bool, quiet: bool) -> int:
    """Rate a file with saved probes; returns the exit code."""
    if batch_size < 1:
        raise Stop(BAD_INPUT, f"--batch-size {batch_size}: at least 1")
    rater = _loaded_rater(probe)
    from judgekit.inside.rating.kept import KeptRatings
    from judgekit.inside.rating.samples import added_fields, best, rated_rows

    try:
        rows = read_response_rows(source, reserved=added_fields(rater))
    except PairFileError as bad:
        raise Stop(BAD_INPUT, str(bad)) from None
    reader = _loaded_reader(rater)
    ratings, keeping = None, ""
    if resume and out != "-":
        ratings = KeptRatings(f"{out}.ratings.jsonl", rater.fingerprint)
        keeping = f"; the ratings so far are kept in {ratings.path}, and the same command goes on from there"
        if ratings.rows and not quiet:
            tell(f"going on from {len(ratings.rows)} ratings in {ratings.path}")
    try:
        rated = rated_rows(rows, rater, batch_size, reader, not quiet, ratings)
    except KeyboardInterrupt:
        raise Stop(INTERRUPTED, f"interrupted; nothing was written{keeping}") from None
    except OSError as full:
        raise Stop(UNEXPECTED, f"{out}.ratings.jsonl could not be written ({full.strerror or full})") from None
    chosen = rated if share == 1 else best(rated, share)
    write_rows(out, chosen, keeping)
    if ratings is not None:
        ratings.remove()
    if not quiet:
        tell(
            f"{len(rated)} responses rated by {rater.name}, {len(chosen)} written" + ("" if out == "-" else f": {out}")
        )
    return DONE


def _loaded_rater(probe: str) -> Any:
    """The rater of a name; whatever is wrong with it is bad usage."""
    from judgekit.inside.rating.rater import load_rater

    try:
        return load_rater(probe)
    except ValueError as bad:
        raise Stop(BAD_INPUT, f"--probe {probe}: {bad}") from None


def _loaded_reader(rater: Any) -> Any:
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
