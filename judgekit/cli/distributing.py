"""``judgekit judge --engine ray``."""

from judgekit.bulk.partial import partial_path
from judgekit.bulk.ray_engine import NoRay, RayRun, Task, need_ray
from judgekit.cli.messages import BAD_INPUT, DONE, INTERRUPTED, UNEXPECTED, Stop, reason, tell
from judgekit.cli.output import failed_write
from judgekit.cli.running import asked_digest, given_settings, report


def check_ray(out):
    """Refuse, before any work, what cannot be done by Ray."""
    if out == "-":
        raise Stop(BAD_INPUT, "--engine ray keeps its work beside the output file: --out must name one")
    try:
        need_ray()
    except NoRay as missing:
        raise Stop(BAD_INPUT, str(missing)) from None


def judge_by_ray(source, asked, orders, out, settings, workers, resume, quiet):
    """Judge a checked file by Ray; returns the exit code.

    Parameters
    ----------
    source : judgekit.bulk.source.PairSource
    asked : judgekit.judges.Judge
        The judge as it was found here, for what its verdicts depend on; every worker loads its own.
    orders : tuple of {"ab", "ba"}
    out : str
    settings : list of str or None
        ``NAME=VALUE``.
    workers : int or None
    resume, quiet : bool

    Raises
    ------
    Stop
        If the output cannot be written, or the workers failed for good.
    """
    folder = partial_path(out, asked_digest(source, asked, orders)).with_suffix(".ray")
    task = Task(asked.name, given_settings(settings), getattr(asked, "label", None), orders, str(folder))
    run = RayRun(source, task, workers, not quiet)
    if not resume:
        run.remove()
    if (before := run.finished()) and not quiet:
        tell(f"going on from {before} chunks in {folder}")
    kept = f"; finished chunks are kept in {folder}, and the same command goes on from there"
    try:
        run.work()
        tally = run.write(out)
    except KeyboardInterrupt:
        raise Stop(INTERRUPTED, f"interrupted; nothing was written{kept}") from None
    except OSError as full:
        raise failed_write(out, full, kept) from None
    except RuntimeError as failed:  # Ray's own errors are of this class
        raise Stop(UNEXPECTED, f"Ray gave up ({reason(failed)}){kept}") from None
    code = report(tally, run.reasons, asked.name, orders, out, quiet, folder)
    if code == DONE:
        run.remove()
    return code
