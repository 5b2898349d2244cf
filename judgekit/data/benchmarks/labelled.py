"""The table of test sets, and the prompts of further ones that training must not hold."""

from collections.abc import Iterator

from judgekit.data.benchmarks import mtbench
from judgekit.data.loading import Loaded, coded, each, of_files, pair_of, pairs, turned_pair
from judgekit.data.sources import DataError, Row, read_document, source_names
from judgekit.data.sources.rows import parse_json, read_rows
from judgekit.records import PreferencePair, majority_label

# The eight groups of scenarios that Auto-J's authors report by (Li et al. 2023, arXiv:2310.05470).
SCENARIO_GROUPS = {
    "summarization": "note_summarization post_summarization text_summarization",
    "exam_questions": "math_reasoning solving_exam_question_with_math solving_exam_question_without_math",
    "code": "code_correction_rewriting code_generation code_simplification code_to_code_translation explaining_code",
    "rewriting": "instructional_rewriting language_polishing paraphrasing text_correction text_simplification",
    "creative_writing": "counterfactual creative_writing writing_advertisement writing_blog_post "
    "writing_marketing_materials writing_personal_essay writing_presentation_script writing_social_media_post "
    "writing_song_lyrics",
    "functional_writing": "functional_writing writing_biography writing_cooking_recipe writing_email "
    "writing_job_application writing_legal_document writing_news_article writing_product_description "
    "writing_scientific_paper writing_technical_document",
    "general_communication": "analyzing_general asking_how_to_question brainstorming chitchat explaining_general "
    "open_question planning recommendation roleplay seeking_advice value_judgement verifying_fact",
    "nlp_tasks": "classification_identification data_analysis information_extraction keywords_extraction others "
    "question_generation ranking reading_comprehension text_to_text_translation title_generation topic_modeling",
}
GROUP_OF_SCENARIO = {scenario: group for group, scenarios in SCENARIO_GROUPS.items() for scenario in scenarios.split()}
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
    """The label is what at least two of three annotators say.

    Six responses are JSON booleans: the models had printed the word, and a conversion made it a truth value. They are
    turned back into the word, and counted as ``boolean_responses``.
    """
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


def rm_bench(rows: list[Row]) -> Loaded:
    found = [pair for row in rows for pair in _rm_bench_pairs(row)]
    return found, {"prompts": len({pair.cluster_id for pair in found})}


def _rm_bench_pairs(row: Row) -> Iterator[PreferencePair]:
    """A prompt has three right and three wrong responses, each in three styles; nine pairs."""
    domain = PART_OF[row.file]
    right, wrong = (row.texts(field, n=len(STYLES)) for field in ("chosen", "rejected"))
    for i, chosen in enumerate(right):
        for j, rejected in enumerate(wrong):
            names = {"item_id": f"{domain}-{row.number}/{STYLES[i]}-{STYLES[j]}"}
            names |= {"subset": f"{domain}/{difficulty(i, j)}", "label": "A", "label_kind": "objective"}
            yield turned_pair(row, "rm_bench", row.text("prompt"), chosen, rejected, **names)


def read_grouped(name: str) -> list[Row]:
    """Rows of a file that groups them by bias, numbered through."""
    groups = parse_json(read_document(name), name)
    if not isinstance(groups, dict) or not all(isinstance(group, list) for group in groups.values()):
        raise DataError(f"{name}: expected groups of rows by bias")
    rows = [row for group in groups.values() for row in group]
    return [Row(row, name, number) for number, row in enumerate(rows)]


pandalm = each(_pandalm_pair, "boolean_responses", "no_majority")
# 24 pairs for each of 58 scenarios.
autoj = pairs(
    "autoj",
    ("prompt", "response 1", "response 2"),
    kind="human",
    label=coded("label", {0: "A", 1: "B", 2: "tie"}),
    turned=False,
    subset="scenario",
)
# Hard questions with a right and a wrong response of one model.
judgebench = pairs(
    "judgebench",
    ("question", "response_A", "response_B"),
    kind="objective",
    label=coded("label", {"A>B": "A", "B>A": "B"}),
    turned=False,
    item_id=lambda row: f"{PART_OF[row.file]}/{row.text('pair_id')}",
    subset=lambda row: f"{PART_OF[row.file]}/{row.text('source')}",
    model_a="response_model",
    model_b="response_model",
)
# Pairs made to mislead judges, in six kinds of bias. In the file the good response is always the first.
evalbiasbench = pairs(
    "evalbiasbench",
    ("instruction", "response1", "response2"),
    kind="human",
    label=coded("label", {1: "A", 2: "B"}),
    subset=lambda row: row.text("bias").replace(" ", "_"),
)
# Exactly one response follows the instruction. An item has one id in its own set and in the union of the others.
llmbar = {
    name: pairs(
        name,
        ("input", "output_1", "output_2"),
        kind="human",
        label=coded("label", {1: "A", "1": "A", 2: "B", "2": "B"}),
        turned=False,
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
        name: [text for row in (read_grouped if name == BIAS_BENCH else read_rows)(name) for text in _texts(row, field)]
        for name, field in protected_files().items()
    }


def _texts(row: Row, field: str) -> list[str]:
    return row.texts(field) if isinstance(row.get(field), list) else [row.text(field)]
