"""Self-preference: who is compared with whom, and small cases worked by hand."""

import numpy as np
import pandas as pd
import pytest

from judgekit.bias.planted import PlantedBias, Population, planted_table
from judgekit.records import PreferencePair
from judgekit.studies.self_preference import (
    annotated_table,
    calibrated_lift,
    compared,
    credit_of,
    others_opinion,
    own_contrast,
    own_lift,
    regressed_lift,
    with_target,
)

AUTHORS = ["gpt-4", "vicuna-13b", "claude-v1", "phi-2"]


def table_of(*rows):
    """A judged table of (authors, people, ab, ba), one prompt each."""
    table = pd.DataFrame(rows, columns=["model_a", "model_b", "people", "ab", "ba"])
    names = table.index.astype(str)
    return table.assign(item=names, prompt=names, words_a=7, words_b=3)


def test_both_orders_count_or_none_and_authors_must_differ():
    table = table_of(
        ("m", "n", 1.0, 1.0, 0.0),
        ("m", "n", 1.0, 1.0, np.nan),
        ("m", "m", 1.0, 1.0, 1.0),
        ("m", None, 1.0, 1.0, 1.0),
        ("m", "n", np.nan, 1.0, 1.0),
    )
    rows = compared(table)
    assert rows[["item", "judged", "reference", "doublings"]].to_numpy().tolist() == [["0", 0.5, 1.0, 1.0]]
    one_order = compared(table.assign(ba=np.nan))
    assert one_order["item"].tolist() == ["0", "1"] and one_order["judged"].tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="no item has two known authors"):
        compared(table[3:4])


def test_a_lift_worked_by_hand_whatever_the_sides():
    """The target wins 1, 0.5, 1 by the judge and 0.5, 0.5, 0 by people: 1.5 of three."""
    table = table_of(
        ("own", "x", 0.5, 1.0, np.nan),
        ("y", "own", 0.5, 0.5, np.nan),
        ("own", "y", 0.0, 1.0, np.nan),
        ("x", "y", 0.2, 0.2, np.nan),
    )
    found = own_lift(with_target(compared(table), ["own"], ["x", "y"]), 50)
    assert (found.value, found.n) == (0.5, 3)
    turned = table.assign(model_a=table["model_b"], model_b=table["model_a"], people=1 - table["people"])
    turned["ab"] = 1 - table["ab"]
    for estimate in (own_lift, own_contrast, calibrated_lift):
        values = [estimate(with_target(compared(t), ["own"], ["x", "y"]), 2).value for t in (table, turned)]
        assert values[0] == pytest.approx(values[1], abs=1e-6)


def test_items_among_the_others_count_and_the_family_is_left_out():
    table = table_of(*[(a, b, 0.5, 1.0, 0.0) for a in AUTHORS for b in AUTHORS if a < b])
    rows = with_target(compared(table), ["gpt-4"], ["vicuna-13b", "phi-2"])
    assert len(rows) == 3 and sorted(rows["side"].abs()) == [0, 1, 1]
    assert "claude-v1" not in {*rows["author_a"], *rows["author_b"]}
    with pytest.raises(ValueError, match="phi-2: target and others at once"):
        with_target(compared(table), ["phi-2"], ["phi-2", "gpt-4"])
    with pytest.raises(ValueError, match="stranger never meets phi-2"):
        with_target(compared(table), ["stranger"], ["phi-2"])
    with pytest.raises(ValueError, match="two other authors"):
        calibrated_lift(with_target(compared(table), ["gpt-4"], ["phi-2"]), 2)


def test_every_other_family_has_one_voice():
    credits = {"one": 1.0, "q1": 0.0, "q2": 0.0, "g": 1.0, "kin": 0.0}
    tables = {name: table_of(("m", "n", 0.5, credit, credit)) for name, credit in credits.items()}
    families = {"one": "llama", "kin": "llama", "q1": "qwen", "q2": "qwen", "g": "gemma"}
    assert others_opinion(tables, families, "one").tolist() == [0.5]
    assert others_opinion(tables, dict.fromkeys(tables, "none"), "one").tolist() == [0.25]
    with pytest.raises(ValueError, match="no judge of another family than one's"):
        others_opinion({"one": tables["one"], "kin": tables["kin"]}, families, "one")


def test_a_judge_that_follows_length_without_exception_has_no_regression():
    models = {"amber-1": 0.5, "birch-1": 0.4, "cedar-1": 0.0, "cedar-2": -1}
    table = planted_table(PlantedBias(), Population(prompts=80, per_prompt=6, models=models), 1)
    table = table.assign(ab=(table["words_a"] > table["words_b"]) * 1.0, ba=np.nan)
    rows = compared(table[table["words_a"] != table["words_b"]])
    rows = with_target(rows, ["amber-1"], ["birch-1", "cedar-1", "cedar-2"])
    assert regressed_lift(rows) is None and regressed_lift(rows, ()) is not None


def annotated(number, annotator, model_a, model_b, label, soft=None):
    names = {"subset": annotator, "model_a": model_a, "model_b": model_b, "label": label, "soft_label": soft}
    return PreferencePair(str(number), "made", "Why?", "one", "one two", cluster_id="p", **names)


def test_annotators_meet_on_the_same_prompt_and_authors():
    pairs = [annotated(0, "hard", "n", "m", "A"), annotated(1, "soft", "m", "n", "A", 0.7)]
    hard, soft = (annotated_table(pairs, name) for name in ("hard", "soft"))
    assert hard["item"].tolist() == soft["item"].tolist() == ["p:m:n"]
    assert (credit_of(hard)["p:m:n"], credit_of(soft)["p:m:n"]) == (0.0, 0.7)
    assert hard["words_a"].tolist() == [2]
    with pytest.raises(ValueError, match="'third' annotated none"):
        annotated_table(pairs, "third")
    with pytest.raises(ValueError, match="p:m:n twice"):
        annotated_table([pairs[0], annotated(2, "hard", "m", "n", "B")], "hard")
