"""``judgekit label``: people's votes on the pairs of a file, in a browser on this machine."""

import warnings
from pathlib import Path

from judgekit.cli.messages import BAD_INPUT, DONE, SOME_FAILED, Stop, reason, shortened, tell
from judgekit.cli.output import store_path
from judgekit.cli.reading import judge_for, read_rows
from judgekit.cli.running import prepare


def label_file(pairs, votes, annotators, port, judge_name, order, seed, settings, quiet):
    """Serve the labelling page until it is interrupted; returns the exit code.

    Parameters
    ----------
    pairs, votes : str
    annotators : list of str
    port : int
        0 is any free one.
    judge_name : str or None
        Only for ``order="active"``.
    order : {"random", "active", "file"}
    seed : int
    settings : list of str or None
        ``NAME=VALUE`` of the judge.
    quiet : bool

    Raises
    ------
    Stop
        If something is wrong with a file, a name, the judge or the port.
    """
    from judgekit.labelling.app import create_app
    from judgekit.labelling.server import Labelling
    from judgekit.votefile import VoteFileBusy

    if judge_name is not None and order != "active":
        raise Stop(BAD_INPUT, f"--judge goes with --order active: with --order {order} nobody would ask it")
    rows = read_rows(pairs)
    if Path(votes).exists() and Path(votes).samefile(pairs):
        raise Stop(BAD_INPUT, f"--votes {votes}: is the input file itself")
    failed, chosen = 0, order
    if order == "active":
        failed, chosen = active_order(rows, judge_name, settings, store_path(votes), quiet, seed)
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
        if not quiet:
            tell("Every vote is on disk when the page says so. Ctrl-C ends this; the same command goes on from there.")
        wait_for(page)
    if not quiet:
        count = int(page.desk.votes().given.sum())
        tell(f"{count} votes are in {votes}")
    return SOME_FAILED if failed else DONE


def wait_for(page):
    """Until Ctrl-C, the usual end."""
    try:
        while page.thread.is_alive():
            page.thread.join(0.5)
    except KeyboardInterrupt:
        return


def active_order(rows, judge_name, settings, store, quiet, seed=0):
    """What to label next, as a function of the votes so far.

    Parameters
    ----------
    rows : list of PairRow
    judge_name : str or None
    settings : list of str or None
    store : str
        Where the judge's verdicts are kept.
    quiet : bool
    seed : int
        Equals stand in an order of chance.

    Returns
    -------
    failed : int
        Pairs that the judge said nothing of; they come last.
    order : callable
        `judgekit.votes.Votes` on all pairs to item ids, best first.
    """
    from judgekit.labelling.ordering import fewest_votes_first

    if judge_name is None:
        return 0, fewest_votes_first
    from judgekit.consensus.active import label_next

    probabilities = judged(rows, judge_name, settings, store, quiet)
    if failed := len(rows) - len(probabilities.items):
        tell(f"{failed} of {len(rows)} pairs have no probabilities of {judge_name}: they come last")
    stating = set(probabilities.items)

    def order(votes):
        known = votes.at([item in stating for item in votes.items])
        return label_next(known, probabilities.at(known.items), seed=seed)

    return failed, order


def judged(rows, judge_name, settings, store, quiet):
    """A judge's probabilities on the pairs, as far as it states them."""
    from judgekit.scoring import run_judge
    from judgekit.scoring.stated import stated_probabilities
    from judgekit.store import VerdictStore

    judge = judge_for(judge_name, rows, settings)
    prepare(judge)
    pairs = [row.pair for row in rows]
    with VerdictStore(store) as kept:
        verdicts = run_judge(judge, pairs, kept, progress=not quiet)
    stating = {verdict.item_id for verdict in verdicts if verdict.p_a is not None}
    failed = [verdict for verdict in verdicts if verdict.status == "error"]
    if len(failed) == len(verdicts):
        raise Stop(BAD_INPUT, f"{judge_name} failed on every pair: {shortened(failed[0].raw or 'no reason given')}")
    if not stating:
        raise Stop(BAD_INPUT, f"{judge_name} states no probabilities: name another judge, or leave --judge out")
    chosen = [pair for pair in pairs if pair.item_id in stating]
    return stated_probabilities([verdict for verdict in verdicts if verdict.item_id in stating], chosen)
