"""Juries and cascades: panels that cannot be misaligned, votes by hand, weights off the test, ends of curves."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from notebook_functions import functions_of

from judgekit.records import ORDERS, SWAPPED, PreferencePair, Verdict
from judgekit.scoring import score
from judgekit.stats import prompt_folds
from judgekit.studies.jury import Panel, cross_fitted, majority, mean_probability, pool_weights

LETTER = {"A": "A", "B": "B", "t": "tie", "-": None}


def pairs_of(labels, benchmark="chatbot_arena", clusters=None):
    prompts, said = clusters or [f"p{n}" for n in range(len(labels))], [LETTER[label] for label in labels]
    return [
        PreferencePair(f"i{n}", benchmark, "q", "a", "b", cluster_id=prompt, label=label, votes={"x": label})
        for n, (prompt, label) in enumerate(zip(prompts, said, strict=True))
    ]


def said(judge, letters, orders=("ab",), p=None):
    """Verdicts by letter (``-`` for an unreadable reply), the same in every order; ``p`` rows of (p_a, p_b, p_tie)."""
    verdicts = []
    for n, letter in enumerate(letters):
        chances = dict(zip(("p_a", "p_b", "p_tie"), p[n], strict=True)) if p is not None else {}
        status = "unparsed" if letter == "-" else "ok"
        verdicts += [Verdict(f"i{n}", judge, order, LETTER[letter], status=status, **chances) for order in orders]
    return verdicts


def panel_of(labels, benchmark="autoj", clusters=None, orders=("ab",), **members):
    pairs = pairs_of(labels, benchmark, clusters)
    return Panel(benchmark, pairs, {name: said(name, letters, orders) for name, letters in members.items()})


def letters_of(verdicts, order="ab"):
    named = {v: k for k, v in LETTER.items()}
    return "".join(named[v.verdict] for v in verdicts if v.order == order)


def noisy(rng, labels, share, choices="ABt"):
    """Verdicts right with a probability, else another label at random."""
    return "".join(one if rng.random() < share else rng.choice(list(choices.replace(one, ""))) for one in labels)


def notebook(**more):
    return functions_of("34_jury_and_cascade", n_boot=200, **more)


@cache
def two_judges(benchmark="chatbot_arena", n=300):
    """A cheap judge that knows when it is unsure, and a strong one."""
    rng = np.random.default_rng(3)
    labels = "".join(rng.choice(list("AB"), n))
    p = rng.uniform(0.5, 1, n)
    right = rng.random(n) < p
    cheap = "".join(label if ok else SWAPPED[label] for label, ok in zip(labels, right, strict=True))
    rows = [(q, 1 - q, 0) if letter == "A" else (1 - q, q, 0) for q, letter in zip(p, cheap, strict=True)]
    pairs = pairs_of(labels, benchmark, [f"p{k // 3}" for k in range(n)])
    verdicts = {"cheap": said("c", cheap, ORDERS, rows), "strong": said("s", noisy(rng, labels, 0.9, "AB"), ORDERS)}
    return Panel(benchmark, pairs, verdicts)


def test_a_member_that_is_never_wrong_weighs_what_the_penalty_allows():
    """Without a penalty its weight has no bound; with one of w^2 / 2 it is where w = n / (1 + exp(w))."""
    panel = Panel("chatbot_arena", pairs_of("AB" * 20), {"x": said("x", "AB" * 20, p=[(1, 0, 0), (0, 1, 0)] * 20)})
    (weight,), tie = pool_weights(panel, np.full(40, True))
    assert weight == pytest.approx(40 / (1 + np.exp(weight)), rel=1e-3) and tie == 0


def test_verdicts_are_joined_by_item_never_by_position_in_the_orders_that_every_member_has():
    panel = Panel("autoj", pairs_of("ABt", "autoj"), {"x": said("x", "ABt", ORDERS)[::-1], "y": said("y", "ABA")})
    assert panel.credits.tolist() == [[1, 1], [1, 1], [1, 0]] and panel.orders == ["ab"]
    assert replace(panel, verdicts={"x": panel.verdicts["x"]}).orders == list(ORDERS)


FAULTS = {
    "no verdict for i2 in order ab": lambda said: said[:2],
    "stray verdict for i9": lambda said: [*said, replace(said[0], item_id="i9")],
    "two verdicts for i0": lambda said: [*said, said[0]],
    "no verdict for i1 in order ba": lambda said: [*said, replace(said[0], order="ba")],
    "no reply for item i0": lambda said: [replace(said[0], verdict=None, status="error"), *said[1:]],
}


@pytest.mark.parametrize("message", FAULTS)
def test_misaligned_verdicts_are_refused(message):
    pairs = pairs_of("ABt", "autoj")
    with pytest.raises(ValueError, match=f"^y: .*{message}"):
        Panel("autoj", pairs, {"x": said("x", "ABt"), "y": FAULTS[message](said("y", "ABt"))})
    with pytest.raises(ValueError, match="0 members"):
        Panel("autoj", pairs, {})


def test_majority_by_hand():
    #                                           level votes, an abstention, nobody
    panel = panel_of("AAAAAA", x="AABAA-", y="AtBB--", z="BAtt--")
    assert letters_of(majority(panel)) == "AABtA-"
    assert [v.status for v in majority(panel)][-1] == "unparsed"
    first = majority(panel)[0]
    assert (first.score_a, first.score_b, first.p_a, first.judge) == (2, 1, None, "jury/majority")
    # A level vote where no tie is allowed earns half over both orders.
    panel = panel_of("AB", "llmbar_natural", orders=ORDERS, x="AA", y="BB")
    assert panel.credits_of(majority(panel)).tolist() == [0.5, 0.5]


def test_mean_probability_by_hand():
    pairs = pairs_of("AB", "autoj")
    x = said("x", "BB", p=[(0.3, 0.6, 0.1), (0.1, 0.5, 0.4)])
    y = said("y", "AA", p=[(0.8, 0.1, 0.1), (0.4, 0.3, 0.3)])
    verdicts = mean_probability(Panel("autoj", pairs, {"x": x, "y": y}))
    assert letters_of(verdicts) == "AB"
    assert [verdicts[0].p_a, verdicts[0].p_b, verdicts[0].p_tie] == pytest.approx([0.55, 0.35, 0.1])
    # A member without probabilities is certain, one without a verdict says nothing.
    sure = mean_probability(Panel("autoj", pairs, {"x": x, "y": said("y", "t-")}))
    assert letters_of(sure) == "tB" and sure[0].p_tie == pytest.approx(0.55)
    assert sure[1].p_b == pytest.approx(0.5)
    # The mass of ties is split where no tie is allowed.
    panel = Panel("chatbot_arena", pairs_of("A"), {"x": said("x", "t", p=[(0.3, 0.1, 0.6)])})
    assert panel.beliefs["ab"][0, 0].tolist() == pytest.approx([0.75, 0.25, 0])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text("ABt-", min_size=6, max_size=6), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_names_and_sequence_play_no_part(lists, random):
    labels = "ABtABt"
    panel = panel_of(labels, **{f"m{n}": letters for n, letters in enumerate(lists)})
    shuffled = list(enumerate(lists))
    random.shuffle(shuffled)
    pairs = list(panel.pairs)
    random.shuffle(pairs)
    other = Panel("autoj", pairs, {f"other{n}": said("o", letters) for n, letters in shuffled})
    for rule in (majority, mean_probability):
        found = {v.item_id: v.verdict for v in rule(other)}
        assert [found[v.item_id] for v in rule(panel)] == [v.verdict for v in rule(panel)]


@cache
def planted():
    """One good judge, two poor ones who copy each other, and one who is no use."""
    rng = np.random.default_rng(1)
    labels = "".join(rng.choice(list("AB"), 400))
    poor = noisy(rng, labels, 0.55, "AB")
    members = {"good": noisy(rng, labels, 0.9, "AB"), "poor": poor, "copy": poor}
    members["coin"] = noisy(rng, labels, 0.5, "AB")
    return panel_of(labels, "chatbot_arena", [f"p{n // 2}" for n in range(400)], **members)


def everything(panel):
    """Weights from all of a panel's labels, by member."""
    return dict(zip(panel.members, pool_weights(panel, np.full(len(panel.pairs), True))[0], strict=True))


def test_learnt_weights_find_the_planted_judge():
    panel = planted()
    weights = everything(panel)
    assert max(weights, key=weights.get) == "good" and weights["good"] > 5 * weights["coin"]
    assert weights["poor"] == pytest.approx(weights["copy"], abs=1e-3)
    heard, plain = (panel.credits_of(verdicts).mean() for verdicts in (cross_fitted(panel), majority(panel)))
    assert heard > plain + 0.1 and heard >= panel.credits[:, 0].mean() - 0.01


def test_who_errs_more_than_a_guess_is_not_heard():
    labels = "".join(np.random.default_rng(4).choice(list("AB"), 300))
    turned = labels[:240].translate(str.maketrans("AB", "BA")) + labels[240:]
    panel = panel_of(labels, "chatbot_arena", misled=turned, right=labels[:200] + turned[200:])
    weights = everything(panel)
    assert weights["misled"] == 0 < weights["right"]
    # Where nobody is heard the vote is level.
    assert set(letters_of(cross_fitted(replace(panel, verdicts={"misled": panel.verdicts["misled"]})))) == {"t"}


def test_a_tie_has_a_bias_of_its_own_where_ties_are_allowed():
    rng = np.random.default_rng(0)
    labels = "".join(rng.choice(list("ABt"), 300, p=[0.1, 0.1, 0.8]))
    panel = panel_of(labels, "autoj", x=noisy(rng, labels, 0.4), y=noisy(rng, labels, 0.4))
    assert letters_of(cross_fitted(panel)).count("t") > 290


def test_cross_fitting_uses_other_prompts_only():
    panel = planted()
    before = {v.item_id: v.verdict for v in cross_fitted(panel)}
    # All labels of one fold are turned round: its own verdicts cannot change, though its score falls.
    fold = prompt_folds([f"{pair.benchmark}/{pair.cluster}" for pair in panel.pairs], 5, 0) == 0
    pairs = [replace(p, label=SWAPPED[p.label]) if inside else p for p, inside in zip(panel.pairs, fold, strict=True)]
    after = {v.item_id: v.verdict for v in cross_fitted(replace(panel, pairs=tuple(pairs)))}
    inside = [pair.item_id for pair, here in zip(panel.pairs, fold, strict=True) if here]
    assert {i: before[i] for i in inside} == {i: after[i] for i in inside}
    assert {v.judge for v in cross_fitted(panel)} == {"jury/crossfit"}


def test_effective_members_by_hand():
    for n, members in ((1, ("AABB", "AABB", "AABB")), (2, ("AABB", "ABAB")), (2, ("AABB", "BBAA"))):
        panel = panel_of("AAAA", **dict(zip("xyz", members, strict=False)))
        assert notebook().effective_members(panel).value == pytest.approx(n)


@pytest.mark.parametrize("benchmark", ["autoj", "mtbench", "llmbar_natural"])
def test_the_ends_of_the_curve_are_the_two_judges(benchmark):
    panel, own = two_judges(benchmark), notebook()
    curve, numbers, _ = own.cascade_numbers(*own.cascade_of(panel, "cheap", "strong"))
    for end, member in ((0, "cheap"), (-1, "strong")):
        alone = score(panel.verdicts[member], panel.pairs, benchmark, n_boot=200)["accuracy"]
        assert curve["value"].iloc[end] == pytest.approx(alone.value) == pytest.approx(curve["random"].iloc[end])
        assert [numbers[member].low, numbers[member].high] == pytest.approx([alone.low, alone.high])
        assert numbers[member].value == pytest.approx(alone.value)
    middle = curve.set_index("share").loc[0.5]
    assert numbers["gain_at_half"].value == pytest.approx(middle["value"] - middle["random"])
    # The confidence was planted as the chance of being right: sending on by it must beat sending at random.
    assert numbers["at_half"].value == middle["value"] and numbers["gain_at_half"].low > 0


def test_a_curve_by_hand():
    pairs, own = pairs_of("AAAA"), notebook()
    cheap = said("c", "ABAB", p=[(q, 1 - q, 0) for q in (0.9, 0.4, 0.8, 0.3)])
    panel = Panel("chatbot_arena", pairs, {"c": cheap, "s": said("s", "BAAA")})
    assert own.confidence_of(panel, "c").tolist() == pytest.approx([0.9, 0.6, 0.8, 0.7])
    curve, numbers, p_value = own.cascade_numbers(*own.cascade_of(panel, "c", "s"))
    assert curve.set_index("share")["value"][[0, 0.25, 0.5, 0.75, 1]].tolist() == [0.5, 0.75, 1, 1, 0.75]
    assert numbers["gain_at_half"].value == 0.375 and 0.05 < p_value < 0.2, "one of four pairs tells nothing"
    assert own.sent_on([0.1, 0.7, 0.7, 0.9], 0.5).tolist() == [1, 0.5, 0.5, 0], "equally sure ones in equal parts"


def test_consistency_sends_on_what_wavers():
    pairs, own = pairs_of("AAA", "llmbar_natural"), notebook()
    wavering = [*said("w", "AB-"), *(replace(v, order="ba") for v in said("w", "AA-"))]
    panel = Panel("llmbar_natural", pairs, {"w": wavering, "s": said("s", "AAA", ORDERS)})
    assert own.confidence_of(panel, "w").tolist() == [1, 0, 0]
    one_order = Panel("llmbar_natural", pairs, {"w": wavering, "s": said("s", "AAA")})
    with pytest.raises(AssertionError, match="one order only"):
        own.confidence_of(one_order, "w")


def test_items_without_a_label_are_left_out_of_the_curve():
    panel, own = two_judges(), notebook()
    blank = [replace(pair, label=None) if n % 2 else pair for n, pair in enumerate(panel.pairs)]
    curve, numbers, _ = own.cascade_numbers(*own.cascade_of(replace(panel, pairs=blank), "cheap", "strong"))
    assert numbers["cheap"].n == 150 and curve["value"].notna().all()


def test_a_jury_is_compared_with_its_best_member_which_is_found_on_other_prompts():
    table, folds = notebook(n_folds=2).jury_table, prompt_folds([pair.cluster for pair in pairs_of("A" * 16)], 2, 0)
    row = table(panel_of("AAAA" * 4, x="AABB" * 4, y="AABB" * 4, z="BAAA" * 4)).set_index("rule").loc["majority"]
    assert (row["best"], row["over_best"].value) == ("z", -0.25) and 0 < row["p_value"] <= 1
    x, y = ("".join("A" if one == fold else "B" for one in folds) for fold in (0, 1))
    row = table(panel_of("A" * 16, x=x, y=y)).set_index("rule").loc["majority"]
    assert row["best_accuracy"].value == 0, "each is right in one fold, and chosen by it for the other"


def test_the_threshold_of_a_cascade_comes_from_other_prompts():
    panel, own = two_judges(), notebook(slack=0.02)
    point = own.crossfit_point(*own.cascade_of(panel, "cheap", "strong"))
    assert 0.1 < point["share_sent"].value < 0.9 and point["loss"].value < 0.06
    assert panel.credits[:, 1].mean() - point["accuracy"].value == pytest.approx(point["loss"].value)
    rows, confidence = own.cascade_of(panel, "cheap", "cheap")
    assert own.crossfit_point(rows, confidence)["share_sent"].value == 0, "a cheap judge that is as good sends nothing"
