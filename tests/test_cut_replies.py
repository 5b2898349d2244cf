"""A reply that was cut off, or withheld by a filter, is no verdict, unless the verdict stood complete before the cut.

At the first edition a server's ``finish_reason`` and the missing end of a local reply were not looked at: a reply cut
off while it quoted ``[[B]]`` was the verdict B.
"""

from types import SimpleNamespace

import pytest
from chat_server import good_reply
from tiny_causal import save_tiny, teach

from judgekit.judges import Request, load_judge
from judgekit.judges.generative import stands_complete
from judgekit.prompts import load_strategy
from judgekit.records import fingerprint_of

QUOTING = "Some would say [[B]], since the second response is longer, but"
REQUEST = Request("Which?", "this is right", "this is wrong")


def ended_by(reason, text):
    """Every reply is this text, or none, with this ``finish_reason``."""

    def respond(body, _):
        reply = good_reply(body, text or "")
        reply["choices"][0] |= {"finish_reason": reason, "message": {"role": "assistant", "content": text}}
        return reply

    return respond


@pytest.fixture
def judged(serve, judge_file):
    """Judge one pair, A before B, from the command line with a server's replies: the row, the reply, and the server."""

    def run(respond, judge="openai/tiny"):
        server = serve(respond=respond)
        code, (row,), _ = judge_file(judge, "--order", "ab")
        assert code == 0
        return row, load_judge(judge).judge([REQUEST])[0], server

    return run


@pytest.mark.parametrize("reason", ["length", "content_filter", "max_tokens", "tool_calls", 7])
def test_a_reply_cut_off_while_quoting_is_no_verdict(judged, reason):
    row, reply, _ = judged(ended_by(reason, QUOTING))
    assert (row["verdict"], row["status"]) == (None, "unparsed")
    assert (reply.status, reply.raw) == ("unparsed", f"{QUOTING}\n[cut off: finish_reason={reason}]")


@pytest.mark.parametrize("reason", ["stop", "STOP", "end_turn", "", None])
def test_a_reply_that_the_model_ended_is_read(judged, reason):
    row, reply, _ = judged(ended_by(reason, "My verdict: [[B]]"))
    assert (row["verdict"], reply.status) == ("B", "ok")


@pytest.mark.parametrize(
    ("reason", "left", "raw"),
    [
        ("content_filter", "", "\n[cut off: finish_reason=content_filter]"),
        ("content_filter", None, "\n[cut off: finish_reason=content_filter]"),
        ("stop", None, ""),
    ],
)
def test_a_reply_without_a_text_is_no_verdict(judged, reason, left, raw):
    row, reply, server = judged(ended_by(reason, left))
    assert row["status"] == "unparsed" and reply.raw == raw
    assert reply.calls == 1 and sum(server.asked.values()) == 2, "asked, and paid, once by each of the two judges"


def test_an_object_closed_before_the_cut_is_a_verdict(judged):
    closed = '{"marks_a": {"x": 5}, "marks_b": {"x": 1}, "verdict": "A"}'
    row, _, _ = judged(ended_by("length", closed), "openai/tiny#rubric")
    assert (row["verdict"], row["status"]) == ("A", "ok")


LLMBAR = "Output (b) is better."
JSON = '{"score_a": 10, "score_b": 90, "verdict": "B"}'


@pytest.mark.parametrize(
    ("strategy", "text", "complete"),
    [
        ("rubric", JSON, True),
        ("rubric", f"```json\n{JSON}\n```\n", True),
        ("rubric", f"Marks follow. {JSON}", True),
        ("rubric", f"{JSON} No, I take that back: {{", False),
        ("rubric", f"{JSON} On second thoughts", False),
        ("rubric", f'{{"draft": {JSON}', False),
        ("rubric", JSON[:-1], False),
        ("rubric", f"<think>{JSON}", False),
        ("verdict_first", f"{LLMBAR}\nIt is the one th", True),
        ("verdict_first", f"\n\n{LLMBAR}\n", True),
        ("verdict_first", LLMBAR, False),
        ("verdict_first", f"<think>\n{LLMBAR}\n", False),
        ("verdict_last", f"It is shorter.\n{LLMBAR}", False),
        ("pairwise", "[[A]]", False),
    ],
)
def test_the_closed_forms(strategy, text, complete):
    assert stands_complete(load_strategy(strategy), text) is complete


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """A tiny model that has learnt to go on beyond the verdict that it quotes."""
    folder = save_tiny(tmp_path_factory.mktemp("cut") / "taught", sharp=1.0)
    judge = load_judge(f"hf/{folder}")
    prompt = judge.tokens.ids(judge.strategy.render("verdict", REQUEST).messages)
    return teach(folder, [prompt], ["[[B]] and"], steps=60)


def test_a_local_reply_without_an_end_is_no_verdict(taught):
    judge = load_judge(f"hf/{taught}")
    whole = judge.judge([REQUEST])[0]
    assert (whole.verdict, whole.status, whole.raw) == ("second", "ok", "[[B]] and"), "the model must end its reply"
    (reply,) = load_judge(f"hf/{taught}", settings={"max_new_tokens": whole.tokens_out}).judge([REQUEST])
    assert (reply.verdict, reply.status) == (None, "unparsed")
    assert reply.raw == "[[B]] and\n[cut off: finish_reason=length]" and reply.tokens_out == whole.tokens_out


def test_vllm_says_why_a_reply_ended(taught):
    judge = load_judge(f"vllm/{taught}")
    ids = judge.tokens.plain_ids("[[B]] and")
    question = judge.question(judge.strategy.render("verdict", REQUEST).messages, "verdict")
    for reason, cut in (("length", "length"), ("stop", None)):
        output = SimpleNamespace(outputs=[SimpleNamespace(token_ids=ids, finish_reason=reason)])
        done = judge.finished([question], {(0, None): output}, 1.0)
        assert (done[0].text, done[0].cut) == ("[[B]] and", cut)


def test_replies_read_before_cuts_were_seen_are_not_reused_where_text_is_written(taught):
    """The fingerprints of the first edition, for judging that writes; weighing is as it was, and keeps its own."""
    for mode, same in (("generate", False), ("one_pass", True)):
        judge = load_judge(f"hf/{taught}", settings={"mode": mode})
        before = fingerprint_of("hf", 1, judge.files.digest, judge.strategy.version)
        assert (judge.fingerprint == before) is same
