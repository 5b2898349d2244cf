"""What a blend costs beside the encoder judge whose gate it has, on the same pairs, in one run.

Both take turns on pairs of LLMBar, of which no text comes twice, other pairs each time, since both remember what they
read; what else the machine does falls on both. The ratio is that of the medians. Megabytes are the process's peak
with the first alone, and with both. Writes ``bench.blend_<name>.*`` to the run's results.
"""

import statistics

from encoder_speed import ROUNDS, parser_of, ratio_of, save_bench, seconds_of

from judgekit.data.catalogue import load_set
from judgekit.judges import load_judge, request_of
from judgekit.judges.names import slug
from judgekit.stats import Number
from judgekit.studies.score_benchmarks import peak_mb

SET = "llmbar_adversarial"


def judged(judge, requests):
    for start in range(0, len(requests), judge.batch_size):
        judge.judge(requests[start : start + judge.batch_size])


def main():
    parser = parser_of(__doc__, pairs=50)  # a round
    parser.add_argument("name", nargs="?", default="smollm2-135m", help="of the blend")
    chosen = parser.parse_args()
    requests = [request_of(pair, "ab") for pair in load_set(SET)]
    first, *parts = [requests[i * chosen.pairs : (i + 1) * chosen.pairs] for i in range(ROUNDS + 1)]
    assert len({len(part) for part in (first, *parts)}) == 1, f"{SET} has {len(requests)} pairs"
    encoder = load_judge("encoder/minilm")
    judged(encoder, first)
    alone = peak_mb()
    blend = load_judge(f"blend/{chosen.name}")
    judged(blend, first)
    judges = (encoder, blend)
    rounds = [[seconds_of(lambda one=one, part=part: judged(one, part)) for one in judges] for part in parts]
    theirs, ours = zip(*rounds, strict=True)
    family, count, timed = f"bench.blend_{slug(chosen.name)}", chosen.pairs, chosen.pairs * ROUNDS
    numbers = {
        f"{family}.vs_encoder": ratio_of(theirs, ours),  # how many times as long the blend takes
        f"{family}.milliseconds": Number(1000 * statistics.median(ours) / count, n=timed, spec=".0f"),
        f"{family}.encoder_milliseconds": Number(1000 * statistics.median(theirs) / count, n=timed, spec=".0f"),
        f"{family}.peak_mb": Number(peak_mb(), spec=",.0f"),
        f"{family}.encoder_peak_mb": Number(alone, spec=",.0f"),
    }
    save_bench(chosen.run, f"blend_{slug(chosen.name)}", numbers, [SET])


if __name__ == "__main__":
    main()
