"""The parts of the README, of the model card and of pages of the docs that are made from results: nobody types a
number there."""

import sys

from judgekit.latex import MissingResult
from judgekit.paths import PRETRAINED, project_root
from judgekit.results import load_provenance, load_results
from judgekit.workflow import notebook_list

RUN = "laptop"
FORMS = {
    "bf16": "bfloat16 where the processor has it: the judge's own choice",
    "fp32": "single precision: the judge's choice elsewhere",
    "int8": "matrices in 8-bit integers, PyTorch",
    "onnx": "ONNX Runtime",
    "onnx_int8": "ONNX Runtime, 8-bit integers",
    "openvino": "OpenVINO",
    "openvino_bf16": "OpenVINO, bfloat16",
}
EQUAL = 0.995  # of the verdicts: less, and a form is another judge
GROWTH = {"longer": "`baseline/longer`", "encoder": "`encoder/minilm`"}
FAULTS = {
    "judge_features": "`judgekit judge`, surface features",
    "judge_encoder": "`judgekit judge`, encoder",
    "rate": "`judgekit rate`",
    "attack": "`judgekit attack`",
    "labelling": "`judgekit label`, votes over HTTP",
    "training": "training of an encoder judge",
    "notebook": "one notebook",
    "chain": "the whole sample chain",
}
JUDGES = {
    "longer": "longer response",
    "features": "surface features (no reading)",
    "minilm": "**encoder/minilm** (ours, 22M)",
    "pandalm_7b": "PandaLM-7B, shipped verdicts",
    "gpt_3_5": "GPT-3.5, shipped verdicts",
    "auto_j_13b": "Auto-J-13B, shipped verdicts",
}
MEASURED = "bench-formats"  # the results that name the machine and the cost of judging
STAGES = {
    "1": "clean the data, audit the benchmarks",
    "2": "train judges",
    "3": "score and compare",
    "4": "biases and attacks",
    "5": "look inside models",
    "6": "people and judges",
    "7": "cases, accuracy by size",
}
COLUMNS = {
    "PandaLM accuracy": "scores.pandalm.{}.accuracy",
    "PandaLM macro-F1": "scores.pandalm.{}.macro_f1",
    "Auto-J agreement": "scores.autoj.{}.agreement",
    "MT-bench accuracy": "scores.mtbench.{}.accuracy",
    "LLMBar Natural": "scores.llmbar_natural.{}.accuracy",
    "LLMBar adversarial": "scores.llmbar_adversarial.{}.accuracy",
}


def cell(results, key):
    """A result with its interval, or a dash where the judge has none."""
    if key not in results:
        return "–"
    row = results[key]
    return f"{row['text']} <sub>{row['interval']}</sub>" if row["interval"] else row["text"]


def required(results, key):
    """A result that must be there."""
    if key not in results:
        raise MissingResult(f"no result {key!r} in outputs/{RUN}: run 'make report RUN={RUN}' first")
    return results[key]


def scores_block(results):
    """The table of judges and sets."""
    lines = ["| judge | " + " | ".join(COLUMNS) + " |", "|---|" + "---:|" * len(COLUMNS)]
    for judge, title in JUDGES.items():
        lines.append(f"| {title} | " + " | ".join(cell(results, key.format(judge)) for key in COLUMNS.values()) + " |")
    return "\n".join(lines)


def training_block(results):
    """One sentence on what the shipped judge was trained on."""
    wanted = ("pairs", "prompts", "trainable_parameters", "minutes")
    text = {name: required(results, f"training.minilm.{name}")["text"] for name in wanted}
    return (
        f"The shipped judge was trained on {text['pairs']} pairs over {text['prompts']} prompts "
        f"({text['trainable_parameters']} trainable parameters, {text['minutes']} minutes on two CPU cores)."
    )


def minutes_of(stage):
    """Minutes of each notebook of a stage, as recorded with its results; every notebook of the list must have some.

    Returns
    -------
    dict of str to float
    """
    seconds = {name: row["seconds"] for name, row in load_provenance(RUN).items()}
    names = [name for name in notebook_list() if name.startswith(stage)]
    if missing := [name for name in names if name not in seconds]:
        raise MissingResult(f"no results of {missing[0]} in outputs/{RUN}: run 'make report RUN={RUN}' first")
    return {name: seconds[name] / 60 for name in names}


def hours_block(results):
    """How long the whole run takes: one sentence beside its command."""
    required(results, "training.minilm.minutes")
    total = sum(minutes for stage in STAGES for minutes in minutes_of(stage).values())
    return f"`make report RUN={RUN}` took its notebooks {total / 60:.1f} hours on {machine()}, kept verdicts apart."


def machine():
    """The machine that speed was measured on, in words."""
    known = load_provenance(RUN).get(MEASURED, {}).get("machine")
    if not known:
        raise MissingResult(f"outputs/{RUN}/results/{MEASURED}.json names no machine: make bench")
    return f"{known['cores']} cores with {known['memory_mb'] / 1024:.0f} GB of memory"


def rounded(minutes):
    """Whole minutes, in words below one."""
    return f"{minutes:.0f}" if minutes >= 1 else "under 1"


def time_block(results):
    """Minutes per stage of the chain."""
    required(results, "training.minilm.minutes")
    rows, total = [], 0
    for stage, title in STAGES.items():
        minutes = minutes_of(stage)
        longest = max(minutes, key=minutes.get)
        spent = sum(minutes.values())
        total += spent
        rows.append([f"{stage}0s: {title}", rounded(spent), f"`{longest}`, {rounded(minutes[longest])}"])
    rows.append(["all", f"{total:.0f}", ""])
    return lines_of(("notebooks", "minutes", "the longest of them, minutes"), rows)


def cost_block(results):
    """What judging costs a million pairs."""
    dear = required(results, "bench.cost.dollars_per_core_hour")
    hours = {  # a microsecond a pair is a second a million
        "longer": required(results, "scale.longer.us_per_row")["value"] / 3600,
        "minilm": required(results, "bench.cost.core_hours_per_million")["value"],
    }
    rows = []
    for judge, taken in hours.items():
        memory = required(results, f"resources.{judge}.peak_mb")["text"]
        rows.append([JUDGES[judge], f"{taken:.2g}", f"{taken * dear['value']:.2g}", memory])
    header = ("judge", "core hours a million pairs", f"dollars, at {dear['text']} a core hour", "MiB at most")
    return lines_of(header, rows)


def lines_of(header, rows):
    """A table whose first column is text and whose others are numbers."""
    rule = "|---|" + "---:|" * (len(header) - 1)
    return "\n".join(["| " + " | ".join(header) + " |", rule, *("| " + " | ".join(row) + " |" for row in rows)])


def speed_block(results):
    """The encoder judge beside what else one would use, on the same pairs."""
    wanted = {
        "times as fast as `CrossEncoder.predict`": "encoder_vs_sentence_transformers{}.ratio",
        "the same, both in single precision": "encoder_fp32_vs_sentence_transformers{}.ratio",
        "times as fast as a plain loop": "encoder_vs_plain_loop{}.ratio",
        "pairs a second": "encoder_vs_sentence_transformers{}.pairs_per_second",
    }
    parts = ("", ".llmbar_adversarial")
    required(results, "bench.encoder_vs_plain_loop.ratio")
    rows = [[title, *(cell(results, f"bench.{name.format(part)}") for part in parts)] for title, name in wanted.items()]
    return lines_of(("", "PandaLM", "LLMBar adversarial"), rows)


def forms_block(results):
    """The forms of the encoder judge that were measured; one that changes too many verdicts is marked."""
    rows = []
    for form, title in FORMS.items():
        if f"bench.format.{form}.ratio" in results:
            equal = required(results, f"bench.format.{form}.equal_verdicts")
            mark = "" if equal["value"] >= EQUAL else f" (below {100 * EQUAL:g} %: another judge)"
            rows.append([title, cell(results, f"bench.format.{form}.ratio"), f"{equal['text']} %{mark}"])
    required(results, "bench.format.fp32.ratio")
    text = {
        name: required(results, f"bench.{name}")["text"]
        for name in ("gemm.tflops", "gemm.share_used", "cost.core_hours_per_million", "cost.dollars_per_core_hour")
    }
    dollars = required(results, "bench.cost.dollars_per_million")["text"]
    return lines_of(("form", "times as fast as single precision", "verdicts equal to it"), rows) + (
        f"\n\nThe machine reaches {text['gemm.tflops']} TFLOP/s on the network's matrices; judging uses "
        f"{text['gemm.share_used']} % of that for what the texts need, padding left out. A million such pairs take "
        f"{text['cost.core_hours_per_million']} core hours, {dollars} dollars at "
        f"{text['cost.dollars_per_core_hour']} an hour of one core."
    )


def growth_block(results):
    """How time and memory grow with the rows, and what Ray, a second writer and starting up cost."""
    names = ("rows", "time_exponent", "memory_exponent", "beyond_model_mb", "us_per_row")
    rows = [
        [title, *(required(results, f"scale.{part}.{name}")["text"] for name in names)]
        for part, title in GROWTH.items()
    ]
    header = ("judge", "pairs, at most", "time grows with power", "memory grows with power", "MiB beyond the model")
    text = {
        name: required(results, name)["text"]
        for name in (
            *(f"scale.ray.{part}" for part in ("rows", "lost", "doubled", "overhead_us_per_row", "peak_mb")),
            *(f"bench.store.{part}.verdicts_per_second" for part in ("one_writer", "two_writers")),
        )
    }
    return lines_of((*header, "µs a pair"), rows) + (
        f"\n\nWith Ray, a worker killed on the way: {text['scale.ray.rows']} pairs, {text['scale.ray.lost']} lost, "
        f"{text['scale.ray.doubled']} doubled, {text['scale.ray.overhead_us_per_row']} µs a pair on top of judging, "
        f"{text['scale.ray.peak_mb']} MiB in the process that hands out the work. A verdict store takes "
        f"{text['bench.store.one_writer.verdicts_per_second']} verdicts a second from one process and "
        f"{text['bench.store.two_writers.verdicts_per_second']} from two at once." + startup_words(results)
    )


def startup_words(results):
    """What starting up takes; nothing where it was not measured, which needs a complete sample run."""
    if "bench.startup.report_seconds" not in results:
        return ""
    text = {part: required(results, f"bench.startup.{part}_seconds")["text"] for part in ("help", "report")}
    return f" `judgekit --help` takes {text['help']} s, a `make report` with nothing to do {text['report']} s."


def faults_block(results):
    """What was killed, and what that cost."""
    if not any(f"fault.{kind}.tries" in results for kind in FAULTS):
        raise MissingResult(f"no result 'fault.*' in outputs/{RUN}: make torture")
    rows = [
        [title, *(cell(results, f"fault.{kind}.{name}") for name in ("tries", "lost", "doubled"))]
        for kind, title in FAULTS.items()
    ]
    return lines_of(("killed at random moments", "times", "lost", "doubled"), rows)


def cluster_block(results):
    """What a chain on Slurm and two processes that share a batch differ in from one machine and one process."""
    names = ("jobs", "on_gpu", "differing", "seconds", "seconds_alone")
    text = {name: required(results, f"scale.slurm.{name}")["text"] for name in names}
    ddp = required(results, "scale.ddp.largest_difference")
    return (
        f"By `tests/bench/cluster.py`: {text['jobs']} jobs on Slurm, {text['on_gpu']} of them on the pretended GPU, "
        f"in {text['seconds']} s with the waiting of the queue against {text['seconds_alone']} s without Slurm; "
        f"{text['differing']} of the jobs give other results. Two processes that share the batch: the largest "
        f"relative difference of the loss in {ddp['n']} steps is {ddp['text']}."
    )


BLOCKS = {
    "cluster": cluster_block,
    "scores": scores_block,
    "hours": hours_block,
    "time": time_block,
    "cost": cost_block,
    "training": training_block,
    "speed": speed_block,
    "forms": forms_block,
    "growth": growth_block,
    "faults": faults_block,
}
CARD = ("scores", "training")
FRONT = (*CARD, "hours", "time", "cost")


def filled(text, results, blocks=FRONT):
    """The text with every block made anew.

    Parameters
    ----------
    text : str
        Holds ``<!-- NAME:begin -->`` and ``<!-- NAME:end -->`` for each of ``blocks``.
    results : dict
        As `judgekit.results.load_results` gives it.
    blocks : sequence of str
        Of `BLOCKS`.

    Raises
    ------
    ValueError
        If a marker is missing.
    """
    for name in blocks:
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise ValueError(f"needs {begin} and {end} once each")
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{BLOCKS[name](results)}\n{end}{rest.split(end)[1]}"
    return text


def documents():
    """The files that hold blocks, with the names of these."""
    docs = project_root() / "docs"
    return {
        project_root() / "README.md": FRONT,
        PRETRAINED / "minilm" / "README.md": CARD,
        docs / "scaling.md": ("speed", "forms", "growth"),
        docs / "faults.md": ("faults",),
        docs / "clusters.md": ("cluster",),
    }


def main():
    """``python -m judgekit.readme``: write the blocks into the README, the model card and the docs."""
    results = load_results(RUN)
    for path, blocks in documents().items():
        try:
            path.write_text(filled(path.read_text(encoding="utf-8"), results, blocks), encoding="utf-8")
        except (MissingResult, ValueError) as error:
            print(f"error: {path.name}: {error}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
