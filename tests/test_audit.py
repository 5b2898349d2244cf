"""The audit finds what is planted in a set, names it by id, and leaves sound items alone."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from notebook_functions import functions_of

from judgekit.data.benchmarks.outputs import published_verdicts
from judgekit.data.catalogue import load_set
from judgekit.data.votes import ClassProbabilities
from judgekit.records import PreferencePair, Verdict
from judgekit.scoring import Contest, score
from judgekit.stats import proportion_interval
from judgekit.studies import label_errors

N_BOOT = 200
LABELS = ("A", "B", "tie")
NOTEBOOK = functions_of("11_audit_benchmarks", n_boot=N_BOOT)


def pair(item_id, a="one answer", b="another answer", label="A", question="What is it?", **more):
    return PreferencePair(item_id, "made", question, a, b, cluster_id=question, label=label, **more)


def verdicts_on(pairs, labels, p=None):
    """Verdicts of a judge that gives the same in both orders."""
    both = [(one.item_id, label, order) for one, label in zip(pairs, labels, strict=True) for order in ("ab", "ba")]
    return [Verdict(item, "made/judge", order, label, *(p[item] if p else ())) for item, label, order in both]


@pytest.mark.parametrize(
    ("text", "damaged"),
    [("plain, café, naïve", False), ("itâ€™s", True), ("caf\ufffd", True), ("a\x00b", True), ("a\tb\n", False)],
)
def test_damage(text, damaged):
    assert pd.Series([text]).str.contains(NOTEBOOK.DAMAGED).item() is damaged


def test_exact_copies_differ_in_case_and_spaces_only():
    first = pair("1", "One answer!", "Another")
    assert NOTEBOOK.content(first) == NOTEBOOK.content(pair("2", "another", "one  ANSWER!\n", question="what IS it?"))
    assert NOTEBOOK.content(first) != NOTEBOOK.content(pair("3", "One answer", "Another"))  # T8: a mark is a difference
    assert NOTEBOOK.same("Smile 😀!") != NOTEBOOK.same("Smile 😢!")
    turned = replace(first.swapped(), item_id="4")
    assert turned.label == "B" and NOTEBOOK.oriented(turned) == NOTEBOOK.oriented(first) == "B"
    assert NOTEBOOK.oriented(pair("5", "x", "X ")) is None


@pytest.mark.parametrize(("last", "circular"), [("B", True), ("A", False)])
def test_circles_of_three(last, circular):
    pairs = [pair("1", "x", "y", "A"), pair("2", "y", "z", "A"), pair("3", "x", "z", last)]
    assert NOTEBOOK.threes(pairs) == [circular]


def test_near_questions_share_a_number_and_short_ones_are_no_evidence():
    near = ["Name a river in Spain please, any river", "name a river in spain please any river you like 😀"]
    short = ["write a poem", "write a poem now"]
    marked = ["Add.\nInput: 2, 3!", "add 2 3"]
    one, other, poem, longer, first, second = NOTEBOOK.near_numbers([*near, *short, *marked])
    assert one == other and first == second and len({one, poem, longer, first}) == 4


def test_length_tells_labels_that_follow_it_and_no_others():
    rng = np.random.default_rng(0)
    sizes = enumerate(rng.integers(5, 200, (300, 2)).tolist())
    follows = [pair(str(n), "a" * x, "b" * y, "BA"[x > y], f"Question {n // 3}?") for n, (x, y) in sizes]
    blind = [replace(one, label=label) for one, label in zip(follows, rng.choice(["A", "B"], 300), strict=True)]
    ((cue, hits, n, gain),) = NOTEBOOK.told_blindly(follows)
    assert (cue, n) == ("length", 300) and gain.low > 0.35 and hits > 280
    assert NOTEBOOK.told_blindly(blind)[0][3].low < 0
    named = [replace(one, model_a="x" if one.label == "A" else "y", model_b="z") for one in blind]
    told = {cue: gain.low > 0.3 for cue, _, _, gain in NOTEBOOK.told_blindly(named)}
    assert told == {"length": False, "models": True}
    assert NOTEBOOK.told_blindly(follows[:20]) == []


def test_no_row_is_predicted_by_a_fit_that_saw_its_prompt():
    clusters = np.repeat(np.arange(40), 5).astype(str)
    codes = np.repeat(np.random.default_rng(1).integers(0, 2, 40), 5)
    predicted = NOTEBOOK.cross_fitted(pd.get_dummies(clusters).to_numpy(float), codes, clusters)
    assert (predicted == codes).mean() < 0.75  # by heart it would be all of them


def sample_contest():
    """The sample with one judge that states probabilities and is right nine times of ten, and two that vote."""
    rng = np.random.default_rng(3)
    pairs = [replace(one, votes={}) for one in load_set("sample_natural")]

    def judged(accuracy):
        return [one.label if rng.random() < accuracy else rng.choice(LABELS) for one in pairs]

    first = judged(0.9)
    stated = {given: tuple(0.8 if label == given else 0.1 for label in LABELS) for given in LABELS}
    p = {one.item_id: stated[given] for one, given in zip(pairs, first, strict=True)}
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
    contest = sample_contest()
    votes, _ = label_errors.evidence(contest, contest.pairs, "stating")
    stated = ClassProbabilities(tuple(reversed(votes.items)), np.full((len(votes.items), 3), 1 / 3))
    with pytest.raises(ValueError, match="row 0"):
        label_errors.label_quality(votes, stated)


def test_planted_errors_are_another_label_and_as_many_as_asked_for():
    labels = np.random.default_rng(0).integers(0, 3, 400)
    changed, planted = label_errors.planted_errors(labels, 0.05, 3, seed=2)
    assert planted.sum() == 20 and ((changed != labels) == planted).all()


@pytest.mark.realdata
def test_the_published_kappa_is_reproduced_to_the_digit():
    pairs = load_set("llmbar_natural")
    ids = {one.item_id for one in pairs}
    given = [v for v in published_verdicts("gpt-4-vanilla-norules") if v.item_id in ids]
    contest = Contest("llmbar_natural", "llmbar_natural", pairs, {"gpt_4": given})
    right = score(given, pairs, "llmbar_natural", "single_order", n_boot=10)["kappa"].value
    effect, odd = NOTEBOOK.recoded_kappa(contest, "gpt_4")
    assert right + effect.value == pytest.approx(0.2517173699705594)  # literal in their statistics.json
    assert odd.sum() == sum(one.label == "B" for one in pairs)


def test_a_difference_is_that_of_the_two_means_on_the_same_prompts():
    hits, kept = np.repeat([0, 1, 1, 0], 10), np.repeat([False, True, True, True], 10)
    prompts = np.repeat(list("pqrs"), 10)
    change = NOTEBOOK.difference(hits, kept, hits, np.ones(40, bool), prompts)
    assert change.value == pytest.approx(2 / 3 - 1 / 2) and change.n == 30 and change.low <= change.value <= change.high
    same = NOTEBOOK.difference(hits, kept, hits, kept, prompts)
    # Drawn alike, so that nothing is left but what the three prompts with a kept item cannot rule out.
    assert same.value == 0 and same.high == -same.low == pytest.approx(proportion_interval(0, 3)[1])
    with pytest.raises(AssertionError, match="no item"):
        NOTEBOOK.difference(hits, ~kept & kept, hits, kept, prompts)
