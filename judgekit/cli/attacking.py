"""``judgekit attack``: edits of the worse responses of one's own pairs, and how often a judge falls for them."""

from typing import Any

from judgekit.cli.keeping import Keeping
from judgekit.cli.messages import BAD_INPUT, DONE, SOME_FAILED, Stop, shortened, tell
from judgekit.cli.output import check_out, write_rows
from judgekit.cli.running import judge_for, prepare, read_rows
from judgekit.scoring.store import DamagedStore

_MEASURES = ("success", "success_one_order", "tied")


def attack_file(
    pairs: str,
    judge_name: str,
    out: str,
    edits: list[str] | None,
    queries: int,
    settings: list[str] | None,
    keeping: Keeping,
) -> int:
    """Attack a judge on the pairs of a file, by all edits or some, with a search of ``queries`` verdicts a pair or
    none; returns the exit code."""
    from judgekit.bias.attacks import SearchBudget, Suite, attack, attackable

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
    with keeping.opened(judge.fingerprint, judge.name) as store:
        try:
            report = attack(judge, [row.pair for row in rows], suite, store, progress=not keeping.quiet)
        except DamagedStore:
            raise
        except ValueError as failed:
            code = SOME_FAILED if " failed on " in str(failed) else BAD_INPUT
            rest = keeping.sentence() if code == SOME_FAILED else ""
            raise Stop(code, f"{shortened(str(failed))}{rest}") from None
    write_rows(out, _rows_of(report), keeping.sentence())
    keeping.done()
    if not keeping.quiet:
        _tell_report(report)
    return DONE


def _rows_of(report: Any) -> list[dict[str, Any]]:
    """Rows of the file: one per attack, the mean, and the accuracy on pairs as they were."""
    rows = []
    for name, measured in report.success.items():
        row = {"attack": name, "judge": report.judge}
        for measure in _MEASURES:
            row |= _as_fields(measure, measured.get(measure))
        rows.append(row)
    rows.append({"attack": "mean", "judge": report.judge, **_as_fields("success", report.mean_success)})
    rows.append({"attack": None, "judge": report.judge, **_as_fields("clean_accuracy", report.clean_accuracy)})
    return rows


def _as_fields(name: str, number: Any) -> dict[str, Any]:
    """A `Number` as fields of a row; null where there was nothing to turn."""
    parts = {"": "value", "_low": "low", "_high": "high", "_n": "n"}
    return {f"{name}{end}": getattr(number, part) if number else None for end, part in parts.items()}


def _tell_report(report: Any) -> None:
    """The report on standard error, the worst attack first."""

    def shown(number: Any) -> str:
        return "nothing to turn" if number is None else f"{number} % ({number.interval})"

    tell(f"{report.judge}: clean accuracy {shown(report.clean_accuracy)} on {report.clean_accuracy.n} pairs")
    tell(f"mean success of attacks {shown(report.mean_success)}")
    successes = [(name, measured.get("success")) for name, measured in report.success.items()]
    for name, number in sorted(successes, key=lambda pair: -(pair[1].value if pair[1] else 0)):
        tell(f"  {name:<20} {shown(number)}")
