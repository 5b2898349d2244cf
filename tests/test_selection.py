"""studies.selection: what is kept and why, scores that a pair's own label has no part in, and fair comparisons."""

from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from sklearn.metrics import f1_score, roc_auc_score

from judgekit.data.sample import load_sample
from judgekit.judges import load_judge
from judgekit.judges.surface import FEATURES, PAIR_FEATURES
from judgekit.models.encoder import TextEncoder
from judgekit.models.states import StateReader
from judgekit.records import PreferencePair, Verdict
from judgekit.scoring import run_judge
from judgekit.scoring.store import VerdictStore
from judgekit.studies.data_mixture import Level
from judgekit.studies.selection import (
    by_judge,
    by_rater,
    choose_threshold,
    drawn_like,
    flip_auc,
    flipped_among,
    flipped_rows,
    folds_of,
    judge_scores,
    keep,
    mean_flip_auc,
    of_label,
    rater_scores,
    select_responses,
)
from judgekit.studies.selection import encoder_student as encoder_module
from judgekit.studies.selection.encoder_student import encoder_student
from judgekit.studies.selection.learners import LEARNERS, cross_fit, learn_probe
from judgekit.studies.selection.study import (
    Question,
    comparison_table,
    label_scores,
    mean_over,
    prompts_apart,
    run_selection,
    selections,
    student_of,
)
from judgekit.studies.selection.views import States, Views, exchanged, view
from judgekit.training.constructed import OFF_TOPIC
from judgekit.training.encoder import RelevanceRecipe
from judgekit.training.features import FeatureTable
from judgekit.training.mixture import make_material

matplotlib.use("Agg")


def pair(item_id, label="A", question=None, benchmark="one", **fields):
    question = f"Question {item_id}?" if question is None else question
    given = {"response_a": "the longer response", "response_b": "short", "cluster_id": question}
    return PreferencePair(str(item_id), benchmark, question, label=label, **given | fields)


PAIRS = [pair(i) for i in range(10)]
SCORES = np.array([0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6, 0.5, 0.55])


# ---------------------------------------------------------------- keeping


def test_top_and_bottom_keep_the_best_and_the_worst():
    assert keep(PAIRS, SCORES, "top", 0.35).kept.tolist() == [1, 3, 5]
    assert keep(PAIRS, SCORES, "bottom", 0.35).kept.tolist() == [0, 2, 4]
    assert keep(PAIRS, SCORES, "threshold", threshold=0.6).kept.tolist() == [1, 3, 5, 7]
    assert keep(PAIRS, SCORES, "top", 1.0).kept.tolist() == list(range(10))


def test_what_is_dropped_says_why():
    found = keep(PAIRS, SCORES, "top", 0.8)
    assert [(row.item_id, row.benchmark, row.reason, row.detail) for row in found.dropped] == [
        ("0", "one", "not kept: top 0.8", "0.1"),
        ("2", "one", "not kept: top 0.8", "0.2"),
    ]


def test_each_group_keeps_its_share():
    groups = ["x"] * 4 + ["y"] * 6
    assert keep(PAIRS, np.arange(10), "top", 0.5, within=groups).kept.tolist() == [2, 3, 7, 8, 9]


def test_equal_scores_are_drawn_and_not_taken_from_one_end():
    found = {tuple(keep(PAIRS, np.ones(10), "top", 0.3, seed=seed).kept) for seed in range(20)}
    assert len(found) > 10 and {place for kept in found for place in kept} == set(range(10))
    again = [keep(PAIRS, np.ones(10), "top", 0.3, seed=1).kept.tolist() for _ in range(2)]
    assert again[0] == again[1]


def test_a_random_part_does_not_read_scores():
    first, second = (keep(PAIRS, scores, "random", 0.4, seed=3).kept for scores in (SCORES, SCORES[::-1] * np.nan))
    assert first.tolist() == second.tolist() and len(first) == 4
    assert keep(PAIRS, SCORES, "random", 0.4, seed=4).kept.tolist() != first.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "best", "share": 0.5}, "'best' is none of top"),
        ({"rule": "top", "share": 0.0}, "share 0.0 is not in"),
        ({"rule": "top"}, "share None"),
        ({"rule": "top", "share": 1.5}, "share 1.5"),
        ({"rule": "threshold"}, "needs a number"),
        ({"rule": "threshold", "threshold": 2.0}, "keeps none of 10"),
        ({"rule": "top", "share": 0.05}, "keeps none of 10"),
        ({"rule": "top", "share": 0.5, "within": ["x"]}, "1 groups for 10 items"),
    ],
)
def test_rules_that_cannot_be_followed_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        keep(PAIRS, SCORES, **options)


def test_a_score_that_is_no_number_names_its_pair():
    scores = SCORES.copy()
    scores[4] = np.nan
    with pytest.raises(ValueError, match="one/4: its score is nan"):
        keep(PAIRS, scores, "top", 0.5)


def test_a_random_sample_has_as_many_of_each_group():
    groups = np.array(["x"] * 30 + ["y"] * 70)
    kept = np.array([0, 1, 2, 40, 50])
    drawn = drawn_like(kept, groups, 0)
    assert (groups[drawn] == "x").sum() == 3 and len(set(drawn.tolist())) == 5
    assert drawn.tolist() != drawn_like(kept, groups, 1).tolist()


RATED = [
    {"id": n, "aspects": {"logicality": logic}, "total": total}
    for n, (logic, total) in enumerate([(1, 3), (5, 5), (2, 3), (4, 1), (3, 3)])
]


def test_responses_are_kept_best_first_and_equal_ones_in_the_order_they_came():
    before = [dict(row) for row in RATED]
    assert [row["id"] for row in select_responses(RATED, 0.7)] == [1, 0, 2]  # int(3.5)
    assert [row["id"] for row in select_responses(RATED, 0.4, by="logicality")] == [1, 3]
    assert [row["id"] for row in select_responses(RATED, 1.0)] == [1, 0, 2, 4, 3]
    assert select_responses(RATED, 0.1) == [] == select_responses([], 0.5)
    assert before == RATED and select_responses(RATED, 0.2)[0] is RATED[1]


@pytest.mark.parametrize(
    "broken", [{"id": 7}, {"total": "4"}, {"total": float("nan")}, {"total": None}, {"total": True}]
)
def test_a_response_without_a_score_is_named_by_its_place(broken):
    with pytest.raises(ValueError, match="rated response 5: total is"):
        select_responses([*RATED, broken], 0.5)
    with pytest.raises(ValueError, match="rated response 1: logicality is None"):
        select_responses([RATED[0], {"total": 1}], 0.5, by="logicality")


# ---------------------------------------------------------------- scores


def test_a_judge_is_averaged_over_both_orders():
    pairs = [pair(0), pair(1, "B")]
    store = VerdictStore(":memory:")
    longer, first = (
        run_judge(load_judge(f"baseline/{name}"), pairs, store, progress=False) for name in ("longer", "first")
    )
    assert judge_scores(longer, pairs).tolist() == [1.0, 0.0]
    assert judge_scores(first, pairs).tolist() == [0.5, 0.5]  # position alone says nothing


def test_half_of_a_tie_goes_to_either_side():
    said = [Verdict("0", "j", "ab", "A", 0.6, 0.2, 0.2), Verdict("0", "j", "ba", "tie", 0.3, 0.3, 0.4)]
    assert judge_scores(said, [pair(0)]) == pytest.approx([0.6])
    assert judge_scores(said, [pair(0, "B")]) == pytest.approx([0.4])


def test_a_pair_without_a_verdict_is_named():
    said = [Verdict("0", "j", "ab", "A"), Verdict("0", "j", "ba", None, status="unparsed")]
    with pytest.raises(ValueError, match="one/0: no usable verdict in order ba"):
        judge_scores(said, [pair(0)])


def test_a_tie_has_no_preferred_response():
    with pytest.raises(ValueError, match="one/0: the label is 'tie'"):
        rater_scores(lambda asked: [0] * len(asked), [pair(0, "tie")])


def test_a_rater_scores_the_margin_or_the_preferred_response():
    def length(asked):
        return [len(response) for _, response in asked]

    pairs = [pair(0), pair(1, "B")]
    assert rater_scores(length, pairs).tolist() == [14, -14]
    assert rater_scores(length, pairs, "chosen").tolist() == [19, 5]
    with pytest.raises(ValueError, match="neither 'margin' nor 'chosen'"):
        rater_scores(length, pairs, "rejected")


@pytest.mark.parametrize(
    ("said", "message"),
    [([1.0], "shape .1,. for 4"), ([1, 2, 3, np.inf], "one/1: the rater's score of a response is inf")],
)
def test_a_rater_that_says_nonsense_is_refused(said, message):
    with pytest.raises(ValueError, match=message):
        rater_scores(lambda asked: said, [pair(0), pair(1)])


# ---------------------------------------------------------------- thresholds, exchanged labels


def test_the_threshold_has_the_best_f1_of_finding_wrong_labels():
    rng = np.random.default_rng(0)
    right = rng.normal(1, 1, 400)
    wrong = -right
    for scaling in ("range", "quantile"):
        found = choose_threshold(right, wrong, 0.2, scaling)
        truth, weight = np.repeat([0, 1], 400), np.repeat([0.8, 0.2], 400)
        said = np.concatenate([right, wrong]) < found.cut
        assert found.f1 == pytest.approx(f1_score(truth, said, sample_weight=weight))
        for other in np.linspace(-3, 3, 50):  # no cut far from the one found does much better than the grid allows
            said = np.concatenate([right, wrong]) < other
            assert f1_score(truth, said, sample_weight=weight) < found.f1 + 0.03


def test_the_scales_mean_what_they_say():
    right, wrong = np.array([1.0, 2, 3, 100]), np.array([0.0, 0, 0, 0])
    span = choose_threshold(right, wrong, 0.5, "range")
    assert span.cut == pytest.approx(span.level * 100)
    assert choose_threshold(right, wrong, 0.5, "quantile").f1 == 1.0  # a scale that one odd score cannot stretch
    assert span.f1 < 1.0


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_share_of_wrong_labels_is_between_none_and_all(share):
    with pytest.raises(ValueError, match="not in"):
        choose_threshold([1.0], [0.0], share)


def test_auc_is_the_known_one_with_weights_and_equal_scores():
    rng = np.random.default_rng(1)
    scores, flipped = rng.integers(0, 6, 200) / 5, flipped_rows(200, 0.3, 0)
    assert flipped.sum() == 60
    assert flip_auc(scores, flipped) == pytest.approx(roc_auc_score(flipped, -scores))
    weight = rng.integers(0, 4, (3, 200))
    known = [roc_auc_score(flipped, -scores, sample_weight=row) for row in weight]
    assert flip_auc(scores, flipped, weight) == pytest.approx(known)
    with pytest.raises(ValueError, match="some labels must be exchanged"):
        flip_auc(scores, np.zeros(200, bool))


def test_what_is_dropped_is_counted_over_all_draws():
    chosen, flipped = np.array([[1, 1, 0, 0], [1, 0, 0, 0]]), np.array([[1, 0, 1, 0], [1, 0, 0, 1]])
    found = flipped_among(chosen, flipped, ["p", "q", "r", "s"], 500)
    assert (found.value, found.n) == (pytest.approx(2 / 3), 3)
    assert 0 <= found.low < 2 / 3 < found.high <= 1
    with pytest.raises(ValueError, match="picks out no pair"):
        flipped_among(chosen * 0, flipped, ["p", "q", "r", "s"])


# ---------------------------------------------------------------- views of the sample, and of invented pairs


@pytest.fixture(scope="module")
def states():
    return States(StateReader("minilm", limit=48))


@pytest.fixture(scope="module")
def sampled(states):
    """Sixty real pairs of the sample, as scorers see them."""
    return view([p for p in load_sample("sample_train") if p.label != "tie"][:60], states)


def invented(n_pairs, signal, seed, width=8, name="pool", agree=0.85):
    """Pairs whose states tell the label (``agree`` of the time) along one direction, if there is a signal at all."""
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(n_pairs, width))
    a = rng.normal(size=(n_pairs, len(FEATURES)))
    truth = states[:, 0] > 0 if signal else rng.random(n_pairs) > 0.5
    truth = truth ^ (rng.random(n_pairs) > agree)
    pairs = [pair(i, "A" if prefers else "B", f"{name} {i}?", name) for i, prefers in enumerate(truth)]
    target = np.stack([truth, ~truth, np.zeros(n_pairs, bool)], 1) * 1.0
    looks = FeatureTable(a, -a, rng.normal(size=(n_pairs, len(PAIR_FEATURES))), target, np.zeros(n_pairs, bool))
    return Views(pairs, looks, states)


def asked(signal, **options):
    """A question about invented pairs."""
    pool = invented(400, signal, 0, **options)
    choosing, comparing = (invented(300, signal, seed, name=name, **options) for seed, name in ((1, "c"), (2, "v")))
    return Question(pool, choosing, {"v": comparing}, {"pool": 1.0}, ("probe",), shares=(0.5, 0.8))


@pytest.mark.parametrize("name", LEARNERS)
def test_a_pairs_own_label_has_no_part_in_its_score(sampled, name):
    weight = np.ones(len(sampled))
    folds = folds_of(sampled.questions, 5)
    one = np.arange(len(sampled)) == 7
    before = cross_fit(LEARNERS[name], sampled, weight)(sampled)
    other = sampled.flipped(one)
    after = cross_fit(LEARNERS[name], other, weight)(other)
    own = folds == folds[7]
    assert (before[own] == after[own]).all()  # to the last bit: nothing that scores the fold was told of the change
    assert (before[~own] != after[~own]).any()
    scores = of_label(before, sampled.prefers_a), of_label(after, other.prefers_a)
    assert scores[0][7] == pytest.approx(1 - scores[1][7])


@pytest.mark.parametrize("name", LEARNERS)
def test_exchanging_the_responses_exchanges_the_probability(sampled, name, states):
    judge = LEARNERS[name](sampled, np.ones(len(sampled)))
    swapped = view([p.swapped() for p in sampled.pairs], states)
    assert judge(sampled) == pytest.approx(1 - judge(swapped), abs=1e-6)


def test_one_question_stands_in_one_fold_wherever_it_occurs():
    assert folds_of(["What is it?", "  what IS it? "], 50).tolist() in [[k, k] for k in range(50)]
    assert len(set(folds_of([f"question {i}" for i in range(100)], 5).tolist())) == 5
    assert (folds_of([f"q {i}" for i in range(100)], 5, 0) != folds_of([f"q {i}" for i in range(100)], 5, 1)).any()
    with pytest.raises(ValueError, match="1 folds"):
        folds_of(["q"], 1)


def test_validation_is_scored_by_judges_of_the_same_kind(sampled):
    """A question outside the pool is scored by the judge of its own fold, as if it stood there."""
    weight, inside = np.ones(len(sampled)), np.arange(len(sampled)) < 50
    pool = sampled.of(inside)
    judge = cross_fit(learn_probe, pool, weight[inside])
    fold = folds_of(sampled.questions, 5)
    outside = np.flatnonzero(~inside)[:3]
    for i in outside:
        alone = learn_probe(pool.of(fold[:50] != fold[i]), weight[:50][fold[:50] != fold[i]])
        assert judge(sampled.of([i])) == pytest.approx(alone(sampled.of([i])))


def test_labels_that_say_nothing_are_not_told_from_exchanged_ones():
    """Without cross-fitting the same probe seems to find them: it has learnt them by heart."""
    pool = invented(300, signal=False, seed=5, width=60)
    draws, own, fitted = [], [], []
    for seed in range(4):
        flipped = flipped_rows(300, 0.2, seed)
        noisy = pool.flipped(flipped)
        draws.append(flipped)
        own.append(of_label(cross_fit(learn_probe, noisy, np.ones(300), seed=seed)(noisy), noisy.prefers_a))
        fitted.append(of_label(learn_probe(noisy, np.ones(300))(noisy), noisy.prefers_a))
    own, fitted, draws = map(np.array, (own, fitted, draws))
    found = mean_flip_auc(own, draws, pool.clusters)
    assert found.low < 0.5 < found.high and found.n == 300
    assert 0.4 < found.value < 0.6
    # What is learnt by heart calls every label right, exchanged or not: the labels' own scores give the leak away.
    assert fitted.mean() > own.mean() + 0.05 and abs(own.mean() - 0.5) < 0.03


def test_exchanged_labels_change_and_nothing_else_does(sampled):
    where = flipped_rows(len(sampled), 0.25, 3)
    noisy = sampled.flipped(where)
    assert ((noisy.prefers_a != sampled.prefers_a) == where).all()
    assert (noisy.looks.target[where] == sampled.looks.target[where][:, [1, 0, 2]]).all()
    assert (noisy.states == sampled.states).all() and noisy.questions == sampled.questions
    soft = replace(sampled.pairs[0], soft_label=0.9, label="A")
    assert (exchanged(soft).label, exchanged(soft).soft_label) == ("B", pytest.approx(0.1))
    assert exchanged(soft).response_a == soft.response_a


# ---------------------------------------------------------------- the study


def test_prompts_of_one_part_are_not_those_of_another():
    question = asked(True)
    for change in (
        {"choosing": question.pool},
        {"comparing": {"v": question.pool}},
        {"comparing": {"v": question.choosing}},
    ):
        with pytest.raises(ValueError, match="prompts"):
            replace(question, **change)


def test_validation_is_cut_by_prompt():
    held_out = {"x": [pair(i, question=f"q{i // 2}", benchmark="x") for i in range(80)], "y": [pair(1, question="q1")]}
    choosing, comparing = prompts_apart(held_out, ["x"], ["x", "y"])
    assert 10 < len(choosing) < 60 and {p.benchmark for p in choosing} == {"x"}
    assert len(choosing) + len(comparing["x"]) == 80
    assert not {p.asked for p in choosing} & {p.asked for found in comparing.values() for p in found}


def test_every_selection_has_a_random_sample_of_its_size():
    question = asked(True)
    pool = replace(question.pool, pairs=[replace(p, benchmark=f"s{i % 3}") for i, p in enumerate(question.pool.pairs)])
    question = replace(question, pool=pool, mixture={"s0": 1.0, "s1": 1.0, "s2": 1.0})
    flipped = flipped_rows(400, 0.2, 0)
    noisy = pool.flipped(flipped)
    found = selections(question, noisy, label_scores(question, noisy, 0), 0, flipped)
    assert set(found) >= {
        ("probe", "top", 0.5),
        ("probe", "bottom", 0.8),
        ("probe", "threshold", None),
        ("all", "all", 1.0),
    }
    sources = np.array(pool.sources)
    for kept, drawn in found.values():
        assert sorted(sources[kept]) == sorted(sources[drawn]) and len(set(drawn.tolist())) == len(drawn)
    top, bottom = (set(found["probe", rule, 0.5][0].tolist()) for rule in ("top", "bottom"))
    assert not top & bottom
    assert flipped[found["truth", "top", 0.5][0]].sum() == 0


def test_the_pool_does_not_move_the_threshold():
    """Exchanging labels of the pool must not change what validation says of a scorer that learns nothing."""
    question = replace(
        asked(True),
        scorers=("fixed",),
        fixed={"fixed": lambda views: np.where(views.prefers_a, 1, -1) * views.states[:, 0]},
    )
    first = label_scores(question, question.pool, 0)["fixed"]
    second = label_scores(question, question.pool.flipped(np.ones(400, bool)), 0)["fixed"]
    assert (first[0] == -second[0]).all()
    assert choose_threshold(*first[1:], 0.2) == choose_threshold(*second[1:], 0.2)


def test_filtering_helps_where_wrong_labels_can_be_found():
    """Positive control: the direction is learnt, so what it contradicts is mostly wrong."""
    question = asked(True, agree=1.0)
    hits, finds = run_selection(question, {"probe": student_of("probe")}, [0, 1, 2], flip_share=0.35)
    auc = mean_flip_auc(finds["probe"]["scores"], finds["probe"]["flipped"], question.pool.clusters, 200)
    assert auc.low > 0.8
    table = comparison_table(hits, question, ["v"], n_boot=2000).set_index(["scorer", "rule", "share"])
    assert (
        table.loc[("probe", "top", 0.5), "difference"].low > 0 > table.loc[("probe", "bottom", 0.5), "difference"].high
    )
    assert table.loc[("truth", "top", 0.5), "difference"].low > 0
    assert table["p_holm"].notna().sum() == 3  # two shares and the threshold; what knows the truth is no claim
    tested = table[table["p_holm"].notna()]
    assert (tested["p_holm"] >= tested["p_value"]).all()
    assert table.loc[("all", "all", 1.0), "difference"] is None


def test_filtering_does_nothing_where_labels_say_nothing():
    question = asked(False)
    hits, _ = run_selection(question, {"probe": student_of("probe")}, [0, 1, 2])
    table = comparison_table(hits, question, ["v"], n_boot=2000)
    tested = table[table["p_holm"].notna()]
    assert len(tested) == 3 and (tested["p_holm"] > 0.05).all()
    for row in tested.itertuples():
        assert row.difference.low <= 0 <= row.difference.high


def test_a_study_can_be_made_again():
    question = asked(True)
    one, two = (run_selection(question, {"probe": student_of("probe")}, [4], 0.2)[0] for _ in range(2))
    assert one.keys() == two.keys()
    for key, runs in one.items():
        for sides, others in zip(runs, two[key], strict=True):
            assert all((side["v"] == other["v"]).all() for side, other in zip(sides, others, strict=True))


def test_scorers_from_elsewhere(sampled, states):
    longer = by_judge(load_judge("baseline/longer"))(sampled)
    better = [len(p.responses[p.label == "B"]) - len(p.responses[p.label == "A"]) for p in sampled.pairs]
    assert longer.tolist() == [0.5 if gap == 0 else float(gap > 0) for gap in better]
    cosines = states.rate([(sampled.pairs[0].asked, text) for text in sampled.pairs[0].responses])
    sign = 1 if sampled.pairs[0].label == "A" else -1
    assert by_rater(states.rate)(sampled)[0] == pytest.approx(sign * (cosines[0] - cosines[1]))


# ---------------------------------------------------------------- intervals


def test_the_mean_is_over_sets_and_seeds():
    gaps = {"x": np.array([[1.0, 0.0], [1.0, 1.0]]), "y": np.array([[0.0, 0.0], [0.0, 0.0]])}
    value, drawn = mean_over(gaps, {"x": ["p", "q"], "y": ["p", "q"]}, 500)
    assert value == pytest.approx(0.375) and drawn.shape == (500,)


def test_seeds_that_differ_widen_the_interval():
    rng = np.random.default_rng(0)
    clusters = {"x": [f"p{i}" for i in range(400)]}
    alike = np.repeat(rng.integers(-1, 2, (1, 400)), 5, axis=0).astype(float)
    apart = alike + np.linspace(-0.4, 0.4, 5)[:, None]
    spread = [mean_over({"x": gaps}, clusters, 2000)[1].std() for gaps in (alike, apart)]
    assert mean_over({"x": alike}, clusters, 2000)[0] == pytest.approx(mean_over({"x": apart}, clusters, 2000)[0])
    assert spread[0] == pytest.approx(alike[0].std() / 20, rel=0.1)
    assert spread[1] == pytest.approx(np.hypot(spread[0], np.linspace(-0.4, 0.4, 5).std() / np.sqrt(5)), rel=0.1)


# ---------------------------------------------------------------- the encoder judge, and the picture


def test_the_encoder_judge_is_trained_on_what_is_kept_and_read_back(tmp_path, monkeypatch, states):
    train = [p for p in load_sample("sample_train") if p.label != "tie"][:60]
    held_out = [p for p in load_sample("sample_validation") if p.label != "tie"][:30]
    mixture, options = {"sample_train": 1.0}, {"bf16": False, "max_question_tokens": 32, "max_response_tokens": 32}
    recipe = RelevanceRecipe(
        r=4, layers=1, steps=2, questions_per_step=6, eval_every=2, train_response_tokens=32, **options
    )
    material = make_material(train, mixture, {"v": held_out}, TextEncoder())
    comparing = {"v": held_out, "misleading": material.constructed("validation", tuple(OFF_TOPIC), 2, 150)}
    views = {name: view(found, states) for name, found in comparing.items()}
    pool = view(train, states)
    question = Question(pool, view([pair(1), pair(2)], states), views, mixture, ("probe",))
    student = encoder_student(material, Level(recipe), tmp_path)
    learnt_from = []
    run_level = encoder_module.run_level

    def noted(level, own, *rest):
        learnt_from.append(own)
        return run_level(level, own, *rest)

    monkeypatch.setattr(encoder_module, "run_level", noted)
    hits = student(question, pool.of(np.arange(40)), 0)
    assert {name: len(values) for name, values in hits.items()} == {name: len(seen) for name, seen in views.items()}
    assert all(set(np.unique(values)) <= {0.0, 1.0} for values in hits.values())
    (own,) = learnt_from
    asked_of = {own.bank.questions[i] for i in own.parts["train"]}
    assert own.train == train[:40] and asked_of <= {p.asked for p in train[:40]} and asked_of
    again = student(question, pool.of(np.arange(40)), 0)
    assert len(learnt_from) == 1 and all((again[name] == hits[name]).all() for name in hits)
    flipped = pool.flipped(np.arange(60) == 0)
    student(question, flipped.of(np.arange(40)), 0)
    assert len(learnt_from) == 2  # other labels, another judge


def test_the_picture_has_a_panel_for_every_student_and_pool():
    from judgekit.figures.selection import plot_selection

    question = asked(True)
    hits, _ = run_selection(question, {"probe": student_of("probe")}, [0], 0.2)
    table = comparison_table(hits, question, ["v"], n_boot=100)
    figure = plot_selection({"one": table, "two": table})
    assert len(figure.axes) == 2
    lines = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    top = table[(table["scorer"] == "probe") & (table["rule"] == "top") & (table["table"] == "ordinary")]
    assert lines[0].get_ydata().tolist() == [gap.value for gap in top["difference"]]
    with pytest.raises(ValueError, match="lacks difference"):
        plot_selection({"one": table.drop(columns="difference")})
    matplotlib.pyplot.close("all")
