"""How fast ``hf/`` judges, on prompts from the authored sample and a random causal model of about 30M parameters.

Ratios, each the median over rounds in which both sides take turns, so that whatever else the machine does falls on
both: the verdict in one pass against 128 generated tokens a pair, in bfloat16 where the processor computes in it (as
the weights of most causal models are stored) and in float32; and the verdict in one pass against a plain loop over
transformers, one prompt at a time, in float32. What a random model says means nothing, how long it takes does. Writes
``bench.one_pass_vs_generate.*``, ``bench.one_pass_vs_generate_fp32.*`` and ``bench.hf_vs_naive_loop.*`` to the run's
results.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import torch
from encoder_speed import seconds_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # where the tests' tiny models are
from tiny_causal import tiny_model, tiny_tokenizer

from judgekit.data.sample import load_sample
from judgekit.judges import load_judge, request_of
from judgekit.models.encoder import native_bf16
from judgekit.report import save_results
from judgekit.stats import Number

WRITTEN = 128  # tokens a pair
SHAPE = {
    "hidden_size": 512,
    "intermediate_size": 1536,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "tie_word_embeddings": True,
}


def save_model(folder, pairs):
    """A random model with a tokenizer that knows the words of the pairs."""
    texts = [text for pair in pairs for text in (pair.question, pair.response_a, pair.response_b)]
    tokenizer = tiny_tokenizer(texts=texts, vocab_size=8192)
    tiny_model(tokenizer, sharp=1.0, vocab_size=8192, **SHAPE).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def judges_of(folder, dtype):
    """The model as a judge in one pass, and as one that writes `WRITTEN` tokens; loaded."""
    weighing = load_judge(f"hf/{folder}", settings={"mode": "one_pass", "dtype": dtype})
    writing = load_judge(f"hf/{folder}", settings={"max_new_tokens": WRITTEN, "dtype": dtype})
    writing.ends = []  # a random model ends where it happens to; here all write the same length
    weighing.load()
    writing.load()
    return weighing, writing


def naive(judge, requests):
    """Verdicts as a first script computes them: one prompt after the other, whole, through the plain forward pass."""
    tokenizer, model = judge.tokens.tokenizer, judge.engine.model
    forced = tokenizer("[[", add_special_tokens=False)["input_ids"]
    letters = [tokenizer(letter, add_special_tokens=False)["input_ids"][0] for letter in "ABC"]
    said = []
    for request in requests:
        messages = list(judge.strategy.render("verdict", request).messages)
        ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True)["input_ids"] + forced
        with torch.inference_mode():
            said.append(model(input_ids=torch.tensor([ids])).logits[0, -1, letters].softmax(-1).tolist())
    return said


def rounds_of(ours, theirs, count):
    """Seconds of both in turn, after one turn of ours that does not count."""
    ours()
    return [(seconds_of(ours), seconds_of(theirs)) for _ in range(count)]


def ratio_of(rounds):
    """How many times faster ours is: median of the rounds' ratios, with the smallest and the largest."""
    each = [theirs / ours for ours, theirs in rounds]
    return Number(statistics.median(each), min(each), max(each), n=len(rounds), spec=".1f")


def main():
    """Measure and save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--run", default="laptop")
    arguments.add_argument("--pairs", type=int, default=4, help="pairs, each in both orders")
    arguments.add_argument("--rounds", type=int, default=5)
    chosen = arguments.parse_args()
    pairs = load_sample("sample_natural")[: chosen.pairs]
    requests = [request_of(pair, order) for pair in pairs for order in ("ab", "ba")]
    fast = "bfloat16" if native_bf16() else "float32"
    with tempfile.TemporaryDirectory() as folder:
        save_model(folder, pairs)
        exact, exact_writing = judges_of(folder, "float32")
        quick, quick_writing = judges_of(folder, fast)
        size = sum(parameter.numel() for parameter in exact.engine.model.parameters())
        for reply, plain in zip(exact.judge(requests), naive(exact, requests), strict=True):
            given = (reply.p_first, reply.p_second, reply.p_tie)
            assert max(abs(a - b) for a, b in zip(given, plain, strict=True)) < 1e-4, "both must compute the same"
        sides = {
            "one_pass_vs_generate": (quick, lambda: quick_writing.judge(requests)),
            "one_pass_vs_generate_fp32": (exact, lambda: exact_writing.judge(requests)),
            "hf_vs_naive_loop": (exact, lambda: naive(exact, requests)),
        }
        numbers = {}
        for name, (weighing, theirs) in sides.items():
            rounds = rounds_of(lambda judge=weighing: judge.judge(requests), theirs, chosen.rounds)
            numbers[f"bench.{name}.ratio"] = ratio_of(rounds)
            ours = statistics.median(a for a, _ in rounds)
            said, speed = numbers[f"bench.{name}.ratio"].row(), len(requests) / ours
            print(f"{name}: {said['text']} times as fast ({said['interval']}), {speed:.1f} prompts a second")
        numbers["bench.one_pass.bits"] = Number(16 if fast == "bfloat16" else 32)
        numbers["bench.one_pass.parameters"] = Number(size / 1e6, n=len(requests), spec=".0f")
    save_results(chosen.run, "bench", numbers, variant="one_pass")


if __name__ == "__main__":
    main()
