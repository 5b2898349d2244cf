"""Data that a judge may be trained on: preference pairs, and questions with single responses.

Which response of a pair is A is drawn by a hash of the item id, so that the label cannot be read from the position.
Whether a prompt also stands in a test set is for `judgekit.data.cleaning` to find.
"""

from functools import partial

from judgekit.data.corpora import alpaca, answers, pairs
from judgekit.data.corpora.answers import preferred_responses
from judgekit.data.loading import DataSet, columns, each, of_files, turned_pair
from judgekit.data.sources import Row

__all__ = ["ANSWERS", "CORPORA", "preferred_responses"]


def _output(number: int, row: Row) -> str:
    return row.texts("outputs", n=2)[number]


_alpaca = "alpaca_eval/*/annotations.json"  # <model>/<annotator>
CORPORA = {
    "alpaca_eval": of_files(each(alpaca.alpaca_eval, "skipped_no_preference", "annotator_not_of_folder"), _alpaca),
    "alpaca_cross": of_files(alpaca.alpaca_cross, _alpaca),
    # 500 pairs with a person's vote, none of them a tie.
    "chatbot_arena": of_files(
        columns(
            turned_pair,
            "chatbot_arena",
            ("instruction", partial(_output, 0), partial(_output, 1)),
            kind="human",
            label=lambda row: row.inner("preferences").code("human", {1: "A", 2: "B"}),
        ),
        "chatbot_arena_calibration/gpt-4-turbo.calibration.jsonl",  # of three files with the same pairs and votes
    ),
    "finegrained_rlhf": of_files(each(pairs.finegrained_rlhf), "finegrained_rlhf/dev_feedback.json"),
    "hh_harmless": of_files(
        each(pairs.hh_harmless, "skipped_different_dialogues"), "hh_rlhf/harmless-base/test.jsonl.gz"
    ),
    "summ_pairwise": of_files(pairs.summ_pairwise, "summ_pairwise/pairwise_evaluation_results.json"),
    # LLaMA-Factory's samples, and MedicalGPT's in the same form: conversations, a chosen and a rejected response.
    "dpo_en": of_files(each(partial(pairs.chosen_rejected, name="dpo_en")), "llamafactory/dpo_en_demo.json"),
    "dpo_zh": of_files(each(partial(pairs.chosen_rejected, name="dpo_zh")), "llamafactory/dpo_zh_demo.json"),
    "medicalgpt": of_files(each(partial(pairs.chosen_rejected, name="medicalgpt")), "medicalgpt/dpo_zh_500.jsonl"),
    "oasst_zh": of_files(each(pairs.oasst_zh, "skipped_identical"), "llamafactory/oaast_rm_zh.json"),
    "kto_mix": of_files(pairs.kto_mix, "llamafactory/kto-mix-test.json"),
    "gsm8k_solutions": of_files(
        each(pairs.gsm8k_solutions, "problems", "problems_without_pair"), "gsm8k/example_model_solutions.jsonl"
    ),
}


def _preferred(corpus: DataSet) -> DataSet:
    return DataSet(lambda: preferred_responses(corpus.load()[0]), corpus.hashes)


# Corpora of pairs whose better response is worth having by itself, also where the pair is not trained on.
_worth_having = ("dpo_en", "dpo_zh", "oasst_zh", "medicalgpt", "kto_mix")
ANSWERS = answers.ANSWERS | {name: _preferred(CORPORA[name]) for name in _worth_having}
