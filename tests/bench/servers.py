"""The same weights behind a server and here: how far log-probabilities differ, and how many verdicts a second.

The server runs already and is found as ``openai/`` finds one (``OPENAI_BASE_URL``, ``OPENAI_API_KEY``). llama.cpp's, on
the file that ``hf/`` was read from, forgetting whole prompts so that no round is served from memory:

    llama-server -m FILE.gguf --threads 2 --parallel 1 --ctx-size 8192 --cache-ram 0 --port 8080

Both sides are asked which output is better, ties left out, on the authored sample; a reply of the server that says
none is not compared. Writes as ``bench.server_<slug>.*``: the largest difference of a log-probability from ours in
float32, of the server and of ours in bfloat16; the share of equal verdicts; and the ratio of seconds, in turns.
"""

import numpy as np
from causal_speed import ratio_of
from encoder_speed import parser_of, save_bench, seconds_of

from judgekit.data.sample import load_sample
from judgekit.judges import load_judge, request_of
from judgekit.judges.names import slug as slug_of
from judgekit.records import ORDERS
from judgekit.stats import Number

ASKED = "rules-strict"


def log_odds(replies):
    """Log-odds of the first response against the second; NaN where a reply says none."""
    given = [(reply.p_first, reply.p_second) if reply.p_first and reply.p_second else (np.nan, 1) for reply in replies]
    return np.log(np.array(given)) @ [1, -1]


def log_p(odds):
    """Log-probabilities of both verdicts, shape (n, 2)."""
    return -np.logaddexp(0, np.column_stack([-odds, odds]))


def main():
    # hf/MODEL, and openai/MODEL as the server calls it; pairs are asked in both orders.
    chosen = parser_of(__doc__, "model", "served", pairs=20, rounds=3).parse_args()
    pairs = [*load_sample("sample_natural"), *load_sample("sample_adversarial")][: chosen.pairs]
    requests = [request_of(pair, order) for pair in pairs for order in ORDERS]
    served = load_judge(f"{chosen.served}#{ASKED}", settings={"logprobs": True})
    modes = [{"mode": "one_pass", "dtype": dtype} for dtype in ("float32", "bfloat16")]
    exact, ours = (load_judge(f"{chosen.model}#{ASKED}", settings=mode) for mode in modes)
    odds = {
        name: log_odds(one.judge(requests)) for name, one in (("exact", exact), ("bfloat16", ours), ("server", served))
    }
    read = ~np.isnan(odds["server"])
    assert read.any(), f"no reply of {chosen.served} was a verdict with log-probabilities"
    family, n = f"bench.server_{slug_of(chosen.model)}", int(read.sum())
    numbers = {f"{family}.asked": Number(len(requests))}
    for name in ("server", "bfloat16"):
        apart = np.abs(log_p(odds[name][read]) - log_p(odds["exact"][read]))
        equal = (np.sign(odds[name][read]) == np.sign(odds["exact"][read])).mean()
        numbers[f"{family}.{name}_largest"] = Number(apart.max(), n=n, spec=".3f")
        numbers[f"{family}.{name}_equal"] = Number(equal, n=n, spec=".1%")
    sides = [lambda: ours.judge(requests), lambda: served.judge(requests)]
    numbers[f"{family}.vs_server"] = ratio_of([[seconds_of(side) for side in sides] for _ in range(chosen.rounds)])
    save_bench(chosen.run, f"server_{slug_of(chosen.model)}", numbers)


if __name__ == "__main__":
    main()
