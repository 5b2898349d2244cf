"""The model card of a trained causal judge."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

USES = {
    "sft": "It replies to the strategy's prompt with a verdict; the probabilities of the verdicts can be read from the "
    "first token that tells them apart.",
    "dpo": "It replies to the strategy's prompt with a verdict; the probabilities of the verdicts can be read from the "
    "first token that tells them apart.",
    "reward": "It gives a response a score; of two responses the one with the higher score is the better, and the "
    "difference is the log-odds.",
    "drill": "It has learnt to mark single responses, as first lessons, and does not judge pairs yet.",
}


def model_card(report: Mapping[str, Any]) -> str:
    """The card of a training, from the content of its ``training.json``: Markdown with the hub's header."""
    recipe, data = report["recipe"], report["data"]
    base = Path(recipe["base"]).name if Path(recipe["base"]).is_dir() else recipe["base"]  # no path of this machine
    whole = "all weights" if not recipe["r"] else f"a LoRA adapter, r = {recipe['r']}"
    validation = [row["validation"] for row in report["history"] if row["validation"] is not None]
    lowest = f"{min(validation):.4f}" if validation else "not measured"
    commit = f"{report['git']}{' (changed)' if report['dirty'] else ''}" if report["git"] else "unknown"
    head = ["---", f"base_model: {base}", "library_name: transformers", "tags: [llm-as-a-judge]", "---"]
    rows = [
        ("method", recipe["method"]),
        ("base model", f"`{base}`" + (f" at `{recipe['revision']}`" if recipe["revision"] else "")),
        ("trained", f"{whole}: {report['trained_parameters']:,} of {report['parameters']:,} weights"),
        ("strategy", f"`{recipe['strategy']}`, {recipe['policy']}"),
        ("training rows", f"{data['train']:,}; validation {data['validation']:,}; SHA-256 `{data['sha256'][:16]}…`"),
        ("steps", f"{report['steps']:,}; the weights are those of step {report['best_step']:,}"),
        ("lowest validation loss", lowest),
        ("commit", commit),
    ]
    table = ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)]
    return "\n".join(
        [
            *head,
            "",
            "# A causal judge",
            "",
            f"Trained by `judgekit.training.causal`. {USES[recipe['method']]}",
            "",
            *table,
            "",
            "The exact recipe, the loss at every logged step and the versions of the libraries are in `training.json`.",
            "A judge errs, prefers places and lengths, and can be talked to: measure it on pairs of your own kind.",
            "",
        ]
    )
