"""vllm/ judges beside hf/ judges on the same model; without vLLM, how its absence is told."""

import json
from importlib.util import find_spec

import pytest
from tiny_causal import save_adapter, save_tiny

from judgekit.judges import load_judge, request_of
from judgekit.judges.vllm import lora_rank
from judgekit.records import PreferencePair

NEAR = 1e-3
SMALL = {"max_model_len": 2048, "enforce_eager": True, "gpu_memory_utilization": 0.05}
PAIRS = [
    PreferencePair(str(n), "authored", f"Question {n}?", f"right {n} " * n, f"wrong<|im_end|> {n}") for n in range(1, 5)
]
REQUESTS = [request_of(pair, order) for pair in PAIRS for order in ("ab", "ba")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A random Llama; vLLM's attention on a CPU wants heads of 32 or more."""
    return save_tiny(tmp_path_factory.mktemp("vllm") / "tiny", "llama", head_dim=32)


@pytest.fixture(scope="module")
def engine(folder):
    """One engine for all tests: starting it takes longer than everything else."""
    judge = load_judge(f"vllm/{folder}", settings=SMALL)
    judge.load()
    return judge.engine


def weighed_by_hf(name):
    return load_judge(f"hf/{name}", settings={"mode": "one_pass"}).judge(REQUESTS)


def numbers(reply):
    return [reply.p_first, reply.p_second, reply.p_tie, reply.score_first, reply.score_second]


@pytest.mark.vllm
@pytest.mark.parametrize("strategy", ["pairwise", "single", "vanilla-strict", "rubric"])
def test_both_engines_weigh_alike(folder, engine, strategy):
    judge = load_judge(f"vllm/{folder}#{strategy}", settings=SMALL | {"mode": "one_pass"})
    judge.engine = engine
    replies = judge.judge(REQUESTS)
    for reply, other in zip(replies, weighed_by_hf(f"{folder}#{strategy}"), strict=True):
        assert numbers(reply) == [None if n is None else pytest.approx(n, abs=NEAR) for n in numbers(other)]
        assert (reply.verdict, reply.raw, reply.status) == (other.verdict, other.raw, "ok")
        assert (reply.tokens_in, reply.tokens_out) == (other.tokens_in, 0)
    assert len({round(reply.p_first, 4) for reply in replies}) > 2, "the items must differ for this to say anything"


@pytest.mark.vllm
@pytest.mark.parametrize("strategy", ["pairwise", "metrics"])
def test_both_engines_write_alike(folder, engine, strategy):
    judge = load_judge(f"vllm/{folder}#{strategy}", settings=SMALL | {"max_new_tokens": 12})
    judge.engine = engine
    wanted = load_judge(f"hf/{folder}#{strategy}", settings={"max_new_tokens": 12})
    written = [[(r.raw, r.tokens_in, r.tokens_out, r.calls) for r in one.judge(REQUESTS)] for one in (judge, wanted)]
    assert written[0] == written[1]


@pytest.mark.vllm
def test_an_adapter_is_used(folder, tmp_path):
    save_adapter(folder, tmp_path)
    replies = load_judge(f"vllm/{tmp_path}", settings=SMALL | {"mode": "one_pass"}).judge(REQUESTS)
    wanted, base = (weighed_by_hf(place) for place in (tmp_path, folder))
    assert [r.p_first for r in replies] == pytest.approx([r.p_first for r in wanted], abs=NEAR)
    assert [r.p_first for r in base] != pytest.approx([r.p_first for r in wanted], abs=NEAR)


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is here: its absence cannot be tested")
def test_without_vllm_the_command_line_says_what_is_missing(folder, judge_file):
    code, _, said = judge_file(f"vllm/{folder}")
    assert code == 2 and "needs the package vllm, which is not installed" in said and "GiB of weights" in said


def test_both_engines_put_the_same_tokens(folder):
    ours, theirs = (load_judge(f"{p}/{folder}", settings={"mode": "one_pass"}) for p in ("hf", "vllm"))
    messages = ours.strategy.render("verdict", REQUESTS[0]).messages
    assert ours.question(messages, "verdict") == theirs.question(messages, "verdict")
    assert ours.plan == theirs.plan and ours.ends == theirs.ends
    assert ours.fingerprint != theirs.fingerprint and theirs.name == f"vllm/{folder}"


def test_a_length_that_decides_which_responses_are_cut_is_in_the_key(folder):
    by_length = {n: load_judge(f"vllm/{folder}", settings={"max_model_len": n}).decoding for n in (1200, 1400)}
    assert len(set(by_length.values())) == 2
    assert load_judge(f"vllm/{folder}").decoding == load_judge(f"hf/{folder}").decoding, "without it, as it was"


def test_memory_is_set_aside_for_prompts_and_for_ranks_that_vllm_offers(folder, tmp_path):
    assert load_judge(f"vllm/{folder}", settings={"max_model_len": 300, "max_new_tokens": 100}).limit == 200
    for rank, aside in ((4, 8), (16, 16), (20, 32)):
        (tmp_path / "adapter_config.json").write_text(json.dumps({"r": rank}))
        assert lora_rank(tmp_path) == aside
