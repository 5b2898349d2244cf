"""Run a judge over a set, resumably."""

from contextlib import closing, nullcontext

from judgekit.judges import request_key, request_of, verdict_of
from judgekit.progress import progress_bar, skip
from judgekit.records import ORDERS
from judgekit.store import Reply


class JudgeFailure(RuntimeError):
    """A judge replied with something other than one reply per request."""


def run_judge(judge, pairs, store, orders=ORDERS, progress=True, bar=None):
    """Judge pairs in the given orders; what the store already holds is not asked again.

    Parameters
    ----------
    judge : judgekit.judges.Judge
    pairs : list of PreferencePair
    store : judgekit.store.VerdictStore
    orders : sequence of {"ab", "ba"}
    progress : bool
        Show a progress bar with ETA.
    bar : tqdm, optional
        A bar of the caller's that counts verdicts, for one run in several calls; moved instead of one's own.

    Returns
    -------
    list of Verdict
        In the order of ``pairs``, for each pair in the order of ``orders``. Failed items come with status ``error``;
        they count as not done and are asked again next time.

    Notes
    -----
    Every batch is durable when it returns, and every reply of a judge that streams: an interrupted run loses at most
    what is in flight. Requests are sorted by length, longest first, so that batches waste little padding and the ETA
    errs on the safe side.
    """
    cells, keys, replies, waiting = asked_cells(judge, pairs, store, orders)
    todo = [request for _, request in waiting]
    if bar is None:
        shown = progress_bar(len(waiting), judge.name, "verdict", shown=progress and len(waiting) > judge.batch_size)
    else:
        skip(bar, len(cells) - len(waiting))
        shown = nullcontext(bar)
    with shown as bar, closing(finished(judge, todo)) as stream:
        for answered in stream:
            fresh = {waiting[place][0]: reply for place, reply in answered.items()}
            store.put(judge.fingerprint, judge.decoding, fresh)
            replies.update(fresh)
            bar.update(len(fresh))
    return [
        verdict_of(pair, order, judge.name, replies[key]) for key, (pair, order, _) in zip(keys, cells, strict=True)
    ]


def waiting_requests(judge, pairs, store, orders=ORDERS):
    """The requests that `run_judge` would put: those without a stored reply, longest first, each once.

    Returns
    -------
    list of judgekit.judges.Request
    """
    return [request for _, request in asked_cells(judge, pairs, store, orders)[-1]]


def asked_cells(judge, pairs, store, orders):
    """Every (pair, order, request), their keys, the stored replies by key, and the (key, request) that wait."""
    cells = [(pair, order, request_of(pair, order)) for pair in pairs for order in orders]
    keys = [request_key(judge, request) for _, _, request in cells]
    replies = store.get(judge.fingerprint, judge.decoding, keys)
    todo = {key: request for key, (_, _, request) in zip(keys, cells, strict=True) if key not in replies}
    return cells, keys, replies, sorted(todo.items(), key=lambda item: (-item[1].length(), item[0]))


def finished(judge, requests):
    """Replies as they are finished, each place once: from the judge's own stream, or batch by batch.

    Raises
    ------
    JudgeFailure
        If the judge replies twice to a request, or not at all.
    """
    missing = set(range(len(requests)))
    stream = getattr(judge, "judge_stream", None)
    with closing(stream(requests) if stream else batches(judge, requests)) as answers:
        for answered in answers:
            if not answered.keys() <= missing:
                raise JudgeFailure(f"{judge.name} replied twice to a request, or to one that was not put")
            missing -= answered.keys()
            yield answered
    if missing:
        raise JudgeFailure(f"{judge.name} left {len(missing)} of {len(requests)} requests without a reply")


def batches(judge, requests):
    """Replies batch by batch, as `finished` yields them."""
    for start in range(0, len(requests), judge.batch_size):
        batch = requests[start : start + judge.batch_size]
        yield dict(enumerate(judge_batch(judge, batch), start))


def judge_batch(judge, requests):
    """One call of a judge; when the call as a whole fails, each request alone, so that one bad item costs one item."""
    try:
        replies = judge.judge(requests)
    except Exception as failure:
        if len(requests) == 1:
            return [Reply(None, status="error", raw=f"{type(failure).__name__}: {failure}")]
        return [reply for request in requests for reply in judge_batch(judge, [request])]
    if len(replies) != len(requests):
        raise JudgeFailure(f"{judge.name} gave {len(replies)} replies to {len(requests)} requests")
    return replies
