"""The alt-test by its definition, the tasks it is tried on, what to label next, and replays of labelling."""

import numpy as np
import pytest
from notebook_functions import functions_of
from scipy.stats import false_discovery_control, ttest_1samp

from judgekit.data.corpora import alttest
from judgekit.data.sources import source_names
from judgekit.data.votes import ClassProbabilities, Votes
from judgekit.people import active
from judgekit.people.alt_test import TooFewVotes, advantage_of, alt_test, hold_duels
from judgekit.studies import replace_annotators as study

CLASSES = ("A", "B", "tie")


def some_votes(n=80, people=4, seed=0, asked=0.8, classes=CLASSES):
    rng = np.random.default_rng(seed)
    truth = rng.integers(len(classes), size=n)
    codes = np.where(rng.random((n, people)) < 0.7, truth[:, None], rng.integers(len(classes), size=(n, people)))
    codes[rng.random((n, people)) > asked] = -1
    items = [f"i{i}" for i in range(n)]
    said = {item: classes[c if rng.random() < 0.7 else 0] for item, c in zip(items, truth, strict=True)}
    return Votes(items, [f"p{j}" for j in range(people)], codes, classes), said, truth


def stated_of(votes, seed=0):
    values = np.random.default_rng(seed).dirichlet(np.ones(len(votes.classes)), len(votes.items))
    return ClassProbabilities(votes.items, values, votes.classes)


def by_definition(votes, said, epsilon, score):
    """Winning rate and advantage as the paper writes them, one item after another."""
    p_values, advantages = [], []
    for person in range(len(votes.annotators)):
        judge, human = [], []
        for item, codes in zip(votes.items, votes.codes, strict=True):
            others = [votes.classes[code] for code in np.delete(codes, person) if code >= 0]
            if codes[person] >= 0 and others:
                one, other = score(said[item], others), score(votes.classes[codes[person]], others)
                judge.append(one >= other - 1e-12)
                human.append(other >= one - 1e-12)
        difference = np.array(human, float) - np.array(judge, float)
        p_values.append(ttest_1samp(difference, epsilon, alternative="less").pvalue)
        advantages.append(np.mean(judge))
    rejected = false_discovery_control(p_values, method="by") <= 0.05
    return rejected.mean(), np.mean(advantages), p_values


def share_equal(label, others):
    return np.mean([label == other for other in others])


def minus_rmse(label, others):
    return -np.sqrt(np.mean([(int(label) - int(other)) ** 2 for other in others]))


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.2])
@pytest.mark.parametrize(("classes", "score"), [(CLASSES, share_equal), (("1", "2", "3", "5"), minus_rmse)])
def test_with_items_of_their_own_it_is_the_papers(epsilon, classes, score):
    votes, said, _ = some_votes(seed=3, classes=classes)
    scale = None if score is share_equal else [float(c) for c in classes]
    found = alt_test(hold_duels(votes, said, scale), epsilon)
    rate, advantage, p_values = by_definition(votes, said, epsilon, score)
    assert found.winning_rate == rate and found.advantage.value == pytest.approx(advantage)
    assert found.annotators["p_value"].tolist() == pytest.approx(p_values)


def test_a_copy_of_an_annotator_is_as_good_as_that_annotator():
    votes, _, _ = some_votes(asked=2.0)
    copy = {item: CLASSES[code] for item, code in zip(votes.items, votes.codes[:, 0], strict=True)}
    row = alt_test(hold_duels(votes, copy), 0.1).annotators.iloc[0]
    assert row["judge"] == row["human"] == 1 and row["margin"] == pytest.approx(0.1)
    assert alt_test(hold_duels(votes, copy), 0.0).annotators["p_value"][0] == 1  # no better is not better
    rates = [alt_test(hold_duels(*some_votes(300)[:2]), epsilon).winning_rate for epsilon in (0.0, 0.1, 0.2, 0.4)]
    assert rates == sorted(rates) and rates[0] < rates[-1]  # a dearer annotator is beaten no later


def test_what_nothing_departs_from_is_not_known_without_error():
    votes, _, _ = some_votes()
    same = Votes(votes.items, votes.annotators, np.where(votes.given, 0, -1), CLASSES)
    found = advantage_of(hold_duels(same, dict.fromkeys(votes.items, "A")))
    assert found.value == 1 and 0.9 < found.low < 1


def test_too_little_a_judge_without_a_label_or_with_a_strange_one_is_refused():
    for n, people in ((20, 4), (300, 2)):
        with pytest.raises(TooFewVotes, match=r"have 30 shared items from 15 prompts, and 3 are needed.*p\d \d+"):
            hold_duels(*some_votes(n, people)[:2])
    votes, said, _ = some_votes()
    with pytest.raises(ValueError, match="i7: the judge has no label"):
        hold_duels(votes, {item: label for item, label in said.items() if item != "i7"})
    with pytest.raises(ValueError, match="i7: the judge says 'both'"):
        hold_duels(votes, said | {"i7": "both"})
    with pytest.raises(ValueError, match="epsilon"):
        alt_test(hold_duels(votes, said), 20)


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "people", "items", "labels"),
    [  # as the mirror's own description counts them
        ("10k_prompts", 13, 1698, 3844),
        ("cebab_aspects", 10, 1008, 4032),
        ("cebab_stars", 10, 711, 2193),
        ("framing", 4, 2552, 7656),
        ("kilogram", 50, 993, 7215),
        ("lesion", 6, 500, 2980),
        ("lgbteen", 4, 880, 2560),
        ("summeval", 3, 6400, 19200),
        ("wax", 8, 246, 1380),
        ("mtbench", 3, 120, 246),
    ],
)
def test_tasks_are_read_whole(name, people, items, labels):
    task = alttest.load_task(name)
    assert task.votes.codes.shape == (items, people) and task.votes.given.sum() == labels
    assert set(task.judges) >= {"gemini_flash", "gemini_pro", "gpt-4o", "gpt-4o-mini"}
    assert (task.scale is not None) == (name in alttest.ORDERED)
    assert len(source_names(f"alttest/{name}/*_annotations.json")) == 2, "what the notebook says it was read from"
    stated = functions_of("62_replace_annotators").shares_of_models(task)
    assert stated.items == task.votes.items and (stated.values > 0).all()


def ordered(votes, stated, strategy):
    """Keys of all items by a strategy, best first."""
    return [votes.items[i] for i in active.best_first(active.need(votes, stated, strategy), 0)]


@pytest.mark.parametrize("strategy", active.STRATEGIES)
def test_every_item_is_named_once_and_probabilities_of_other_rows_are_refused(strategy):
    votes, _, _ = some_votes(asked=0.3)
    stated = stated_of(votes)
    order = ordered(votes, stated, strategy)
    assert sorted(order) == sorted(votes.items)
    with pytest.raises(ValueError, match="row 0"):
        active.need(votes, stated.at(votes.items[::-1]), strategy)
    with pytest.raises(ValueError, match="no strategy 'luck'"):
        active.need(votes, stated, "luck")


def test_scores_are_cleanlabs_and_what_is_labelled_next_is_first_by_activelab():
    from cleanlab.multiannotator import get_active_learning_scores, get_label_quality_multiannotator

    votes, _, _ = some_votes(asked=0.5)
    stated, voted = stated_of(votes), votes.given.any(1)
    assert 0 < voted.sum() < len(voted)
    labels = np.where(votes.given[voted], votes.codes[voted], np.nan)
    some, none = get_active_learning_scores(labels, stated.values[voted], stated.values[~voted])
    found = -active.need(votes, stated)
    assert found[voted] == pytest.approx(some) and found[~voted] == pytest.approx(none)
    order = ordered(votes, stated, "activelab")
    assert active.label_next(votes, stated) == order and active.label_next(votes, stated, 5) == order[:5]
    quality = get_label_quality_multiannotator(labels, stated.values[voted], verbose=False)["label_quality"]
    found = -active.need(votes, stated, "crowdlab")
    assert found[voted] == pytest.approx(quality["consensus_quality_score"].to_numpy())


@pytest.mark.filterwarnings("ignore:breaking ties")
@pytest.mark.parametrize("strategy", ["activelab", "crowdlab"])
def test_ties_are_broken_by_the_seed_and_nobody_elses_numbers_change(strategy):
    codes = np.vstack([np.tile([0, 1, 2], (20, 1)), np.repeat([[0], [1], [2]], 3, axis=1)])  # three items without doubt
    votes = Votes([f"i{i}" for i in range(23)], "pqr", codes, CLASSES)
    stated = ClassProbabilities(votes.items, np.full((23, 3), 1 / 3), CLASSES)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first = active.need(votes, stated, strategy, seed=1)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    assert (active.need(votes, stated, strategy, seed=1) == first).all()


def test_each_rule_wants_what_it_says():
    votes = Votes("ij", ("p", "q", "r"), [[0, 1, -1], [0, 0, 0]], CLASSES)
    stated = ClassProbabilities("ij", [[0.98, 0.01, 0.01], [0.4, 0.35, 0.25]], CLASSES)
    wanted = {"entropy": "j", "margin": "j", "disagreement": "i", "fewest": "i"}
    assert {strategy: ordered(votes, stated, strategy)[0] for strategy in wanted} == wanted


@pytest.mark.parametrize("strategy", ["activelab", "crowdlab"])
@pytest.mark.parametrize("codes", [[[-1, -1], [-1, -1]], [[0, -1], [-1, -1]], [[2, -1], [-1, 2]], [[2, 2], [2, -1]]])
def test_few_votes_will_do(strategy, codes):
    votes = Votes("ij", "pq", codes, CLASSES)
    stated = ClassProbabilities("ij", [[0.2, 0.1, 0.7], [0.4, 0.3, 0.3]], CLASSES)
    assert sorted(ordered(votes, stated, strategy)) == ["i", "j"]


def test_the_vote_put_aside_is_not_for_sale():
    votes, _, _ = some_votes(asked=2.0)
    pool, held = study.hold_out(votes, 1)
    assert (pool.given.sum(1) == 3).all()
    missing = votes.given & ~pool.given
    assert (votes.codes[missing] == held).all()
    assert len(set(np.nonzero(missing)[1])) == 4, "any annotator's vote may be put aside"
    with pytest.raises(ValueError, match="fewer than two votes"):
        study.hold_out(votes.of(["p0"]), 1)


def test_curves_start_at_the_judge_and_all_end_where_everything_is_bought():
    votes, _, truth = some_votes(asked=2.0)
    stated = stated_of(votes)
    strategies = ("entropy", "fewest", "random")
    curves = study.gain_curves(votes, stated, strategies, truth, rounds=8, share=1.0, seeds=[0])
    assert curves.bought[-1] == votes.given.sum()
    for right in curves.right.values():
        assert (right[0] == (stated.values.argmax(1) == truth)).all()
        assert (right[-1] == ((votes.counts + stated.values).argmax(1) == truth)).all()
    assert (curves.right["entropy"][1] == curves.right["random"][1]).all(), "the first batch is the same for all"
    table = functions_of("62_replace_annotators").curve_table(curves)
    assert len(table) == 3 * 9 and (table["low"] <= table["high"]).all()


def test_the_table_of_leads_corrects_over_sets_and_strategies():
    found = {}
    for seed, name in enumerate("ab"):
        votes, _, truth = some_votes(300, seed=seed, asked=2.0)
        stated = np.full((300, 3), 0.2)
        stated[np.arange(300), truth] += np.random.default_rng(seed).uniform(-0.2, 0.4, 300)
        stated = ClassProbabilities(votes.items, stated / stated.sum(1, keepdims=True), CLASSES)
        found[name] = study.gain_curves(votes, stated, ("entropy", "fewest", "random"), truth, 4, 0.4, [0])
    table = functions_of("62_replace_annotators").lead_table(found)
    assert table[["set", "strategy"]].to_numpy().tolist() == [[s, w] for s in "ab" for w in ("entropy", "fewest")]
    lead = (found["a"].right["entropy"] - found["a"].right["random"])[2:].mean(0)  # items are their own prompts
    assert table["p_value"][0] == pytest.approx(ttest_1samp(lead, 0).pvalue)
    clear = [not lead.low <= 0 <= lead.high for lead in table["lead"]]
    assert clear == (table["p_value"] < 0.05).tolist() and any(clear)
    assert (table["p_holm"] >= table["p_value"]).all() and table["p_holm"].max() > table["p_value"].max() - 1e-12
