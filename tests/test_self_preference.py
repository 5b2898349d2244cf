"""Self-preference: who is compared with whom, and small cases worked by hand."""

import numpy as np
import pandas as pd
import pytest
from notebook_functions import functions_of

from judgekit.bias.lifts import lifts

NOTEBOOK = functions_of("42_self_preference")
compared, others_opinion, with_target = NOTEBOOK.compared, NOTEBOOK.others_opinion, NOTEBOOK.with_target
AUTHORS = ["gpt-4", "vicuna-13b", "claude-v1", "phi-2"]


def table_of(*rows):
    """A judged table of (authors, people, ab, ba), one prompt each."""
    table = pd.DataFrame(rows, columns=["model_a", "model_b", "people", "ab", "ba"])
    names = table.index.astype(str)
    return table.assign(item=names, prompt=names)


def test_both_orders_count_or_none_and_authors_must_differ():
    table = table_of(
        ("m", "n", 1.0, 1.0, 0.0),
        ("m", "n", 1.0, 1.0, np.nan),
        ("m", "m", 1.0, 1.0, 1.0),
        ("m", None, 1.0, 1.0, 1.0),
        ("m", "n", np.nan, 1.0, 1.0),
    )
    rows = compared(table)
    assert rows[["item", "judged", "reference"]].to_numpy().tolist() == [["0", 0.5, 1.0]]
    one_order = compared(table.assign(ba=np.nan))
    assert one_order["item"].tolist() == ["0", "1"] and one_order["judged"].tolist() == [1.0, 1.0]
    with pytest.raises(AssertionError, match="no item has two known authors"):
        compared(table[3:4])


def test_a_lift_worked_by_hand_whatever_the_sides():
    """The target wins 1, 0.5, 1 by the judge and 0.5, 0.5, 0 by people: 1.5 of three."""
    table = table_of(
        ("own", "x", 0.5, 1.0, np.nan),
        ("y", "own", 0.5, 0.5, np.nan),
        ("own", "y", 0.0, 1.0, np.nan),
        ("x", "y", 0.2, 0.2, np.nan),
    )
    found = lifts(with_target(compared(table), ["own"], ["x", "y"]), 50)["value"]
    assert (found["lift"].value, found["lift"].n, found["sharpness"].n) == (0.5, 3, 4)
    turned = table.assign(model_a=table["model_b"], model_b=table["model_a"], people=1 - table["people"])
    turned = lifts(with_target(compared(turned.assign(ab=1 - table["ab"])), ["own"], ["x", "y"]), 2)["value"]
    for way in ("lift", "calibrated", "sharpness"):
        assert found[way].value == pytest.approx(turned[way].value, abs=1e-6)


def test_items_among_the_others_count_and_the_family_is_left_out():
    table = table_of(*[(a, b, 0.5, 1.0, 0.0) for a in AUTHORS for b in AUTHORS if a < b])
    rows = with_target(compared(table), ["gpt-4"], ["vicuna-13b", "phi-2"])
    assert len(rows) == 3 and sorted(rows["side"].abs()) == [0, 1, 1]
    assert "claude-v1" not in {*rows["author_a"], *rows["author_b"]}
    with pytest.raises(AssertionError, match="target and other at once"):
        with_target(compared(table), ["phi-2"], ["phi-2", "gpt-4"])
    with pytest.raises(AssertionError, match="stranger never meets phi-2"):
        with_target(compared(table), ["stranger"], ["phi-2"])
    # who is as sharp as people is learnt where two others meet
    assert lifts(with_target(compared(table), ["gpt-4"], ["phi-2"]), 2).index.tolist() == ["lift"]


def test_every_other_family_has_one_voice():
    credits = {"one": 1.0, "q1": 0.0, "q2": 0.0, "g": 1.0, "kin": 0.0}
    tables = {name: table_of(("m", "n", 0.5, credit, credit)) for name, credit in credits.items()}
    families = {"one": "llama", "kin": "llama", "q1": "qwen", "q2": "qwen", "g": "gemma"}
    assert others_opinion(tables, families, "one").tolist() == [0.5]
    assert others_opinion(tables, dict.fromkeys(tables, "none"), "one").tolist() == [0.25]
    with pytest.raises(AssertionError, match="no judge of another family than one's"):
        others_opinion({"one": tables["one"], "kin": tables["kin"]}, families, "one")
