"""Data that a judge may be trained on: preference pairs, and questions with single responses.

Which response of a pair is A is drawn by a hash of the item id, so that the label cannot be read from the position.
Whether a prompt also stands in a test set is for `judgekit.data.cleaning` to find.
"""

from functools import partial

from judgekit.data.corpora import alpaca, answers, by_models, by_people, chatbot_arena, hub
from judgekit.data.corpora.answers import preferred_responses
from judgekit.data.loading import DataSet, Loaded, load_named, of_files
from judgekit.data.sources import read_rows, source_hashes
from judgekit.records import PreferencePair

__all__ = [
    "ANSWERS",
    "CORPORA",
    "HUB_CORPORA",
    "answer_hashes",
    "corpus_hashes",
    "load_answers_with_report",
    "load_corpus",
    "load_corpus_with_report",
    "preferred_responses",
]
_instances = partial(read_rows, within="instances")  # JUDGE-BENCH's files
_autoj = "autoj/training/single_traindata.jsonl"

CORPORA = {
    "alpaca_eval": of_files(alpaca.alpaca_eval, alpaca.FILES),
    "alpaca_cross": of_files(alpaca.alpaca_cross, alpaca.FILES),
    "autoj_rated": of_files(by_models.autoj_rated, _autoj),
    "chatbot_arena": of_files(chatbot_arena.voted_pairs, chatbot_arena.JUDGES["replay/arena-gpt-4-turbo"]),
    "finegrained_rlhf": of_files(by_people.finegrained_rlhf, "finegrained_rlhf/dev_feedback.json"),
    "hh_harmless": of_files(by_people.hh_harmless, "hh_rlhf/harmless-base/test.jsonl.gz"),
    "summ_pairwise": of_files(by_people.summ_pairwise, "summ_pairwise/pairwise_evaluation_results.json"),
    "newsroom": of_files(by_people.newsroom, "judge_bench_dmg/newsroom/newsroom.json", read=_instances),
    "dpo_en": of_files(partial(by_models.dpo, name="dpo_en"), "llamafactory/dpo_en_demo.json"),
    "dpo_zh": of_files(partial(by_models.dpo, name="dpo_zh"), "llamafactory/dpo_zh_demo.json"),
    "oasst_zh": of_files(by_people.oasst_zh, "llamafactory/oaast_rm_zh.json"),
    "medicalgpt": of_files(by_models.medicalgpt, "medicalgpt/dpo_zh_500.jsonl"),
    "kto_mix": of_files(by_models.kto_mix, "llamafactory/kto-mix-test.json"),
    "gsm8k_solutions": of_files(by_models.gsm8k_solutions, "gsm8k/example_model_solutions.jsonl"),
    "vicuna_blog": of_files(
        by_models.vicuna_blog,
        *("vicuna_blog_eval/question.jsonl", "vicuna_blog_eval/answer/*", "vicuna_blog_eval/review/*"),
    ),
    "llmzoo": of_files(by_models.llmzoo, "llmzoo/reviews/*/review.jsonl"),
}
# Large sets that are not in a mirror as it is published: read from the hub when they are named.
HUB_CORPORA = {
    name: DataSet(partial(hub.load_hub_corpus, name), partial(hub.hub_provenance, name)) for name in hub.SETS
}


def _preferred(corpus: DataSet) -> DataSet:
    return DataSet(lambda: preferred_responses(corpus.load()[0]), corpus.hashes)


ANSWERS = {
    "autoj_single": of_files(answers.autoj_single, _autoj),
    "halueval": of_files(answers.halueval, "halueval/general_data.jsonl"),
    "shepherd": of_files(answers.shepherd, "shepherd/human_data_for_model.jsonl"),
    "medical_safety": of_files(answers.medical_safety, "judge_bench_dmg/medical-safety/data.json", read=_instances),
    "kto_en": of_files(answers.kto_en, "llamafactory/kto_en_demo.json"),
    "flask": of_files(answers.flask, "flask/flask_evaluation.jsonl"),
    "biggen": of_files(answers.biggen, "biggen/sample_responses.json", read=answers.read_biggen),
    "gsm8k_train": of_files(answers.gsm8k_train, "gsm8k/train.jsonl"),
    "math_train": DataSet(answers.load_math_train, partial(source_hashes, [answers.MATH_FILE])),
    "writer_summaries": of_files(answers.writer_summaries, "summ_pairwise/writer_summaries.json"),
    "critiquellm_train": of_files(answers.critiquellm_train, "critiquellm/train/train_data_sample.jsonl"),
    "cobbler": of_files(answers.cobbler, "cobbler/normalized_human_ranking.json"),
    # Corpora of pairs whose better response is worth having by itself, also where the pair is not trained on.
    **{name: _preferred(CORPORA[name]) for name in ("dpo_en", "dpo_zh", "oasst_zh", "medicalgpt", "kto_mix")},
}


def load_corpus(name: str) -> list[PreferencePair]:
    """The pairs of one of `CORPORA` or `HUB_CORPORA`; errors as of `judgekit.data.loading.load_named`."""
    return load_corpus_with_report(name)[0]


def load_corpus_with_report(name: str) -> Loaded:
    """The pairs of a corpus, and counts: ``items``, ``empty_responses`` (pairs with one), what was skipped."""
    return load_named("corpus", CORPORA | HUB_CORPORA, name)


def corpus_hashes(name: str) -> dict[str, str]:
    """The provenance of a corpus: file to SHA-256, or ``hub:<owner>/<name>`` to its commit; KeyError if unknown."""
    return (CORPORA | HUB_CORPORA)[name].hashes()


def load_answers_with_report(name: str) -> Loaded:
    """The single responses of one of `ANSWERS`, and counts as of `load_corpus_with_report`."""
    return load_named("answers", ANSWERS, name)


def answer_hashes(name: str) -> dict[str, str]:
    """File to SHA-256 of what a source of single responses is read from; KeyError if there is no such source."""
    return ANSWERS[name].hashes()
