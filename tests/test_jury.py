"""Juries and cascades: panels that cannot be misaligned, votes by hand, weights off the test, ends of curves."""

from dataclasses import FrozenInstanceError, replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from notebook_functions import functions_of

from judgekit.data.catalogue import load_set
from judgekit.judges import load_judge
from judgekit.records import ORDERS, SWAPPED, PreferencePair, Verdict
from judgekit.report import save_results
from judgekit.scoring import run_judge, score
from judgekit.scoring.store import VerdictStore
from judgekit.stats import Number, prompt_folds
from judgekit.studies.cascade import Cascade, area_above_random, cascade_curve, confidence_of, path_of
from judgekit.studies.jury import (
    LabelLeak,
    cross_fitted,
    effective_members,
    error_correlations,
    learn_weights,
    majority,
    mean_probability,
    weighted_vote,
)
from judgekit.studies.panel import Panel, have_judged

QUICK = {"n_boot": 200}
LETTER = {"A": "A", "B": "B", "t": "tie", "-": None}


def pairs_of(labels, benchmark="chatbot_arena", clusters=None):
    return [
        PreferencePair(
            item_id=f"i{n}",
            benchmark=benchmark,
            question="q",
            response_a="a",
            response_b="b",
            cluster_id=clusters[n] if clusters else f"p{n}",
            label=LETTER[label],
            votes={"x": LETTER[label]},
        )
        for n, label in enumerate(labels)
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
    return "".join(
        label if rng.random() < share else rng.choice([c for c in choices if c != label]) for label in labels
    )


@cache
def sample_panel(name="sample_natural"):
    store, pairs = VerdictStore(":memory:"), load_set(name)
    rules = {rule: load_judge(f"baseline/{rule}") for rule in ("longer", "shorter", "random")}
    return Panel(name, pairs, {rule: run_judge(j, pairs, store, progress=False) for rule, j in rules.items()})


# ---------------------------------------------------------------- panels


def test_verdicts_are_joined_by_item_and_never_by_position():
    pairs = pairs_of("ABt", "autoj")
    panel = Panel("autoj", pairs, {"x": said("x", "ABt")[::-1], "y": said("y", "ABA")})
    assert [v.item_id for v in panel.verdicts["x"]] == ["i0", "i1", "i2"]
    assert panel.credits.tolist() == [[1, 1], [1, 1], [1, 0]]


FAULTS = {
    "no verdict for item i2 in order ab": lambda said: said[:2],
    "item i9 is not among the 3 pairs": lambda said: [*said, replace(said[0], item_id="i9")],
    "two verdicts for item i0": lambda said: [*said, said[0]],
    "no verdict for item i1 in order ba": lambda said: [*said, replace(said[0], order="ba")],
    "no reply for item i0": lambda said: [replace(said[0], verdict=None, status="error"), *said[1:]],
    "of another judge": lambda said: [replace(said[0], judge="z"), *said[1:]],
}


@pytest.mark.parametrize("message", FAULTS)
def test_misaligned_verdicts_are_refused(message):
    pairs = pairs_of("ABt", "autoj")
    with pytest.raises(ValueError, match=f"^y: .*{message}"):
        Panel("autoj", pairs, {"x": said("x", "ABt"), "y": FAULTS[message](said("y", "ABt"))})


def test_the_check_cannot_be_gone_around():
    panel = panel_of("ABt", x="ABt", y="ABA")
    with pytest.raises(FrozenInstanceError):
        panel.verdicts = {}
    with pytest.raises(ValueError, match="no verdict for item i2"):
        replace(panel, verdicts={"x": said("x", "AB")})
    with pytest.raises(ValueError, match="not among the 2 pairs"):
        replace(panel, pairs=panel.pairs[:2])
    with pytest.raises(ValueError, match="no verdict for item i2"):
        panel.joined_by("z", said("z", "AB"))
    with pytest.raises(ValueError, match="member already"):
        panel.joined_by("x", said("x", "ABt"))
    with pytest.raises(ValueError, match="z is no member"):
        panel.seated(["x", "z"])


def test_protocols_that_drop_items_and_empty_panels_are_refused():
    pairs = pairs_of("ABt", "autoj")
    with pytest.raises(ValueError, match="drops items"):
        Panel("autoj", pairs, {"x": said("x", "ABt")}, "unparsed_dropped")
    with pytest.raises(ValueError, match="0 members"):
        Panel("autoj", pairs, {})


def test_orders_are_those_that_every_member_has():
    pairs = pairs_of("AB", "autoj")
    panel = Panel("autoj", pairs, {"x": said("x", "AB", ORDERS), "y": said("y", "AB")})
    assert panel.orders == ("ab",) and len(panel.verdicts["x"]) == 2
    assert replace(panel, verdicts={"x": said("x", "AB", ORDERS)}).orders == ORDERS


# ---------------------------------------------------------------- voting


def test_majority_by_hand():
    #                                           level votes, an abstention, nobody
    panel = panel_of("AAAAAA", x="AABAA-", y="AtBB--", z="BAtt--")
    assert letters_of(majority(panel)) == "AABtA-"
    assert [v.status for v in majority(panel)][-1] == "unparsed"
    first = majority(panel)[0]
    assert (first.score_a, first.score_b, first.p_a, first.judge) == (2, 1, None, "jury/majority")


def test_a_level_vote_where_no_tie_is_allowed_earns_half_over_both_orders():
    pairs = pairs_of("AB", "llmbar_natural")
    panel = Panel("llmbar_natural", pairs, {"x": said("x", "AA", ORDERS), "y": said("y", "BB", ORDERS)})
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


def test_the_mass_of_ties_is_split_where_no_tie_is_allowed():
    pairs = pairs_of("A", "chatbot_arena")
    panel = Panel("chatbot_arena", pairs, {"x": said("x", "t", p=[(0.3, 0.1, 0.6)])})
    assert panel.beliefs["ab"][0, 0].tolist() == pytest.approx([0.75, 0.25, 0])


VERDICTS = st.text("ABt-", min_size=6, max_size=6)


@settings(max_examples=40, deadline=None)
@given(st.lists(VERDICTS, min_size=1, max_size=4), st.randoms(use_true_random=False))
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


def test_a_jury_is_scored_as_any_judge():
    panel = sample_panel()
    verdicts = majority(panel)
    scored = score(verdicts, panel.pairs, panel.benchmark, n_boot=500)["accuracy"]
    assert panel.accuracy(verdicts, n_boot=500) == scored
    assert set(score(mean_probability(panel), panel.pairs, panel.benchmark, n_boot=50)) >= {"nll", "ece"}


# ---------------------------------------------------------------- weights


@cache
def planted():
    """A corpus and another one with the same judges: one good, two poor who copy each other, one who is no use."""
    panels = []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        labels = "".join(rng.choice(list("AB"), 400))
        poor = noisy(rng, labels, 0.55, "AB")
        members = {"good": noisy(rng, labels, 0.9, "AB"), "poor": poor, "copy": poor}
        members["coin"] = noisy(rng, labels, 0.5, "AB")
        clusters = [f"{seed}-{n // 2}" for n in range(400)]
        panels.append(panel_of(labels, "chatbot_arena", clusters, **members))
    return panels


@pytest.mark.parametrize("rule", ["log-odds", "logistic", "signed-logistic"])
def test_learnt_weights_find_the_planted_judge(rule):
    validation, fresh = planted()
    weights = learn_weights(validation, rule)
    assert max(weights.values, key=weights.values.get) == "good"
    assert weights.values["good"] > 5 * abs(weights.values["coin"])
    assert weights.values["poor"] == pytest.approx(weights.values["copy"], abs=1e-3)
    verdicts = weighted_vote(fresh, weights)
    heard, plain, alone = (
        fresh.accuracy(v, **QUICK).value for v in (verdicts, majority(fresh), fresh.verdicts["good"])
    )
    assert heard > plain + 0.1 and heard >= alone - 0.01


def test_log_odds_by_hand():
    weights = learn_weights(panel_of("AAAA", "chatbot_arena", x="AAAB", y="AB--"), "log-odds")
    # (3 + 1) right of (4 + 2); (1 + 1) of (2 + 2)
    assert weights.values == pytest.approx({"x": np.log(4 / 2), "y": 0.0}, abs=1e-12)
    assert weights.n == 4


def test_who_errs_more_than_a_guess_is_not_heard_unless_signs_are_free():
    labels = "".join(np.random.default_rng(4).choice(list("AB"), 300))
    turned = labels[:240].translate(str.maketrans("AB", "BA")) + labels[240:]
    panel = panel_of(labels, "chatbot_arena", misled=turned, right=labels[:200] + turned[200:])
    for rule in ("log-odds", "logistic"):
        weights = learn_weights(panel, rule).values
        assert weights["misled"] == 0 < weights["right"]
    assert learn_weights(panel, "signed-logistic").values["misled"] < -0.5
    # Where nobody is heard the vote is level, and level is the response shown first.
    alone = panel.seated(["misled"])
    assert set(letters_of(cross_fitted(alone, "log-odds"))) == {"t"}
    assert panel.accuracy(cross_fitted(alone, "signed-logistic"), **QUICK).value == pytest.approx(0.8)


def test_a_tie_has_a_bias_of_its_own_where_ties_are_allowed():
    rng = np.random.default_rng(0)
    labels = "".join(rng.choice(list("ABt"), 300, p=[0.1, 0.1, 0.8]))
    corpus = [replace(pair, benchmark="some_corpus") for pair in pairs_of(labels)]
    members = {name: said(name, noisy(rng, labels, 0.4)) for name in ("x", "y")}
    panel = Panel("autoj", corpus, members)
    with pytest.raises(LabelLeak, match="autoj is a test set"):
        learn_weights(panel, "logistic")
    fitted = cross_fitted(panel, "logistic")
    assert letters_of(fitted).count("t") > 290


def test_labels_of_a_test_never_reach_the_weights():
    validation, _ = planted()
    hidden = replace(validation.pairs[0], benchmark="pandalm")
    with pytest.raises(LabelLeak, match=r"pandalm is a test set.*jury_crossfit"):
        learn_weights(replace(validation, pairs=(hidden, *validation.pairs[1:])), "log-odds")
    with pytest.raises(LabelLeak, match="sample_natural is a test set"):
        learn_weights(sample_panel(), "log-odds")


def test_weights_are_refused_where_they_were_learnt():
    validation, fresh = planted()
    weights = learn_weights(validation, "log-odds")
    with pytest.raises(LabelLeak, match="learnt on 200 of these prompts"):
        weighted_vote(validation, weights)
    with pytest.raises(ValueError, match="for the jury good, poor"):
        weighted_vote(fresh.seated(["good", "poor"]), weights)
    with pytest.raises(ValueError, match="rule 'votes'"):
        learn_weights(validation, "votes")


def test_cross_fitting_uses_other_prompts_only():
    panel, _ = planted()
    before = {v.item_id: v.verdict for v in cross_fitted(panel, "log-odds")}
    # All labels of one fold are turned round: its own verdicts cannot change, though its score falls.
    fold = prompt_folds(panel.prompts, 5, 0) == 0
    pairs = [replace(p, label=SWAPPED[p.label]) if inside else p for p, inside in zip(panel.pairs, fold, strict=True)]
    after = {v.item_id: v.verdict for v in cross_fitted(replace(panel, pairs=tuple(pairs)), "log-odds")}
    inside = [pair.item_id for pair, here in zip(panel.pairs, fold, strict=True) if here]
    assert {i: before[i] for i in inside} == {i: after[i] for i in inside}
    assert {v.judge for v in cross_fitted(panel, "log-odds")} == {"jury/crossfit-log-odds"}


def test_cross_fitted_numbers_have_a_study_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr("judgekit.data.paths.project_root", lambda: tmp_path)
    number = Number(0.5)
    for key in ("scores.pandalm.crossfit_log_odds.accuracy", "jury.pandalm.all.crossfit_logistic.accuracy"):
        with pytest.raises(ValueError, match="_crossfit"):
            save_results("laptop", "34_jury_and_cascade", {key: number})
    assert save_results("laptop", "34_jury_and_cascade", {"jury_crossfit.pandalm.all.log_odds.accuracy": number})


# ---------------------------------------------------------------- members


def test_correlation_of_errors_by_hand():
    panel = panel_of("AAAA", x="AABB", y="AABB", z="BBAA", w="AAAA")
    table = error_correlations(panel, **QUICK).set_index(["judge_a", "judge_b"])["value"]
    assert [table[cell] for cell in (("x", "y"), ("x", "z"), ("x", "w"))] == pytest.approx([1, -1, 0])
    mixed = panel_of("AAAAAAAA", x="AABBAABB", y="AAAABBBB", z="AABBAAAA")
    direct = np.corrcoef(mixed.credits.T)
    table = error_correlations(mixed, **QUICK)["value"]
    assert table.tolist() == pytest.approx([direct[0, 1], direct[0, 2], direct[1, 2]])


def test_effective_members_by_hand():
    copies = panel_of("AAAA", x="AABB", y="AABB", z="AABB")
    assert effective_members(copies, **QUICK).value == pytest.approx(1)
    strangers = panel_of("AAAA", x="AABB", y="ABAB")
    assert effective_members(strangers, **QUICK).value == pytest.approx(2)
    assert effective_members(panel_of("AAAA", x="AABB", y="BBAA"), **QUICK).value == pytest.approx(2)
    with pytest.raises(ValueError, match="nobody to be independent of"):
        effective_members(copies.seated(["x"]))


# ---------------------------------------------------------------- cascades


@cache
def two_judges(benchmark="chatbot_arena", n=300):
    """A cheap judge that knows when it is unsure, and a strong one."""
    rng = np.random.default_rng(3)
    labels = "".join(rng.choice(list("AB"), n))
    p = rng.uniform(0.5, 1, n)
    right = rng.random(n) < p
    cheap = "".join(label if ok else ("B" if label == "A" else "A") for label, ok in zip(labels, right, strict=True))
    rows = [(q, 1 - q, 0) if letter == "A" else (1 - q, q, 0) for q, letter in zip(p, cheap, strict=True)]
    pairs = pairs_of(labels, benchmark, [f"p{k // 3}" for k in range(n)])
    verdicts = {"cheap": said("c", cheap, ORDERS, rows), "strong": said("s", noisy(rng, labels, 0.9, "AB"), ORDERS)}
    return Cascade(Panel(benchmark, pairs, verdicts), "cheap", "strong")


@pytest.mark.parametrize("benchmark", ["autoj", "mtbench", "llmbar_natural"])
def test_the_ends_of_the_curve_are_the_two_judges(benchmark):
    cascade = two_judges(benchmark)
    curve, numbers = cascade_curve(cascade, **QUICK)
    for end, member in ((0, "cheap"), (-1, "strong")):
        alone = score(cascade.panel.verdicts[member], cascade.panel.pairs, benchmark, **QUICK)["accuracy"]
        assert curve["value"].iloc[end] == alone.value == curve["random"].iloc[end] == curve["oracle"].iloc[end]
        assert numbers[member].value == alone.value
        assert (numbers[member].low, numbers[member].high) == pytest.approx((alone.low, alone.high))


def test_random_routing_is_a_line_and_the_oracle_is_above_everything():
    curve, numbers = cascade_curve(two_judges(), **QUICK)
    assert np.diff(curve["random"], 2) == pytest.approx(np.zeros(len(curve) - 2), abs=1e-12)
    assert (curve["oracle"] >= curve[["value", "random"]].max(axis=1) - 1e-12).all()
    assert (np.diff(curve["oracle"], 2) <= 1e-9).all()
    middle = curve.set_index("share").loc[0.5]
    assert numbers["gain_at_half"].value == pytest.approx(middle["value"] - middle["random"])
    assert numbers["at_half"].value == middle["value"]
    # The confidence was planted as the chance of being right: sending on by it must beat sending at random.
    assert numbers["gain_at_half"].low > 0 and numbers["area"].low > 0 and 0 < numbers["area_share"].value < 1


def test_a_curve_by_hand():
    pairs = pairs_of("AAAA")
    cheap = said("c", "ABAB", p=[(q, 1 - q, 0) for q in (0.9, 0.4, 0.8, 0.3)])
    cascade = Cascade(Panel("chatbot_arena", pairs, {"c": cheap, "s": said("s", "BAAA")}), "c", "s")
    assert cascade.confidence.tolist() == pytest.approx([0.9, 0.6, 0.8, 0.7])
    curve, numbers = cascade_curve(cascade, [0, 0.25, 0.5, 0.75, 1], **QUICK)
    assert curve["value"].tolist() == [0.5, 0.75, 1, 1, 0.75]
    assert curve["oracle"].tolist() == [0.5, 0.75, 1, 1, 0.75]
    assert numbers["gain_at_half"].value == 0.375 and numbers["area_share"].value == 1
    assert numbers["area"].value == pytest.approx((0.625 + 0.875 + 1 + 0.875) / 4 - 0.625)
    margins = replace(cascade, kind="margin").confidence
    assert margins.tolist() == pytest.approx([0.8, 0.2, 0.6, 0.4])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from([0, 0.5, 1])] * 2, st.integers(0, 3)), min_size=1, max_size=12), st.data())
def test_equal_confidence_is_the_mean_over_its_sequences(rows, data):
    items = np.array([(cheap, strong, 1) for cheap, strong, _ in rows], float)
    urgency = np.array([u for _, _, u in rows])
    place = data.draw(st.permutations(range(len(rows))))
    found = [path_of(items[p], urgency[p], np.ones(len(rows))) for p in (list(range(len(rows))), list(place))]
    assert np.array(found[0]) == pytest.approx(np.array(found[1]))
    if len(set(urgency)) == 1:
        assert area_above_random(*found[0]) == pytest.approx(0)


def test_confidence_that_says_nothing_gains_nothing():
    cascade = two_judges("autoj")
    panel = cascade.panel
    dull = replace(cascade, kind="consistency")  # the cheap judge is consistent everywhere
    assert set(dull.confidence) == {1}
    _, numbers = cascade_curve(dull, **QUICK)
    assert numbers["area"].value == pytest.approx(0) and numbers["gain_at_half"].value == pytest.approx(0)
    with pytest.raises(ValueError, match="strong states no probabilities"):
        confidence_of(panel, "strong", "max_probability")
    with pytest.raises(ValueError, match="'entropy' is not one of"):
        confidence_of(panel, "cheap", "entropy")
    with pytest.raises(ValueError, match="to itself"):
        Cascade(panel, "cheap", "cheap")


def test_consistency_sends_on_what_wavers():
    pairs = pairs_of("AAA", "llmbar_natural")
    wavering = [*said("w", "AB-"), *(replace(v, order="ba") for v in said("w", "AA-"))]
    panel = Panel("llmbar_natural", pairs, {"w": wavering, "s": said("s", "AAA", ORDERS)})
    cascade = Cascade(panel, "w", "s", "consistency")
    assert cascade.confidence.tolist() == [1, 0, 0]
    one_order = Panel("llmbar_natural", pairs, {"w": wavering, "s": said("s", "AAA")})
    with pytest.raises(ValueError, match="one order only"):
        confidence_of(one_order, "w", "consistency")


def test_items_without_a_label_are_left_out_of_the_curve():
    cascade = two_judges()
    blank = [replace(pair, label=None) if n % 2 else pair for n, pair in enumerate(cascade.panel.pairs)]
    curve, numbers = cascade_curve(replace(cascade, panel=replace(cascade.panel, pairs=tuple(blank))), **QUICK)
    assert numbers["cheap"].n == 150 and curve["value"].notna().all()


# ---------------------------------------------------------------- the notebook's estimators


def notebook(**more):
    return functions_of("34_jury_and_cascade", n_boot=200, **more)


def test_the_notebook_compares_a_jury_with_its_best_member():
    panel = panel_of("AAAA", x="AABB", y="AABB", z="BAAA")
    (row,) = notebook().jury_table(panel, {"majority": majority(panel)}).to_dict("records")
    assert (row["best"], row["over_best"].value) == ("z", -0.25) and row["p_holm"] == row["p_value"]
    # With z the jury is right on all four; without it x and y are level on the last two, which is a tie.
    table = notebook().leave_one_out(panel_of("AAAA", x="AAAB", y="AABA", z="AAAA")).set_index("member")["contribution"]
    assert [number.value for number in table] == [0.25, 0.25, 0.5]


def test_the_threshold_of_a_cascade_comes_from_other_prompts():
    cascade, own = two_judges(), notebook(slack=0.02)
    point = own.crossfit_point(cascade)
    assert 0.1 < point["share_sent"].value < 0.9 and point["loss"].value < 0.06
    strong = cascade.panel.accuracy(cascade.panel.verdicts["strong"], **QUICK).value
    assert strong - point["accuracy"].value == pytest.approx(point["loss"].value)
    said = cascade.panel.verdicts["cheap"]
    same = Cascade(replace(cascade.panel, verdicts={"a": said, "b": said}), "a", "b")
    assert own.crossfit_point(same)["share_sent"].value == 0, "a cheap judge that is as good sends nothing on"


def test_a_part_of_a_set_is_judged_by_everybody_and_labels_are_read_alike(monkeypatch, tmp_path):
    monkeypatch.setattr("judgekit.studies.panel.verdict_store_path", lambda: tmp_path / "s.sqlite")
    rules = ["baseline/longer", "baseline/first"]
    panels, names = have_judged({"sample_natural": rules}, "sample")
    assert panels["sample_natural"].members == [names[rule] for rule in rules] == ["longer", "first"]
    with pytest.raises(KeyError, match="no protocol"):
        have_judged({"sample_validation": rules}, "sample")
    held, _ = have_judged({"sample_validation": rules}, "sample", like=panels["sample_natural"])
    learnt = learn_weights(held["sample_validation"], "log-odds")
    assert set(learnt.values) == {"longer", "first"} and not held["sample_validation"].protocol.votes
