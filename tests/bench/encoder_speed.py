"""How fast the shipped encoder judge is beside a cross-encoder of the same size, on the same pairs, in one run.

The cross-encoder is `sentence_transformers.CrossEncoder` on the same MiniLM weights, reading each response with its
question. The plain loop is what one writes with transformers alone: 32 pairs at a time in the order of the file, every
text of them padded to the longest, in single precision; it ends in the judge's own comparison. The judge computes in
the format it chooses on this processor, and again in single precision. All take turns, so that whatever else the
machine does falls on all; a ratio is that of the medians. Writes ``bench.*`` to the run's results.
"""

import argparse
import statistics
import time

import numpy as np
import torch

from judgekit.data.catalogue import load_set, set_hashes
from judgekit.data.paths import PRETRAINED
from judgekit.judges import load_judge, request_of
from judgekit.judges.encoder import EncoderJudge
from judgekit.models.encoder import base_location
from judgekit.report import save_results
from judgekit.stats import Number

ROUNDS = 5
SETS = ("pandalm", "llmbar_adversarial")  # many pairs of few responses, and pairs of which no text comes twice


def cross_encoder(limit):
    """A cross-encoder of MiniLM's weights with a fresh head: what it says means nothing, how fast it is does."""
    from sentence_transformers import CrossEncoder

    torch.manual_seed(0)
    return CrossEncoder(base_location("minilm"), num_labels=1, max_length=limit)


def parser_of(doc, *names, **numbers):
    """Of a bench's arguments: ``names`` in their places, the run, and numbers with what they are by default."""
    parser = argparse.ArgumentParser(description=doc)
    for name in names:
        parser.add_argument(name)
    for name, value in {"run": "laptop", **numbers}.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    return parser


def seconds_of(work):
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def judged(judge, requests):
    """Verdicts of all requests, from an empty cache."""
    judge.cache.clear()
    batches = [requests[start : start + judge.batch_size] for start in range(0, len(requests), judge.batch_size)]
    return [reply.verdict for batch in batches for reply in judge.judge(batch)]


@torch.inference_mode()
def plain_loop(judge, requests, limit, batch=32):
    """Verdicts by a plain loop over the judge's network in single precision."""
    tokenizer, model = judge.encoder.tokenizer, judge.encoder.model
    verdicts = []
    for start in range(0, len(requests), batch):
        rows = requests[start : start + batch]
        keys = [("question", row.asked) for row in rows]
        keys += [("response", text) for row in rows for text in (row.first, row.second)]
        inputs = tokenizer(
            [text for _, text in keys], padding=True, truncation=True, max_length=limit, return_tensors="pt"
        )
        weights = inputs["attention_mask"].unsqueeze(-1)
        vectors = (model(**inputs).last_hidden_state * weights).sum(1) / weights.sum(1)
        vectors = torch.nn.functional.normalize(vectors, dim=-1).numpy()
        counts = inputs["attention_mask"].sum(1).tolist()
        replies = judge._compared(rows, dict(zip(keys, zip(vectors, counts, strict=True), strict=True)))
        verdicts += [reply.verdict for reply in replies]
    return verdicts


def measure(requests, judges, cross):
    """Seconds of each in turn, ``ROUNDS`` times, after one turn that does not count.

    First the judges, then the plain loop over the last one's network, then the cross-encoder.
    """
    texts = [(request.asked, text) for request in requests for text in (request.first, request.second)]
    turns = [lambda judge=judge: judged(judge, requests) for judge in judges]
    turns.append(lambda: plain_loop(judges[-1], requests, judges[-1].config["max_response_tokens"]))
    turns.append(lambda: cross.predict(texts, batch_size=32, show_progress_bar=False))
    for turn in turns:
        turn()
    return [[seconds_of(turn) for turn in turns] for _ in range(ROUNDS)]


def ratio_of(ours, theirs):
    """How many times faster ours is: ratio of the medians, and the smallest and largest ratio of one round."""
    each = [b / a for a, b in zip(ours, theirs, strict=True)]
    value = statistics.median(theirs) / statistics.median(ours)
    return Number(value, min(each), max(each), n=len(each), spec=".2f")


def save_bench(run, variant, numbers, sets=()):
    """Print what was measured, and save it with the sets it was measured on."""
    for name, number in numbers.items():
        print(f"{name}: {number} {number.interval}")
    save_results(run, "bench", numbers, data=set_hashes(sets), variant=variant)


def main():
    chosen = parser_of(__doc__, pairs=400).parse_args()  # pairs per set at most
    judge, exact = load_judge("encoder/minilm"), EncoderJudge(PRETRAINED / "minilm", bf16=False)
    cross = cross_encoder(judge.config["max_question_tokens"] + judge.config["max_response_tokens"])
    numbers, equal = {}, []
    for name in SETS:
        pairs = load_set(name)
        requests = [request_of(pair, "ab") for pair in pairs]
        equal += [a == b for a, b in zip(judged(judge, requests), judged(exact, requests), strict=True)]
        ours, single, plain, theirs = zip(*measure(requests[: chosen.pairs], [judge, exact], cross), strict=True)
        part = "" if name == SETS[0] else f".{name}"
        numbers[f"bench.encoder_vs_sentence_transformers{part}.ratio"] = ratio_of(ours, theirs)
        numbers[f"bench.encoder_fp32_vs_sentence_transformers{part}.ratio"] = ratio_of(single, theirs)
        numbers[f"bench.encoder_vs_plain_loop{part}.ratio"] = ratio_of(ours, plain)
        count = len(requests[: chosen.pairs])
        speed = Number(count / statistics.median(ours), n=count, spec=".0f")
        numbers[f"bench.encoder_vs_sentence_transformers{part}.pairs_per_second"] = speed
    numbers["bench.encoder_bf16.equal_verdicts"] = Number(float(np.mean(equal)), n=len(equal), spec=".2%")
    save_bench(chosen.run, None, numbers, SETS)


if __name__ == "__main__":
    main()
