"""``judgekit attack``: edits of the worse responses of one's own pairs, and how often a judge falls for them."""

from typing import Annotated, Any

import typer

from judgekit.cli.files import check_out, tell_odd_rows, written
from judgekit.cli.keeping import Fresh, JudgeName, Keeping, Out, Pairs, Quiet, Resume, Settings, Store
from judgekit.cli.messages import BAD_INPUT, DONE, SOME_FAILED, Stop, is_ours, shortened, tell
from judgekit.cli.running import loaded_judge
from judgekit.data.pairfile import iterate_unique_rows


def attack(
    pairs: Pairs,
    out: Out,
    judge: JudgeName = "encoder/minilm",
    attacks: Annotated[list[str] | None, typer.Option("--attack", help="Only this attack; repeatable.")] = None,
    queries: Annotated[int | None, typer.Option(min=0, help="Verdicts of a search a pair (12; --attack: 0).")] = None,
    store: Store = None,
    fresh: Fresh = False,
    resume: Resume = True,
    quiet: Quiet = False,
    settings: Settings = None,
) -> int:
    """Edit the worse response of every labelled pair and see whether a judge falls for it.

    PAIRS is as for judge; rows need a label, or chosen and rejected. An attack succeeds on a pair that the worse
    response had lost in both orders and wins in both once it is edited.

    --out (.jsonl or .csv) gets one row per attack: attack, judge, success with success_low, success_high (95 %) and
    success_n, and the same for success_one_order, tied and averaged (by the probability averaged over both orders, for
    judges that follow a position); then the mean over attacks, and clean_accuracy on the pairs as they were.

    Attacks: null_response, structured_null, refusal, empty, correct_assertion, authority, confident_tone, emoji,
    markdown, repeated_list, very_long, question_stuffing, verdict_injection, ignore_above, forged_end,
    other_languages, zero_width, combined; placebo is a polite sentence that claims nothing.

    An interrupted run is continued by the same command and repeats no finished verdict. Exit code 3: the judge failed
    on a pair; the same command tries it again.
    """
    from judgekit.bias import attacks as suites

    check_out(out, pairs, ".csv")
    rows = list(iterate_unique_rows(pairs))
    items = [row.pair for row in rows]
    tell_odd_rows(rows, quiet)
    if not suites.attackable(items):
        said = "no row has a label A or B and two different responses: what is worse is not known"
        raise Stop(BAD_INPUT, f"{pairs}: {said}")
    queries = (0 if attacks else 12) if queries is None else queries
    try:
        suite = suites.Suite(tuple(attacks or suites.Suite.edits), queries=queries or None)
    except (KeyError, ValueError) as bad:
        raise Stop(BAD_INPUT, f"--attack, --queries: {bad.args[0]}") from None
    asked = loaded_judge(judge, settings, quiet)
    keeping = Keeping(out, store, fresh, resume, quiet)
    with keeping.opened(asked) as verdicts:
        try:
            report = suites.attack(asked, items, suite, verdicts, progress=not quiet)
        except ValueError as failed:
            if is_ours(failed):
                raise
            code, kept = (SOME_FAILED, keeping.sentence()) if " failed on " in str(failed) else (BAD_INPUT, "")
            raise Stop(code, f"{shortened(str(failed))}{kept}") from None
    measured = {name: dict.fromkeys(suites.MEASURES) | found for name, found in report.success.items()}
    totals: list[Any] = [("mean", {"success": report.mean_success}), (None, {"clean_accuracy": report.clean_accuracy})]
    ends = {"": "value", "_low": "low", "_high": "high", "_n": "n"}
    reported = []
    for name, numbers in [*measured.items(), *totals]:  # null where there was nothing to turn
        fields = [(each, number, end) for each, number in numbers.items() for end in ends]
        row = {each + end: getattr(number, ends[end]) if number else None for each, number, end in fields}
        reported.append({"attack": name, "judge": report.judge} | row)
    with written(out, keeping.sentence()) as write:
        write(reported)
    if not quiet:
        tell(f"{report.judge}: clean accuracy {_shown(report.clean_accuracy)}")
        tell(f"mean success of attacks {_shown(report.mean_success)}")
        successes = [(numbers["success"], name) for name, numbers in measured.items()]
        for number, name in sorted(successes, key=lambda pair: -(pair[0].value if pair[0] else 0)):
            tell(f"  {name:<20} {_shown(number)}")
    return DONE


def _shown(number: Any) -> str:
    return "nothing to turn" if number is None else f"{number} % ({number.interval or 'no interval'}; n = {number.n})"
