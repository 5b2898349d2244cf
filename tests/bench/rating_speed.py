"""How fast ``judgekit rate`` rates 1,000 answers, against reading them once per aspect.

Ratios, each the median over rounds in which all sides take turns, so that whatever else the machine does falls on all:
against the same texts read once per aspect, and against one prompt per aspect, definition and rubric first, as the
published system reads them. No states are cached. Writes ``bench.rate_shared_pass.ratio``,
``bench.rate_aspect_prompts.ratio`` and answers per second to the run's results.
"""

import statistics

from causal_speed import ratio_of
from encoder_speed import parser_of, save_bench, seconds_of

from judgekit.data.sample import SAMPLE_SETS, load_sample
from judgekit.inside.aspects import load_aspects, rubric, shown_response
from judgekit.inside.rating import Rater, load_rater
from judgekit.stats import Number


def answers(count):
    pairs = [pair for name in SAMPLE_SETS for pair in load_sample(name)]
    found = dict.fromkeys((pair.question, side) for pair in pairs for side in (pair.response_a, pair.response_b))
    if len(found) < count:
        raise SystemExit(f"the sample holds {len(found)} different answers, fewer than {count}")
    return list(found)[:count]


def main():
    chosen = parser_of(__doc__, answers=1000, rounds=2).parse_args()
    texts, rater = answers(chosen.answers), load_rater("gsm8k-binary")
    reader, aspects = rater.reader, load_aspects("reasoning")
    single = [Rater(aspect, {aspect: probe}) for aspect, probe in rater.probes.items()]
    together = rater.rate(texts, reader)
    apart = [one.rate(texts, reader) for one in single]
    for row, (classes, _) in enumerate(together):
        said = {aspect: apart[place][row][0][aspect] for place, aspect in enumerate(rater.aspects)}
        assert said == classes, "both must rate alike"
    few = texts[: max(1, len(texts) // 10)]  # definition and rubric are five times the answer: a tenth tells enough

    def per_prompt():
        for aspect, probe in rater.probes.items():
            told = "\n\n".join(rubric(aspects[aspect])[part] for part in ("title", "definition", "levels"))
            prompts = [f"{told}\n\n{shown_response(*pair)}" for pair in few]
            reader.read(prompts, (probe.inputs.pooling,), probe.inputs.layers)

    sides = {
        "rate_shared_pass": (texts, lambda: [one.rate(texts, reader) for one in single]),
        "rate_aspect_prompts": (few, per_prompt),
    }
    numbers, speed = {}, []
    for name, (shown, theirs) in sides.items():
        rounds = [
            (seconds_of(lambda shown=shown: rater.rate(shown, reader)), seconds_of(theirs))
            for _ in range(chosen.rounds)
        ]
        numbers[f"bench.{name}.ratio"] = ratio_of(rounds)
        speed += [len(shown) / ours for ours, _ in rounds] if shown is texts else []
    numbers["bench.rate.answers_per_second"] = Number(
        statistics.median(speed), min(speed), max(speed), n=len(texts), spec=".0f"
    )
    save_bench(chosen.run, "rating", numbers)


if __name__ == "__main__":
    main()
