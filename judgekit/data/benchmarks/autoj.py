"""Auto-J pairwise test set: 1,392 pairs, 24 for each of 58 scenarios."""

from judgekit.data.sources import read_rows, text_key
from judgekit.records import PreferencePair

FILES = ("autoj/testdata_pairwise.jsonl",)
LABEL_CODES = {0: "A", 1: "B", 2: "tie"}

# The eight groups of scenarios that the set's authors report by (Li et al. 2023, arXiv:2310.05470).
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


def load():
    """The pairs, in the file's order, and a report."""
    return pairs_from_rows(read_rows(FILES[0]))


def pairs_from_rows(rows):
    """Pairs and (empty) report of the rows of ``testdata_pairwise.jsonl``.

    Raises
    ------
    DataError
        If a field is missing or of another type, or a label is not 0, 1 or 2.
    """
    return [pair_from_row(row) for row in rows], {}


def pair_from_row(row):
    """One pair; the subset is the scenario, whose group is ``GROUP_OF_SCENARIO[pair.subset]``."""
    prompt = row.text("prompt")
    return PreferencePair(
        item_id=str(row.number),
        benchmark="autoj",
        question=prompt,
        response_a=row.text("response 1"),
        response_b=row.text("response 2"),
        subset=row.text("scenario"),
        cluster_id=text_key(prompt),
        label=row.code("label", LABEL_CODES),
        label_kind="human",
        source=row.where,
    )
