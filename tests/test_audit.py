"""The audit finds what is planted in a set, names it by id, and leaves sound items alone."""

from dataclasses import replace

import matplotlib
import numpy as np
import pandas as pd
import pytest

from judgekit.data import paths
from judgekit.data.catalogue import load_set, load_set_with_report
from judgekit.data.votes import ClassProbabilities
from judgekit.figures.audit import plot_effects_by_kind, plot_overlap
from judgekit.records import PreferencePair, Turn, Verdict
from judgekit.report import save_data
from judgekit.scoring import Contest, score
from judgekit.stats import Number
from judgekit.studies import audit
from judgekit.studies.audit import artefacts, contradictions, disagreement, evaluation_code, overlap, repeats, texts
from judgekit.studies.audit.label_errors import REFERENCE, label_quality, label_votes, planted_errors

matplotlib.use("Agg")
import matplotlib.pyplot as plt

N_BOOT = 200


def pair(item_id, a="one answer", b="another answer", label="A", question="What is it?", **more):
    return PreferencePair(
        item_id, "made", question, a, b, cluster_id=more.pop("cluster_id", question), label=label, **more
    )


def verdicts_on(pairs, said, orders=("ab", "ba"), p=None, judge="made/judge"):
    """Verdicts of a judge that says the same in both orders."""
    return [
        Verdict(one.item_id, judge, order, label, *(p[one.item_id] if p else (None, None, None)), raw=f"{label}")
        for one, label in zip(pairs, said, strict=True)
        for order in orders
    ]


# ---------------------------------------------------------------- texts


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("plain, café, naïve", None),
        ("itâ€™s", "mojibake"),
        ("caf\ufffd", "replaced"),
        ("a\x00b", "control"),
        ("a\tb\n", None),
    ],
)
def test_damage(text, found):
    assert texts.damage(text) == found


def test_empty_and_damaged_items_are_named():
    pairs = [pair("1", a=" "), pair("2", b="cafÃ©"), pair("3"), pair("4", turns=(Turn("q\ufffd", "a", "b"),))]
    found = {one.name: one for one in audit.text_findings(pairs, {"boolean_responses": 2, "items": 4})}
    assert found["empty"].examples == ("1",) and found["damaged"].examples == ("2", "4")
    assert (found["boolean_responses"].count, found["boolean_responses"].n) == (2, 4)


# ---------------------------------------------------------------- repeats and contradictions


def test_copies_are_found_in_either_order_and_earlier_turns_tell_conversations_apart():
    first = pair("1", turns=(Turn("q", "x", "y"),))
    other = replace(first, item_id="3", turns=(Turn("q", "x", "z"),))
    assert repeats.later_copies([first, replace(first.swapped(), item_id="2"), other]) == {"2"}


def test_a_copy_with_the_votes_of_other_people_is_no_fault():
    first, second = pair("1", votes={"ann": "A"}), replace(pair("2").swapped(), label="A", votes={"bob": "A"})
    found = {one.name for one in audit.repeat_findings([first, second])}
    found |= {one.name for one in audit.contradiction_findings([first, second])}
    assert found == {"other_order", "other_majority"}
    assert suggested([first, second])["action"].tolist() == ["keep", "keep"]


def test_near_copies_are_no_exact_ones():
    words = " ".join(f"word{n}" for n in range(60))
    pairs = [pair("1", a=words), pair("2", a=words), pair("3", a=f"{words} more"), pair("4", a="something else")]
    assert repeats.near_copies(pairs) == {"3"}


def test_one_text_twice_is_no_preference():
    pairs = [pair("1", a="same", b="same "), pair("2", a="same", b="same", label="tie"), pair("3", a="same", b="Same")]
    assert repeats.identical_decided(pairs) == {"1"}


def test_contradiction_is_seen_whatever_the_orientation():
    pairs = [pair("1", label="A"), replace(pair("2", label="A").swapped(), label="A"), pair("3", question="Other?")]
    assert contradictions.contradicted(pairs) == {"1", "2"}
    assert contradictions.contradicted([pair("1"), replace(pair("2").swapped())]) == set()


@pytest.mark.parametrize(("last", "circular"), [("B", True), ("A", False)])
def test_circles_of_three(last, circular):
    pairs = [pair("1", "x", "y", "A"), pair("2", "y", "z", "A"), pair("3", "x", "z", last)]
    ((_, found, items),) = contradictions.circles(pairs)
    assert found is circular and set(items) == {"1", "2", "3"}


# ---------------------------------------------------------------- overlap


def test_overlap_is_exact_or_near_and_goes_both_ways():
    long = "Explain to a child of six why the sky is blue in the morning and red at night"
    sets = {
        "test": [pair("1", question=long), pair("2", question="Name a river in Spain please, any river")],
        "train": [
            pair("7", question=f"{long}!"),
            pair("8", question="Name a river in Spain please, any river you like"),
        ],
        "clean": [pair("9", question="Bake bread")],
    }
    table = audit.overlap_table(sets).set_index(["set", "other"])
    row = table.loc["test", "train"]
    assert (row.exact, row.near, row["items"]) == (1, 1, 2)
    assert table.loc["train", "test"].examples == ["7", "8"]
    assert table["items"]["test", "clean"] == 0
    (found,) = audit.overlap_findings(table.reset_index(), ["test"], {"test": 2})
    assert found.count == 2 and "1 exact, 1 near" in found.what


def test_short_questions_are_not_nearly_the_same():
    assert overlap.near_groups(["write a poem", "write a poem now"]) == {}


# ---------------------------------------------------------------- artefacts and people


def test_length_tells_labels_that_follow_it_and_no_others():
    rng = np.random.default_rng(0)
    sizes = rng.integers(5, 200, (300, 2))
    told = [
        pair(str(n), "a" * x, "b" * y, "A" if x > y else "B", question=f"Question {n // 3}?")
        for n, (x, y) in enumerate(sizes)
    ]
    blind = [replace(one, label=label) for one, label in zip(told, rng.choice(["A", "B"], 300), strict=True)]
    found = {one.name: one for one in audit.artefact_findings(told, n_boot=N_BOOT)}
    assert found["told_by_length"].effect.value > 0.35 and found["told_by_length"].count > 280
    assert audit.artefact_findings(blind, n_boot=N_BOOT) == []


def test_no_row_is_predicted_by_a_fit_that_saw_its_prompt():
    clusters = np.repeat(np.arange(40), 5).astype(str)
    cues = artefacts.one_hot(list(clusters), sorted(set(clusters)))
    codes = np.repeat(np.random.default_rng(1).integers(0, 2, 40), 5)
    predicted = artefacts.cross_fitted(cues, codes, clusters)
    assert (predicted == codes).mean() < 0.75  # by heart it would be all of them


def test_sides_that_are_preferred_unevenly_are_told():
    pairs = [pair(str(n), question=f"Q{n}?", label="A" if n % 4 else "B") for n in range(200)]
    (found,) = artefacts.side_findings(pairs, N_BOOT)
    assert found.effect.value == pytest.approx(0.25)
    assert artefacts.side_findings([replace(one, label="AB"[n % 2]) for n, one in enumerate(pairs)], N_BOOT) == []


def test_a_second_look_of_one_person_is_no_disagreement():
    same, other = pair("1", votes={"ann": "A", "ann#2": "B", "bob": "A"}), pair("2", votes={"ann": "A", "bob": "tie"})
    odd, voted = disagreement.disputed([same, other, pair("3", votes={"ann": "A"})])
    assert odd == {"2"} and [one.item_id for one in voted] == ["1", "2"]


def test_people_disagree_in_the_sample_where_a_tie_is_seen_and_the_spammer_stands_alone():
    found = {one.name: one for one in audit.disagreement_findings(load_set("sample_natural"), n_boot=N_BOOT)}
    assert found["disputed_ties"].effect.low > 0
    assert "annotator-8" in found["loner"].effect_on


# ---------------------------------------------------------------- label errors


def sample_contest():
    """The sample with one judge that states probabilities and is right nine times of ten, and two that vote."""
    rng = np.random.default_rng(3)
    pairs = load_set("sample_natural")
    labels = [one.label for one in pairs]

    def said(accuracy):
        return [label if rng.random() < accuracy else rng.choice(["A", "B", "tie"]) for label in labels]

    first = said(0.9)
    p = {
        one.item_id: tuple(0.8 if label == one_said else 0.1 for label in ("A", "B", "tie"))
        for one, one_said in zip(pairs, first, strict=True)
    }
    judges = {
        "stating": verdicts_on(pairs, first, p=p),
        "second": verdicts_on(pairs, said(0.85)),
        "third": verdicts_on(pairs, said(0.8)),
    }
    return Contest("sample_natural", "sample_natural", pairs, judges)


def test_planted_errors_are_found_and_all_judges_find_them_better_than_one():
    pairs = [replace(one, votes={}) for one in sample_contest().pairs]
    contest = replace(sample_contest(), pairs=pairs)
    rows = {row["method"]: row for row in audit.plant_and_find(contest, "stating", n_boot=N_BOOT)}
    assert rows["CROWDLAB"]["area"].value > 0.95 and rows["CROWDLAB"]["recall"].value > 0.8
    assert rows["CROWDLAB"]["precision"].value > rows["confidence"]["precision"].value
    table, _ = audit.suspect_labels(contest, "stating", N_BOOT)
    assert table["quality"].between(0, 1).all() and table["flagged"].mean() < 0.15


def test_judges_that_know_nothing_find_nothing():
    contest = sample_contest()
    rng = np.random.default_rng(5)
    guesses = {name: verdicts_on(contest.pairs, rng.choice(["A", "B", "tie"], len(contest.pairs))) for name in "ab"}
    p = {one.item_id: tuple(rng.dirichlet([1, 1, 1])) for one in contest.pairs}
    guesses["stating"] = verdicts_on(contest.pairs, rng.choice(["A", "B", "tie"], len(contest.pairs)), p=p)
    pairs = [replace(one, votes={}) for one in contest.pairs]
    rows = audit.plant_and_find(Contest("sample_natural", "sample_natural", pairs, guesses), "stating", 0.2, N_BOOT)
    # Rare labels are suspect to nobody's credit: an exchanged label is a tie more often than a sound one is.
    assert all(abs(row["area"].value - 0.5) < 0.08 for row in rows), [row["area"].value for row in rows]


def test_probabilities_of_other_rows_are_refused():
    contest = sample_contest()
    votes = label_votes(contest.pairs, {}, ("A", "B", "tie"))
    items = tuple(reversed(votes.items))
    stated = ClassProbabilities(items, np.full((len(items), 3), 1 / 3))
    with pytest.raises(ValueError, match="row 0"):
        label_quality(votes, stated)
    assert votes.annotators == (REFERENCE,)


def test_planted_errors_are_another_label_and_as_many_as_asked_for():
    labels = np.random.default_rng(0).integers(0, 3, 400)
    changed, planted = planted_errors(labels, 0.05, 3, seed=2)
    assert planted.sum() == 20 and ((changed != labels) == planted).all()
    assert (planted_errors(labels, 0.05, 3, seed=3)[1] != planted).any()


# ---------------------------------------------------------------- evaluation code


def test_kappa_with_the_mistake_loses_a_class():
    confusion = np.zeros((3, 4))
    confusion[0, 0], confusion[1, 1] = 42, 58
    assert evaluation_code.mistaken_kappa(confusion) < 0.4
    assert audit.estimates.share([1, 0], ["a", "b"], 50).value == 0.5


@pytest.mark.realdata
def test_published_mistakes_are_reproduced_to_the_digit():
    from judgekit.data.benchmarks.outputs import published_verdicts

    pairs = load_set("llmbar_natural")
    ids = {one.item_id for one in pairs}
    said = [v for v in published_verdicts("gpt-4-vanilla-norules") if v.item_id in ids]
    contest = Contest("llmbar_natural", "llmbar_natural", pairs, {"gpt_4": said})
    right = score(said, pairs, "llmbar_natural", "single_order", n_boot=10)["kappa"].value
    found = evaluation_code.recoded_kappa(contest, "gpt_4", n_boot=10)
    assert right + found.effect.value == pytest.approx(0.2517173699705594)  # literal in their statistics.json
    pairs = load_set("pandalm")
    contest = Contest("pandalm", "pandalm", pairs, {n: published_verdicts(n) for n in ("pandalm-7b", "gpt-3.5-turbo")})
    drawn = evaluation_code.drawn_gold(contest, "pandalm-7b", 10)
    assert drawn.count == 11 and round(drawn.effect.value * 999) == -5  # 667 to 662 of 999
    unread = evaluation_code.unread_word(contest, "gpt-3.5-turbo", 10)
    assert unread.count == 63 and round(unread.effect.value * 999) == 692 - 710


def test_one_order_is_compared_with_both():
    pairs = [pair(str(n), question=f"Q{n}?") for n in range(30)]
    first = [
        Verdict(p.item_id, "made/first", order, "A" if order == "ab" else "B") for p in pairs for order in ("ab", "ba")
    ]
    contest = Contest("llmbar_natural", "llmbar_natural", pairs, {"first": first})
    found = evaluation_code.one_order(contest, "first", N_BOOT)
    assert found.count == 30 and found.effect.value == 0.5


def test_an_unknown_mistake_is_refused():
    with pytest.raises(KeyError, match="drawn_gold"):
        audit.code_findings({"x": None}, {"x": [["typo", "minilm"]]})


# ---------------------------------------------------------------- clean labels and repairs


def suggested(pairs, **more):
    nothing_shared = pd.DataFrame(columns=["set", "other", "items", "examples"])
    reasons = audit.reasons_of(pairs, audit.repeat_findings(pairs), nothing_shared, [])
    return audit.suggest(pairs, reasons | more, training=False)


def test_clean_labels_come_back_and_are_applied(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "project_root", lambda: tmp_path)
    pairs = [
        pair("1", question="Q1?"),
        pair("2", question="Q1?"),
        pair("3", a="x", b="x", question="Q3?"),
        pair("4", label="tie", question="Q4?"),
    ]
    save_data("laptop", "clean_labels", suggested(pairs))
    labels = audit.load_clean_labels("made")
    assert {item: one.action for item, one in labels.items()} == {"1": "keep", "2": "drop", "3": "relabel", "4": "keep"}
    kept = audit.cleaned(pairs, labels)
    assert [(one.item_id, one.label) for one in kept] == [("1", "A"), ("3", "tie"), ("4", "tie")]
    with pytest.raises(ValueError, match="audited with label 'A'"):
        audit.cleaned([replace(pairs[0], label="B")], labels)
    with pytest.raises(KeyError, match="nothing on 'other'"):
        audit.load_clean_labels("other")


def test_identical_responses_are_dropped_where_there_are_no_ties():
    frame = suggested([pair("1", a="x", b="x"), pair("2", question="Q2?")])
    assert frame["action"].tolist() == ["drop", "keep"] and frame["label"].tolist() == ["", "A"]


def test_training_data_lose_what_tests_ask_and_tests_keep_it():
    pairs = [pair("1"), pair("2", question="Q2?")]
    shared = {"question in a test set": {"1"}}
    assert audit.suggest(pairs, shared)["action"].tolist() == ["keep", "keep"]
    assert audit.suggest(pairs, shared, training=True)[["item_id", "action"]].to_numpy().tolist() == [["1", "drop"]]
    with pytest.raises(ValueError, match="no reason"):
        audit.suggest(pairs, {"typo": set()})


def test_a_repair_changes_places():
    pairs = [pair(str(n), question=f"Q{n}?") for n in range(20)]
    good, lucky = (verdicts_on(pairs, ["A"] * k + ["B"] * (20 - k)) for k in (10, 12))
    good = verdicts_on(pairs, ["B"] * 10 + ["A"] * 10)
    contest = Contest("sample_natural", "sample_natural", pairs, {"good": good, "lucky": lucky})
    table = audit.rescored(contest, "faults", {str(n) for n in range(10)}, n_boot=N_BOOT).set_index("judge")
    assert table.loc["good", ["rank_before", "rank_after"]].tolist() == [2, 1]
    assert table.loc["good", "change"].value == pytest.approx(0.5)
    numbers = audit.repair_numbers(table.reset_index())
    assert numbers["audit.sample_natural.without_faults.places_changed"].value == 2
    with pytest.raises(ValueError, match="keeps no item"):
        audit.rescored(contest, "all", {one.item_id for one in pairs}, n_boot=10)


# ---------------------------------------------------------------- findings


def test_findings_become_rows_and_numbers():
    one = audit.Finding(
        "made", "code", "bug", "a mistake", 3, 10, Number(0.1, 0.05, 0.2, spec="+.1%"), "accuracy", "abc"
    )
    other = audit.Finding("made", "text", "empty", "nothing", 1, 10, examples=["x"])
    table = audit.finding_table([one, other])
    assert table["finding"].tolist() == ["empty", "bug"] and table["examples"].tolist() == ["x", "a b c"]
    numbers = audit.finding_numbers([one, other])
    assert numbers["audit.made.bug.share"].value == 0.3 and numbers["audit.findings.count"].value == 2
    assert audit.effect_rows([one, other], ["made"])["row"].tolist() == ["made: bug"]
    assert [row["sets"] for row in audit.summary_table([one, other, replace(other, set="more", count=5)])] == [2, 1]
    with pytest.raises(ValueError, match="found twice"):
        audit.finding_numbers([one, one])
    with pytest.raises(ValueError, match="11 of 10"):
        replace(one, count=11)


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "finding", "count"),
    [("pandalm", "boolean_responses", 6), ("mtbench", "missing_responses", 3), ("mtbench", "empty_turns", 13)],
)
def test_known_faults_of_real_sets(name, finding, count):
    pairs, report = load_set_with_report(name)
    found = {one.name: one for one in audit.text_findings(pairs, report)}
    assert found[finding].count == count


@pytest.mark.realdata
def test_known_questions_of_two_tests():
    table = audit.overlap_table({name: load_set(name) for name in ("autoj", "mtbench")}).set_index(["set", "other"])
    assert table["exact"]["autoj", "mtbench"] == 47


# ---------------------------------------------------------------- pictures


def test_effects_are_drawn_in_points_on_one_scale():
    rows = [
        ("artefacts", "a: told", 0.1, 0.05, 0.2),
        ("artefacts", "b: told", 0.3, 0.2, 0.4),
        ("code", "c: bug", -0.1, -0.2, 0),
    ]
    axes = plot_effects_by_kind(pd.DataFrame(rows, columns=["kind", "row", "effect", "low", "high"]))
    assert [ax.get_title(loc="left") for ax in axes] == ["artefacts", "code"]
    assert len({ax.get_xlim() for ax in axes}) == 1 and axes[0].get_xlim()[1] >= 40
    plt.close("all")


def test_overlap_is_drawn_for_the_rows_asked_for():
    pairs = {"test": [pair("1")], "train": [pair("2"), pair("3", question="Another question?")]}
    ax = plot_overlap(audit.overlap_table(pairs), rows=["test"])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["test"]
    assert "100" in {text.get_text() for text in ax.texts}
    plt.close("all")
