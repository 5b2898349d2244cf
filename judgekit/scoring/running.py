"""Run a judge over a set, resumably."""

from collections.abc import Generator, Iterable, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from itertools import groupby, product
from math import isfinite
from typing import Any

from judgekit.data.progress import progress_bar
from judgekit.judges import Judge, Request, request_key, request_of, verdict_of
from judgekit.records import ORDERS, STATUSES, Reply, Verdict
from judgekit.scoring.protocols import Pairs
from judgekit.scoring.store import VerdictStore

Replies = dict[str, Reply]  # by key
Numbered = dict[int, Reply]  # by the number of the request


class JudgeFailure(RuntimeError):
    """A judge replied with something other than one reply per request."""


class Remembered:
    """A judge whose replies a store keeps: one around it, or of which it is a part, asks it nothing again."""

    def __init__(self, judge: Judge, store: VerdictStore) -> None:
        self.inner, self.store, self.sees_item = judge, store, judge.sees_item
        self.name, self.fingerprint, self.decoding = judge.name, judge.fingerprint, judge.decoding
        self.batch_size = judge.batch_size

    def judge(self, requests: list[Request]) -> list[Reply]:
        keys = [request_key(self.inner, request) for request in requests]
        known = self.store.get(self.fingerprint, self.decoding, keys)
        waiting = {key: request for key, request in zip(keys, requests, strict=True) if key not in known}
        if waiting:
            fresh = dict(zip(waiting, map(_sound, self.inner.judge(list(waiting.values()))), strict=True))
            self.store.put(self.fingerprint, self.decoding, fresh)
            known |= fresh
        return [known[key] for key in keys]


def _plan(
    judge: Judge, pairs: Pairs, store: VerdictStore, orders: Sequence[str]
) -> tuple[list[str], Replies, list[tuple[str, Request]]]:
    """Keys of every pair in every order, stored replies, and all requests, longest first; equal texts are put once."""
    requests = [request_of(pair, order) for pair in pairs for order in orders]
    keys = [request_key(judge, request) for request in requests]
    replies = store.get(judge.fingerprint, judge.decoding, keys)
    distinct = dict(zip(keys, requests, strict=True))
    return keys, replies, sorted(distinct.items(), key=lambda item: (-item[1].length(), item[0]))


def waiting_requests(judge: Judge, pairs: Pairs, store: VerdictStore, orders: Sequence[str] = ORDERS) -> list[Request]:
    """The requests that `run_judge` would put: those without a stored reply, longest first, each once."""
    _, known, plan = _plan(judge, pairs, store, orders)
    return [request for key, request in plan if key not in known]


def run_judge(
    judge: Judge,
    pairs: Pairs,
    store: VerdictStore,
    orders: Sequence[str] = ORDERS,
    progress: bool = True,
    bar: Any = None,
) -> list[Verdict]:
    """A verdict for each pair and order; what the store holds is not asked again.

    Failed items have status ``error`` and are asked again next time. Every batch is durable when it returns, and every
    reply of a judge that streams. Batches are formed from the whole plan: a run that was resumed between two of them
    gives what an unbroken one gives; the store holds what the members of a blend say, too. ``bar``: the caller's.
    """
    for name, member in getattr(judge, "members", {}).items():
        judge.members[name] = Remembered(member.inner if isinstance(member, Remembered) else member, store)  # type: ignore[attr-defined]
    keys, known, plan = _plan(judge, pairs, store, orders)
    waiting = [number for number, (key, _) in enumerate(plan) if key not in known]
    if waiting and (recall := getattr(judge, "recall", None)):
        turned = [request_key(judge, plan[number][1].exchanged()) for number in waiting]  # puts some of the same calls
        for some, failed in ((keys, True), (turned, False)):
            recall(store.get(judge.fingerprint, judge.decoding, some, failed=failed).values())
    if bar is None:
        shown = progress_bar(len(waiting), judge.name, "verdict", shown=progress and len(waiting) > judge.batch_size)
    else:
        if (known_ones := len(keys) - len(waiting)) and not bar.disable:
            bar.initial += known_ones  # work that was done before is not taken for speed
            bar.update(known_ones)
        shown = nullcontext(bar)
    with shown as bar, closing(replies_of(judge, [request for _, request in plan], waiting)) as stream:
        for replies in stream:
            fresh = {plan[number][0]: _sound(reply) for number, reply in replies.items()}
            store.put(judge.fingerprint, judge.decoding, fresh)
            known.update(fresh)
            bar.update(len(fresh))
    cells = zip(keys, product(pairs, orders), strict=True)
    return [verdict_of(pair, order, judge.name, known[key]) for key, (pair, order) in cells]


def replies_of(judge: Judge, requests: list[Request], wanted: Iterable[int]) -> Generator[Numbered, None, None]:
    """Replies to the requests of some numbers, as they come: from the judge's own stream, or batch by batch.

    JudgeFailure if the judge replies twice to a request, to one that is not wanted, or not at all.
    """
    missing = set(wanted)
    stream = getattr(judge, "judge_stream", None)
    with closing((stream or partial(_batches, judge))(requests, sorted(missing))) as answers:
        for replies in answers:
            if not replies.keys() <= missing:
                raise JudgeFailure(f"{judge.name} replied twice to a request, or to one that was not put")
            missing -= replies.keys()
            yield replies
    if missing:
        raise JudgeFailure(f"{judge.name} left {len(missing)} of {len(requests)} requests without a reply")


def _batches(judge: Judge, requests: list[Request], wanted: list[int]) -> Generator[Numbered, None, None]:
    for _, batch in groupby(wanted, lambda number: number // judge.batch_size):
        numbers = list(batch)
        yield dict(zip(numbers, _judge_batch(judge, [requests[number] for number in numbers]), strict=True))


def _judge_batch(judge: Judge, requests: list[Request]) -> list[Reply]:
    """One call of a judge; when the call as a whole fails, each request alone, so that one bad item costs one item."""
    try:
        replies = judge.judge(requests)
        if not isinstance(replies, Sequence) or isinstance(replies, str):
            raise TypeError(f"expected a list of replies; {replies!r:.80} came")
    except Exception as failure:
        if len(requests) == 1:
            return [Reply(None, status="error", raw=f"{type(failure).__name__}: {failure}")]
        replies = None
    if replies is None:  # after the handler: while it runs, the failure holds on to the memory of the batch
        return [reply for request in requests for reply in _judge_batch(judge, [request])]
    if len(replies) != len(requests):
        raise JudgeFailure(f"{judge.name} gave {len(replies)} replies to {len(requests)} requests")
    return replies


def _is_distribution(p: Sequence[Any]) -> bool:
    """Whether numbers are probabilities, but for rounding; none of these holds of NaN."""
    return all(isinstance(each, int | float) and -1e-6 <= each <= 1.01 for each in p) and abs(sum(p) - 1) <= 0.01


def _sound(reply: Any) -> Reply:
    """What a judge replied to a request; where that is no reply, an error that says what was expected and what came."""
    p: list[Any] = [getattr(reply, name, None) for name in ("p_first", "p_second", "p_tie")]
    numbers = [getattr(reply, name, None) for name in ("score_first", "score_second", "tokens_in", "tokens_out")]
    if not isinstance(reply, Reply):
        wrong = f"expected a judgekit.records.Reply; {reply!r:.80} came"
    elif reply.status not in STATUSES or (reply.verdict is None) == (reply.status == "ok"):
        wrong = f"expected a verdict with status 'ok', or None with {', '.join(STATUSES[1:])}; "
        wrong += f"{reply.verdict!r} came with {reply.status!r:.40}"
    elif p != [None] * 3 and not _is_distribution(p := [*p[:2], p[2] or 0.0]):
        wrong = f"expected p_first, p_second and p_tie to be probabilities with a sum of 1, or None; {p!r:.80} came"
    elif not isinstance(reply.raw, str | None):
        wrong = f"expected raw to be text or None; {reply.raw!r:.80} came"
    elif not all(each is None or (isinstance(each, int | float) and isfinite(each)) for each in numbers):
        wrong = f"expected scores and counts of tokens to be finite int or float, or None; {numbers!r:.80} came"
    elif p == [None] * 3:
        return reply
    else:  # within rounding, which no file of verdicts may show
        p = [max(0.0, each) for each in p]
        first, second, tie = (each / (sum(p) if abs(sum(p) - 1) > 1e-6 else 1) for each in p)
        return replace(reply, p_first=first, p_second=second, p_tie=tie)
    return Reply(None, status="error", raw=wrong)
