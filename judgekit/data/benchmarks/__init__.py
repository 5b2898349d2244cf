"""The test sets as preference pairs, in the order of their files, and prompts that training must not hold."""

from collections.abc import Iterator
from functools import partial

from judgekit.data.benchmarks import mtbench
from judgekit.data.loading import columns, each, of_files, pair_of, turned_pair
from judgekit.data.sources import source_names
from judgekit.data.sources.rows import Row, read_rows
from judgekit.records import PreferencePair, majority_label

_LLMBAR = ("Natural", *(f"Adversarial/{part}" for part in ("Neighbor", "GPTInst", "GPTOut", "Manual")))
LLMBAR = {part.split("/")[-1].lower(): f"llmbar/LLMBar/{part}/dataset.json" for part in _LLMBAR}  # by subset
# Benchmark name -> its subsets.
LLMBAR_SETS = {f"llmbar_{subset}": [subset] for subset in LLMBAR}
LLMBAR_SETS["llmbar_adversarial"] = [subset for subset in LLMBAR if subset != "natural"]
# Who wrote a file's responses, shortly -> the file.
JUDGEBENCH = {
    "gpt-4o": "judgebench/dataset=judgebench,response_model=gpt-4o-2024-05-13.jsonl",
    "claude-3.5-sonnet": "judgebench/dataset=judgebench,response_model=claude-3-5-sonnet-20240620.jsonl",
}
# Domain -> its file; that of mathematics is not in the mirror. The authors average safety's two parts before domains.
_DOMAINS = ("chat", "code", "safety-refuse", "safety-response")
RM_BENCH = {domain.replace("-", "_"): f"rm_bench/{domain}_filtered.json" for domain in _DOMAINS}
PART_OF = {file: part for parts in (LLMBAR, JUDGEBENCH, RM_BENCH) for part, file in parts.items()}
BIAS_BENCH = "evalbiasbench/biasbench.json"
STYLES = ("concise", "detailed", "markdown")


def _pandalm_pair(row: Row) -> Iterator[PreferencePair | str]:
    """The label is what two of three annotators say; six responses are JSON booleans, and become words again."""
    model_a, model_b = row.text("cmp_key").split("_")
    responses = [row.get("response1"), row.get("response2")]
    booleans = sum(isinstance(response, bool) for response in responses)
    votes = {name: row.code(name, {0: "tie", 1: "A", 2: "B"}) for name in ("annotator1", "annotator2", "annotator3")}
    label = majority_label(votes)
    yield from ["boolean_responses"] * booleans + ["no_majority"] * (label is None)
    texts = [str(one) if isinstance(one, bool) else row.text(f"response{n}") for n, one in enumerate(responses, 1)]
    fields = {"item_id": str(row.whole("idx")), "subset": row.text("motivation_app"), "label_kind": "human"}
    fields |= {"model_a": model_a, "model_b": model_b}
    yield pair_of(row, "pandalm", row.joined("instruction", "input"), *texts, label=label, votes=votes, **fields)


def difficulty(chosen: int, rejected: int) -> str:
    """What style does to a pair of RM-Bench, by the positions of the two styles in `STYLES`.

    Easy: the right response is the richer one in style; hard: the wrong one is. Liu et al. (2025), arXiv:2410.16184,
    section 3: the halves of the matrix of right by wrong responses, and its diagonal.
    """
    return "normal" if chosen == rejected else "easy" if chosen > rejected else "hard"


def _rm_bench_pairs(row: Row, name: str = "rm_bench") -> Iterator[PreferencePair]:
    """A prompt has three right and three wrong responses, each in three styles; nine pairs."""
    domain = PART_OF[row.file]
    right, wrong = (row.texts(field, n=len(STYLES)) for field in ("chosen", "rejected"))
    for i, chosen in enumerate(right):
        for j, rejected in enumerate(wrong):
            names = {"item_id": f"{domain}-{row.number}/{STYLES[i]}-{STYLES[j]}"}
            names |= {"subset": f"{domain}/{difficulty(i, j)}", "label": "A", "label_kind": "objective"}
            yield turned_pair(row, name, row.text("prompt"), chosen, rejected, **names)


# Hard questions with a right and a wrong response of one model.
_judgebench = columns(
    pair_of,
    "judgebench",
    ("question", "response_A", "response_B"),
    kind="objective",
    label=lambda row: row.code("label", {"A>B": "A", "B>A": "B"}),
    item_id=lambda row: f"{PART_OF[row.file]}/{row.text('pair_id')}",
    subset=lambda row: f"{PART_OF[row.file]}/{row.text('source')}",
    model_a="response_model",
    model_b="response_model",
)
# 24 pairs for each of 58 scenarios.
_autoj = columns(
    pair_of,
    "autoj",
    ("prompt", "response 1", "response 2"),
    kind="human",
    label=lambda row: row.code("label", {0: "A", 1: "B", 2: "tie"}),
    subset="scenario",
)
# Pairs made to mislead judges, in six kinds of bias. In the file the good response is always the first.
_evalbiasbench = columns(
    turned_pair,
    "evalbiasbench",
    ("instruction", "response1", "response2"),
    kind="human",
    label=lambda row: row.code("label", {1: "A", 2: "B"}),
    subset=lambda row: row.text("bias").replace(" ", "_"),
)
# Exactly one response follows the instruction. An item has one id in its own set and in the union of the others.
_llmbar = {
    name: columns(
        pair_of,
        name,
        ("input", "output_1", "output_2"),
        kind="human",
        label=lambda row: row.code("label", {1: "A", "1": "A", 2: "B", "2": "B"}),
        item_id=lambda row: f"{PART_OF[row.file]}-{row.number}",
        subset=lambda row: PART_OF[row.file],
    )
    for name in LLMBAR_SETS
}
BENCHMARKS = {
    "pandalm": of_files(each(_pandalm_pair, "boolean_responses", "no_majority"), "pandalm/testset-v1.json"),
    "autoj": of_files(_autoj, "autoj/testdata_pairwise.jsonl"),
    "mtbench": mtbench.MTBENCH,
    **{name: of_files(_llmbar[name], *(LLMBAR[part] for part in parts)) for name, parts in LLMBAR_SETS.items()},
    "judgebench": of_files(_judgebench, *JUDGEBENCH.values()),
    "rm_bench": of_files(each(_rm_bench_pairs), *RM_BENCH.values()),
    "rm_bench_chat": of_files(each(partial(_rm_bench_pairs, name="rm_bench_chat")), RM_BENCH["chat"]),
    "evalbiasbench": of_files(_evalbiasbench, BIAS_BENCH, read=partial(read_rows, within="*")),  # rows by bias
}
FROM_HUB = {"mtbench_all": mtbench.ALL}  # all votes on MT-bench, of which a mirror has a part
# The same for sets without labels: judges may be compared with each other there, never scored.
UNLABELLED = {"mtbench_repro": mtbench.REPRO}

# Prompts of further test sets that must stay out of training, most of which are not scored here: judges may be tried on
# them one day, and the scored sets borrow from them. The PandaLM test prompts are Self-Instruct's, FairEval's are
# Vicuna's; the Chinese ones are AlignBench's (also those of CritiqueLLM's evaluation samples), translations of
# Auto-J's, and LLMZoo's translations of Vicuna's. File -> the field that holds the prompt, or several.
PROTECTED = {
    "mtbench/vicuna_bench/question.jsonl": "turns",
    "self_instruct/user_oriented_instructions.jsonl": "instruction",
    BIAS_BENCH: "instruction",
    **dict.fromkeys(RM_BENCH.values(), "prompt"),
    "autoj/testdata_critique.jsonl": "prompt",
    "autoj/zh_testdata_critique.jsonl": "prompt",
    "alignbench/data_v1.1_release.jsonl": "question",
    "llmzoo/questions/questions-zh.jsonl": "text",
    **dict.fromkeys(source_names("llmbar/CaseStudy/*dataset.json", "llmbar/Processed/*dataset.json"), "input"),
}


def protected_prompts() -> list[tuple[str, str]]:
    """Prompts of the further test sets, each after its file; each of a row's turns is one."""
    prompts = []
    for name, field in PROTECTED.items():
        for row in read_rows(name, "*" if name == BIAS_BENCH else None):
            texts = row.texts(field) if isinstance(row.get(field), list) else [row.text(field)]
            prompts += [(name, text) for text in texts]
    return prompts
