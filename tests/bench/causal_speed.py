"""How fast ``hf/`` judges by a real language model, on prompts of the authored sample; one call a model.

Ratios, each the median over rounds in which both sides take turns, so that whatever else the machine does falls on
both: a verdict in one pass against what a first script does (transformers, 16 whole prompts at a time in the order of
the file, padded, the same format and threads), and against 128 written tokens, replies side by side as a judge writes
them. Beside them tokens a second (of whole prompts, whose common beginning is read once), the most memory, and the
share of what matrix products of the model's own shapes reach alone: only products that are needed are counted, of
tokens that are no padding, without the look-up of embeddings, and with the head where it is read. Writes
``bench.causal_<slug>.*`` to the run's results.
"""

import statistics

import torch
from encoder_speed import parser_of, save_bench, seconds_of

from judgekit.data.sample import load_sample
from judgekit.judges import load_judge, request_of
from judgekit.judges.names import slug as slug_of
from judgekit.models.causal import shared_start
from judgekit.stats import Number
from judgekit.studies.score_benchmarks import peak_mb

WRITTEN = 128  # tokens a verdict
BATCH = 16  # prompts at once of the first script
NEAR = 0.05  # what probabilities in bfloat16 may differ by between ways of computing the same
ROWS = 4096  # of the matrices that are multiplied alone


def prompts_of(judge, requests):
    """Token ids of whole prompts, with what all replies begin with."""
    messages = [list(judge.strategy.render("verdict", request).messages) for request in requests]
    return [[*judge.tokens.ids(one), *judge.plan.forced] for one in messages]


@torch.inference_mode()
def plain(judge, prompts):
    """Probabilities of the verdicts as a first script computes them."""
    model, said = judge.engine.model, []
    letters = [path[0] for path in judge.plan.paths]
    for start in range(0, len(prompts), BATCH):
        rows = prompts[start : start + BATCH]
        width = max(map(len, rows))
        ids = torch.tensor([[judge.engine.pad] * (width - len(row)) + row for row in rows])
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
        logits = model(input_ids=ids, attention_mask=mask).logits[:, -1].float()
        said += logits[:, letters].softmax(-1).tolist()
    return said


def work_of(judge, prompts):
    """Floating-point operations of one pass over prompts whose common beginning is read once."""
    config = judge.config.get_text_config(decoder=True)
    layers = judge.engine.model.get_decoder().layers
    weights = sum(parameter.numel() for parameter in layers.parameters() if parameter.dim() == 2)
    width = config.num_attention_heads * layers[0].self_attn.head_dim
    shared = len(shared_start(prompts))
    own = [len(prompt) - shared for prompt in prompts]
    seen = sum(n * (shared + (n + 1) / 2) for n in own) + shared * (shared + 1) / 2  # keys that queries look at
    head = len(prompts) * config.vocab_size * config.hidden_size
    return 2 * (weights * (sum(own) + shared) + head + 2 * seen * width * len(layers))


@torch.inference_mode()
def product_rate(layer):
    """Operations a second of the products of one layer by themselves."""
    matrices = [module.weight for module in layer.modules() if isinstance(module, torch.nn.Linear)]
    rows = {matrix.shape[1]: torch.randn(ROWS, matrix.shape[1]).to(matrix.dtype) for matrix in matrices}
    done = 2 * ROWS * sum(matrix.numel() for matrix in matrices)

    def products():
        for matrix in matrices:
            torch.nn.functional.linear(rows[matrix.shape[1]], matrix)

    products()
    return done * 10 / seconds_of(lambda: [products() for _ in range(10)])


def ratio_of(rounds):
    """How many times faster ours is: median of the rounds' ratios, with the smallest and the largest."""
    each = [theirs / ours for ours, theirs in rounds]
    return Number(statistics.median(each), min(each), max(each), n=len(rounds), spec=".1f")


def main():
    # Pairs are asked in both orders; on so many of them replies are written.
    chosen = parser_of(__doc__, "model", pairs=40, written=8, rounds=5).parse_args()
    pairs = [*load_sample("sample_natural"), *load_sample("sample_adversarial")][: chosen.pairs]
    requests = [request_of(pair, order) for pair in pairs for order in ("ab", "ba")]
    few = requests[: 2 * chosen.written]
    judge = load_judge(chosen.model, settings={"mode": "one_pass"})
    writing = load_judge(chosen.model, settings={"max_new_tokens": WRITTEN})
    judge.load()
    writing.engine, writing.ends = judge.engine, []
    judge.engine.eos = frozenset()  # all replies are of one length
    judge.engine.model.generation_config.eos_token_id = None
    prompts = prompts_of(judge, requests)
    replies = judge.judge(requests)
    peak = peak_mb()  # before the others begin
    for reply, said in zip(replies, plain(judge, prompts), strict=True):
        given = (reply.p_first, reply.p_second, reply.p_tie)
        assert max(abs(a - b) for a, b in zip(given, said, strict=True)) < NEAR, "both must compute the same"
    turns, written, rates = [], [], []
    assert {reply.tokens_out for reply in writing.judge(few)} == {WRITTEN}
    for _ in range(chosen.rounds):
        rates.append(product_rate(judge.engine.model.get_decoder().layers[0]))
        turns.append((seconds_of(lambda: judge.judge(requests)), seconds_of(lambda: plain(judge, prompts))))
        written.append((seconds_of(lambda: judge.judge(few)), seconds_of(lambda: writing.judge(few))))
    seconds = statistics.median(ours for ours, _ in turns)
    share = work_of(judge, prompts) / seconds / statistics.median(rates)
    n_tokens = sum(map(len, prompts))
    family = f"bench.causal_{slug_of(chosen.model)}"
    numbers = {
        f"{family}.vs_plain": ratio_of(turns),
        f"{family}.vs_generate": ratio_of(written),
        f"{family}.tokens_per_second": Number(n_tokens / seconds, n=len(prompts), spec=",.0f"),
        f"{family}.gemm_share": Number(share, n=len(prompts), spec=".0%"),
        f"{family}.peak_mb": Number(peak, spec=",.0f"),
        f"{family}.threads": Number(torch.get_num_threads()),
    }
    save_bench(chosen.run, f"causal_{slug_of(chosen.model)}", numbers)


if __name__ == "__main__":
    main()
