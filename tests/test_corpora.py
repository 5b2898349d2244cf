"""The corpora's loaders, pairs and single responses: on small authored rows in each file's form."""

import io
import json
import math
import tarfile
from collections import Counter

import pytest

from judgekit.data.benchmarks.outputs import arena_row, published_verdicts
from judgekit.data.catalogue import load_answer_set_with_report, load_set, set_hashes
from judgekit.data.corpora import ANSWERS, CORPORA, SYSTEMS, answers, preferred_responses
from judgekit.data.corpora.alpaca import Entry, alpaca_cross, choose, soft_label
from judgekit.data.loading import heads
from judgekit.data.sources import DataError, find_source
from judgekit.data.sources.rows import Row
from judgekit.records import PreferencePair, Turn


def rows_of(*records, file="authored.json"):
    return [Row(record, file, number) for number, record in enumerate(records)]


def as_in_file(pair):
    """The pair with the sides of its file."""
    return pair if heads(f"{pair.benchmark}:{pair.item_id}") else pair.swapped()


ALPACA_FILE = "alpaca_eval/some-model/alpaca_eval_gpt4/annotations.json"
ALPACA = {"instruction": "Add.", "output_1": "base", "generator_1": "davinci", "output_2": "new"}
ALPACA |= {"generator_2": "some-model", "annotator": "alpaca_eval_gpt4", "preference": 2.0}
ARENA = {"instruction": "Hi?", "outputs": ["x", "y"], "preferences": {"human": 1}, "probs": [0.6, 0.2]}
FINEGRAINED = {
    "question": "Why?",
    "passages": [["T", "One.", "Two."], ["U", "Three."]],
    "preference": [0, 1, 2, 1, 2, 0],
}
FINEGRAINED |= {f"prediction {n}": str(n) for n in (1, 2, 3, 4)}
HH_START = "\n\nHuman: Hi\n\nAssistant: Hello.\nYes?\n\nHuman: One\n\nHuman: Two"
HH = {"chosen": f"{HH_START}\n\nAssistant: good", "rejected": f"{HH_START}\n\nAssistant:"}
SUMMARY = {"article_id": "a", "writer_id": "w", "article_text": "News.", "writer_summary": "W"}
SUMMARY |= {"text-davinci-002_summary": "D", "evaluator_id": "0"}
OASST = {"instruction": "Q", "input": "", "output": ["best", "good", "good"], "history": [["P", "R"]]}
KTO_MIX = {"instruction": "P", "output": "x", "tag": True}
AUTOJ = {"usrmsg": "Grade.\n***\n[Query]: Why?\nSay.\n***\n[Response]: So.\n***\n[END DATA]\n\nRate it."}
AUTOJ |= {"pred_score": 6.5}
CRITIQUE = {"question": "问?", "reference": "r", "response_1": "x", "response_2": "y"}


def dpo_record(*speakers):
    messages = [{"from": speaker, "value": f"{speaker} {n}"} for n, speaker in enumerate(speakers)]
    return {"conversations": messages, "chosen": {"value": "good"}, "rejected": {"value": "bad"}}


def gsm8k_record(*right):
    solved = {system: {"is_correct": system in right, "solution": system} for system in SYSTEMS}
    return solved | {"question": "?", "ground_truth": "A: 3"}


def safety_record(kind, response="Rest."):
    instance = {"query": "Why?", "response": response}
    return {"instance": instance, "annotations": {"response type": {"majority_human": kind}}}


def kto_record(*roles, label=True):
    messages = [{"role": role, "content": f"{role} {n}"} for n, role in enumerate(roles)]
    return {"messages": messages, "label": label}


def voted(*votes):
    return [SUMMARY | {"evaluator_id": str(n), "overall_writer_better": vote} for n, vote in enumerate(votes)]


# Set -> records, fields of the items with the sides of the file, what the report counts.
MADE = {
    "alpaca_eval": (
        [ALPACA | {"preference": preference} for preference in (1, 2.0, 1.5, 0, None)],
        [
            {"label": "A", "response_a": "base", "model_a": "davinci", "model_b": "some-model", "soft_label": None},
            {"label": "B", "item_id": "some-model/alpaca_eval_gpt4/1", "subset": "alpaca_eval_gpt4"},
            {"label": "tie"},
            {"label": "tie"},
        ],
        {"skipped_no_preference": 1, "annotator_not_of_folder": 0},
    ),
    "finegrained_rlhf": (
        [FINEGRAINED],
        [
            {"label": label, "response_a": a, "response_b": b, "reference": "T\nOne. Two.\n\nU\nThree."}
            for label, a, b in zip(("tie", "A", "B", "A", "B", "tie"), "111223", "234344", strict=True)
        ],
        {},
    ),
    "hh_harmless": (
        [HH, HH | {"rejected": "\n\nHuman: Something else\n\nAssistant: bad"}],
        [
            {"question": "One\n\nTwo", "response_a": "good", "response_b": ""}
            | {"turns": (Turn("Hi", "Hello.\nYes?", "Hello.\nYes?"),)}
        ],
        {"skipped_different_dialogues": 1},
    ),
    "summ_pairwise": (
        voted(True, True, "Equally Good"),
        [{"label": "A", "model_a": "writer", "votes": {"0": "A", "1": "A", "2": "tie"}}],
        {"votes": 3, "no_majority": 0},
    ),
    "dpo_en": (
        [dpo_record("system", "human"), dpo_record("human", "gpt", "human")],
        [
            {"question": "system 0\n\nhuman 1", "turns": (), "response_a": "good", "label": "A"},
            {"question": "human 2", "turns": (Turn("human 0", "gpt 1", "gpt 1"),)},
        ],
        {},
    ),
    "oasst_zh": (
        [OASST],
        [
            {"item_id": f"0:0-{other}", "response_a": "best", "response_b": "good", "turns": (Turn("P", "R", "R"),)}
            for other in (1, 2)
        ],
        {"skipped_identical": 1},
    ),
    "gsm8k_solutions": (
        [gsm8k_record(SYSTEMS[0], SYSTEMS[2]), gsm8k_record()],
        [{"model_a": a, "model_b": b, "label": "A"} for a in SYSTEMS[::2] for b in SYSTEMS[1::2]],
        {"problems": 2, "problems_without_pair": 1},
    ),
    "kto_mix": (
        [KTO_MIX, KTO_MIX | {"output": "y", "tag": False}, KTO_MIX | {"instruction": "Q", "output": "z"}],
        [{"item_id": "0-1", "response_a": "x", "response_b": "y", "label": "A"}],
        {"responses": 3, "unpaired": 1},
    ),
    "autoj_single": (
        [AUTOJ],
        [
            {"question": "Why?\nSay.", "response": "So.", "score": 6.5, "benchmark": "autoj_single"}
            | {"label_kind": "gpt-4", "source": "authored.json:0"}
        ],
        {},
    ),
    "medical_safety": (
        [
            *map(safety_record, ("General information", "No answer", "Irrelevant or nonsensical", "Non-medical")),
            safety_record("General information", None),
        ],
        [{"item_id": "0"}, {"item_id": "3"}],
        {"skipped_no_text": 1, "skipped_answers_nothing": 2},
    ),
    "kto_en": (
        [kto_record("user", "assistant", "user", "assistant"), kto_record("user", "assistant", label=False)],
        [
            {"question": "user 2", "response": "assistant 3", "score": 1}
            | {"turns": (Turn("user 0", "assistant 1", "assistant 1"),)},
            {"turns": (), "score": 0},
        ],
        {},
    ),
    "flask": (
        [{"idx": 5, "instruction": "Do.", "answer": "Done."}, {"idx": 6, "instruction": "Do.", "answer": " "}],
        [{"item_id": "5", "response": "Done."}],
        {"skipped_no_answer": 1},
    ),
    "biggen": (
        [{"id": "plan_0", "input": "Plan.", "reference_answer": "A plan."}],
        [{"item_id": "plan_0", "question": "Plan.", "response": "A plan."}],
        {},
    ),
    "writer_summaries": (
        [{"article": "News.", "summary": "N."}],
        [{"question": f"{answers.SUMMARY_TASK}\n\nNews.", "label_kind": "human"}],
        {},
    ),
    "critiquellm_train": ([CRITIQUE], [{"response": "r"}, {"response": "x"}, {"response": "y"}], {}),
    "cobbler": (
        [{"instruction": "Q?", "reference": "R", "gpt4": "x", "mpt": "y"}],
        [
            {"item_id": "0:gpt4", "model": "gpt4", "response": "x", "reference": "R"},
            {"item_id": "0:mpt", "model": "mpt", "response": "y", "reference": "R"},
        ],
        {},
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_rows_become_items(name):
    records, expected, counts = MADE[name]
    file = ALPACA_FILE if name == "alpaca_eval" else "authored.json"
    items, report = (ANSWERS | CORPORA)[name].build(rows_of(*records, file=file))
    placed = [as_in_file(item) if name in CORPORA else item for item in items]
    fields = [{field: getattr(item, field) for field in one} for item, one in zip(placed, expected, strict=True)]
    assert fields == expected and report == counts
    assert len({item.item_id for item in items}) == len(items)


def test_sides_are_balanced_repeatable_and_differ_between_corpora():
    pairs, again = (CORPORA["chatbot_arena"].build(rows_of(*[ARENA] * 2000))[0] for _ in range(2))
    labels = [pair.label for pair in pairs]
    assert 900 < labels.count("A") < 1100 and again == pairs
    assert all((pair.response_a == "x") == (pair.label == "A") for pair in pairs)
    assert labels != ["A" if heads(f"y:{pair.item_id}") else "B" for pair in pairs]


def test_probabilities_of_chatbot_arena_are_turned_as_the_pairs_are():
    rows = rows_of(*[ARENA] * 8)
    pairs, _ = CORPORA["chatbot_arena"].build(rows)
    assert {pair.label for pair in pairs} == {"A", "B"}
    for row, pair in zip(rows, pairs, strict=True):
        (verdict,) = arena_row(row, "j")
        assert verdict.verdict == pair.label
        assert max(verdict.p_a, verdict.p_b) == pytest.approx(0.75) and verdict.p_a + verdict.p_b == pytest.approx(1)


def test_unknown_names_list_the_known_ones():
    loaders = {"pandalm": load_set, "halueval": load_answer_set_with_report, "pandalm-7b": published_verdicts}
    for known, load in loaders.items():
        with pytest.raises(KeyError, match=known):
            load("alpaca")


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


def pair(item_id, label, a="good", b="bad"):
    return PreferencePair(item_id, "set", "Q?", a, b, cluster_id="q", model_a="m", model_b="n", label=label)


def test_the_better_response_of_a_pair_is_kept_once():
    pairs = [pair("1", "A"), pair("2", "B", "worse", "good"), pair("3", "B"), pair("4", "tie"), pair("5", None)]
    responses, report = preferred_responses(pairs)
    assert [(r.item_id, r.response, r.model) for r in responses] == [("1", "good", "m"), ("3", "bad", "n")]
    assert report == {"skipped_undecided": 2, "skipped_again": 1}


@pytest.mark.parametrize("name", ANSWERS)
def test_no_file_of_a_test_set_is_read(name):
    files = set_hashes([name])
    assert files and {find_source(file).split for file in files} <= {"train", "meta"}


def record(number, model, preference, **changes):
    values = {"instruction": f"Instruction {number}", "output_1": "base", "output_2": f"{model} says {number}"}
    values |= {"generator_1": "davinci", "generator_2": model, "annotator": "gpt4", "dataset": "koala"}
    return values | {"preference": preference} | changes


def files_of(**preferences):
    """Rows of one file per model: its preferences on instruction 0, 1, ..."""
    made = {}
    for model, values in preferences.items():
        file = f"alpaca_eval/{model}/gpt4/annotations.json"
        made[file] = rows_of(*(record(number, model, value) for number, value in enumerate(values)), file=file)
    return made


def cross(files, **options):
    return alpaca_cross([row for rows in files.values() for row in rows], **options)


def entry(preference, entrant="m"):
    return Entry(Row(record(0, entrant, preference + 1), "f", 0), entrant, preference)


def test_the_soft_label_by_hand():
    # On the others, m won three of four and n one of four; here m lost and n won.
    sums = {"m": (3.0, 5), "n": (2.0, 5)}
    item = 0.35 * (math.log(0.05 / 0.95) - math.log(0.95 / 0.05))
    model = 0.5 * (math.log(0.75 / 0.25) - math.log(0.25 / 0.75))
    assert soft_label(entry(0.0, "m"), entry(1.0, "n"), sums) == pytest.approx(1 / (1 + math.exp(-item - model)))


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


@pytest.mark.parametrize(
    ("build", "record", "words"),
    [
        ("alpaca_eval", ALPACA | {"preference": 3}, "field 'preference' is 3"),
        ("alpaca_eval", ALPACA | {"preference": "2"}, "field 'preference' is str"),
        ("alpaca_eval", ALPACA | {"output_1": None}, "field 'output_1' is NoneType"),
        ("finegrained_rlhf", FINEGRAINED | {"preference": [0] * 5}, "field 'preference' holds 5 whole numbers, not 6"),
        ("summ_pairwise", SUMMARY | {"overall_writer_better": 1}, "field 'overall_writer_better' is 1"),
        ("kto_mix", KTO_MIX | {"tag": 1}, "field 'tag' is 1, not one of"),
        ("autoj_single", AUTOJ | {"usrmsg": "Grade."}, "field 'usrmsg' does not hold"),
        ("medical_safety", safety_record("General information", 3), "field 'response' is int, not text"),
        ("flask", {"idx": 5, "instruction": "Do."}, "field 'answer' is missing"),
    ],
)
def test_bad_fields_are_named(build, record, words):
    with pytest.raises(DataError, match=rf"annotations\.json:0: {words}"):
        (ANSWERS | CORPORA)[build].build(rows_of(record, file=ALPACA_FILE))


def test_a_second_vote_of_one_person_is_refused():
    with pytest.raises(DataError, match="field 'evaluator_id' has voted"):
        CORPORA["summ_pairwise"].build(rows_of(*voted(True)) * 2)
