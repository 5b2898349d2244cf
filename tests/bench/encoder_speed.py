"""How fast the shipped encoder judge is beside a cross-encoder of the same size, on the same pairs, in one run.

The cross-encoder is `sentence_transformers.CrossEncoder` on the same MiniLM weights, reading each response with its
question. The two take turns, so that whatever else the machine does falls on both; the ratio is that of the medians.
Writes ``bench.*`` to the run's results.
"""

import argparse
import statistics
import time

import numpy as np
import torch

from judgekit.catalogue import load_set, set_hashes
from judgekit.judges import load_judge, request_of
from judgekit.judges.encoder_model import base_location
from judgekit.results import Number, save_results

ROUNDS = 5
SETS = ("pandalm", "llmbar_adversarial")  # many pairs of few responses, and pairs of which no text comes twice


def cross_encoder(limit):
    """A cross-encoder of MiniLM's weights with a fresh head: what it says means nothing, how fast it is does."""
    from sentence_transformers import CrossEncoder

    torch.manual_seed(0)
    return CrossEncoder(base_location("minilm"), num_labels=1, max_length=limit)


def seconds_of(work):
    """Wall-clock seconds of a call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure(pairs, judge, cross):
    """Seconds of both in turn, ``ROUNDS`` times, after one turn that does not count."""
    requests = [request_of(pair, "ab") for pair in pairs]
    texts = [(request.asked, text) for request in requests for text in (request.first, request.second)]

    def ours():
        judge.cache.clear()
        for start in range(0, len(requests), judge.batch_size):
            judge.judge(requests[start : start + judge.batch_size])

    def theirs():
        cross.predict(texts, batch_size=32, show_progress_bar=False)

    ours()
    return [(seconds_of(ours), seconds_of(theirs)) for _ in range(ROUNDS)]


def ratio_of(rounds):
    """How many times faster ours is: ratio of the medians, and the smallest and largest ratio of one round."""
    ours, theirs = zip(*rounds, strict=True)
    each = [b / a for a, b in rounds]
    value = statistics.median(theirs) / statistics.median(ours)
    return Number(value, min(each), max(each), n=len(rounds), spec=".2f")


def main():
    """Measure and save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--run", default="laptop")
    arguments.add_argument("--pairs", type=int, default=400, help="pairs per set at most")
    chosen = arguments.parse_args()
    judge = load_judge("encoder/minilm")
    cross = cross_encoder(judge.config["max_question_tokens"] + judge.config["max_response_tokens"])
    numbers = {}
    for name in SETS:
        pairs = load_set(name)[: chosen.pairs]
        rounds = measure(pairs, judge, cross)
        key = "bench.encoder_vs_sentence_transformers" + ("" if name == SETS[0] else f".{name}")
        numbers[f"{key}.ratio"] = ratio_of(rounds)
        ours = float(np.median([a for a, _ in rounds]))
        numbers[f"{key}.pairs_per_second"] = Number(len(pairs) / ours, n=len(pairs), spec=".0f")
        print(f"{name}: {numbers[f'{key}.ratio']} times as fast, {len(pairs) / ours:.0f} pairs a second")
    save_results(chosen.run, "bench", numbers, data=set_hashes(SETS))


if __name__ == "__main__":
    main()
