"""``judgekit label``: people's votes on the pairs of a file, in a browser on this machine."""

import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from judgekit.cli.keeping import Keeping
from judgekit.cli.messages import BAD_INPUT, DONE, SOME_FAILED, Stop, reason, shortened, tell
from judgekit.cli.running import judge_for, prepare, read_rows
from judgekit.data.pairfile import PairRow


def label_file(
    pairs: str,
    votes: str,
    annotators: list[str],
    port: int,
    judge_name: str | None,
    order: str,
    seed: int,
    settings: list[str] | None,
    keeping: Keeping,
) -> int:
    """Serve the labelling page until it is interrupted; returns the exit code."""
    from judgekit.people.labelling.app import create_app
    from judgekit.people.labelling.server import Labelling
    from judgekit.people.labelling.votefile import VoteFileBusy

    if judge_name is not None and order != "active":
        raise Stop(BAD_INPUT, f"--judge goes with --order active: with --order {order} nobody would ask it")
    rows = read_rows(pairs)
    if Path(votes).exists() and Path(votes).samefile(pairs):
        raise Stop(BAD_INPUT, f"--votes {votes}: is the input file itself")
    n_failed, chosen = _active_order(rows, judge_name, settings, keeping, seed) if order == "active" else (0, order)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            app = create_app([row.pair for row in rows], votes, annotators, order=chosen, seed=seed)
    except (ValueError, VoteFileBusy) as bad:
        raise Stop(BAD_INPUT, str(bad)) from None
    for warning in caught:
        tell(f"note: {warning.message}")
    try:
        page = Labelling(app, port)
    except OSError as taken:
        raise Stop(BAD_INPUT, f"--port {port}: {reason(taken)}") from None
    with page:
        for name in annotators:
            tell(f"{name}: {page.link(name)}")
        if not keeping.quiet:
            tell("Every vote is on disk when the page says so. Ctrl-C ends this; the same command goes on from there.")
        with suppress(KeyboardInterrupt):  # the usual end
            while page.thread.is_alive():
                page.thread.join(0.5)
    if not keeping.quiet:
        count = int(page.votes().given.sum())
        tell(f"{count} votes are in {votes}")
    return SOME_FAILED if n_failed else DONE


def _active_order(
    rows: list[PairRow], judge_name: str | None, settings: list[str] | None, keeping: Keeping, seed: int
) -> tuple[int, Callable]:
    """How many pairs the judge said nothing of (they come last), and what to label next, best first, given the votes
    so far; equals stand in an order of chance."""
    from judgekit.people.labelling.ordering import fewest_votes_first

    if judge_name is None:
        return 0, fewest_votes_first
    from judgekit.people.consensus.active import label_next

    probabilities = _judged(rows, judge_name, settings, keeping)
    if n_failed := len(rows) - len(probabilities.items):
        tell(f"{n_failed} of {len(rows)} pairs have no probabilities of {judge_name}: they come last")
    stating = set(probabilities.items)

    def order(votes: Any) -> Any:
        known = votes.at([item in stating for item in votes.items])
        return label_next(known, probabilities.at(known.items), seed=seed)

    return n_failed, order


def _judged(rows: list[PairRow], judge_name: str, settings: list[str] | None, keeping: Keeping) -> Any:
    """A judge's probabilities on the pairs, as far as it states them."""
    from judgekit.scoring import run_judge
    from judgekit.scoring.items import stated_probabilities

    judge = judge_for(judge_name, rows, settings)
    prepare(judge)
    pairs = [row.pair for row in rows]
    with keeping.opened(judge.fingerprint, judge.name) as store:
        verdicts = run_judge(judge, pairs, store, progress=not keeping.quiet)
    keeping.done()
    stating = {verdict.item_id for verdict in verdicts if verdict.p_a is not None}
    failed = [verdict for verdict in verdicts if verdict.status == "error"]
    if len(failed) == len(verdicts):
        raise Stop(BAD_INPUT, f"{judge_name} failed on every pair: {shortened(failed[0].raw or 'no reason given')}")
    if not stating:
        raise Stop(BAD_INPUT, f"{judge_name} states no probabilities: name another judge, or leave --judge out")
    chosen = [pair for pair in pairs if pair.item_id in stating]
    return stated_probabilities([verdict for verdict in verdicts if verdict.item_id in stating], chosen)
