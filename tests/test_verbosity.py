"""Edits of form, twins, and what is counted of them; win rates against a baseline."""

import numpy as np
import pandas as pd
import pytest

from judgekit.bias.judged import judged_table
from judgekit.bias.length import Separated, length_effects
from judgekit.bias.planted import PlantedBias, PlantedJudge
from judgekit.data.sample import load_sample
from judgekit.judges import load_judge
from judgekit.judges.surface import words_of
from judgekit.records import PreferencePair
from judgekit.scoring import run_judge
from judgekit.scoring.store import VerdictStore
from judgekit.studies import leaderboard
from judgekit.studies import verbosity_bias as study

LIST = "Colours:\n1. Red\n2. Green\n3. Blue\nThat is all."
PROSE = "It is so. And more is to come. See 3.5 there."


def pair(number, response_a=LIST, response_b=PROSE, label="A", **fields):
    return PreferencePair(str(number), "made", f"Which {number}?", response_a, response_b, label=label, **fields)


def judged_by(pairs, judge):
    return run_judge(judge, pairs, VerdictStore(":memory:"), progress=False)


@pytest.mark.parametrize(
    ("edit", "text", "expected"),
    [
        ("padded", PROSE, PROSE),
        ("padded", "- one\n- two", "- one\n- two"),
        ("unmarked", "# Head\n* a **b** `c`\n```py\nx = 1\n```", "Head\na b c\nx = 1\n"),
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
    assert study.EDITS[edit](text) == expected


def test_padding_repeats_every_item_and_adds_no_word_of_content():
    added = set(words_of(study.padded(LIST))) - set(words_of(LIST))
    assert added <= set(words_of(" ".join(study.REFRAMED)))
    assert study.padded(LIST).count("ed\n") == 2 and study.padded(LIST).endswith(LIST.partition("\n")[2])


def test_forms_are_counted():
    text = "# Head\n- **a** `b`!\n2. c 😊"
    assert {name: count(text) for name, count in study.FORMS.items()} == {
        "lists": 2, "headings": 1, "bold": 1, "code": 1, "emoji": 1, "exclamations": 1,
    }  # fmt: skip
    differences = study.form_differences([pair(0, text, PROSE), pair(1, PROSE, LIST)])
    assert differences.loc["0", "headings"] == 1 and differences.loc["1", "lists"] == -2


def test_twins_are_a_response_against_itself_and_stand_once():
    made = study.twins([pair(n) for n in range(40)] + [pair(0)], "heading")
    assert len(made) == 80 and {twin.label for twin in made} == {None}
    assert 0.2 < np.mean([twin.model_a == "edited" for twin in made]) < 0.8
    assert study.twins([pair(n) for n in range(40)], "heading", 5) == made[:5]
    for rule, share, both in (("longer", 1, 1), ("shorter", 0, 0), ("first", 0.5, 0)):
        found = study.edited_preferred(made, judged_by(made, load_judge(f"baseline/{rule}")), 50)
        assert (found["share"].value, found["both_orders"].value) == (share, both)


def test_padding_overturns_a_judge_of_length_and_nobody_else():
    better = " ".join(["word"] * 14)
    pairs = [pair(n, better, LIST) for n in range(20)] + [pair(n, LIST, better, "B") for n in range(20, 30)]
    pairs += [pair(31, LIST, PROSE, "A"), pair(32, LIST, PROSE, "tie")]
    clean, attacked = study.padded_losers(pairs)
    assert [one.item_id for one in clean] == [one.item_id for one in attacked] and len(clean) == 30
    assert study.padded_losers(pairs, 7)[0] == clean[:7]
    for rule, failure, n in (("longer", 1, 30), ("shorter", 0, 0), ("first", 0, 0)):  # the last two are never right
        judge = load_judge(f"baseline/{rule}")
        found = study.overturned(clean, judged_by(clean, judge), judged_by(attacked, judge), 50)
        assert (found["failure"].value, found["failure"].n) == (failure, n)


def sample_table(judge_of):
    """Pairs of the sample, and a judge's verdicts on them."""
    pairs = [one for name in ("sample_natural", "sample_validation") for one in load_sample(name)]
    pairs = [PreferencePair(f"{n}", p.benchmark, p.question, *p.responses, cluster_id=p.cluster, label=p.label)
             for n, p in enumerate(pairs)]  # fmt: skip
    return pairs, judged_table(pairs, judged_by(pairs, judge_of(pairs)))


def test_effects_on_real_texts_tell_what_was_planted():
    _, none = sample_table(lambda pairs: PlantedJudge(pairs, PlantedBias(length=0.0)))
    _, taste = sample_table(lambda pairs: PlantedJudge(pairs, PlantedBias(length=1.0)))
    (plain, _), (found, p_value) = length_effects(none), length_effects(taste)
    assert found["excess"].low > 0 and p_value < 0.01 and found["given_people"].low > 0.3
    assert abs(plain["given_people"].value) < 0.3 < found["given_people"].value
    pairs, longer = sample_table(lambda pairs: load_judge("baseline/longer"))
    with pytest.raises(Separated):  # form, which goes with length, decides every verdict
        study.form_effects(longer, study.form_differences(pairs))


def test_the_form_that_a_judge_likes_is_found():
    rng = np.random.default_rng(0)
    texts = ["One thing is here. " * int(n) for n in rng.integers(3, 30, 400)]
    pairs = [pair(n, texts[n] + "!" * int(rng.integers(6)), texts[-n - 1] + "!" * int(rng.integers(6)),
                  "AB"[int(rng.integers(2))]) for n in range(400)]  # fmt: skip
    differences = study.form_differences(pairs)
    table = judged_table(pairs, judged_by(pairs, PlantedJudge(pairs, PlantedBias(skill=0.5, opinion=0.0))))
    liked = 1 / (1 + np.exp(-0.8 * differences["exclamations"].to_numpy()))
    table["ab"] = table["ba"] = (rng.random(400) < liked).astype(float)
    (found,) = study.form_effects(table, differences).itertuples()
    assert found.form == "exclamations" and found.judge.low <= 0.8 <= found.judge.high
    assert found.people.low <= 0 <= found.people.high and found.difference.low > 0


def annotated(number, label="A", model_a="m", model_b="base", **fields):
    texts = (f"Why {number}?", "one two three four", "one two")
    fields |= {"label": label, "model_a": model_a, "model_b": model_b, "subset": "x", "cluster_id": str(number)}
    return PreferencePair(str(number), "made", *texts, **fields)


def test_annotations_are_of_the_model_whatever_its_side():
    pairs = [annotated(0), annotated(1, "B", "base", "m").swapped(), annotated(2, "tie", "base", "n")]
    pairs += [annotated(3, "B", soft_label=0.3), annotated(0)]
    table = leaderboard.annotation_table(pairs)
    assert table["model"].tolist() == ["m", "m", "n", "m"]
    assert table["credit"].tolist() == [1.0, 1.0, 0.5, 0.3]
    assert table["doublings"].tolist() == [1.0, -1.0, -1.0, 1.0]
    assert leaderboard.saturating(table)["doublings"].abs().max() < 1
    with pytest.raises(ValueError, match="not one baseline"):
        leaderboard.annotation_table([annotated(0), annotated(1, model_b="other", model_a="k")])


def test_a_rule_learnt_on_other_prompts_gains_nothing_where_length_says_nothing():
    rng = np.random.default_rng(0)
    words = rng.integers(10, 100, (2, 600))
    table = pd.DataFrame(
        {"words_a": words[0], "words_b": words[1], "people": words[0] > words[1], "prompt": range(600)}
    )
    found = study.length_baselines(table.astype({"people": float}), n_boot=50)
    assert found["longer"].value > 0.98 and abs(found["gain"].value) < 0.02
