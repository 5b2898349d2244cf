"""``judgekit label``: people's votes on the pairs of a file, in a browser on this machine."""

import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from judgekit.cli.files import check_out, tell_odd_rows
from judgekit.cli.keeping import Keeping, Pairs, Quiet, Settings, Store
from judgekit.cli.messages import BAD_INPUT, DONE, SOME_FAILED, Stop, reason, shortened, tell
from judgekit.cli.running import loaded_judge
from judgekit.data.files import short_text
from judgekit.data.pairfile import PairRow, iterate_unique_rows
from judgekit.data.pairfile.lines import repeated


def label(
    pairs: Pairs,
    votes: Annotated[str, typer.Option(metavar="FILE", help="File that votes are added to, JSON lines.")],
    annotators: Annotated[list[str], typer.Option("--annotator", help="Who votes; repeatable, each gets a link.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 is any free one.")] = 0,
    order: Annotated[Literal["random", "active", "file"], typer.Option(help="Which pair comes next.")] = "random",
    judge: Annotated[str | None, typer.Option(help="With --order active: its least certain pairs come first.")] = None,
    instructions: Annotated[
        str | None, typer.Option(metavar="FILE", help="What annotators read in the help, Markdown.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the order and of the sides.")] = 0,
    store: Store = None,
    quiet: Quiet = False,
    settings: Settings = None,
) -> int:
    """Let people say which response is better, in a browser on this machine.

    Prints a link for each annotator; the page says which keys vote. It shows neither labels nor who wrote what, and the
    sides are drawn anew for each annotator and pair. Ctrl-C ends it, and the same command goes on from there.

    --votes gets one line per vote, on disk before the page confirms it: item_id, annotator, label (A, B or tie in the
    file's own order; null takes the vote back), shown (ab or ba), seconds, at, pair (a hash of the texts), both_bad and
    comment where they say something. Later lines supersede earlier ones.

    With --order active and --judge, the pairs that the judge is least sure of come first; without a judge, those with
    the fewest votes. Exit code 3: the judge failed on some pairs, which came last; their votes are there.
    """
    from judgekit.people.labelling.server import Labelling
    from judgekit.people.labelling.session import fewest_votes_first
    from judgekit.people.labelling.votefile import read_lines, standing

    if judge is not None and order != "active":
        raise Stop(BAD_INPUT, f"--judge goes with --order active: with --order {order} nobody would ask it")
    if settings and judge is None:
        raise Stop(BAD_INPUT, "--set: goes with --judge, which it is of")
    if votes == "-":
        raise Stop(BAD_INPUT, "--votes -: votes are kept in a file; name one")
    if (twice := repeated(annotators)) is not None:
        raise Stop(BAD_INPUT, f"--annotator {twice}: is named twice")
    check_out(votes, pairs, option="--votes")
    rows = list(iterate_unique_rows(pairs))
    try:
        told = short_text(Path(instructions)) if instructions else ""
    except OSError as wrong:
        raise Stop(BAD_INPUT, f"--instructions {instructions}: {wrong.strerror}") from None
    tell_odd_rows(rows, quiet)
    n_failed, chosen = 0, fewest_votes_first if order == "active" else order
    if judge is not None:
        n_failed, chosen = _doubtful_first(rows, judge, settings, Keeping(votes, store, False, True, quiet), seed)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            shown = [row.pair for row in rows]
            page = Labelling(shown, votes, annotators, port, instructions=told, order=chosen, seed=seed)
    except ValueError as bad:
        raise Stop(BAD_INPUT, str(bad)) from None
    except OSError as taken:
        raise Stop(BAD_INPUT, f"--votes {votes}, --port {port}: {reason(taken)}") from None
    for warning in caught:
        tell(f"note: {warning.message}")
    with page:
        for name in annotators:
            tell(f"{name}: {page.link(name)}")
        if not quiet:
            tell("Every vote is on disk when the page says so. Ctrl-C ends this; the same command goes on from there.")
        with suppress(KeyboardInterrupt):  # the usual end
            while page.thread.is_alive():
                time.sleep(0.5)  # an interrupted join takes a running thread for one that has ended
    if not quiet:
        n_bad = sum(vote.both_bad for vote in standing(read_lines(votes)).values())
        tell(f"{int(page.votes().given.sum())} votes are in {votes}" + (f", both bad in {n_bad}" if n_bad else ""))
    return SOME_FAILED if n_failed else DONE


def _doubtful_first(rows: list[PairRow], name: str, settings: Settings, keeping: Keeping, seed: int) -> tuple[int, Any]:
    """How many pairs the judge states no probabilities of (they come last), and what to label next, best first, given
    the votes so far; equals stand in an order of chance."""
    from judgekit.people.active import label_next
    from judgekit.scoring import run_judge
    from judgekit.scoring.items import stated_probabilities

    judge, pairs = loaded_judge(name, settings, keeping.quiet), [row.pair for row in rows]
    with keeping.opened(judge) as store:
        verdicts = run_judge(judge, pairs, store, progress=not keeping.quiet)
    stating = {verdict.item_id for verdict in verdicts if verdict.p_a is not None}
    if not stating:
        why = next((shortened(verdict.raw or "") for verdict in verdicts if verdict.status == "error"), "it has none")
        raise Stop(BAD_INPUT, f"{name} states no probabilities ({why}): name another judge, or leave --judge out")
    if n_failed := len(rows) - len(stating):
        tell(f"{n_failed} of {len(rows)} pairs have no probabilities of {name}: they come last")
    probabilities = stated_probabilities(verdicts, [pair for pair in pairs if pair.item_id in stating])

    def order(votes: Any) -> Any:
        known = votes.at([item in stating for item in votes.items])
        return label_next(known, probabilities.at(known.items), seed=seed)

    return n_failed, order
