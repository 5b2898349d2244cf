"""The audit's parts find what is planted in a set, name it by id, and leave sound items alone."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from judgekit.data import paths
from judgekit.data.catalogue import load_set
from judgekit.data.votes import ClassProbabilities
from judgekit.records import PreferencePair, Verdict
from judgekit.report import save_data
from judgekit.scoring import Contest, score
from judgekit.studies import audit_benchmarks as audit
from judgekit.studies import evaluation_code, label_errors

N_BOOT = 200
LABELS = ("A", "B", "tie")


def pair(item_id, a="one answer", b="another answer", label="A", question="What is it?", **more):
    return PreferencePair(item_id, "made", question, a, b, cluster_id=question, label=label, **more)


def verdicts_on(pairs, labels, p=None):
    """Verdicts of a judge that gives the same in both orders."""
    return [
        Verdict(one.item_id, "made/judge", order, label, *(p[one.item_id] if p else (None, None, None)))
        for one, label in zip(pairs, labels, strict=True)
        for order in ("ab", "ba")
    ]


# ---------------------------------------------------------------- findings


@pytest.mark.parametrize(
    ("text", "damaged"),
    [("plain, café, naïve", False), ("itâ€™s", True), ("caf\ufffd", True), ("a\x00b", True), ("a\tb\n", False)],
)
def test_damage(text, damaged):
    assert pd.Series([text]).str.contains(audit.DAMAGED).item() is damaged


def test_findings_are_ordered_by_kind_and_impossible_ones_are_refused():
    one, other = (
        audit.finding("made", "code", "bug", "a mistake", 3, 10),
        audit.finding("made", "text", "x", "x", 1, 10),
    )
    assert audit.finding_frame([one, other])["finding"].tolist() == ["x", "bug"]
    with pytest.raises(ValueError, match="found twice"):
        audit.finding_frame([one, one])
    with pytest.raises(ValueError, match="11 of 10"):
        audit.finding("made", "code", "bug", "a mistake", 11, 10)


@pytest.mark.parametrize(("last", "circular"), [("B", True), ("A", False)])
def test_circles_of_three(last, circular):
    pairs = [pair("1", "x", "y", "A"), pair("2", "y", "z", "A"), pair("3", "x", "z", last)]
    ((_, found, items),) = audit.circles(pairs)
    assert found is circular and set(items) == {"1", "2", "3"}


def test_near_texts_are_found_both_ways_and_short_ones_are_no_evidence():
    near = audit.near_texts(
        ["name a river in spain please any river", "name a river in spain please any river you like"]
    )
    assert len(near) == 2
    assert audit.near_texts(["write a poem", "write a poem now"]) == {}
    assert audit.question_form("Add.\nInput: 2, 3!") == "add 2 3"


# ---------------------------------------------------------------- artefacts


def test_length_tells_labels_that_follow_it_and_no_others():
    rng = np.random.default_rng(0)
    sizes = rng.integers(5, 200, (300, 2))
    follows = [
        pair(str(n), "a" * x, "b" * y, "A" if x > y else "B", question=f"Question {n // 3}?")
        for n, (x, y) in enumerate(sizes)
    ]
    blind = [replace(one, label=label) for one, label in zip(follows, rng.choice(["A", "B"], 300), strict=True)]
    found = {one["finding"]: one for one in audit.artefacts(follows, n_boot=N_BOOT)}
    assert found["told_by_length"]["effect"].value > 0.35 and found["told_by_length"]["count"] > 280
    assert audit.artefacts(blind, n_boot=N_BOOT) == []


def test_no_row_is_predicted_by_a_fit_that_saw_its_prompt():
    clusters = np.repeat(np.arange(40), 5).astype(str)
    codes = np.repeat(np.random.default_rng(1).integers(0, 2, 40), 5)
    predicted = audit.cross_fitted(pd.get_dummies(clusters).to_numpy(float), codes, clusters)
    assert (predicted == codes).mean() < 0.75  # by heart it would be all of them


def test_sides_that_are_preferred_unevenly_are_found():
    pairs = [pair(str(n), question=f"Q{n}?", label="A" if n % 4 else "B") for n in range(200)]
    (found,) = audit.artefacts(pairs, n_boot=N_BOOT)
    assert found["finding"] == "side" and found["effect"].value == pytest.approx(0.25)
    even = [replace(one, label="AB"[n % 2]) for n, one in enumerate(pairs)]
    assert audit.artefacts(even, n_boot=N_BOOT) == []


# ---------------------------------------------------------------- label errors


def sample_contest():
    """The sample with one judge that states probabilities and is right nine times of ten, and two that vote."""
    rng = np.random.default_rng(3)
    pairs = [replace(one, votes={}) for one in load_set("sample_natural")]

    def judged(accuracy):
        return [one.label if rng.random() < accuracy else rng.choice(LABELS) for one in pairs]

    first = judged(0.9)
    p = {
        one.item_id: tuple(0.8 if label == given else 0.1 for label in LABELS)
        for one, given in zip(pairs, first, strict=True)
    }
    judges = {"stating": verdicts_on(pairs, first, p)}
    judges |= {name: verdicts_on(pairs, judged(accuracy)) for name, accuracy in (("second", 0.85), ("third", 0.8))}
    return Contest("sample_natural", "sample_natural", pairs, judges)


def test_planted_errors_are_found_and_all_judges_find_them_better_than_one():
    contest = sample_contest()
    rows = {row["method"]: row for row in label_errors.plant_and_find(contest, contest.pairs, "stating", n_boot=N_BOOT)}
    assert rows["CROWDLAB"]["area"].value > 0.95 and rows["CROWDLAB"]["recall"].value > 0.8
    assert rows["CROWDLAB"]["precision"].value > rows["confidence"]["precision"].value
    table = label_errors.suspect_labels(contest, "stating")
    assert table["quality"].between(0, 1).all() and table["flagged"].mean() < 0.15


def test_judges_that_know_nothing_find_nothing():
    contest, rng = sample_contest(), np.random.default_rng(5)
    guesses = {name: verdicts_on(contest.pairs, rng.choice(LABELS, len(contest.pairs))) for name in "ab"}
    p = {one.item_id: tuple(rng.dirichlet([1, 1, 1])) for one in contest.pairs}
    guesses["stating"] = verdicts_on(contest.pairs, rng.choice(LABELS, len(contest.pairs)), p)
    rows = label_errors.plant_and_find(replace(contest, verdicts=guesses), contest.pairs, "stating", 0.2, n_boot=N_BOOT)
    # Rare labels are suspect to nobody's credit: an exchanged label is a tie more often than a sound one is.
    assert all(abs(row["area"].value - 0.5) < 0.08 for row in rows), [row["area"].value for row in rows]


def test_probabilities_of_other_rows_are_refused():
    votes = label_errors.label_votes(sample_contest().pairs, {}, LABELS)
    stated = ClassProbabilities(tuple(reversed(votes.items)), np.full((len(votes.items), 3), 1 / 3))
    with pytest.raises(ValueError, match="row 0"):
        label_errors.label_quality(votes, stated)


def test_planted_errors_are_another_label_and_as_many_as_asked_for():
    labels = np.random.default_rng(0).integers(0, 3, 400)
    changed, planted = label_errors.planted_errors(labels, 0.05, 3, seed=2)
    assert planted.sum() == 20 and ((changed != labels) == planted).all()


# ---------------------------------------------------------------- evaluation code and repairs


@pytest.mark.realdata
def test_published_mistakes_are_reproduced_to_the_digit():
    from judgekit.data.benchmarks.outputs import published_verdicts

    pairs = load_set("llmbar_natural")
    ids = {one.item_id for one in pairs}
    given = [v for v in published_verdicts("gpt-4-vanilla-norules") if v.item_id in ids]
    contest = Contest("llmbar_natural", "llmbar_natural", pairs, {"gpt_4": given})
    right = score(given, pairs, "llmbar_natural", "single_order", n_boot=10)["kappa"].value
    (found,) = evaluation_code.mistake("recoded_kappa", contest, "gpt_4", 10)
    assert right + found["effect"].value == pytest.approx(0.2517173699705594)  # literal in their statistics.json
    pairs = load_set("pandalm")
    contest = Contest("pandalm", "pandalm", pairs, {n: published_verdicts(n) for n in ("pandalm-7b", "gpt-3.5-turbo")})
    (drawn,) = evaluation_code.mistake("drawn_gold", contest, "pandalm-7b", 10)
    assert drawn["count"] == 11 and round(drawn["effect"].value * 999) == -5  # 667 to 662 of 999
    (unread,) = evaluation_code.mistake("unread_word", contest, "gpt-3.5-turbo", 10)
    assert unread["count"] == 63 and round(unread["effect"].value * 999) == 692 - 710


def test_one_order_is_compared_with_both():
    pairs = [pair(str(n), question=f"Q{n}?") for n in range(30)]
    first = [Verdict(p.item_id, "made/first", order, side) for p in pairs for order, side in (("ab", "A"), ("ba", "B"))]
    contest = Contest("llmbar_natural", "llmbar_natural", pairs, {"first": first})
    (found,) = evaluation_code.mistake("one_order", contest, "first", N_BOOT)
    assert found["count"] == 30 and found["effect"].value == 0.5
    assert evaluation_code.mistake("classes_present", contest, "first", N_BOOT) == []
    with pytest.raises(KeyError, match="drawn_gold"):
        evaluation_code.mistake("typo", contest, "first")


def test_a_repair_changes_places():
    pairs = [pair(str(n), question=f"Q{n}?") for n in range(20)]
    good, lucky = verdicts_on(pairs, ["B"] * 10 + ["A"] * 10), verdicts_on(pairs, ["A"] * 12 + ["B"] * 8)
    contest = Contest("sample_natural", "sample_natural", pairs, {"good": good, "lucky": lucky})
    table = evaluation_code.rescored(contest, {str(n) for n in range(10)}, {}, N_BOOT).set_index("judge")
    assert table.loc["good", ["rank_before", "rank_after"]].tolist() == [2, 1]
    assert table.loc["good", "change"].value == pytest.approx(0.5)
    with pytest.raises(ValueError, match="no item"):
        evaluation_code.rescored(contest, {one.item_id for one in pairs}, {}, 10)


# ---------------------------------------------------------------- clean labels

REPEATED, SAME = {"repeats an earlier item": {"2"}}, {"identical responses": {"3"}}


def test_clean_labels_come_back_and_are_applied(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "project_root", lambda: tmp_path)
    pairs = [pair("1"), pair("2"), pair("3", a="x", b="x"), pair("4", label="tie")]
    save_data("laptop", "clean_labels", label_errors.suggest(pairs, REPEATED | SAME, {"1": 0.5}))
    labels = label_errors.load_clean_labels("made")
    assert labels["action"].to_dict() == {"1": "keep", "2": "drop", "3": "relabel", "4": "keep"}
    remaining = label_errors.cleaned(pairs, labels)
    assert [(one.item_id, one.label) for one in remaining] == [("1", "A"), ("3", "tie"), ("4", "tie")]
    with pytest.raises(ValueError, match="audited with label 'A'"):
        label_errors.cleaned([replace(pairs[0], label="B")], labels)
    with pytest.raises(KeyError, match="nothing on 'other'"):
        label_errors.load_clean_labels("other")


def test_identical_responses_are_dropped_where_there_are_no_ties():
    frame = label_errors.suggest([pair("3", a="x", b="x"), pair("2")], SAME, {})
    assert frame["action"].tolist() == ["drop", "keep"] and frame["label"].tolist() == ["", "A"]


def test_training_data_lose_what_tests_ask_and_tests_keep_it():
    pairs, shared = [pair("1"), pair("2", question="Q2?")], {"question in a test set": {"1"}}
    assert label_errors.suggest(pairs, shared, {})["action"].tolist() == ["keep", "keep"]
    training = label_errors.suggest(pairs, shared, {}, training=True)
    assert training[["item_id", "action"]].to_numpy().tolist() == [["1", "drop"]]
    with pytest.raises(ValueError, match="no reason"):
        label_errors.suggest(pairs, {"typo": set()}, {})
