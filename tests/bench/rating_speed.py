"""How fast ``judgekit rate`` rates 1,000 answers, against reading them once per aspect.

Ratios, each the median over rounds in which all sides take turns, so that whatever else the machine does falls on all:
against the same texts read once per aspect, and against one prompt per aspect, definition and rubric first, as the
published system reads them. No states are cached. Writes ``bench.rate_shared_pass.ratio``,
``bench.rate_aspect_prompts.ratio`` and answers per second to the run's results.
"""

import argparse
import statistics
import time

from judgekit.aspects import aspect_prompt, load_aspects
from judgekit.rating import Rater, load_rater
from judgekit.results import Number, save_results
from judgekit.sample import SAMPLE_SETS, load_sample


def answers(count):
    """Different answers to authored questions."""
    pairs = [pair for name in SAMPLE_SETS for pair in load_sample(name)]
    found = dict.fromkeys((pair.question, side) for pair in pairs for side in (pair.response_a, pair.response_b))
    if len(found) < count:
        raise SystemExit(f"the sample holds {len(found)} different answers, fewer than {count}")
    return list(found)[:count]


def seconds_of(work):
    """Wall-clock seconds of a call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main():
    """Measure and save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--run", default="laptop")
    arguments.add_argument("--answers", type=int, default=1000)
    arguments.add_argument("--rounds", type=int, default=3)
    chosen = arguments.parse_args()
    texts, rater = answers(chosen.answers), load_rater("gsm8k-binary")
    reader, aspects = rater.reader(), load_aspects("reasoning")
    single = [Rater(aspect, {aspect: probe}) for aspect, probe in rater.probes.items()]
    together = rater.rate(texts, reader)
    apart = [one.rate(texts, reader) for one in single]
    for row, (classes, _) in enumerate(together):
        said = {aspect: apart[place][row][0][aspect] for place, aspect in enumerate(rater.aspects)}
        assert said == classes, "both must rate alike"
    quantities = {aspect: (probe.inputs.pooling,) for aspect, probe in rater.probes.items()}

    def per_prompt():
        for aspect, probe in rater.probes.items():
            prompts = [aspect_prompt(aspects[aspect], *pair, "aspect_first") for pair in texts]
            reader.read(prompts, quantities[aspect], probe.inputs.layers)

    sides = (
        lambda: rater.rate(texts, reader),
        lambda: [one.rate(texts, reader) for one in single],
        per_prompt,
    )
    rounds = [[seconds_of(side) for side in sides] for _ in range(chosen.rounds)]
    numbers = {}
    for place, name in ((1, "rate_shared_pass"), (2, "rate_aspect_prompts")):
        each = [row[place] / row[0] for row in rounds]
        median = Number(statistics.median(each), min(each), max(each), n=len(each), spec=".1f")
        numbers[f"bench.{name}.ratio"] = median
        print(f"{name}: {median.row()['text']} times as fast ({median.row()['interval']})")
    speed = [len(texts) / row[0] for row in rounds]
    numbers["bench.rate.answers_per_second"] = Number(
        statistics.median(speed), min(speed), max(speed), n=len(texts), spec=".0f"
    )
    save_results(chosen.run, "bench", numbers, variant="rating")


if __name__ == "__main__":
    main()
