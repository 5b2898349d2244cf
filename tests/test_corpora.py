"""The corpora's loaders: on small authored rows in each file's form, and counts on the real files."""

import re
from collections import Counter

import pytest

from judgekit.data.benchmarks.outputs import arena_row
from judgekit.data.catalogue import load_set, load_set_with_report, set_hashes
from judgekit.data.corpora import CORPORA, SYSTEMS
from judgekit.data.loading import keeps_sides, place
from judgekit.data.sources import DataError, Row
from judgekit.records import PreferencePair, Turn


def rows_of(*records, file="authored.json"):
    return [Row(record, file, number) for number, record in enumerate(records)]


def as_in_file(pair):
    """The pair with the sides of its file."""
    return pair if keeps_sides(pair.benchmark, pair.item_id) else pair.swapped()


# --- sides


def test_sides_are_balanced_repeatable_and_differ_between_corpora():
    pairs = [PreferencePair(str(n), "x", "q", "good", "bad", label="A") for n in range(2000)]
    labels = [place(pair).label for pair in pairs]
    assert 900 < labels.count("A") < 1100
    assert labels == [place(pair).label for pair in pairs]
    assert all((place(pair).response_a == "good") == (place(pair).label == "A") for pair in pairs)
    assert labels != ["A" if keeps_sides("y", pair.item_id) else "B" for pair in pairs]


# --- AlpacaEval

ALPACA_FILE = "alpaca_eval/some-model/alpaca_eval_gpt4/annotations.json"


def alpaca_record(**changes):
    record = {"instruction": "Add.", "output_1": "base", "generator_1": "davinci", "output_2": "new"}
    return record | {"generator_2": "some-model", "annotator": "alpaca_eval_gpt4", "preference": 2.0} | changes


def test_alpaca_eval_preferences_become_labels():
    records = [alpaca_record(preference=preference) for preference in (1, 2.0, 1.5, 0, None)]
    pairs, report = CORPORA["alpaca_eval"].build(rows_of(*records, file=ALPACA_FILE))
    assert [as_in_file(pair).label for pair in pairs] == ["A", "B", "tie", "tie"]
    assert all(pair.soft_label is None for pair in pairs)
    assert report == {"skipped_no_preference": 1, "annotator_not_of_folder": 0}
    pair = as_in_file(pairs[1])
    assert (pair.response_a, pair.model_a, pair.model_b) == ("base", "davinci", "some-model")
    assert (pair.item_id, pair.subset) == ("some-model/alpaca_eval_gpt4/1", "alpaca_eval_gpt4")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"preference": 3}, "annotations.json:0: field 'preference' is 3"),
        ({"preference": "2"}, "annotations.json:0: field 'preference' is str"),
        ({"output_1": None}, "annotations.json:0: field 'output_1' is NoneType"),
    ],
)
def test_alpaca_eval_bad_fields_are_named(changes, words):
    with pytest.raises(DataError, match=re.escape(words)):
        CORPORA["alpaca_eval"].build(rows_of(alpaca_record(**changes), file=ALPACA_FILE))


# --- people's votes


def test_chatbot_arena_votes_and_probabilities():
    record = {"instruction": "Hi?", "outputs": ["x", "y"], "preferences": {"human": 1}, "probs": [0.6, 0.2]}
    rows = rows_of(*[record] * 8)
    pairs, _ = CORPORA["chatbot_arena"].build(rows)
    assert {as_in_file(pair).label for pair in pairs} == {"A"}
    assert {pair.label for pair in pairs} == {"A", "B"}
    for row, pair in zip(rows, pairs, strict=True):
        (verdict,) = arena_row(row, "j")
        assert verdict.verdict == pair.label
        assert max(verdict.p_a, verdict.p_b) == pytest.approx(0.75) and verdict.p_a + verdict.p_b == pytest.approx(1)


def test_finegrained_comparisons_are_in_the_files_order():
    record = {"question": "Why?", "passages": [["T", "One.", "Two."], ["U", "Three."]]}
    record |= {f"prediction {n}": str(n) for n in (1, 2, 3, 4)} | {"preference": [0, 1, 2, 1, 2, 0]}
    pairs, _ = CORPORA["finegrained_rlhf"].build(rows_of(record))
    placed = [as_in_file(pair) for pair in pairs]
    assert [pair.response_a + pair.response_b for pair in placed] == ["12", "13", "14", "23", "24", "34"]
    assert [pair.label for pair in placed] == ["tie", "A", "B", "A", "B", "tie"]
    assert placed[0].reference == "T\nOne. Two.\n\nU\nThree."
    with pytest.raises(DataError, match="field 'preference' holds 5 whole numbers, not 6"):
        CORPORA["finegrained_rlhf"].build(rows_of(record | {"preference": [0] * 5}))


def test_hh_dialogues_are_parsed_and_different_ones_skipped():
    start = "\n\nHuman: Hi\n\nAssistant: Hello.\nYes?\n\nHuman: One\n\nHuman: Two"
    same = {"chosen": f"{start}\n\nAssistant: good", "rejected": f"{start}\n\nAssistant:"}
    other = same | {"rejected": "\n\nHuman: Something else\n\nAssistant: bad"}
    pairs, report = CORPORA["hh_harmless"].build(rows_of(same, other))
    pair = as_in_file(pairs[0])
    assert report == {"skipped_different_dialogues": 1} and len(pairs) == 1
    assert (pair.question, pair.response_a, pair.response_b) == ("One\n\nTwo", "good", "")
    assert pair.turns == (Turn("Hi", "Hello.\nYes?", "Hello.\nYes?"),)


def test_summaries_are_grouped_by_pair_with_their_votes():
    record = {"article_id": "a", "writer_id": "w", "article_text": "News.", "writer_summary": "W"}
    record |= {"text-davinci-002_summary": "D"}
    votes = [True, True, "Equally Good"]
    rows = rows_of(*(record | {"evaluator_id": str(n), "overall_writer_better": v} for n, v in enumerate(votes)))
    pairs, report = CORPORA["summ_pairwise"].build(rows)
    pair = as_in_file(pairs[0])
    assert (len(pairs), pair.label, pair.model_a) == (1, "A", "writer")
    assert pair.votes == {"0": "A", "1": "A", "2": "tie"} and pair.question.endswith("\n\nNews.")
    assert report == {"votes": 3, "no_majority": 0}
    with pytest.raises(DataError, match="field 'overall_writer_better' is 1"):
        CORPORA["summ_pairwise"].build(rows_of(record | {"evaluator_id": "0", "overall_writer_better": 1}))
    with pytest.raises(DataError, match="field 'evaluator_id' has voted"):
        CORPORA["summ_pairwise"].build([rows[0], rows[0]])


# --- LLaMA-Factory


def dpo_record(*speakers):
    messages = [{"from": speaker, "value": f"{speaker} {n}"} for n, speaker in enumerate(speakers)]
    return {"conversations": messages, "chosen": {"value": "good"}, "rejected": {"value": "bad"}}


def test_dpo_conversations_become_turns():
    records = [dpo_record("system", "human"), dpo_record("human", "gpt", "human")]
    pairs, _ = CORPORA["dpo_en"].build(rows_of(*records))
    alone, long = map(as_in_file, pairs)
    assert (alone.question, alone.turns, alone.response_a, alone.label) == ("system 0\n\nhuman 1", (), "good", "A")
    assert long.question == "human 2" and long.turns == (Turn("human 0", "gpt 1", "gpt 1"),)


def test_oasst_rankings_imply_pairs():
    record = {"instruction": "Q", "input": "", "output": ["best", "good", "good"], "history": [["P", "R"]]}
    pairs, report = CORPORA["oasst_zh"].build(rows_of(record))
    placed = [as_in_file(pair) for pair in pairs]
    assert [(pair.item_id, pair.response_a, pair.response_b) for pair in placed] == [
        ("0:0-1", "best", "good"),
        ("0:0-2", "best", "good"),
    ]
    assert placed[0].turns == (Turn("P", "R", "R"),) and report == {"skipped_identical": 1}


# --- objective and model labels


def test_gsm8k_pairs_right_with_wrong():
    record = {"question": "?", "ground_truth": "A: 3"}
    for system, right in zip(SYSTEMS, (True, False, True, False), strict=True):
        record[system] = {"is_correct": right, "solution": system}
    never = record | {system: {"is_correct": False, "solution": ""} for system in SYSTEMS}
    pairs, report = CORPORA["gsm8k_solutions"].build(rows_of(record, never))
    assert len(pairs) == 4 and report == {"problems": 2, "problems_without_pair": 1}
    assert {as_in_file(pair).model_a for pair in pairs} == {"6b_finetuning", "175b_finetuning"}
    assert {as_in_file(pair).label for pair in pairs} == {"A"}


def test_marks_on_one_prompt_become_a_pair():
    marks = [("P", "x", True), ("P", "y", False), ("Q", "z", True)]
    rows = rows_of(*({"instruction": p, "output": r, "tag": tag} for p, r, tag in marks))
    pairs, report = CORPORA["kto_mix"].build(rows)
    (pair,) = map(as_in_file, pairs)
    assert (pair.item_id, pair.response_a, pair.response_b, pair.label) == ("0-1", "x", "y", "A")
    assert report == {"responses": 3, "unpaired": 1}
    with pytest.raises(DataError, match="field 'tag' is 1, not one of"):
        CORPORA["kto_mix"].build(rows_of({"instruction": "P", "output": "x", "tag": 1}))


def test_unknown_names_list_the_known_ones():
    with pytest.raises(KeyError, match="alpaca_eval"):
        load_set("alpaca")


# --- counts on the real files


GOLDEN = {
    "alpaca_eval": (64332, 805, {"skipped_no_preference": 63}),
    "chatbot_arena": (500, 494, {}),
    "finegrained_rlhf": (3000, 500, {}),
    "hh_harmless": (2307, 2305, {"skipped_different_dialogues": 5}),
    "summ_pairwise": (112, 76, {"votes": 599}),
    "dpo_en": (300, 295, {}),
    "dpo_zh": (300, 289, {}),
    "oasst_zh": (1803, 750, {"skipped_identical": 6}),
    "gsm8k_solutions": (2429, 731, {"problems": 1319}),
    "alpaca_cross": (11825, 473, {"skipped_no_preference": 32}),
    "medicalgpt": (500, 500, {}),
    "kto_mix": (546, 546, {"responses": 1092, "unpaired": 0}),
}


@pytest.mark.realdata
@pytest.mark.parametrize("name", CORPORA)
def test_golden_counts(name):
    pairs, report = load_set_with_report(name)
    n, clusters, counts = GOLDEN[name]
    assert (len(pairs), len({pair.cluster_id for pair in pairs})) == (n, clusters)
    assert report.items() >= counts.items()
    assert {pair.benchmark for pair in pairs} == {name}
    decided = Counter(pair.label for pair in pairs)
    # The label does not follow from the position: four standard errors of a fair coin.
    assert abs(decided["A"] - decided["B"]) < 4 * (decided["A"] + decided["B"]) ** 0.5
    assert all(pair.label_kind and pair.source for pair in pairs)
    assert set_hashes([name])


@pytest.mark.realdata
def test_golden_labels():
    alpaca = load_set("alpaca_eval")
    baselines = ("text_davinci_003", "gpt4_1106_preview")
    older = [pair for pair in alpaca if "/alpaca_eval_gpt4/" in pair.item_id]
    won = Counter("tie" if pair.label == "tie" else as_in_file(pair).label for pair in older)
    assert won == {"A": 8907, "B": 33482, "tie": 27 + 188}
    assert {as_in_file(pair).model_a for pair in alpaca} == set(baselines)
    assert sum(pair.soft_label is not None for pair in alpaca) == 9655
    arena = [as_in_file(pair).label for pair in load_set("chatbot_arena")]
    assert Counter(arena) == {"A": 241, "B": 259}
    finegrained = [as_in_file(pair).label for pair in load_set("finegrained_rlhf")]
    assert Counter(finegrained) == {"A": 1577, "B": 1039, "tie": 384}
    votes = [label for pair in load_set("summ_pairwise") for label in as_in_file(pair).votes.values()]
    assert Counter(votes) == {"A": 243, "B": 239, "tie": 117}
