"""Edits of form, twins, and what is counted of them; tables and the picture."""

from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
import pytest

from judgekit.bias import formats
from judgekit.bias.judged import judged_table
from judgekit.bias.planted import PlantedBias, PlantedJudge
from judgekit.bias.verbosity_tables import form_table, planted_readings, verbosity_table
from judgekit.data.sample import load_sample
from judgekit.figures.verbosity import plot_verbosity
from judgekit.judges import load_judge
from judgekit.judges.surface import words_of
from judgekit.records import PreferencePair
from judgekit.scoring import run_judge
from judgekit.scoring.store import VerdictStore
from judgekit.stats import Number

matplotlib.use("Agg")

LIST = "Colours:\n1. Red\n2. Green\n3. Blue\nThat is all."
PROSE = "It is so. And more is to come. See 3.5 there."


def pair(number, response_a=LIST, response_b=PROSE, label="A", **fields):
    return PreferencePair(str(number), "made", f"Which {number}?", response_a, response_b, label=label, **fields)


def judged(pairs, judge):
    return run_judge(judge, pairs, VerdictStore(":memory:"), progress=False)


@pytest.mark.parametrize(
    ("edit", "text", "expected"),
    [
        ("padded", PROSE, PROSE),
        ("padded", "- one\n- two", "- one\n- two"),
        ("unmarked", "# Head\n* a **b** `c`\n```py\nx = 1\n```", "Head\na b c\nx = 1\n"),
        ("unmarked", PROSE, PROSE),
        ("bulleted", PROSE, "- It is so.\n- And more is to come.\n- See 3.5 there."),
        ("bulleted", LIST, LIST),
        ("bold", PROSE, "**It** is so. **And** more is to come. **See** 3.5 there."),
        ("bold", "a **b** c", "a **b** c"),
        ("heading", PROSE, f"## Answer\n\n{PROSE}"),
        ("heading", "", ""),
        ("emoji", "One.\n\nTwo.", "One. 😊\n\nTwo. 😊"),
        ("emoji", "Fine 👍.", "Fine 👍."),
        ("exclamations", PROSE, "It is so! And more is to come! See 3.5 there!"),
        ("exclamations", "`a.b.` and c.", "`a.b.` and c."),
    ],
)
def test_edits(edit, text, expected):
    assert formats.EDITS[edit](text) == expected


def test_padding_says_every_item_again_and_adds_no_word_of_content():
    added = set(words_of(formats.padded(LIST))) - set(words_of(LIST))
    assert added <= set(words_of(" ".join(formats.REFRAMED)))
    assert formats.padded(LIST).count("ed\n") == 2 and formats.padded(LIST).endswith(LIST.partition("\n")[2])


def test_forms_are_counted():
    text = "# Head\n- **a** `b`!\n2. c 😊"
    assert {name: count(text) for name, count in formats.FORMS.items()} == {
        "lists": 2, "headings": 1, "bold": 1, "code": 1, "emoji": 1, "exclamations": 1,
    }  # fmt: skip
    differences = formats.form_differences([pair(0, text, PROSE), pair(1, PROSE, LIST)])
    assert differences.loc["0", "headings"] == 1 and differences.loc["1", "lists"] == -2


def test_twins_are_a_response_against_itself_and_stand_once():
    made = formats.twins([pair(n) for n in range(40)] + [pair(0)], "heading")
    assert len(made) == 80 and {twin.label for twin in made} == {None}
    assert 0.2 < np.mean([twin.model_a == "edited" for twin in made]) < 0.8
    assert formats.twins([pair(n) for n in range(40)], "heading", 5) == made[:5]
    found = formats.edited_preferred(made, judged(made, load_judge("baseline/longer")), 50)
    assert found["share"].value == found["both_orders"].value == 1
    found = formats.edited_preferred(made, judged(made, load_judge("baseline/shorter")), 50)
    assert found["share"].value == found["both_orders"].value == 0
    found = formats.edited_preferred(made, judged(made, load_judge("baseline/first")), 50)
    assert found["share"].value == 0.5 and found["both_orders"].value == 0


def test_padding_overturns_a_judge_of_length_and_nobody_else():
    better = " ".join(["word"] * 14)
    pairs = [pair(n, better, LIST) for n in range(20)] + [pair(n, LIST, better, "B") for n in range(20, 30)]
    pairs += [pair(31, LIST, PROSE, "A"), pair(32, LIST, PROSE, "tie")]
    clean, attacked = formats.padded_losers(pairs)
    assert [one.item_id for one in clean] == [one.item_id for one in attacked] and len(clean) == 30
    assert formats.padded_losers(pairs, 7)[0] == clean[:7]
    for name, failure in (("longer", 1.0), ("shorter", 0.0)):
        judge = load_judge(f"baseline/{name}")
        found = formats.overturned(clean, judged(clean, judge), judged(attacked, judge), 50)
        assert found["failure"].value == failure
        assert found["failure"].n == (30 if name == "longer" else 0)
    first = load_judge("baseline/first")  # never right in both orders: nothing to overturn
    assert formats.overturned(clean, judged(clean, first), judged(attacked, first), 50)["failure"].n == 0


def sample_contest(bias):
    pairs = [one for name in ("sample_natural", "sample_validation") for one in load_sample(name)]
    pairs = [PreferencePair(f"{n}", p.benchmark, p.question, *p.responses, cluster_id=p.cluster, label=p.label)
             for n, p in enumerate(pairs)]  # fmt: skip
    return SimpleNamespace(pairs=pairs, verdicts={"planted": judged(pairs, PlantedJudge(pairs, bias))})


def test_tables_of_a_judge_of_real_texts_tell_what_was_planted():
    contests = {"none": sample_contest(PlantedBias(length=0.0)), "taste": sample_contest(PlantedBias(length=1.0))}
    table = verbosity_table(contests, 100).set_index("set")
    assert table.loc["taste", "excess"].low > 0 and table.loc["taste", "p_holm"] < 0.01
    assert table.loc["taste", "given_people"].low > 0.3
    assert abs(table.loc["none", "given_people"].value) < 0.3 < table.loc["taste", "given_people"].value
    forms, left_out = form_table(contests)
    assert set(forms["set"]) | {name for name, _ in left_out} == {"none", "taste"}


def test_a_rule_that_forms_decide_is_left_out_and_said():
    contest = sample_contest(PlantedBias(length=0.0))
    contest.verdicts["longer"] = judged(contest.pairs, load_judge("baseline/longer"))
    _, left_out = form_table({"sample": contest})
    assert ("sample", "longer") in left_out


def test_the_form_that_a_judge_likes_is_found():
    rng = np.random.default_rng(0)
    texts = ["One thing is here. " * int(n) for n in rng.integers(3, 30, 400)]
    pairs = [pair(n, texts[n] + "!" * int(rng.integers(6)), texts[-n - 1] + "!" * int(rng.integers(6)),
                  "AB"[int(rng.integers(2))]) for n in range(400)]  # fmt: skip
    differences = formats.form_differences(pairs)
    table = judged_table(pairs, judged(pairs, PlantedJudge(pairs, PlantedBias(skill=0.5, opinion=0.0))))
    liked = 1 / (1 + np.exp(-0.8 * differences["exclamations"].to_numpy()))
    table["ab"] = table["ba"] = (rng.random(400) < liked).astype(float)
    found = formats.form_effects(table, differences)
    assert list(found) == ["exclamations"]
    assert found["exclamations"]["judge"].low <= 0.8 <= found["exclamations"]["judge"].high
    assert found["exclamations"]["people"].low <= 0 <= found["exclamations"]["people"].high
    assert found["exclamations"]["difference"].low > 0


def test_the_instrument_is_shown_on_planted_judges():
    table = planted_readings(prompts=300).set_index("case")
    for case in ("taste", "none", "both"):
        latent = table.loc[case, "latent_length"]
        assert latent.low <= table.loc[case, "planted"] <= latent.high
    assert table.loc["none", "given_people"].low > 0  # what the plain estimate gets wrong


def test_the_picture_draws_every_judge_and_edit():
    number, few = Number(0.5, 0.3, 0.6, 100), Number(0.4, 0.3, 0.5, 10)
    effects = pd.DataFrame({"set": ["x", "x", "y"], "judge": ["minilm", "longer", "minilm"],
                            "judge_effect": [number] * 3, "people_effect": [few] * 3})  # fmt: skip
    edits = pd.DataFrame({"edit": ["bold", "emoji"], "judge": ["minilm"] * 2, "share": [number, few]})
    board = pd.DataFrame({"raw": [number, few], "controlled": [few, number], "doublings": [0.0, 2.0]})
    figure = plot_verbosity(effects, edits, board)
    left, above, below = (ax for ax in figure.axes if ax.get_title(loc="left"))
    assert [tick.get_text() for tick in left.get_yticklabels()] == ["minilm", "longer", "minilm"]
    assert [tick.get_text() for tick in below.get_yticklabels()] == ["bold", "emoji"]
    assert above.collections[0].get_offsets().shape == (2, 2)
    assert len(plot_verbosity(effects, edits).axes) == 2
    with pytest.raises(ValueError, match="lacks"):
        plot_verbosity(effects.drop(columns="people_effect"), edits)
