"""How fast a judge is trained by LoRA, beside a first script of TRL's with the same rows, batch and adapter.

The recipe and the pairs are those of a variant of 21_train_causal_judge, for its reward model or its supervised
verdicts. The first script takes four pairs at once, padded to the longest of their rows, in the order in which TRL
draws them, and adds four such passes up to a step; the turns of a round train on the same pairs from one start, ours
once more with PyTorch's fused attention. Tokens a second count no padding; the share of what matrix products of the
model's own shapes reach alone counts two operations a weight and token forwards, two backwards where the pass goes,
nothing of the adapter, of attention or of the head. Writes ``bench.training_<variant>.*`` to the run's results, with
``_sft`` behind the variant for verdicts.
"""

import copy
import statistics
import tempfile
from dataclasses import replace
from pathlib import Path

import torch
import trl
from causal_speed import product_rate, ratio_of
from datasets import Dataset
from encoder_speed import parser_of, save_bench, seconds_of

from judgekit.data import catalogue
from judgekit.judges.names import slug as slug_of
from judgekit.report import load_data
from judgekit.report.workflow import read_parameters
from judgekit.stats import Number
from judgekit.studies.score_benchmarks import peak_mb
from judgekit.training import causal, causal_data, mixture

AT_ONCE = 4  # pairs of the first script
STEPS = 2  # of each turn


def material(given, stage):
    """The recipe of a variant's stage, and as many of its pairs as the turns need, of each source its share."""
    split, names = load_data(given["cleaned"], "training_split"), list(given["shares"])
    sets = {name: catalogue.load_set(name) for name in names}
    pairs = mixture.select_split(split[split["benchmark"].isin(names)], sets, "train")
    fits = [pair for pair in pairs if len(pair.asked) + sum(map(len, pair.responses)) <= given["longest"]]
    own = {"base": given["base"]} | given["stages"][stage] | {"steps": STEPS, "eval_every": 10 * STEPS}
    settings = given["settings"] | own
    each = settings["batch_size"] * settings["accumulation"] * STEPS
    recipe = causal_data.CausalRecipe(method=stage, n_pairs=each, **settings)
    return recipe, causal_data.mixed([pair for pair in fits if pair.label != "tie"], recipe, given["shares"])


def first_script(recipe, rows, folder, bf16):
    """TRL's trainer as its documentation starts one."""
    model, tokenizer = causal.load_base(causal_data.CausalRecipe(**recipe.as_dict() | {"attn_implementation": "sdpa"}))
    passes = recipe.batch_size * recipe.accumulation // AT_ONCE
    kinds = {"reward": (trl.RewardTrainer, trl.RewardConfig), "sft": (trl.SFTTrainer, trl.SFTConfig)}
    kind, config = kinds[recipe.method]
    config = config(
        output_dir=str(folder),
        max_steps=STEPS,
        per_device_train_batch_size=AT_ONCE,
        gradient_accumulation_steps=passes,
        gradient_checkpointing=recipe.recompute,  # TRL's default, True, would take a third more time
        learning_rate=recipe.lr,
        max_length=recipe.max_length,
        bf16=bf16,
        use_cpu=True,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        logging_steps=1,
    )
    adapter = causal.adapter_config(recipe)
    return kind(
        model=model, args=config, processing_class=tokenizer, train_dataset=Dataset.from_list(rows), peft_config=adapter
    )


def main():
    parser = parser_of(__doc__, "variant", rounds=2)  # of 21_train_causal_judge, as smollm2_135m
    parser.add_argument("--stage", default="reward", choices=["reward", "sft"])
    chosen = parser.parse_args()
    given = {"base": "smollm2-135m"} | read_parameters(chosen.run, f"21_train_causal_judge-{chosen.variant}")
    recipe, pairs = material(given, chosen.stage)
    model, tokenizer = causal.load_base(recipe)
    rows, _ = causal_data.token_rows(pairs, recipe, tokenizer)
    tokens = sum(len(ids) for row in rows for name, ids in row.items() if name != "labels")
    layers = model.model.layers
    weights = sum(parameter.numel() for parameter in layers.parameters() if parameter.dim() == 2)
    passes = 2 + 2 * (1 - min(recipe.layers, default=0) / len(layers))  # operations a weight: forwards, backwards
    layer, turns, rates, peak = copy.deepcopy(layers[0]).bfloat16(), [], [], 0.0
    del model, layers
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(chosen.rounds):
            rates.append(product_rate(layer))
            taken = []
            for one in (recipe, replace(recipe, attn_implementation="sdpa")):
                base = causal.load_base(one)[0]
                ours = causal._make_trainer(one, base, tokenizer, rows, rows[:1], Path(folder), False)
                with causal._AT_REPLIES:
                    taken.append(seconds_of(ours.train))
                peak = peak or peak_mb()  # before the others begin
            theirs = first_script(recipe, rows, Path(folder) / "plain", ours.args.bf16)
            turns.append((*taken, seconds_of(theirs.train)))
    seconds = statistics.median(turn[0] for turn in turns)
    stem = f"training_{slug_of(given['variant'])}" + ("" if chosen.stage == "reward" else f"_{chosen.stage}")
    family = f"bench.{stem}"
    numbers = {
        f"{family}.vs_plain": ratio_of([(ours, plain) for ours, _, plain in turns]),
        f"{family}.vs_fused": ratio_of([(ours, fused) for ours, fused, _ in turns]),
        f"{family}.tokens_per_second": Number(tokens / seconds, n=len(rows), spec=",.0f"),
        f"{family}.gemm_share": Number(
            passes * weights * tokens / seconds / statistics.median(rates), n=len(rows), spec=".0%"
        ),
        f"{family}.peak_mb": Number(peak, spec=",.0f"),
        f"{family}.threads": Number(torch.get_num_threads()),
    }
    save_bench(chosen.run, stem, numbers)


if __name__ == "__main__":
    main()
