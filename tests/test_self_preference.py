"""Self-preference: who is compared with whom, small cases worked by hand, and the picture."""

import numpy as np
import pandas as pd
import pytest

from judgekit.bias.judged import COLUMNS
from judgekit.bias.lifts import calibrated_lift, meetings_of, own_contrast, own_lift, regressed_lift
from judgekit.bias.planted import PlantedBias, Population, judged_again, planted_table
from judgekit.bias.self_preference import (
    annotated_table,
    compared,
    credit_of,
    facing,
    kin_of,
    lift_table,
    others_opinion,
    pooled_rows,
)
from judgekit.figures.self_preference import plot_own_among_others
from judgekit.records import PreferencePair

AUTHORS = ["gpt-4", "vicuna-13b", "claude-v1", "phi-2"]


def table_of(*rows):
    """A judged table of (authors, people, ab, ba), one prompt each."""
    fields = []
    for number, (a, b, people, ab, ba) in enumerate(rows):
        values = {"item_id": str(number), "cluster": str(number), "people": people, "ab": ab, "ba": ba}
        fields.append({**dict.fromkeys(COLUMNS, np.nan), **values, "model_a": a, "model_b": b})
    return pd.DataFrame(fields).assign(words_a=7, words_b=3)


def test_both_orders_count_or_none_and_authors_must_differ():
    table = table_of(
        ("m", "n", 1.0, 1.0, 0.0),
        ("m", "n", 1.0, 1.0, np.nan),
        ("m", "m", 1.0, 1.0, 1.0),
        ("m", None, 1.0, 1.0, 1.0),
        ("m", "n", np.nan, 1.0, 1.0),
    )
    rows = compared(table)
    assert rows[["item_id", "judged", "reference", "doublings"]].to_numpy().tolist() == [["0", 0.5, 1.0, 1.0]]
    one_order = compared(table.assign(ba=np.nan))
    assert one_order["item_id"].tolist() == ["0", "1"] and one_order["judged"].tolist() == [1.0, 1.0]
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
    found = own_lift(facing(compared(table), ["own"], ["x", "y"]), 50)
    assert (found.value, found.n) == (0.5, 3)
    turned = table.assign(model_a=table["model_b"], model_b=table["model_a"], people=1 - table["people"])
    turned["ab"] = 1 - table["ab"]
    for estimate in (own_lift, own_contrast, calibrated_lift):
        values = [estimate(facing(compared(t), ["own"], ["x", "y"]), 2).value for t in (table, turned)]
        assert values[0] == pytest.approx(values[1], abs=1e-6)


def test_items_among_the_others_are_kept_and_kin_left_out():
    table = table_of(*[(a, b, 0.5, 1.0, 0.0) for a in AUTHORS for b in AUTHORS if a < b])
    rows = facing(compared(table), ["gpt-4"], ["vicuna-13b", "phi-2"])
    assert len(rows) == 3 and sorted(rows["side"].abs()) == [0, 1, 1]
    assert "claude-v1" not in {*rows["author_a"], *rows["author_b"]}
    meetings = meetings_of(rows)
    assert meetings.signs[:, meetings.target].ravel().tolist() == meetings.side.tolist()
    with pytest.raises(ValueError, match="phi-2: target and others at once"):
        facing(compared(table), ["phi-2"], ["phi-2", "gpt-4"])
    with pytest.raises(ValueError, match="stranger never meets phi-2"):
        facing(compared(table), ["stranger"], ["phi-2"])
    with pytest.raises(ValueError, match="two other authors"):
        calibrated_lift(facing(compared(table), ["gpt-4"], ["phi-2"]), 2)


def test_every_other_family_has_one_voice():
    said = {"one": 1.0, "q1": 0.0, "q2": 0.0, "g": 1.0, "kin": 0.0}
    tables = {name: table_of(("m", "n", 0.5, credit, credit)) for name, credit in said.items()}
    families = {"one": "llama", "kin": "llama", "q1": "qwen", "q2": "qwen", "g": "gemma"}
    assert others_opinion(tables, families, "one").tolist() == [0.5]
    without = dict.fromkeys(tables, "none")
    assert others_opinion(tables, without, "one").tolist() == [0.25]
    with pytest.raises(ValueError, match="no judge of another family than one's"):
        others_opinion({"one": tables["one"], "kin": tables["kin"]}, families, "one")


def test_kin_are_authors_of_the_judges_family():
    table = table_of(("gpt-4", "vicuna-13b", 0.5, 1.0, 1.0), ("phi-2", "text_davinci_003", 0.5, 1.0, 1.0))
    found = kin_of({"a": table, "b": table, "c": table}, {"a": "openai", "b": "llama", "c": "none"})
    assert found == {"a": ["gpt-4", "text_davinci_003"], "b": ["vicuna-13b"], "c": []}


def named(table):
    """A planted table whose authors have real names: the first is the judge's own."""
    renamed = dict(zip(sorted({*table["model_a"]}), AUTHORS, strict=True))
    return table.assign(model_a=table["model_a"].map(renamed), model_b=table["model_b"].map(renamed))


POPULATION = Population(
    prompts=80, per_prompt=6, models={"amber-1": 0.5, "birch-1": 0.4, "cedar-1": 0.0, "cedar-2": -1}
)


def test_the_family_stands_out_among_placebos():
    rows = compared(named(planted_table(PlantedBias(own=2.0), POPULATION, 1)))
    table = lift_table(rows, ["gpt-4"], 200).set_index("target")
    assert table.index[table["own"]].tolist() == ["gpt-4"]
    assert table["p_holm"]["gpt-4"] < 0.05 and (table["p_holm"].drop("gpt-4") > 0.05).all()
    assert max(abs(effect.value) for effect in table["calibrated"].drop("gpt-4")) < table["calibrated"]["gpt-4"].value
    both = lift_table(rows, ["gpt-4", "claude-v1"], 50)
    assert both["target"].tolist() == ["claude-v1", "gpt-4", "phi-2", "vicuna-13b", "own"]
    assert both["calibrated"].map(lambda effect: effect is None).tolist() == [False, False, True, True, False]


def test_a_judge_that_follows_length_without_exception_has_no_regression():
    table = planted_table(PlantedBias(), POPULATION, 1)
    table = table.assign(ab=(table["words_a"] > table["words_b"]) * 1.0, ba=np.nan)
    table = table[table["words_a"] != table["words_b"]]
    rows = facing(compared(table), ["amber-1"], ["birch-1", "cedar-1", "cedar-2"])
    assert regressed_lift(rows) is None
    assert regressed_lift(rows, ()) is not None


def test_nobody_meets_kin():
    table = planted_table(PlantedBias(), POPULATION, 1)
    with pytest.raises(ValueError, match="no judge meets its own family"):
        pooled_rows({"a": table, "b": judged_again(table, PlantedBias(), 2)}, {"a": [], "b": []})


def annotated(number, annotator, model_a, model_b, label, soft=None, **fields):
    made = {"benchmark": "made", "question": "Why?", "response_a": "one", "response_b": "one two", "cluster_id": "p"}
    names = {"subset": annotator, "model_a": model_a, "model_b": model_b, "label": label, "soft_label": soft}
    return PreferencePair(str(number), **(made | names | fields))


def test_annotators_meet_on_the_same_prompt_and_authors():
    pairs = [annotated(0, "hard", "n", "m", "A"), annotated(1, "soft", "m", "n", "A", 0.7)]
    hard, soft = (annotated_table(pairs, name) for name in ("hard", "soft"))
    assert hard["item_id"].tolist() == soft["item_id"].tolist() == ["p:m:n"]
    assert (credit_of(hard)["p:m:n"], credit_of(soft)["p:m:n"]) == (0.0, 0.7)
    assert hard["words_a"].tolist() == [2]
    with pytest.raises(ValueError, match="'third' annotated none"):
        annotated_table(pairs, "third")
    with pytest.raises(ValueError, match="p:m:n"):
        annotated_table([pairs[0], annotated(2, "hard", "m", "n", "B")], "hard")


def test_the_picture_marks_the_family_and_shows_judges_without_one():
    ends = {"low": -0.1, "high": 0.1, "raw": 0.02, "raw_low": -0.1, "raw_high": 0.1}
    rows = [
        {
            "panel": "p",
            "judge": judge,
            "author": author,
            "own": author == "x",
            "kin_judge": judge == "j",
            "value": value,
        }
        for judge, value in (("j", 0.03), ("k", -0.04))
        for author in ("y", "x")
    ]
    (ax,) = plot_own_among_others(pd.DataFrame(rows).assign(**ends)).flat
    labels = {label.get_text(): label.get_fontweight() for label in ax.get_yticklabels()}
    assert labels == {"x": "bold", "y": "normal"}
    ticks = [line for line in ax.lines if line.get_marker() == "|"]
    assert [line.get_xdata()[0] for line in ticks] == [-0.04, -0.04]
    with pytest.raises(ValueError, match="the table lacks"):
        plot_own_among_others(pd.DataFrame(rows).drop(columns="author"))
