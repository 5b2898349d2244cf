"""Test sets with one file of pairs, or one a part; each function takes rows and keeps the sides as published."""

from collections.abc import Iterator

from judgekit.data.loading import Loaded, Rows, pair_of, turned_pair
from judgekit.data.sources import DataError, Row, read_document
from judgekit.data.sources.rows import parse_json
from judgekit.records import PreferencePair, majority_label

ANNOTATORS = ("annotator1", "annotator2", "annotator3")
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
STYLES = ("concise", "detailed", "markdown")
DIFFICULTIES = ("easy", "normal", "hard")


def pandalm(rows: list[Row]) -> Loaded:
    """PandaLM test set v1: 999 pairs over 170 prompts; the label is what at least two of three annotators say.

    Six responses are JSON booleans in the file: the models had printed the word, and a conversion made it a truth
    value. They are turned back into the word, and counted as ``boolean_responses``.
    """
    pairs = [_pandalm_pair(row) for row in rows]
    booleans = sum(isinstance(row.get(side), bool) for row in rows for side in ("response1", "response2"))
    return pairs, {"boolean_responses": booleans, "no_majority": sum(pair.label is None for pair in pairs)}


def _pandalm_pair(row: Row) -> PreferencePair:
    models = row.text("cmp_key").split("_")
    if len(models) != 2:
        raise row.error("cmp_key", f"is {row.get('cmp_key')!r}, not two models joined by '_'")
    votes = {annotator: row.code(annotator, {0: "tie", 1: "A", 2: "B"}) for annotator in ANNOTATORS}
    given = [(row.get(field), field) for field in ("response1", "response2")]
    return pair_of(
        row,
        "pandalm",
        row.joined("instruction", "input"),
        *(str(value) if isinstance(value, bool) else row.text(field) for value, field in given),
        item_id=str(row.whole("idx")),
        subset=row.text("motivation_app"),
        model_a=models[0],
        model_b=models[1],
        label=majority_label(votes),
        votes=votes,
        label_kind="human",
    )


def autoj(rows: Rows) -> Loaded:
    """Auto-J pairwise test set: 24 pairs for each of 58 scenarios, the subsets; `GROUP_OF_SCENARIO` groups them."""
    pairs = []
    for row in rows:
        fields = {"subset": row.text("scenario"), "label": row.code("label", {0: "A", 1: "B", 2: "tie"})}
        texts = [row.text(field) for field in ("prompt", "response 1", "response 2")]
        pairs.append(pair_of(row, "autoj", *texts, **fields, label_kind="human"))
    return pairs, {}


def llmbar(rows: Rows, benchmark: str) -> Loaded:
    """One of `LLMBAR_SETS`: exactly one response of a pair follows the instruction.

    Item ids are ``<subset>-<row>``, so an item has one id in its own set and in the union of the adversarial sets.
    """
    subsets = {file: subset for subset, file in LLMBAR.items()}
    codes = {1: "A", "1": "A", 2: "B", "2": "B"}
    pairs = []
    for row in rows:
        fields = {"item_id": f"{subsets[row.file]}-{row.number}", "subset": subsets[row.file]}
        texts = [row.text(field) for field in ("input", "output_1", "output_2")]
        pairs.append(pair_of(row, benchmark, *texts, **fields, label=row.code("label", codes), label_kind="human"))
    return pairs, {}


def judgebench(rows: Rows) -> Loaded:
    """JudgeBench: hard questions with a right and a wrong response of one model; subsets ``<writer>/<task family>``."""
    writers = {file: writer for writer, file in JUDGEBENCH.items()}
    pairs = []
    for row in rows:
        writer = writers[row.file]
        pair = pair_of(
            row,
            "judgebench",
            *(row.text("question"), row.text("response_A"), row.text("response_B")),
            item_id=f"{writer}/{row.text('pair_id')}",
            subset=f"{writer}/{row.text('source')}",
            model_a=row.text("response_model"),
            model_b=row.text("response_model"),
            label=row.code("label", {"A>B": "A", "B>A": "B"}),
            label_kind="objective",
        )
        pairs.append(pair)
    return pairs, {}


def difficulty(chosen: int, rejected: int) -> str:
    """One of `DIFFICULTIES`, what style does to a pair of RM-Bench, by the places of the two styles in `STYLES`.

    Easy: the right response is the richer one in style; hard: the wrong one is. Liu et al. (2025), arXiv:2410.16184,
    section 3: the halves of the matrix of right by wrong responses, and its diagonal.
    """
    return "normal" if chosen == rejected else "easy" if chosen > rejected else "hard"


def rm_bench(rows: Rows) -> Loaded:
    """RM-Bench: prompts with three right and three wrong responses, each in three styles; nine pairs a prompt.

    Ids are ``<domain>-<row>/<style of the right one>-<style of the wrong one>``, subsets ``<domain>/<difficulty>``. The
    file names the right responses, so a coin that is a hash of the item's id says whether the right one is A.
    """
    pairs = [pair for row in rows for pair in _rm_bench_pairs(row)]
    return pairs, {"prompts": len({pair.cluster_id for pair in pairs})}


def _rm_bench_pairs(row: Row) -> Iterator[PreferencePair]:
    domain = {file: domain for domain, file in RM_BENCH.items()}[row.file]
    right, wrong = (row.texts(field, n=len(STYLES)) for field in ("chosen", "rejected"))
    for i, chosen in enumerate(right):
        for j, rejected in enumerate(wrong):
            yield turned_pair(
                row,
                "rm_bench",
                *(row.text("prompt"), chosen, rejected),
                item_id=f"{domain}-{row.number}/{STYLES[i]}-{STYLES[j]}",
                subset=f"{domain}/{difficulty(i, j)}",
                label="A",
                label_kind="objective",
            )


def read_grouped(name: str) -> list[Row]:
    """Rows of a file that groups them by bias, numbered through."""
    groups = parse_json(read_document(name), name)
    if not isinstance(groups, dict) or not all(isinstance(group, list) for group in groups.values()):
        raise DataError(f"{name}: expected groups of rows by bias")
    rows = [row for group in groups.values() for row in group]
    return [Row(row, name, number) for number, row in enumerate(rows)]


def evalbiasbench(rows: Rows) -> Loaded:
    """EvalBiasBench: 80 pairs made to mislead judges, in six kinds of bias, the subsets.

    In the file the good response is always the first: a coin that is a hash of the item's id says whether it is A.
    """
    pairs = []
    for row in rows:
        fields = {"subset": row.text("bias").replace(" ", "_"), "label": row.code("label", {1: "A", 2: "B"})}
        texts = [row.text(field) for field in ("instruction", "response1", "response2")]
        pairs.append(turned_pair(row, "evalbiasbench", *texts, **fields, label_kind="human"))
    return pairs, {}
