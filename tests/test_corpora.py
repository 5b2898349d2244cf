"""The corpora's loaders, pairs and single responses: on small authored rows in each file's form."""

import io
import json
import math
import tarfile
from collections import Counter

import pytest

from judgekit.data.benchmarks.outputs import arena_row
from judgekit.data.catalogue import answer_set_hashes, load_answer_set, load_set
from judgekit.data.corpora import ANSWERS, CORPORA, SYSTEMS, answers, preferred_responses
from judgekit.data.corpora.alpaca import Entry, alpaca_cross, choose, soft_label
from judgekit.data.loading import keeps_sides, place
from judgekit.data.sources import DataError, Row, find_source
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


# --- people's votes

FINEGRAINED = {
    "question": "Why?",
    "passages": [["T", "One.", "Two."], ["U", "Three."]],
    "preference": [0, 1, 2, 1, 2, 0],
}
FINEGRAINED |= {f"prediction {n}": str(n) for n in (1, 2, 3, 4)}
SUMMARY = {"article_id": "a", "writer_id": "w", "article_text": "News.", "writer_summary": "W"}
SUMMARY |= {"text-davinci-002_summary": "D", "evaluator_id": "0"}


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
    pairs, _ = CORPORA["finegrained_rlhf"].build(rows_of(FINEGRAINED))
    placed = [as_in_file(pair) for pair in pairs]
    assert [pair.response_a + pair.response_b for pair in placed] == ["12", "13", "14", "23", "24", "34"]
    assert [pair.label for pair in placed] == ["tie", "A", "B", "A", "B", "tie"]
    assert placed[0].reference == "T\nOne. Two.\n\nU\nThree."


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
    votes = [True, True, "Equally Good"]
    rows = rows_of(*(SUMMARY | {"evaluator_id": str(n), "overall_writer_better": v} for n, v in enumerate(votes)))
    pairs, report = CORPORA["summ_pairwise"].build(rows)
    pair = as_in_file(pairs[0])
    assert (len(pairs), pair.label, pair.model_a) == (1, "A", "writer")
    assert pair.votes == {"0": "A", "1": "A", "2": "tie"} and pair.question.endswith("\n\nNews.")
    assert report == {"votes": 3, "no_majority": 0}
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


def test_unknown_names_list_the_known_ones():
    for load, known in ((load_set, "alpaca_eval"), (load_answer_set, "halueval")):
        with pytest.raises(KeyError, match=known):
            load("alpaca")


# --- single responses


def test_ratings_are_read_from_the_prompt():
    prompt = "Grade.\n***\n[Query]: Why?\nSay.\n***\n[Response]: So.\n***\n[END DATA]\n\nRate it."
    ((response,), _) = ANSWERS["autoj_single"].build(rows_of({"usrmsg": prompt, "pred_score": 6.5}))
    assert (response.question, response.response, response.score) == ("Why?\nSay.", "So.", 6.5)
    assert (response.benchmark, response.label_kind, response.source) == ("autoj_single", "gpt-4", "authored.json:0")


def safety_record(kind, response="Rest."):
    instance = {"query": "Why?", "response": response}
    return {"instance": instance, "annotations": {"response type": {"majority_human": kind}}}


def test_responses_that_answer_nothing_are_skipped():
    kinds = ("General information", "No answer", "Irrelevant or nonsensical", "Non-medical")
    rows = rows_of(*map(safety_record, kinds), safety_record("General information", None))
    responses, report = ANSWERS["medical_safety"].build(rows)
    assert [response.item_id for response in responses] == ["0", "3"]
    assert report == {"skipped_no_text": 1, "skipped_answers_nothing": 2}


def kto_record(*roles, label=True):
    messages = [{"role": role, "content": f"{role} {n}"} for n, role in enumerate(roles)]
    return {"messages": messages, "label": label}


def test_kto_conversations_become_turns():
    rows = rows_of(kto_record("user", "assistant", "user", "assistant"), kto_record("user", "assistant", label=False))
    (long, alone), _ = ANSWERS["kto_en"].build(rows)
    assert (long.question, long.response, long.score) == ("user 2", "assistant 3", 1)
    assert long.turns == (Turn("user 0", "assistant 1", "assistant 1"),)
    assert (alone.turns, alone.score) == ((), 0)


def tar_of(files):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
    return stream.getvalue()


def test_only_training_problems_are_read(monkeypatch):
    def of(files):
        monkeypatch.setattr(answers, "read_bytes", lambda name: tar_of(files))
        return ANSWERS["math_train"].load()

    problem = json.dumps({"problem": "1+1?", "solution": "2"}).encode()
    files = {"x/MATH/train/algebra/7.json": problem, "x/MATH/test/algebra/7.json": problem, "x/README.txt": b"read me"}
    responses, report = of(files)
    assert [(r.item_id, r.question, r.response) for r in responses] == [("algebra/7", "1+1?", "2")]
    assert report == {"skipped_not_train": 1}
    with pytest.raises(DataError, match=r"train/algebra/7\.json:0: field 'solution' is missing"):
        of({"train/algebra/7.json": b'{"problem": "1+1?"}'})


def test_references_are_read():
    flask, report = ANSWERS["flask"].build(
        rows_of({"idx": 5, "instruction": "Do.", "answer": "Done."}, {"idx": 6, "instruction": "Do.", "answer": " "})
    )
    assert [(r.item_id, r.response) for r in flask] == [("5", "Done.")] and report == {"skipped_no_answer": 1}
    ((biggen,), _) = ANSWERS["biggen"].build(rows_of({"id": "plan_0", "input": "Plan.", "reference_answer": "A plan."}))
    assert (biggen.item_id, biggen.question, biggen.response) == ("plan_0", "Plan.", "A plan.")
    ((summary,), _) = ANSWERS["writer_summaries"].build(rows_of({"article": "News.", "summary": "N."}))
    assert summary.question.endswith("\n\nNews.") and summary.label_kind == "human"
    three, _ = ANSWERS["critiquellm_train"].build(
        rows_of({"question": "问?", "reference": "r", "response_1": "x", "response_2": "y"})
    )
    assert [r.response for r in three] == ["r", "x", "y"] and len({r.item_id for r in three}) == 3


def test_each_model_of_a_question_is_a_response():
    responses, _ = ANSWERS["cobbler"].build(rows_of({"instruction": "Q?", "reference": "R", "gpt4": "x", "mpt": "y"}))
    assert [(r.item_id, r.model, r.response, r.reference) for r in responses] == [
        ("0:gpt4", "gpt4", "x", "R"),
        ("0:mpt", "mpt", "y", "R"),
    ]


def pair(item_id, label, a="good", b="bad"):
    return PreferencePair(item_id, "set", "Q?", a, b, cluster_id="q", model_a="m", model_b="n", label=label)


def test_the_better_response_of_a_pair_is_kept_once():
    pairs = [pair("1", "A"), pair("2", "B", "worse", "good"), pair("3", "B"), pair("4", "tie"), pair("5", None)]
    responses, report = preferred_responses(pairs)
    assert [(r.item_id, r.response, r.model) for r in responses] == [("1", "good", "m"), ("3", "bad", "n")]
    assert report == {"skipped_undecided": 2, "skipped_again": 1}


@pytest.mark.parametrize("name", ANSWERS)
def test_no_file_of_a_test_set_is_read(name):
    files = answer_set_hashes([name])
    assert files and {find_source(file).split for file in files} <= {"train", "meta"}


# --- pairs of two models on one AlpacaEval instruction


def record(number, model, preference, **changes):
    values = {"instruction": f"Instruction {number}", "output_1": "base", "output_2": f"{model} says {number}"}
    values |= {"generator_1": "davinci", "generator_2": model, "annotator": "gpt4", "dataset": "koala"}
    return values | {"preference": preference} | changes


def files_of(**preferences):
    """Rows of one file per model: its preferences on instruction 0, 1, ..."""
    return {
        f"alpaca_eval/{model}/gpt4/annotations.json": [
            Row(record(number, model, value), f"alpaca_eval/{model}/gpt4/annotations.json", number)
            for number, value in enumerate(values)
        ]
        for model, values in preferences.items()
    }


def cross(files, **options):
    return alpaca_cross([row for rows in files.values() for row in rows], **options)


def entry(preference, entrant="m"):
    return Entry(Row(record(0, entrant, preference + 1), "f", 0), entrant, preference)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def test_the_soft_label_by_hand():
    # On the others, m won three of four and n one of four; here m lost and n won.
    sums = {"m": (3.0, 5), "n": (2.0, 5)}
    item = 0.35 * (math.log(0.05 / 0.95) - math.log(0.95 / 0.05))
    model = 0.5 * (math.log(0.75 / 0.25) - math.log(0.25 / 0.75))
    assert soft_label(entry(0.0, "m"), entry(1.0, "n"), sums) == pytest.approx(sigmoid(item + model))


def test_a_pair_holds_both_models_and_says_where_from():
    pairs, report = cross(files_of(good=[2, 2, 2], bad=[1, 1, 1]))
    assert len(pairs) == 3 and report == {"responses": 6, "skipped_no_preference": 0, "skipped_test_parts": 0}
    for pair in map(as_in_file, pairs):
        assert (pair.model_a, pair.model_b) == ("bad", "good")
        assert pair.label == "B" and pair.soft_label < 0.1 and pair.label_kind == "gpt-4"
        assert pair.response_a.startswith("bad says") and pair.response_b.startswith("good says")
        assert pair.source.startswith("alpaca_eval/bad/gpt4/annotations.json:")


def test_prompts_of_test_sets_make_no_pair_and_no_win_rate():
    files = files_of(m=[2, 2, 1, 2], n=[1, 1, 2, 1])
    plain = cross(files)[0]
    for rows in files.values():
        rows[2] = Row(rows[2].values | {"dataset": "selfinstruct"}, rows[2].file, 2)
        rows[3] = Row(rows[3].values | {"preference": None}, rows[3].file, 3)
    pairs, report = cross(files)
    assert report == {"responses": 4, "skipped_no_preference": 2, "skipped_test_parts": 2}
    assert {as_in_file(pair).item_id[0] for pair in pairs} == {"0", "1"}
    # Without the lost instruction m always wins elsewhere, so that the label is surer.
    assert abs(pairs[0].soft_label - 0.5) > abs(plain[0].soft_label - 0.5)


def test_only_one_baseline_and_annotator_make_a_pair():
    entries = [
        Entry(Row(record(0, model, 2, generator_1=base, annotator=who), "f", 0), f"{model}/{who}", 1.0)
        for model, base, who in (("m", "x", "gpt4"), ("n", "y", "gpt4"), ("o", "x", "other"))
    ]
    assert choose(entries, 25) == []
    same = [Entry(Row(record(0, model, 2, output_2="same"), "f", 0), model, 1.0) for model in "mn"]
    assert choose(same, 25) == []


def test_models_are_drawn_equally_often_and_the_same_ones_each_time():
    files = files_of(**{f"m{n}": [1 + n % 2] * 30 for n in range(20)})
    pairs, _ = cross(files, per_prompt=10)
    assert len(pairs) <= 30 * 10 and len(pairs) > 30 * 8
    used = Counter(model for pair in pairs for model in (pair.model_a, pair.model_b))
    assert len(used) == 20 and max(used.values()) <= 30
    assert Counter(Counter(pair.question for pair in pairs).values()).keys() <= {8, 9, 10}
    again = cross(dict(reversed(files.items())), per_prompt=10)[0]
    assert {pair.item_id for pair in again} == {pair.item_id for pair in pairs}


# --- fields that cannot be read


@pytest.mark.parametrize(
    ("build", "record", "words"),
    [
        ("alpaca_eval", alpaca_record(preference=3), "field 'preference' is 3"),
        ("alpaca_eval", alpaca_record(preference="2"), "field 'preference' is str"),
        ("alpaca_eval", alpaca_record(output_1=None), "field 'output_1' is NoneType"),
        ("finegrained_rlhf", FINEGRAINED | {"preference": [0] * 5}, "field 'preference' holds 5 whole numbers, not 6"),
        ("summ_pairwise", SUMMARY | {"overall_writer_better": 1}, "field 'overall_writer_better' is 1"),
        ("kto_mix", {"instruction": "P", "output": "x", "tag": 1}, "field 'tag' is 1, not one of"),
        ("autoj_single", {"usrmsg": "Grade.", "pred_score": 6.5}, "field 'usrmsg' does not hold"),
        ("medical_safety", safety_record("General information", 3), "field 'response' is int, not text"),
        ("flask", {"idx": 5, "instruction": "Do."}, "field 'answer' is missing"),
    ],
)
def test_bad_fields_are_named(build, record, words):
    with pytest.raises(DataError, match=rf"annotations\.json:0: {words}"):
        (ANSWERS | CORPORA)[build].build(rows_of(record, file=ALPACA_FILE))
