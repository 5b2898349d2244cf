"""Does a verdict depend on the processor? The same prompts in bfloat16 here, and as a processor of 2013 reads them.

One without products in bfloat16 judges in float32 (``dtype: auto``), and its libraries take no instruction beyond AVX2:
both are forced in a process of its own. With ``--tracked`` the other side is what the run tracks of the model, which
another machine said. Writes as ``bench.processors_<slug>.*`` the share of equal verdicts, that of equal sides of the
lead averaged over both orders, the largest difference of a probability, and of the leads here the share that is zero
(logits in bfloat16 come in steps) and the median size.
"""

import argparse
import json
import os
import subprocess
import sys

import numpy as np
from encoder_speed import parser_of, save_bench

from judgekit.data.catalogue import load_set
from judgekit.data.paths import run_folder
from judgekit.judges import load_judge, request_of
from judgekit.judges.names import slug as slug_of
from judgekit.judges.replay import TrackedJudge
from judgekit.records import ORDERS
from judgekit.stats import Number

NO_LEAD = 1e-6  # what sums of probabilities are off by
OLD = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}


def said(model, name, dtype):
    """Probabilities of the first, the second and a tie for each pair of a set and order, as this process reads them."""
    judge = load_judge(model, settings={"mode": "one_pass", "dtype": dtype})
    replies = judge.judge([request_of(pair, order) for pair in load_set(name) for order in ORDERS])
    return [(reply.p_first, reply.p_second, reply.p_tie) for reply in replies]


def asked(model, name, dtype, **environment):
    """The same from a process of its own: shape (n_pairs, 2 orders, 3)."""
    command = [sys.executable, __file__, model, "--set", name, "--say", dtype]
    done = subprocess.run(command, env=os.environ | environment, stdout=subprocess.PIPE, check=True)
    return np.array(json.loads(done.stdout)).reshape(-1, len(ORDERS), 3)


def tracked(run, slug, name):
    """The same from the verdicts that a run tracks."""
    judge = TrackedJudge(run_folder(run, "data") / f"asked_{slug}.parquet")
    replies = judge.judge([request_of(pair, order) for pair in load_set(name) for order in ORDERS])
    assert all(reply.status == "ok" for reply in replies), f"{judge.path} does not hold all of {name}"
    return np.array([(reply.p_first, reply.p_second, reply.p_tie) for reply in replies]).reshape(-1, len(ORDERS), 3)


def leads(p):
    """Leads of response A averaged over both orders, from probabilities of shape (n_pairs, 2 orders, 3)."""
    lead = (p[:, 0, 0] - p[:, 0, 1] + p[:, 1, 1] - p[:, 1, 0]) / 2
    return np.where(np.abs(lead) < NO_LEAD, 0.0, lead)


def main():
    parser = parser_of(__doc__, "model", set="llmbar_natural")
    parser.add_argument("--tracked", action="store_true", help="compare with what the run tracks")
    parser.add_argument("--say", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.say:
        return print(json.dumps(said(chosen.model, chosen.set, chosen.say)))
    slug, new = slug_of(chosen.model), asked(chosen.model, chosen.set, "bfloat16")
    old = tracked(chosen.run, slug, chosen.set) if chosen.tracked else asked(chosen.model, chosen.set, "float32", **OLD)
    lead = [leads(p) for p in (new, old)]
    family, n = f"bench.processors_{slug}", len(new)
    numbers = {
        f"{family}.equal_verdicts": Number((new.argmax(-1) == old.argmax(-1)).mean(), n=2 * n, spec=".1%"),
        f"{family}.equal_leads": Number((np.sign(lead[0]) == np.sign(lead[1])).mean(), n=n, spec=".1%"),
        f"{family}.zero_leads": Number((lead[0] == 0).mean(), n=n, spec=".1%"),
        f"{family}.median_lead": Number(np.median(np.abs(lead[0])), n=n, spec=".3f"),
        f"{family}.largest_difference": Number(np.abs(new - old).max(), n=2 * n, spec=".3f"),
    }
    return save_bench(chosen.run, f"processors_{slug}", numbers, [chosen.set])


if __name__ == "__main__":
    main()
