"""openai/ judges: what they ask, what they read, when they stop, and what they never show."""

import asyncio
import json
import logging
import math
import pickle
import time
from collections import Counter

import pytest
from chat_server import KEY, good_reply

from judgekit.judges import Judge, Request, load_judge, request_of
from judgekit.judges.generative import Completion, token_probabilities
from judgekit.judges.openai import Settings
from judgekit.judges.server import Budget, RateLimit, retry_after
from judgekit.prompts import load_strategy, strategy_names
from judgekit.records import PreferencePair
from judgekit.scoring import run_judge, waiting_requests
from judgekit.scoring.store import VerdictStore

QUICK = {"timeout": 5.0, "backoff": 0.005, "attempts": 3}
REQUEST = Request("Which?", "this is right", "this is wrong")
TURNED = Request("Which?", "this is wrong", "this is right")


def judge_of(name="openai/tiny", **settings):
    return load_judge(name, settings=QUICK | settings)


def pairs(n):
    return [
        PreferencePair(str(i), "authored", f"Question {i}?", f"right {i}", f"wrong {i}", label="A", reference="It is.")
        for i in range(n)
    ]


def in_both_orders(n):
    return [request_of(pair, order) for pair in pairs(n) for order in ("ab", "ba")]


def run(judge, items, store=None):
    """Verdicts on items in one order, kept in a store or in none."""
    return run_judge(judge, items, store or VerdictStore(":memory:"), orders=("ab",))


@pytest.mark.parametrize("policy", ["permissive", "strict"])
@pytest.mark.parametrize("strategy", [name for name in strategy_names() if name != "demonstrations"])
def test_every_strategy_judges_and_calls_that_serve_both_orders_are_made_once(serve, strategy, policy):
    server, judge = serve(), judge_of(strategy=strategy, policy=policy)
    replies, foreseen = judge.judge(in_both_orders(3)), judge.forecast(in_both_orders(3))
    assert isinstance(judge, Judge)
    assert [reply.verdict for reply in replies] == ["first", "second"] * 3
    assert {reply.prompt_version for reply in replies} == {judge.strategy.version}
    assert all(reply.raw and reply.tokens_in and reply.tokens_out for reply in replies)
    calls = 9 if strategy in ("metrics", "self_reference") else 6
    assert sum(server.asked.values()) == calls == sum(reply.calls for reply in replies)
    assert foreseen.calls == calls <= foreseen.most_calls
    assert foreseen.tokens_in >= sum(reply.tokens_in for reply in replies)


def test_disagreeing_orders_are_synthesised(serve):
    def respond(body, _):
        if "Two earlier opinions" in body["messages"][0]["content"]:
            return good_reply(body, "The first opinion holds.\nOutput (b) is better.")
        return good_reply(body, "I like (a).\nOutput (a) is better.")

    server = serve(respond=respond)
    (reply,) = judge_of(strategy="swap_synthesis").judge([REQUEST])
    assert (reply.verdict, reply.calls) == ("second", 3)
    shown = server.bodies[-1]["messages"][-1]["content"]
    assert "I like (a).\nOutput (a) is better." in shown and "I like (b).\nOutput (b) is better." in shown
    assert json.loads(reply.earlier)["exchanged"] == "I like (b).\nOutput (b) is better."


def test_marks_of_single_answers_are_kept_and_compared(serve):
    serve()
    (reply,) = judge_of(strategy="single").judge([REQUEST])
    assert (reply.verdict, reply.score_first, reply.score_second, reply.calls) == ("first", 9.0, 3.0, 2)
    assert json.loads(reply.raw) == {"first": "Rating: [[9]]", "second": "Rating: [[3]]"}
    equal = Request("Which?", "right", "right!")
    assert judge_of(strategy="single").judge([equal])[0].verdict == "tie"
    assert judge_of(strategy="single", policy="strict").judge([equal])[0].status == "ambiguous"


def test_a_cut_input_is_recorded(serve):
    serve()
    pair = PreferencePair("1", "authored", "Q?", "right " * 3000, "wrong", label="A")
    (cut,), (whole,), (lost,) = (run(judge_of(max_characters=most), [pair]) for most in (6000, 48_000, 500))
    assert cut.truncated > 10_000 and cut.status == "ok" and whole.truncated is None
    assert lost.status == "error" and lost.raw.startswith("PromptTooLong")


def test_what_a_judge_depends_on_is_in_its_fingerprint_or_decoding(serve):
    serve()
    plain = judge_of()
    changes = {"policy": "strict", "max_characters": 1000, "temperature": 0.5, "max_tokens": 5, "logprobs": True}
    changed = [judge_of(**{name: value}) for name, value in changes.items()]
    judges = [plain, judge_of("openai/other"), judge_of("openai/tiny#cot"), *changed]
    assert len({(judge.fingerprint, judge.decoding) for judge in judges}) == len(judges)
    paced = judge_of(timeout=1.0, attempts=9, concurrency=1, requests_per_minute=10.0, max_total_tokens=5)
    assert (paced.fingerprint, paced.decoding) == (plain.fingerprint, plain.decoding)
    serve()
    assert judge_of().fingerprint != plain.fingerprint, "another server may mean another model"


EVEN, CHOSEN = {" [[B": 0.5, " [[C": 0.5}, "Output (b) is better."


def entries_of(tokens):
    """Tokens and the probabilities of what could have stood there, as a server gives them."""
    return [
        {"token": token, "top_logprobs": [{"token": t, "logprob": math.log(p)} for t, p in others.items()]}
        for token, others in tokens
    ]


@pytest.mark.parametrize(
    ("strategy", "text", "tokens", "labels", "expected"),
    [
        ("pairwise", "Hm [[A]]", [("Hm [[", {}), ("A", {"A": 0.6, "B": 0.2}), ("]]", {})], "fst", (0.75, 0.25, 0)),
        ("pairwise", "[[A]] [[B]]", [("[[A]]", {"[[A]]": 1.0}), (" [[B", EVEN), ("]]", {})], "fst", (0, 0.5, 0.5)),
        ("vanilla", CHOSEN, [("Output (", {}), ("b", {"a": 0.1, "b": 0.9}), (") is better.", {})], "fs", (0.1, 0.9)),
        ("vanilla", CHOSEN, [("Output (", {}), ("b", {"a": 0.1, "b": 0.9})], "fst", None),
        ("letter", "A", [("A", {"Well": 0.9})], "fst", None),
        ("letter", "A", [("B", {"A": 0.9})], "fst", None),
        ("letter", "Well", [("Well", {"A": 0.9})], "fst", None),
        ("letter", "A", [], "fst", None),
        ("single", "Rating: [[5]]", [("Rating: [[5]]", {"5": 1.0})], "fst", None),
    ],
)
def test_token_probabilities(strategy, text, tokens, labels, expected):
    strategy = load_strategy(strategy, "permissive" if "t" in labels else "strict")
    labels = [{"f": "first", "s": "second", "t": "tie"}[letter] for letter in labels]
    verdict = labels[expected.index(max(expected))] if expected else "first"
    found = token_probabilities(strategy, Completion(text, 1, 1, entries_of(tokens)), verdict)
    assert found == (None if expected is None else pytest.approx(dict(zip(labels, expected, strict=True))))


@pytest.mark.parametrize(
    ("strategy", "written", "p_first"),
    [
        ("pairwise", "One quotes [[|B|]].\n[[|A|]]", 0.9),
        ("pairwise", '[[|A|]]\nThe second one ends with "my verdict is [[|B|]]", which I ignore.', None),
        ("pairwise", "My verdict is [[|A|]]. I did not say [[|B|]].", None),
        ("verdict_first-strict", "Output (|a|) is better.\nIn layout alone, Output (|b|) is better.", 0.9),
        ("verdict_first-strict", "\nOutput (|a|) is better.\n\nIt is right.", 0.9),
    ],
)
def test_probabilities_are_those_of_the_mark_that_decides(serve, strategy, written, p_first):
    """Between two bars a token of its own, which is nine times as probable as the other letter."""
    other = {"A": "B", "B": "A", "a": "b", "b": "a"}
    tokens = [(token, {token: 0.9, other[token]: 0.1} if token in other else {}) for token in written.split("|")]
    content = {"content": entries_of(tokens)}
    serve(respond=lambda body, _: good_reply(body, written.replace("|", ""), content))
    (reply,) = judge_of(f"openai/tiny#{strategy}", logprobs=True).judge([REQUEST])
    assert (reply.verdict, reply.status) == ("first", "ok")
    assert reply.p_first == (None if p_first is None else pytest.approx(p_first))


def test_a_server_without_log_probabilities_is_asked_without(serve):
    def respond(body, _):
        if "logprobs" in body or "top_logprobs" in body:
            name = "top_logprobs" if "top_logprobs" in body else "logprobs"
            return 400, {"error": {"message": f"{name} is not supported by this model"}}
        return good_reply(body)

    server = serve(respond=respond)
    judge = judge_of(strategy="letter", logprobs=True, attempts=4)
    with pytest.warns(UserWarning, match="does not take"):
        replies = judge.judge([REQUEST, TURNED])
    assert [(reply.verdict, reply.p_first) for reply in replies] == [("first", None), ("second", None)]
    body = server.bodies[-1]
    assert "logprobs" not in body and body["model"] == "tiny"
    assert (body["temperature"], body["max_tokens"]) == (0.0, 32), "by default, for a verdict alone"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Fri, 31 May 2024 00:00:00 GMT"}, 0),
        ({"retry-after": "tomorrow"}, 0),
        ({}, 0),
    ],
)
def test_waits_are_read(headers, seconds):
    assert retry_after(headers) == seconds


def test_a_server_is_given_the_wait_that_it_asks_for(serve):
    times = []

    def respond(body, _):
        times.append(time.monotonic())
        return (429, {"error": {"message": "slow"}}, {"Retry-After": "0.5"}) if len(times) == 1 else good_reply(body)

    serve(respond=respond)
    assert {reply.status for reply in judge_of(concurrency=1).judge([REQUEST, TURNED])} == {"ok"}
    assert times[1] - times[0] >= 0.5 and len(times) == 3


def test_a_wait_of_hours_ends_the_run(serve):
    server = serve(respond=lambda body, _: (503, {"error": {"message": "later"}}, {"Retry-After": "7200"}))
    replies = judge_of(concurrency=1).judge([REQUEST, TURNED])
    assert {reply.status for reply in replies} == {"error"} and len(server.bodies) == 1
    assert "asks to wait 7,200 s" in replies[0].raw


REPLIES = {
    "list": "[" * 100_000,
    "object": '{"a":' * 100_000,
    "number": "9" * 10_000,
    "error": '{"error": {"message": "overloaded"}} came',
    "no choice": '{"id": "chatcmpl-1", "choices": []} came',
    "no text": '{"id": "chatcmpl-1", "choices": [{"message": {"content": [1]}}]} came',
    "nothing": " came",
}


@pytest.mark.parametrize("text", REPLIES.values(), ids=REPLIES)
def test_json_bombs_are_an_error(serve, judge_file, text):
    """So is whatever else is no completion; it is shown, from its choices on."""
    serve(respond=lambda body, _: (200, text.removesuffix(" came")))
    code, (row,), said = judge_file("openai/m", "--set", "attempts=1")
    assert (code, row["status"]) == (3, "error")
    shown = text.removeprefix('{"id": "chatcmpl-1", ')[:60] if text != " came" else "nothing came"
    assert f"expected JSON with a text in choices[0].message.content; {shown}" in said


def test_a_server_that_is_gone_is_given_up(serve, monkeypatch):
    server = serve()
    judge = judge_of(attempts=2, give_up_after=5)
    monkeypatch.setattr(judge, "base_url", "http://127.0.0.1:1/v1")
    started = time.monotonic()
    replies = judge.judge([REQUEST] * 200)
    assert {reply.status for reply in replies} == {"error"} and time.monotonic() - started < 20
    assert any("requests in a row have failed" in reply.raw for reply in replies)
    assert not server.asked


def test_replies_are_stored_one_by_one(serve):
    server = serve(lambda text, attempt: "hang" if "Question 3?" in text else None, hang=30)
    judge, store = judge_of(timeout=30.0), VerdictStore(":memory:")
    put = store.put

    def watch(*args, **more):
        put(*args, **more)
        if store.count() == 5:
            raise KeyboardInterrupt

    store.put = watch
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(judge, pairs(6), store)
    assert time.monotonic() - started < 10, "what hangs is cancelled"
    store.put, server.plan = put, lambda text, attempt: None
    assert {v.status for v in run(judge, pairs(6), store)} == {"ok"}
    assert Counter(server.asked.values()) == {1: 5, 2: 1}


@pytest.mark.parametrize("strategy", ["metrics", "self_reference", "single"])
def test_calls_before_one_that_failed_are_not_paid_twice(serve, strategy):
    def plan(text, attempt):
        return "500" if down and "wrong 0" in text else None

    server, store, down = serve(plan), VerdictStore(":memory:"), True
    (verdict,) = run(judge_of(strategy=strategy, attempts=1), pairs(1), store)
    assert verdict.status == "error" and "500" in verdict.raw
    paid = +server.answered
    assert list(paid.values()) == [1]
    down = False
    (verdict,) = run(judge_of(strategy=strategy), pairs(1), store)
    assert verdict.verdict == "A"
    assert {text: server.answered[text] for text in paid} == paid, "asked again"
    assert len(server.answered) == len(paid) + verdict.calls


def test_what_is_sent_in_place_of_a_parameter_is_told_once_and_kept_for_all_chunks(serve):
    def respond(body, _):
        refused = {"error": {"message": "Unsupported parameter: max_tokens"}}
        return (400, refused) if "max_tokens" in body else good_reply(body)

    server, judge = serve(respond=respond), judge_of()
    with pytest.warns(UserWarning, match="does not take max_tokens; asked with max_completion_tokens instead") as told:
        assert [judge.judge([one])[0].status for one in (REQUEST, TURNED)] == ["ok"] * 2
    assert len(told) == 1 and ["max_tokens" in body for body in server.bodies] == [True, False, False]


@pytest.mark.parametrize("strategy", ["metrics", "self_reference", "single", "swap_synthesis"])
def test_calls_that_both_orders_put_are_paid_once_by_two_runs(serve, strategy):
    """At 83ba5504 a run in both orders after one in a single order paid for them again."""
    server, store = serve(), VerdictStore(":memory:")
    once = run_judge(judge_of(strategy=strategy), pairs(3), VerdictStore(":memory:"))
    expected = server.asked.copy()
    server.asked.clear()
    run(judge_of(strategy=strategy), pairs(3), store)
    both = run_judge(judge_of(strategy=strategy), pairs(3), store)
    assert server.asked == expected and [one.verdict for one in both] == [one.verdict for one in once]
    assert sum(one.calls for one in both) == sum(expected.values())


def test_a_slow_consumer_never_leaves_more_undone_than_run_at_once(serve):
    """What is answered while the consumer syncs to disk would be lost on Ctrl-C: nothing more is asked meanwhile."""
    server = serve()
    stream = judge_of(concurrency=4).judge_stream([request_of(pair, "ab") for pair in pairs(20)])
    for dealt_with, _ in enumerate(stream):
        time.sleep(0.02)  # many times as long as an answer takes
        assert sum(server.asked.values()) - dealt_with <= 4
    assert dealt_with == 19


def test_no_window_holds_more_than_the_rate():
    async def play():
        limit, times = RateLimit(5, window=0.2), []

        async def one():
            await limit.take()
            times.append(time.monotonic())

        await asyncio.gather(*(one() for _ in range(17)))
        return sorted(times)

    times = asyncio.run(play())
    assert all(later - earlier >= 0.2 for earlier, later in zip(times, times[5:], strict=False))
    assert times[-1] - times[0] < 20


def test_what_holds_of_a_judge_holds_of_all_its_chunks(serve):
    """A file is judged in chunks: none asks again what several pairs share, and all have one rate."""
    server, judge = serve(), judge_of(strategy="single", requests_per_minute=3.0)
    assert [judge.judge([REQUEST])[0].calls for _ in range(2)] == [2, 0] and sum(server.asked.values()) == 2
    judge.judge([Request("Which?", "another right", REQUEST.second)])
    assert sum(server.asked.values()) == 3 == len(judge.budget.sent)
    server, judge = serve(lambda text, attempt: "500"), judge_of(attempts=1, give_up_after=2)
    assert [judge.judge([REQUEST])[0].status for _ in range(4)] == ["error"] * 4
    assert sum(server.asked.values()) == 2, "a server that is given up is not asked again"


def test_what_no_server_heard_costs_nothing(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    judge = judge_of(max_total_tokens=20_000)
    assert "connection failed" in judge.judge([REQUEST])[0].raw
    assert (judge.budget.tokens_in, judge.budget.tokens_out) == (0, 0)


def test_a_draft_that_makes_the_next_prompt_too_long_is_paid_for_once(serve):
    server = serve(respond=lambda body, _: good_reply(body, "word " * 900))
    store = VerdictStore(":memory:")
    for _ in range(3):
        (verdict,) = run(judge_of(strategy="self_reference", max_characters=3000), pairs(1), store)
        assert verdict.status == "error" and "PromptTooLong" in verdict.raw
    assert sum(server.asked.values()) == 1


def test_a_budget_is_never_exceeded(serve):
    server = serve()
    judge = judge_of(max_total_tokens=20_000, max_tokens=1000)
    verdicts = run(judge, pairs(200))
    counted = Counter(v.status for v in verdicts)
    assert counted["ok"] > 5 and counted["error"] > 5
    used = judge.budget.tokens_in + judge.budget.tokens_out
    worst = judge.forecast([request_of(pairs(1)[0], "ab")])
    assert 20_000 - worst.tokens_in - worst.most_tokens_out < used <= 20_000, "spent to the last request, no further"
    assert judge.budget.in_flight == 0
    assert all("budget" in v.raw for v in verdicts if v.status == "error")
    assert sum(server.asked.values()) == counted["ok"]


def test_costs_are_counted_in_the_declared_prices(serve):
    server = serve()
    judge = judge_of(max_cost=1.0, price_in=2.0, price_out=10.0)
    judge.judge([REQUEST, TURNED])
    used = [good_reply(body)["usage"] for body in server.bodies]
    cost = sum(u["prompt_tokens"] * 2 + u["completion_tokens"] * 10 for u in used) / 1e6
    assert judge.budget.cost(judge.budget.tokens_in, judge.budget.tokens_out) == pytest.approx(cost)
    assert "budget of 0.001" in Budget(Settings(max_cost=0.001, price_in=2.0, price_out=10.0)).reserve(1, 100)


def test_a_forecast_sends_nothing_and_counts_what_is_missing(serve):
    server = serve()
    judge, store = judge_of(price_in=1.0, price_out=2.0, max_tokens=100), VerdictStore(":memory:")
    run(judge, pairs(4), store)
    sent = sum(server.asked.values())
    foreseen = judge.forecast(waiting_requests(judge, pairs(10), store, orders=("ab",)))
    assert sum(server.asked.values()) == sent
    assert (foreseen.requests, foreseen.calls, foreseen.most_tokens_out, foreseen.impossible) == (6, 6, 600, 0)
    assert foreseen.most_cost == pytest.approx((foreseen.tokens_in + 2 * 600) / 1e6)
    assert "6 verdicts: 6 calls" in str(foreseen)
    bare = judge_of(strategy="reference").forecast([REQUEST])
    assert (bare.impossible, bare.calls, bare.most_cost) == (1, 0, None)


def test_the_key_shows_itself_to_nobody_but_the_server(serve, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    server = serve(lambda text, attempt: "500", respond=lambda body, text: good_reply(body, f"[[A]] {KEY}"))
    judge = judge_of()
    (failed,) = judge.judge([REQUEST])
    server.plan = lambda text, attempt: None
    (fine,) = judge.judge([REQUEST])
    assert failed.status == "error" and "[key]" in failed.raw and fine.raw == "[[A]] [key]"
    shown = [repr(judge), str(vars(judge)), repr(judge.settings), judge.name, judge.decoding, failed.raw, caplog.text]
    assert KEY not in "".join([*shown, *capfd.readouterr()])
    assert all(headers["Authorization"] == f"Bearer {KEY}" for headers in server.headers)
    with pytest.raises(TypeError, match="not written down"):
        pickle.dumps(judge)
