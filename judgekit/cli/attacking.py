"""``judgekit attack``: edits of the worse responses of one's own pairs, and how often a judge falls for them."""

import sqlite3

from judgekit.cli.messages import BAD_INPUT, DONE, INTERRUPTED, SOME_FAILED, Stop, reason, shortened, tell
from judgekit.cli.output import check_out, remove_store, store_path, write_rows
from judgekit.cli.reading import judge_for, read_rows
from judgekit.cli.running import prepare
from judgekit.store import VerdictStore

MEASURES = ("success", "success_one_order", "tied")


def attack_file(pairs, judge_name, out, edits, queries, settings, resume, quiet):
    """Attack a judge on the pairs of a file; returns the exit code.

    Parameters
    ----------
    pairs, judge_name, out : str
    edits : list of str or None
        Names of attacks; None for all.
    queries : int
        Verdicts that the search may ask for on each pair; 0 for no search.
    settings : list of str or None
        ``NAME=VALUE`` of the judge.
    resume, quiet : bool

    Raises
    ------
    Stop
        If something is wrong with the file, the judge or an attack's name; if the judge failed on a pair.
    """
    from judgekit.attacks import SearchBudget, Suite, attackable

    check_out(out, pairs)
    rows = read_rows(pairs)
    if not attackable([row.pair for row in rows]):
        said = "no row has a label A or B and two different responses: what is worse is not known"
        raise Stop(BAD_INPUT, f"{rows[0].place}: {said}")
    try:
        suite = Suite(tuple(edits or Suite.edits), search=SearchBudget(queries) if queries else None)
    except (KeyError, ValueError) as bad:
        raise Stop(BAD_INPUT, f"--attack, --queries: {bad.args[0]}") from None
    judge = judge_for(judge_name, rows, settings)
    prepare(judge)
    path = store_path(out) if resume and out != "-" else ":memory:"
    report = attacked(judge, [row.pair for row in rows], suite, path, quiet)
    write_rows(out, report_rows(report), f"; the verdicts are kept in {path}")
    remove_store(path)
    if not quiet:
        tell_report(report)
    return DONE


def attacked(judge, pairs, suite, path, quiet):
    """The report; whatever ends it early says what is kept."""
    from judgekit.attacks import attack

    kept = (
        ""
        if path == ":memory:"
        else f"; the verdicts so far are kept in {path}, and the same command goes on from there"
    )
    try:
        with VerdictStore(path) as store:
            if (before := store.count(judge.fingerprint)) and not quiet:
                tell(f"going on from {before} verdicts in {path}")
            return attack(judge, pairs, suite, store, progress=not quiet)
    except KeyboardInterrupt:
        raise Stop(INTERRUPTED, f"interrupted; nothing was written{kept}") from None
    except sqlite3.Error as broken:
        raise Stop(BAD_INPUT, f"the verdict store {path} cannot be used: {reason(broken)}") from None
    except ValueError as failed:
        code = SOME_FAILED if " failed on " in str(failed) else BAD_INPUT
        raise Stop(code, f"{shortened(str(failed))}{kept if code == SOME_FAILED else ''}") from None


def report_rows(report):
    """Rows of the file: one per attack, the mean, and the accuracy on pairs as they were."""
    rows = []
    for name, found in report.success.items():
        row = {"attack": name, "judge": report.judge}
        for measure in MEASURES:
            row |= as_fields(measure, found.get(measure))
        rows.append(row)
    rows.append({"attack": "mean", "judge": report.judge, **as_fields("success", report.mean_success)})
    rows.append({"attack": None, "judge": report.judge, **as_fields("clean_accuracy", report.clean_accuracy)})
    return rows


def as_fields(name, number):
    """A `Number` as fields of a row; null where there was nothing to turn."""
    parts = {"": "value", "_low": "low", "_high": "high", "_n": "n"}
    return {f"{name}{end}": getattr(number, part) if number else None for end, part in parts.items()}


def tell_report(report):
    """The report on standard error, the worst attack first."""

    def shown(number):
        return "nothing to turn" if number is None else f"{number} % ({number.interval})"

    tell(f"{report.judge}: clean accuracy {shown(report.clean_accuracy)} on {report.clean_accuracy.n} pairs")
    tell(f"mean success of attacks {shown(report.mean_success)}")
    found = [(name, measured.get("success")) for name, measured in report.success.items()]
    for name, number in sorted(found, key=lambda pair: -(pair[1].value if pair[1] else 0)):
        tell(f"  {name:<20} {shown(number)}")
