"""Run a judge over a set, resumably."""

from judgekit.judges import request_key, request_of, verdict_of
from judgekit.progress import progress_bar
from judgekit.records import ORDERS
from judgekit.store import Reply


class JudgeFailure(RuntimeError):
    """A judge replied with something other than one reply per request."""


def run_judge(judge, pairs, store, orders=ORDERS, progress=True):
    """Judge pairs in the given orders; what the store already holds is not asked again.

    Parameters
    ----------
    judge : judgekit.judges.Judge
    pairs : list of PreferencePair
    store : judgekit.store.VerdictStore
    orders : sequence of {"ab", "ba"}
    progress : bool
        Show a progress bar with ETA.

    Returns
    -------
    list of Verdict
        In the order of ``pairs``, for each pair in the order of ``orders``. Failed items come with status ``error``;
        they count as not done and are asked again next time.

    Notes
    -----
    Every batch is durable when it returns: an interrupted run loses at most the batch in flight. Requests are sorted
    by length, longest first, so that batches waste little padding and the ETA errs on the safe side.
    """
    cells = [(pair, order, request_of(pair, order)) for pair in pairs for order in orders]
    keys = [request_key(judge, request) for _, _, request in cells]
    replies = store.get(judge.fingerprint, judge.decoding, keys)
    todo = {key: request for key, (_, _, request) in zip(keys, cells, strict=True) if key not in replies}
    waiting = sorted(todo, key=lambda key: (-todo[key].length(), key))
    with progress_bar(len(waiting), judge.name, "verdict", shown=progress and len(waiting) > judge.batch_size) as bar:
        for start in range(0, len(waiting), judge.batch_size):
            batch = waiting[start : start + judge.batch_size]
            answered = judge_batch(judge, [todo[key] for key in batch])
            fresh = dict(zip(batch, answered, strict=True))
            store.put(judge.fingerprint, judge.decoding, fresh)
            replies.update(fresh)
            bar.update(len(batch))
    return [
        verdict_of(pair, order, judge.name, replies[key]) for key, (pair, order, _) in zip(keys, cells, strict=True)
    ]


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
