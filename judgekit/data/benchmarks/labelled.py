"""The table of test sets, and the prompts of further ones that training must not hold."""

from collections.abc import Iterator
from functools import partial
from importlib import resources

from judgekit.data.benchmarks import mtbench
from judgekit.data.loading import coded, columns, each, of_files, pair_of, turned_pair
from judgekit.data.plain_yaml import load_plain
from judgekit.data.sources import Row, read_rows, source_names
from judgekit.records import PreferencePair, majority_label

_text = resources.files(__package__).joinpath("scenarios.yaml").read_text(encoding="utf-8")
SCENARIO_GROUPS: dict[str, list[str]] = load_plain(_text)
GROUP_OF_SCENARIO = {scenario: group for group, scenarios in SCENARIO_GROUPS.items() for scenario in scenarios}
LLMBAR = {
    "natural": "llmbar/LLMBar/Natural/dataset.json",
    "neighbor": "llmbar/LLMBar/Adversarial/Neighbor/dataset.json",
    "gptinst": "llmbar/LLMBar/Adversarial/GPTInst/dataset.json",
    "gptout": "llmbar/LLMBar/Adversarial/GPTOut/dataset.json",
    "manual": "llmbar/LLMBar/Adversarial/Manual/dataset.json",
}
# Benchmark name -> its subsets.
LLMBAR_SETS = {f"llmbar_{subset}": [subset] for subset in LLMBAR}
LLMBAR_SETS["llmbar_adversarial"] = [subset for subset in LLMBAR if subset != "natural"]
# Who wrote a file's responses, shortly -> the file.
JUDGEBENCH = {
    "gpt-4o": "judgebench/dataset=judgebench,response_model=gpt-4o-2024-05-13.jsonl",
    "claude-3.5-sonnet": "judgebench/dataset=judgebench,response_model=claude-3-5-sonnet-20240620.jsonl",
}
# Domain -> its file; that of mathematics is not in the mirror. The set's authors average the two parts of safety before
# they average domains.
RM_BENCH = {
    "chat": "rm_bench/chat_filtered.json",
    "code": "rm_bench/code_filtered.json",
    "safety_refuse": "rm_bench/safety-refuse_filtered.json",
    "safety_response": "rm_bench/safety-response_filtered.json",
}
PART_OF = {file: part for parts in (LLMBAR, JUDGEBENCH, RM_BENCH) for part, file in parts.items()}
BIAS_BENCH = "evalbiasbench/biasbench.json"
STYLES = ("concise", "detailed", "markdown")
DIFFICULTIES = ("easy", "normal", "hard")


def _pandalm_pair(row: Row) -> Iterator[PreferencePair | str]:
    """The label is what two of three annotators say; six responses are JSON booleans, and become words again."""
    models = row.text("cmp_key").split("_")
    if len(models) != 2:
        raise row.error("cmp_key", f"is {row.get('cmp_key')!r}, not two models joined by '_'")
    given = {field: row.get(field) for field in ("response1", "response2")}
    booleans = [field for field, value in given.items() if isinstance(value, bool)]
    votes = {name: row.code(name, {0: "tie", 1: "A", 2: "B"}) for name in ("annotator1", "annotator2", "annotator3")}
    label = majority_label(votes)
    yield from ["boolean_responses"] * len(booleans) + ["no_majority"] * (label is None)
    yield pair_of(
        row,
        "pandalm",
        row.joined("instruction", "input"),
        *(str(value) if field in booleans else row.text(field) for field, value in given.items()),
        item_id=str(row.whole("idx")),
        subset=row.text("motivation_app"),
        model_a=models[0],
        model_b=models[1],
        label=label,
        votes=votes,
        label_kind="human",
    )


def difficulty(chosen: int, rejected: int) -> str:
    """One of `DIFFICULTIES`, what style does to a pair of RM-Bench, by the places of the two styles in `STYLES`.

    Easy: the right response is the richer one in style; hard: the wrong one is. Liu et al. (2025), arXiv:2410.16184,
    section 3: the halves of the matrix of right by wrong responses, and its diagonal.
    """
    return "normal" if chosen == rejected else "easy" if chosen > rejected else "hard"


def _rm_bench_pairs(row: Row) -> Iterator[PreferencePair]:
    """A prompt has three right and three wrong responses, each in three styles; nine pairs."""
    domain = PART_OF[row.file]
    right, wrong = (row.texts(field, n=len(STYLES)) for field in ("chosen", "rejected"))
    for i, chosen in enumerate(right):
        for j, rejected in enumerate(wrong):
            names = {"item_id": f"{domain}-{row.number}/{STYLES[i]}-{STYLES[j]}"}
            names |= {"subset": f"{domain}/{difficulty(i, j)}", "label": "A", "label_kind": "objective"}
            yield turned_pair(row, "rm_bench", row.text("prompt"), chosen, rejected, **names)


read_grouped = partial(read_rows, within="*")  # rows by bias
pandalm = each(_pandalm_pair, "boolean_responses", "no_majority")
rm_bench = each(_rm_bench_pairs)
# 24 pairs for each of 58 scenarios.
autoj = columns(
    pair_of,
    "autoj",
    ("prompt", "response 1", "response 2"),
    kind="human",
    label=coded("label", {0: "A", 1: "B", 2: "tie"}),
    subset="scenario",
)
# Hard questions with a right and a wrong response of one model.
judgebench = columns(
    pair_of,
    "judgebench",
    ("question", "response_A", "response_B"),
    kind="objective",
    label=coded("label", {"A>B": "A", "B>A": "B"}),
    item_id=lambda row: f"{PART_OF[row.file]}/{row.text('pair_id')}",
    subset=lambda row: f"{PART_OF[row.file]}/{row.text('source')}",
    model_a="response_model",
    model_b="response_model",
)
# Pairs made to mislead judges, in six kinds of bias. In the file the good response is always the first.
evalbiasbench = columns(
    turned_pair,
    "evalbiasbench",
    ("instruction", "response1", "response2"),
    kind="human",
    label=coded("label", {1: "A", 2: "B"}),
    subset=lambda row: row.text("bias").replace(" ", "_"),
)
# Exactly one response follows the instruction. An item has one id in its own set and in the union of the others.
llmbar = {
    name: columns(
        pair_of,
        name,
        ("input", "output_1", "output_2"),
        kind="human",
        label=coded("label", {1: "A", "1": "A", 2: "B", "2": "B"}),
        item_id=lambda row: f"{PART_OF[row.file]}-{row.number}",
        subset=lambda row: PART_OF[row.file],
    )
    for name in LLMBAR_SETS
}
BENCHMARKS = {
    "pandalm": of_files(pandalm, "pandalm/testset-v1.json"),
    "autoj": of_files(autoj, "autoj/testdata_pairwise.jsonl"),
    "mtbench": mtbench.MTBENCH,
    **{name: of_files(llmbar[name], *(LLMBAR[part] for part in parts)) for name, parts in LLMBAR_SETS.items()},
    "judgebench": of_files(judgebench, *JUDGEBENCH.values()),
    "rm_bench": of_files(rm_bench, *RM_BENCH.values()),
    "evalbiasbench": of_files(evalbiasbench, BIAS_BENCH, read=read_grouped),
}
# The same for sets without labels: judges may be compared with each other there, never scored.
UNLABELLED = {"mtbench_repro": mtbench.REPRO}

# Prompts of further test sets that must stay out of training, most of which are not scored here: judges may be tried on
# them one day, and the scored sets borrow from them. The PandaLM test prompts are Self-Instruct's, FairEval's are
# Vicuna's; the Chinese ones are AlignBench's (also those of CritiqueLLM's evaluation samples), translations of
# Auto-J's, and LLMZoo's translations of Vicuna's. File -> the field that holds the prompt.
PROTECTED = {
    "mtbench/vicuna_bench/question.jsonl": "turns",
    "self_instruct/user_oriented_instructions.jsonl": "instruction",
    BIAS_BENCH: "instruction",
    **dict.fromkeys(RM_BENCH.values(), "prompt"),
    "autoj/testdata_critique.jsonl": "prompt",
    "autoj/zh_testdata_critique.jsonl": "prompt",
    "alignbench/data_v1.1_release.jsonl": "question",
    "llmzoo/questions/questions-zh.jsonl": "text",
}


def protected_files() -> dict[str, str]:
    """`PROTECTED`, and LLMBar's further sets."""
    further = source_names("llmbar/CaseStudy/*dataset.json", "llmbar/Processed/*dataset.json")
    return PROTECTED | dict.fromkeys(further, "input")


def protected_prompts() -> dict[str, list[str]]:
    """Prompts of the further test sets, by file; each of a row's turns is one."""
    return {
        name: [text for row in read_rows(name, "*" if name == BIAS_BENCH else None) for text in _texts(row, field)]
        for name, field in protected_files().items()
    }


def _texts(row: Row, field: str) -> list[str]:
    return row.texts(field) if isinstance(row.get(field), list) else [row.text(field)]
