"""The parts of the README and of the model card that are made from results: nobody types a number there."""

import sys

from judgekit.latex import MissingResult
from judgekit.paths import PRETRAINED, project_root
from judgekit.results import load_results

RUN = "laptop"
BLOCKS = ("scores", "training")
JUDGES = {
    "longer": "longer response",
    "features": "surface features (no reading)",
    "minilm": "**encoder/minilm** (ours, 22M)",
    "pandalm_7b": "PandaLM-7B, shipped verdicts",
    "gpt_3_5": "GPT-3.5, shipped verdicts",
    "auto_j_13b": "Auto-J-13B, shipped verdicts",
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


def required(results, key):
    """A result that must be there."""
    if key not in results:
        raise MissingResult(f"no result {key!r} in outputs/{RUN}: run 'make report RUN={RUN}' first")
    return results[key]


def filled(text, results):
    """The text with every block made anew.

    Parameters
    ----------
    text : str
        Holds ``<!-- NAME:begin -->`` and ``<!-- NAME:end -->`` for each of `BLOCKS`.
    results : dict
        As `judgekit.results.load_results` gives it.

    Raises
    ------
    ValueError
        If a marker is missing.
    """
    made = {"scores": scores_block, "training": training_block}
    for name in BLOCKS:
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise ValueError(f"needs {begin} and {end} once each")
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{made[name](results)}\n{end}{rest.split(end)[1]}"
    return text


def documents():
    """The files that hold blocks."""
    return [project_root() / "README.md", PRETRAINED / "minilm" / "README.md"]


def main():
    """``python -m judgekit.readme``: write the blocks into the README and the model card."""
    results = load_results(RUN)
    for path in documents():
        try:
            path.write_text(filled(path.read_text(encoding="utf-8"), results), encoding="utf-8")
        except (MissingResult, ValueError) as error:
            print(f"error: {path.name}: {error}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
