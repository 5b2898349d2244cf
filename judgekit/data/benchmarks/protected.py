"""Prompts of further test sets that must stay out of training, most of which are not scored here.

Judges of this project may be tried on them one day, and the scored sets borrow from them: the PandaLM test prompts
are Self-Instruct's, FairEval's are Vicuna's. The Chinese prompts are AlignBench's (also those of CritiqueLLM's
evaluation samples), translations of Auto-J's, and LLMZoo's translations of Vicuna's.
"""

from judgekit.data.benchmarks.labelled import read_grouped
from judgekit.data.sources import Row, source_names
from judgekit.data.sources.rows import read_rows

# File and the field that holds the prompt.
FILES = {
    "mtbench/vicuna_bench/question.jsonl": "turns",
    "self_instruct/user_oriented_instructions.jsonl": "instruction",
    "evalbiasbench/biasbench.json": "instruction",
    "rm_bench/chat_filtered.json": "prompt",
    "rm_bench/code_filtered.json": "prompt",
    "rm_bench/safety-refuse_filtered.json": "prompt",
    "rm_bench/safety-response_filtered.json": "prompt",
    "autoj/testdata_critique.jsonl": "prompt",
    "autoj/zh_testdata_critique.jsonl": "prompt",
    "alignbench/data_v1.1_release.jsonl": "question",
    "llmzoo/questions/questions-zh.jsonl": "text",
}


def files() -> list[str]:
    """Names of the files that are read."""
    return [*FILES, *source_names("llmbar/CaseStudy/*dataset.json", "llmbar/Processed/*dataset.json")]


def protected_prompts() -> dict[str, list[str]]:
    """Prompts of the further test sets, by file."""
    readers = {"evalbiasbench/biasbench.json": read_grouped}
    return {
        name: [
            text for row in readers.get(name, read_rows)(name) for text in _prompts_of(row, FILES.get(name, "input"))
        ]
        for name in files()
    }


def _prompts_of(row: Row, field: str) -> list[str]:
    """The prompt of a row: a text, or a list of turns."""
    value = row.get(field)
    texts = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) for text in texts):
        raise row.error(field, "holds something that is not text")
    return texts
