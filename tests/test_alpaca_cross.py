"""Pairs of two models on one AlpacaEval instruction: by hand on small authored files."""

import math
from collections import Counter

import pytest

from judgekit.data.catalogue import load_set_with_report
from judgekit.data.corpora.alpaca import Entry, alpaca_cross, choose, soft_label
from judgekit.data.loading import keeps_sides
from judgekit.data.sources import Row


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


def as_built(pair):
    return pair if keeps_sides(pair.benchmark, pair.item_id) else pair.swapped()


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
    for pair in map(as_built, pairs):
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
    assert {as_built(pair).item_id[0] for pair in pairs} == {"0", "1"}
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


@pytest.mark.realdata
def test_real_pairs():
    pairs, report = load_set_with_report("alpaca_cross")
    assert len(pairs) == 473 * 25 and report["responses"] + report["skipped_test_parts"] == 64395 - 32
    assert all(0 < pair.soft_label < 1 for pair in pairs)
    assert max(Counter(pair.cluster_id for pair in pairs).values()) == 25
