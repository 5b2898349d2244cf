"""What bfloat16 costs: a run's tracked verdicts beside the same weights in float32 from end to end, on this processor.

A logit in bfloat16 comes in steps, so that close leads are rounded away. Each pair is asked again in float32 (verdicts
are stored: a killed run goes on). Where another machine said what is tracked, the difference is its, too. Writes as
``bench.precision_<slug>.<set>_*``, of the lead averaged over both orders: its accuracy on decided pairs in float32, the
gain in it over bfloat16 on the same pairs, the shares of leads that are zero in either, and the share whose side is the
same. With ``--beside`` a larger model that the run tracks: by how much that is right more often than this in float32.
"""

import json

import numpy as np
from encoder_speed import parser_of, save_bench
from processors import leads, tracked

from judgekit.data.catalogue import load_set
from judgekit.data.paths import run_folder
from judgekit.judges import load_judge
from judgekit.judges.names import slug as slug_of
from judgekit.judges.replay import TrackedJudge
from judgekit.scoring import run_judge, shared_store
from judgekit.stats import interval, share_of


def compared(judge, slug, run, name, beside=None):
    pairs = load_set(name)
    given = run_judge(judge, pairs, shared_store())
    shown = [(v.p_a, v.p_b, v.p_tie) if v.order == "ab" else (v.p_b, v.p_a, v.p_tie) for v in given]
    exact, rounded = leads(np.array(shown).reshape(len(pairs), 2, 3)), leads(tracked(run, slug, name))
    decided = [n for n, pair in enumerate(pairs) if pair.label in ("A", "B")]
    wanted = np.array([1.0 if pairs[n].label == "A" else -1.0 for n in decided])

    def hits(lead):
        return (1 + np.sign(lead[decided]) * wanted) / 2

    right = hits(exact)
    clusters = [pair.cluster for pair in pairs]
    prompts = [clusters[n] for n in decided]
    numbers = {
        "accuracy": interval(share_of, prompts, right, spec=".1%"),
        "gain": interval(share_of, prompts, right - hits(rounded), spec=".1%", signed=True),
        "zero": interval(share_of, clusters, exact == 0, spec=".1%"),
        "zero_before": interval(share_of, clusters, rounded == 0, spec=".1%"),
        "equal_leads": interval(share_of, clusters, np.sign(exact) == np.sign(rounded), spec=".1%"),
    }
    if beside:
        more = hits(leads(tracked(run, beside, name))) - right
        numbers["larger"] = interval(share_of, prompts, more, spec=".1%", signed=True)
    return numbers


def main():
    parser = parser_of(__doc__, "model")
    parser.add_argument("--also", nargs="*", default=[], help="sets to ask on, beside LLMBar's")
    parser.add_argument("--beside", help="slug of a larger model of the family, as the run tracks it")
    chosen = parser.parse_args()
    judge, slug = load_judge(chosen.model, settings={"mode": "one_pass", "dtype": "float32"}), slug_of(chosen.model)
    kept = TrackedJudge(run_folder(chosen.run, "data") / f"asked_{slug}.parquet")
    assert json.loads(kept.about["decoding"])["dtype"] == "bfloat16" and kept.fingerprint == judge.fingerprint
    sets = ["llmbar_natural", "llmbar_adversarial", *chosen.also]
    numbers = {
        f"bench.precision_{slug}.{name}_{quantity}": number
        for name in sets
        for quantity, number in compared(judge, slug, chosen.run, name, chosen.beside).items()
    }
    save_bench(chosen.run, f"precision_{slug}", numbers, sets)


if __name__ == "__main__":
    main()
