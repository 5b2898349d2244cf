"""Edits of form, twins, and what is counted of them; win rates against a baseline."""

import numpy as np
import pytest
from notebook_functions import functions_of

from judgekit.bias.judged import judged_table
from judgekit.bias.length import Separated, length_effects
from judgekit.bias.planted import PlantedBias, PlantedJudge
from judgekit.data.sample import load_sample
from judgekit.judges import load_judge
from judgekit.judges.surface import words_of
from judgekit.records import PreferencePair
from judgekit.scoring import run_judge
from judgekit.scoring.store import VerdictStore
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
        ("bold", PROSE, "**It** is so. **And** more is to come. **See** 3.5 there."),
        ("bold", "a **b** c", "a **b** c"),
        ("heading", PROSE, f"## Answer\n\n{PROSE}"),
        ("heading", "", ""),
    ],
)
def test_edits(edit, text, expected):
    assert study.EDITS[edit](text) == expected


def test_padding_repeats_every_item_and_adds_no_word_of_content():
    added = set(words_of(study.padded(LIST))) - set(words_of(LIST))
    assert added <= set(words_of(" ".join(study.REFRAMED)))
    assert study.padded(LIST).count("ed\n") == 2 and study.padded(LIST).endswith(LIST.partition("\n")[2])


def test_twins_are_a_response_against_itself_and_stand_once():
    made = study.twins([pair(n) for n in range(40)] + [pair(0)], "heading")
    assert len(made) == 80 and {twin.label for twin in made} == {None}
    assert 0.2 < np.mean([twin.model_a == "edited" for twin in made]) < 0.8
    assert study.twins([pair(n) for n in range(40)], "heading", 5) == made[:5]
    for twin in made:
        edited, original = twin.responses if twin.model_a == "edited" else twin.responses[::-1]
        assert edited == study.EDITS["heading"](original) != original


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
    _, rule = sample_table(lambda pairs: load_judge("baseline/longer"))
    decided = rule[(rule["words_a"] - rule["words_b"]).abs() > 5]
    decided = decided.assign(ab=(decided["words_a"] > decided["words_b"]) * 1.0, ba=np.nan)
    with pytest.raises(Separated):  # length decides every verdict
        length_effects(decided)


def annotated(number, label="A", model_a="m", model_b="base", **fields):
    texts = (f"Why {number}?", "one two three four", "one two")
    fields |= {"label": label, "model_a": model_a, "model_b": model_b, "subset": "x", "cluster_id": str(number)}
    return PreferencePair(str(number), "made", *texts, **fields)


def test_annotations_are_of_the_model_whatever_its_side():
    pairs = [annotated(0), annotated(1, "B", "base", "m").swapped(), annotated(2, "tie", "base", "n")]
    pairs += [annotated(3, "B", soft_label=0.3), annotated(0)]
    notebook = functions_of("41_verbosity_bias")
    table = notebook.annotation_table(pairs)
    assert table["model"].tolist() == ["m", "m", "n", "m"]
    assert table["credit"].tolist() == [1.0, 1.0, 0.5, 0.3]
    assert table["doublings"].tolist() == [1.0, -1.0, -1.0, 1.0]
    assert notebook.saturating(table)["doublings"].abs().max() < 1
    with pytest.raises(AssertionError, match="not one baseline"):
        notebook.annotation_table([annotated(0), annotated(1, model_b="other", model_a="k")])


def test_length_is_counted_in_words_and_in_characters():
    pairs = [pair(0, "wonderful incomprehensibility", "it is so it is")]
    rule = load_judge("baseline/longer")
    (row,) = judged_table(pairs, judged_by(pairs, rule)).itertuples()
    assert (row.words_a, row.words_b, row.characters_a, row.characters_b) == (2, 5, 29, 14)
    assert row.ab == 1, "the rule counts characters, as the tables that name it say"
