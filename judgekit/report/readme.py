"""The parts of the README, of the model card and of pages of the docs that are made from results, by ``blocks.md``."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from judgekit.data.paths import PRETRAINED, project_root
from judgekit.report.results import MissingResult, load_provenance, load_results
from judgekit.report.workflow import notebook_list

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
NEEDED = {  # results without which a block says nothing, or not when
    "hours": ("training.minilm.minutes",),
    "time": ("training.minilm.minutes",),
    "speed": ("bench.encoder_vs_plain_loop.ratio",),
    "forms": ("bench.format.fp32.ratio",),
    "cluster": ("scale.ddp.largest_difference",),
}
FRONT = ("scores", "training", "hours", "time", "cost")
_TEMPLATE = jinja2.Environment(  # Markdown: nothing is escaped
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    autoescape=False,
).get_template("blocks.md")
BLOCKS = tuple(_TEMPLATE.blocks)


def block(name: str, results: Mapping[str, Mapping[str, Any]]) -> str:
    """One of `BLOCKS`, made from ``results``; MissingResult where they lack what it needs."""

    def required(key: str) -> Mapping[str, Any]:
        if key not in results:
            raise MissingResult(f"no result {key!r} in outputs/{RUN}: run 'make report RUN={RUN}' first")
        return results[key]

    def cell(key: str) -> str:
        row = results.get(key, {"text": "–", "interval": None})
        return f"{row['text']} <sub>{row['interval']}</sub>" if row["interval"] else str(row["text"])

    if name == "faults" and not any(f"fault.{kind}.tries" in results for kind in FAULTS):
        raise MissingResult(f"no result 'fault.*' in outputs/{RUN}: make torture")
    for key in NEEDED.get(name, ()):
        required(key)
    words = {name: value for name, value in globals().items() if name.isupper()}
    words |= {"results": results, "cell": cell, "minutes": _minutes, "machine": _machine, "rounded": _rounded}
    words |= {"text": lambda key: required(key)["text"], "value": lambda key: required(key)["value"]}
    return "".join(_TEMPLATE.blocks[name](_TEMPLATE.new_context(words))).removesuffix("\n")


def _minutes(stage: str = "") -> dict[str, float]:
    """Minutes of each notebook of a stage, as recorded with its results; every notebook of the list must have some."""
    seconds = {name: row["seconds"] for name, row in load_provenance(RUN).items()}
    names = [name for name in notebook_list() if name.startswith(stage)]
    if missing := [name for name in names if name not in seconds]:
        raise MissingResult(f"no results of {missing[0]} in outputs/{RUN}: run 'make report RUN={RUN}' first")
    return {name: seconds[name] / 60 for name in names}


def _machine() -> str:
    """The machine that speed was measured on, in words."""
    known = load_provenance(RUN).get(MEASURED, {}).get("machine")
    if not known:
        raise MissingResult(f"outputs/{RUN}/results/{MEASURED}.json names no machine: make bench")
    return f"{known['cores']} cores with {known['memory_mb'] / 1024:.0f} GB of memory"


def _rounded(minutes: float) -> str:
    """Whole minutes, in words below one."""
    return f"{minutes:.0f}" if minutes >= 1 else "under 1"


def filled(text: str, results: Mapping[str, Mapping[str, Any]], blocks: Sequence[str] = FRONT) -> str:
    """``text`` with what stands between ``<!-- NAME:begin -->`` and ``<!-- NAME:end -->`` made anew for each block.

    ValueError where a marker is missing.
    """
    for name in blocks:
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise ValueError(f"needs {begin} and {end} once each")
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{block(name, results)}\n{end}{rest.split(end)[1]}"
    return text


def documents() -> dict[Path, tuple[str, ...]]:
    """The files that hold blocks, with the names of these."""
    docs = project_root() / "docs"
    return {
        project_root() / "README.md": FRONT,
        PRETRAINED / "minilm" / "README.md": ("scores", "training"),
        docs / "scaling.md": ("speed", "forms", "growth"),
        docs / "faults.md": ("faults",),
        docs / "clusters.md": ("cluster",),
    }


def main() -> int:
    """``python -m judgekit.report.readme``: write the blocks into the README, the model card and the docs."""
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
