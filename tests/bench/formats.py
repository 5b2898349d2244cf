"""The shipped encoder judge in bfloat16 and in single precision, in turns in one run: how fast, and how many verdicts
stay as they are in single precision.

How much of the machine is used: multiplications and additions that the texts need, padding left out, per second of
judging, as a share of what this machine reaches on the network's own matrix shapes in the same format.
Writes ``bench.format.*``, ``bench.gemm.*`` and ``bench.cost.*`` to the run's results.
"""

import itertools
import statistics
from functools import partial

import numpy as np
import torch
from encoder_speed import ROUNDS, SETS, judged, parser_of, ratio_of, save_bench, seconds_of

from judgekit.data.catalogue import load_set
from judgekit.data.paths import PRETRAINED
from judgekit.judges import request_of
from judgekit.judges.encoder import CPU_BATCH_TOKENS, EncoderJudge
from judgekit.models.encoder import native_bf16
from judgekit.stats import Number


def judges_of():
    """The shipped judge in each form that this machine computes in."""
    found = {"fp32": EncoderJudge(PRETRAINED / "minilm", bf16=False)}
    if native_bf16():
        found["bf16"] = EncoderJudge(PRETRAINED / "minilm", bf16=True)
    return found


def operations(judge, requests):
    """Multiplications and additions that the texts of some requests need, each text once, padding left out."""
    config = judge.encoder.model.config
    texts = {("question", request.asked) for request in requests}
    texts |= {("response", text) for request in requests for text in (request.first, request.second)}
    lengths = np.array([len(judge._ids(*text)) for text in texts], float)
    width, inner, layers = config.hidden_size, config.intermediate_size, config.num_hidden_layers
    return layers * (2 * lengths.sum() * (4 * width**2 + 2 * width * inner) + 4 * width * (lengths**2).sum())


def gemm_rate(config, dtype, rounds=41):
    """Multiplications and additions per second on the network's matrices: medians of calls, weighed as it uses them."""
    width, inner = config.hidden_size, config.intermediate_size
    work, seconds = 0, 0.0
    with torch.inference_mode():
        for out, of, times in ((width, width, 4), (inner, width, 1), (width, inner, 1)):
            rows, matrix = torch.randn(CPU_BATCH_TOKENS, of, dtype=dtype), torch.randn(out, of, dtype=dtype)
            calls = [seconds_of(lambda r=rows, m=matrix: torch.nn.functional.linear(r, m)) for _ in range(rounds)]
            work += times * 2 * rows.numel() * out
            seconds += times * statistics.median(calls)
    return work / seconds


def main():
    # Pairs per set that are timed, at most; dollars for an hour of one core.
    chosen = parser_of(__doc__, pairs=400, price=0.04).parse_args()
    judges = judges_of()
    requests = {name: [request_of(pair, "ab") for pair in load_set(name)] for name in SETS}
    verdicts = {
        form: list(itertools.chain(*(judged(judge, each) for each in requests.values())))
        for form, judge in judges.items()
    }
    timed = [request for each in requests.values() for request in each[: chosen.pairs]]
    rounds = [[seconds_of(partial(judged, judge, timed)) for judge in judges.values()] for _ in range(ROUNDS)]
    seconds = dict(zip(judges, zip(*rounds, strict=True), strict=True))
    numbers = {}
    for form in judges:
        equal = np.array([a == b for a, b in zip(verdicts[form], verdicts["fp32"], strict=True)])
        numbers[f"bench.format.{form}.ratio"] = ratio_of(seconds[form], seconds["fp32"])
        numbers[f"bench.format.{form}.equal_verdicts"] = Number(float(equal.mean()), n=len(equal), spec=".2%")
    own = "bf16" if "bf16" in judges else "fp32"
    config, dtype = judges["fp32"].encoder.model.config, torch.bfloat16 if own == "bf16" else torch.float32
    rate = gemm_rate(config, dtype)
    used = operations(judges["fp32"], timed) / statistics.median(seconds[own])
    per_pair = statistics.median(seconds[own]) / len(timed)
    hours = per_pair * 1e6 / 3600 * torch.get_num_threads()
    numbers |= {
        "bench.gemm.tflops": Number(rate / 1e12, n=41, spec=".2f"),
        "bench.gemm.share_used": Number(used / rate, n=len(timed), spec=".0%"),
        "bench.cost.core_hours_per_million": Number(hours, n=len(timed), spec=".1f"),
        "bench.cost.dollars_per_core_hour": Number(chosen.price, spec=".2f"),
        "bench.cost.dollars_per_million": Number(hours * chosen.price, n=len(timed), spec=".2f"),
    }
    save_bench(chosen.run, "formats", numbers, SETS)


if __name__ == "__main__":
    main()
