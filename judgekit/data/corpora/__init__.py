"""Data that a judge may be trained on: preference pairs, and questions with single responses.

Which response of a pair is A is drawn by a hash of the item id, so that the label cannot be read from the position.
Whether a prompt also stands in a test set is for `judgekit.data.cleaning` to find.
"""

from functools import partial

from judgekit.data.corpora import alpaca, answers, chatbot_arena, hub, pairs
from judgekit.data.corpora.answers import preferred_responses
from judgekit.data.loading import DataSet, each, of_files

__all__ = ["ANSWERS", "CORPORA", "HUB_CORPORA", "preferred_responses"]
_vicuna = ("vicuna_blog_eval/question.jsonl", "vicuna_blog_eval/answer/*", "vicuna_blog_eval/review/*")
_newsroom = "judge_bench_dmg/newsroom/newsroom.json"

CORPORA = {
    "alpaca_eval": of_files(alpaca.alpaca_eval, alpaca.FILES),
    "alpaca_cross": of_files(alpaca.alpaca_cross, alpaca.FILES),
    "autoj_rated": of_files(pairs.autoj_rated, answers.AUTOJ_FILE),
    "chatbot_arena": of_files(chatbot_arena.voted_pairs, chatbot_arena.JUDGES["replay/arena-gpt-4-turbo"]),
    "finegrained_rlhf": of_files(each(pairs.finegrained_rlhf), "finegrained_rlhf/dev_feedback.json"),
    "hh_harmless": of_files(
        each(pairs.hh_harmless, "skipped_different_dialogues"), "hh_rlhf/harmless-base/test.jsonl.gz"
    ),
    "summ_pairwise": of_files(pairs.summ_pairwise, "summ_pairwise/pairwise_evaluation_results.json"),
    "newsroom": of_files(pairs.newsroom, _newsroom, read=answers.read_instances),
    "dpo_en": of_files(each(partial(pairs.dpo, name="dpo_en")), "llamafactory/dpo_en_demo.json"),
    "dpo_zh": of_files(each(partial(pairs.dpo, name="dpo_zh")), "llamafactory/dpo_zh_demo.json"),
    "oasst_zh": of_files(each(pairs.oasst_zh, "skipped_identical"), "llamafactory/oaast_rm_zh.json"),
    "medicalgpt": of_files(each(pairs.medicalgpt), "medicalgpt/dpo_zh_500.jsonl"),
    "kto_mix": of_files(pairs.kto_mix, "llamafactory/kto-mix-test.json"),
    "gsm8k_solutions": of_files(
        each(pairs.gsm8k_solutions, "problems", "problems_without_pair"), "gsm8k/example_model_solutions.jsonl"
    ),
    "vicuna_blog": of_files(pairs.vicuna_blog, *_vicuna),
    "llmzoo": of_files(each(pairs.llmzoo, "reviews", "skipped_identical"), "llmzoo/reviews/*/review.jsonl"),
}
HUB_CORPORA = hub.SETS  # large sets, read from the hub when they are named


def _preferred(corpus: DataSet) -> DataSet:
    return DataSet(lambda: preferred_responses(corpus.load()[0]), corpus.hashes)


# Corpora of pairs whose better response is worth having by itself, also where the pair is not trained on.
_worth_having = ("dpo_en", "dpo_zh", "oasst_zh", "medicalgpt", "kto_mix")
ANSWERS = answers.ANSWERS | {name: _preferred(CORPORA[name]) for name in _worth_having}
