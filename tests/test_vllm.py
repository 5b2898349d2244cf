"""vllm/ judges beside hf/ judges on the same model; without vLLM, how its absence is told."""

import json
from importlib.util import find_spec

import pytest
from tiny_causal import save_tiny

from judgekit.judges import load_judge, request_of
from judgekit.judges.vllm import lora_rank
from judgekit.models import Unavailable
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


def numbers(reply):
    return [reply.p_first, reply.p_second, reply.p_tie, reply.score_first, reply.score_second]


@pytest.mark.vllm
@pytest.mark.parametrize("strategy", ["pairwise", "single", "vanilla-strict", "rubric"])
def test_both_engines_weigh_alike(folder, engine, strategy):
    judge = load_judge(f"vllm/{folder}#{strategy}", settings=SMALL | {"mode": "one_pass"})
    judge.engine = engine
    replies = judge.judge(REQUESTS)
    wanted = load_judge(f"hf/{folder}#{strategy}", settings={"mode": "one_pass"}).judge(REQUESTS)
    for reply, other in zip(replies, wanted, strict=True):
        assert numbers(reply) == [None if n is None else pytest.approx(n, abs=NEAR) for n in numbers(other)]
        assert (reply.verdict, reply.raw, reply.status) == (other.verdict, other.raw, "ok")
        assert (reply.tokens_in, reply.tokens_out) == (other.tokens_in, 0)
    assert len({round(reply.p_first, 4) for reply in replies}) > 2, "the items must differ for this to say anything"


@pytest.mark.vllm
@pytest.mark.parametrize("strategy", ["pairwise", "metrics"])
def test_both_engines_write_alike(folder, engine, strategy):
    judge = load_judge(f"vllm/{folder}#{strategy}", settings=SMALL | {"max_new_tokens": 12})
    judge.engine = engine
    replies = judge.judge(REQUESTS)
    wanted = load_judge(f"hf/{folder}#{strategy}", settings={"max_new_tokens": 12}).judge(REQUESTS)
    assert [(r.raw, r.tokens_in, r.tokens_out, r.calls) for r in replies] == [
        (r.raw, r.tokens_in, r.tokens_out, r.calls) for r in wanted
    ]


@pytest.mark.vllm
def test_an_adapter_is_used(folder, tmp_path):
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(1)
    config = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM", init_lora_weights=False)
    get_peft_model(AutoModelForCausalLM.from_pretrained(folder), config).save_pretrained(tmp_path)
    replies = load_judge(f"vllm/{tmp_path}", settings=SMALL | {"mode": "one_pass"}).judge(REQUESTS)
    wanted = load_judge(f"hf/{tmp_path}", settings={"mode": "one_pass"}).judge(REQUESTS)
    base = load_judge(f"hf/{folder}", settings={"mode": "one_pass"}).judge(REQUESTS)
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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gpu_memory_utilization": "1.5"}, "gpu_memory_utilization='1.5'"),
        ({"tensor_parallel_size": "0"}, "tensor_parallel_size='0'"),
        ({"max_model_len": "100"}, "leaves no room"),
        ({"batch_tokens": "9"}, "no setting is called 'batch_tokens'"),
    ],
)
def test_wrong_settings_are_told(folder, settings, message):
    with pytest.raises(Unavailable, match=message):
        load_judge(f"vllm/{folder}", settings=settings)


def test_memory_set_aside_limits_prompts(folder):
    judge = load_judge(f"vllm/{folder}", settings={"max_model_len": 300, "max_new_tokens": 100})
    assert judge.limit == 200


@pytest.mark.parametrize(("rank", "aside"), [(4, 8), (16, 16), (20, 32)])
def test_ranks_that_vllm_offers(tmp_path, rank, aside):
    (tmp_path / "adapter_config.json").write_text(json.dumps({"r": rank}))
    assert lora_rank(tmp_path) == aside
