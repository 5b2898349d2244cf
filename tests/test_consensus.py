"""Consensus of people's votes: by key, against the libraries' own answers, and on votes whose truth is known."""

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from cleanlab.multiannotator import get_label_quality_multiannotator

from judgekit.data.benchmarks.outputs import published_verdicts
from judgekit.data.catalogue import load_set
from judgekit.data.votes import NO_VOTE, TIE_FREE, ClassProbabilities, Votes, votes_of_pairs
from judgekit.figures import plot_annotators, plot_planted
from judgekit.people.consensus.agreement import consistent_triples, judge_with_people, people_with_people, verdicts_on
from judgekit.people.consensus.held_out import foretold, held_out_losses, held_out_table, hidden_votes
from judgekit.people.consensus.judges import original_table, own_vote_table, score_table, with_voter
from judgekit.people.consensus.methods import (
    METHOD_TITLES,
    Consensus,
    crowdlab,
    dawid_skene,
    glad,
    knows_nothing,
    mace,
    majority,
    methods_with,
    numbered,
)
from judgekit.people.consensus.planted import (
    Panel,
    against_truth,
    auroc,
    planted_votes,
    rank_agreement,
    sample_rates,
    simulated,
    simulated_numbers,
)
from judgekit.people.consensus.quality import (
    annotator_quality,
    credits_of,
    exact_interval,
    group_quality,
    own_numbers,
    quality_table,
    shrunken,
)
from judgekit.people.consensus.sets import joined, joined_probabilities, label_table, voted_set
from judgekit.records import LABELS, PreferencePair, Verdict
from judgekit.stats import Number, prompt_folds

mpl.use("Agg")
import matplotlib.pyplot as plt

PANEL = Panel((0.95, 0.9, 0.85, 0.8, 0.7, 1 / 3), prompts=60, per_prompt=3, votes=(1, 4))
FEW = {"n_boot": 50}


@pytest.fixture(scope="module")
def planted():
    return planted_votes(PANEL, 0)


def votes_of(codes, classes=LABELS, clusters=()):
    codes = np.array(codes)
    items = tuple(f"i{n}" for n in range(len(codes)))
    return Votes(items, tuple(f"a{n}" for n in range(codes.shape[1])), codes, classes, clusters)


# ---------------------------------------------------------------- majority


def test_majority_counts_and_says_what_becomes_of_an_even_split():
    votes = votes_of([[0, 0, 1], [0, 1, -1], [2, 1, -1], [1, 1, -1], [-1, -1, -1]])
    assert majority(votes).labels.tolist() == [0, 1, 1, 1, 1]
    assert majority(votes, "tie").labels.tolist() == [0, 2, 2, 1, 2]
    assert majority(votes, "none").labels.tolist() == [0, NO_VOTE, NO_VOTE, 1, NO_VOTE]
    assert majority(votes).posterior[0] == pytest.approx([(2 + 4 / 12) / 4, (1 + 6 / 12) / 4, 2 / 12 / 4])
    assert (majority(votes).posterior.argmax(1) == majority(votes).labels).all()
    with pytest.raises(ValueError, match="no tie rule 'first'"):
        majority(votes, "first")
    with pytest.raises(ValueError, match="none of A, B is a tie"):
        majority(votes.only(TIE_FREE), "tie")


def test_a_consensus_that_does_not_fit_its_items_is_refused():
    fine = {"method": "m", "items": ("i", "j"), "classes": ("A", "B"), "posterior": [[0.5, 0.5], [1, 0]]}
    assert Consensus(**fine, labels=[1, NO_VOTE]).quality.tolist() == [0.5, 1.0]
    with pytest.raises(ValueError, match="posterior of j is no distribution"):
        Consensus(**(fine | {"posterior": [[0.5, 0.5], [1, 1]]}), labels=[0, 0])
    with pytest.raises(ValueError, match="1 labels for 2 items"):
        Consensus(**fine, labels=[0])


# ---------------------------------------------------------------- crowd-kit


@pytest.mark.parametrize("method", [dawid_skene, lambda votes: dawid_skene(votes, one_coin=True), glad, mace])
def test_models_find_labels_and_annotators_under_their_keys(planted, method):
    found = method(planted.votes)
    assert found.items == planted.votes.items and set(found.skill) == set(planted.votes.annotators)
    several = planted.votes.given.sum(1) > 2
    assert (found.labels == planted.truth)[several].mean() > 0.9
    assert min(found.skill, key=found.skill.get) == "annotator-5"
    assert rank_agreement(found.skill, planted.rates) > 0.6


@pytest.mark.parametrize("method", [dawid_skene, glad, mace])
def test_models_do_not_depend_on_names_or_the_order_of_rows(planted, method):
    votes, order = planted.votes, np.random.default_rng(1).permutation(len(planted.votes.items))
    names = ("zoe", "yan", "xia", "wim", "vic", "una")
    turned = replace(votes.at(order), annotators=names).of(names[::-1])
    first, second = method(votes), method(turned)
    again = second.posterior[np.argsort(order)]
    assert np.abs(first.posterior - again).max() < 0.02
    assert first.skill["annotator-0"] == pytest.approx(second.skill["zoe"], abs=0.02)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_crowd_kits_mace_depends_on_names_where_ours_does_not(planted):
    from crowdkit.aggregation import MACE

    codes = planted.votes.codes.copy()
    codes[codes[:, 5] != NO_VOTE, 5] = 2  # one of them always says "tie"
    orders = {}
    for names in (tuple("abcdef"), tuple("fedcba")):
        votes = replace(planted.votes, codes=codes, annotators=names)
        own = MACE(n_restarts=1).fit(votes.long()).probas_.loc[list(votes.items), list(LABELS)].to_numpy()
        orders[names] = own, mace(votes).posterior
    (first, ours), (second, ours_again) = orders.values()
    assert np.abs(first - second).max() > 0.1
    assert np.array_equal(ours, ours_again)


def test_an_item_without_votes_gets_the_shares_of_the_classes(planted):
    hidden = np.zeros(planted.votes.codes.shape, bool)
    hidden[3] = True
    found = dawid_skene(planted.votes.masked(hidden))
    assert found.posterior[3] == pytest.approx(planted.votes.masked(hidden).counts.sum(0) / 1000, abs=0.3)
    assert found.posterior[3].max() < 0.5
    with pytest.raises(ValueError, match="no votes"):
        numbered(planted.votes.masked(planted.votes.given))


# ---------------------------------------------------------------- CROWDLAB


def test_crowdlab_is_cleanlabs_own_on_aligned_rows(planted):
    found = crowdlab(planted.votes, planted.judge, seed=3)
    np.random.seed(3)  # noqa: NPY002
    wide = planted.votes.wide()
    own = get_label_quality_multiannotator(wide, planted.judge.values, verbose=False, return_weights=True)
    assert found.model_weight == own["model_weight"]
    assert list(found.annotator_weight.values()) == own["annotator_weight"].tolist()
    assert found.consensus.labels.tolist() == own["label_quality"]["consensus_label"].tolist()
    assert np.allclose(found.consensus.quality, own["label_quality"]["consensus_quality_score"])
    assert found.consensus.skill == own["annotator_stats"]["annotator_quality"].to_dict()


def test_crowdlab_refuses_rows_of_others(planted):
    turned = planted.judge.at(planted.votes.items[::-1])
    with pytest.raises(ValueError, match="row 0: votes on 'item-0' beside probabilities of 'item-179'"):
        crowdlab(planted.votes, turned)
    with pytest.raises(ValueError, match="votes on 180 items, probabilities of 179"):
        crowdlab(planted.votes, planted.judge.at(planted.votes.items[1:]))
    with pytest.raises(AttributeError):
        crowdlab(planted.votes, planted.judge.values)
    hidden = np.zeros(planted.votes.codes.shape, bool)
    hidden[7] = True
    with pytest.raises(ValueError, match="item-7: no vote"):
        crowdlab(planted.votes.masked(hidden), planted.judge)


def test_crowdlab_leaves_the_generator_as_it_was(planted):
    np.random.seed(11)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(11)  # noqa: NPY002
    crowdlab(planted.votes, planted.judge)
    assert np.random.random() == expected  # noqa: NPY002


def test_shifted_rows_are_what_plain_cleanlab_takes_without_a_word(planted):
    shifted = ClassProbabilities(planted.judge.items, np.roll(planted.judge.values, 5, 0))  # its keys are a lie
    found = crowdlab(planted.votes, shifted)
    np.random.seed(0)  # noqa: NPY002
    own = get_label_quality_multiannotator(planted.votes.wide(), np.roll(planted.judge.values, 5, 0), verbose=False)
    assert found.consensus.labels.tolist() == own["label_quality"]["consensus_label"].tolist()
    assert np.allclose(found.consensus.quality, own["label_quality"]["consensus_quality_score"])
    fine = crowdlab(planted.votes, planted.judge)
    assert found.model_weight < 0.2 * fine.model_weight
    right = [(each.consensus.labels == planted.truth).mean() for each in (found, fine)]
    assert right[0] < right[1]


# ---------------------------------------------------------------- annotators


def test_an_annotator_is_no_part_of_what_it_is_held_against():
    votes = votes_of([[0, 0, 1], [1, 0, -1], [2, -1, -1]])
    expected = [[0.5, 0.5, 0.0], [0, 0, np.nan], [np.nan] * 3]
    assert np.array_equal(credits_of(votes), expected, equal_nan=True)
    found = annotator_quality(votes)
    assert found.names == ("a0", "a1", "a2") and found.n.tolist() == [2, 2, 1]
    assert found.rate.tolist() == [0.25, 0.25, 0.0]
    with pytest.raises(ValueError, match="no vote meets another"):
        annotator_quality(votes_of([[0, -1], [-1, 1]]))


def test_few_votes_are_drawn_to_the_mean_and_many_are_not():
    value, low, high = shrunken(np.array([2.0, 160, 120, 150, 140]), np.array([2.0, 200, 200, 200, 200]))
    assert 0.7 < value[0] < 0.85 and abs(value[1] - 0.8) < 0.02
    assert high[0] - low[0] > high[1] - low[1]
    exact = exact_interval(np.array([0.0, 2, 5]), np.array([5.0, 5, 5]))
    assert np.allclose(exact, [[0, 0.0527, 0.4782], [0.5218, 0.8534, 1]], atol=1e-4)


def test_numbers_of_annotators_stand_best_first(planted):
    numbers = annotator_quality(planted.votes).numbers()
    assert list(numbers)[-1] == "annotator-5"
    values = [number.value for number in numbers.values()]
    assert values == sorted(values, reverse=True)
    groups = {"good": ["annotator-0", "annotator-1"], "bad": ["annotator-4", "annotator-5"]}
    found = group_quality(planted.votes, groups, **FEW)
    assert found["difference"].value == pytest.approx(found["good"].value - found["bad"].value)
    assert found["difference"].low > 0
    with pytest.raises(ValueError, match="x: no vote meets another"):
        group_quality(votes_of([[0, 0, -1], [-1, -1, 1]]), {"x": ["a2"]}, **FEW)


# ---------------------------------------------------------------- hidden votes


def test_one_vote_is_hidden_of_every_item_that_has_two(planted):
    votes = planted.votes
    hidden = hidden_votes(votes, 0)
    assert (hidden.sum(1) == (votes.given.sum(1) > 1)).all() and not (hidden & ~votes.given).any()
    assert (hidden != hidden_votes(votes, 1)).any() and (hidden == hidden_votes(votes, 0)).all()
    many = np.mean([hidden_votes(votes_of([[0, 1, -1, 2]]), k)[0] for k in range(600)], 0)
    assert many == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3], abs=0.07)


def test_no_method_sees_the_hidden_vote(planted):
    seen = []

    def watching(votes):
        seen.append(votes.given.sum())
        return majority(votes)

    losses, clusters = held_out_losses(planted.votes, {"majority": watching}, draws=2)
    scored = planted.votes.given.sum(1) > 1
    assert seen == [planted.votes.given.sum() - scored.sum()] * 2
    assert losses.shape == (scored.sum(), 1, 3) and len(clusters) == scored.sum()
    leaking, _ = held_out_losses(planted.votes, {"majority": majority}, draws=2, leak=True)
    assert leaking[:, 0, 0].mean() > losses[:, 0, 0].mean() + 0.05
    with pytest.raises(ValueError, match="no item has two votes"):
        held_out_losses(votes_of([[0, -1]]), {"majority": majority})
    with pytest.raises(ValueError, match="m answers for other items"):
        held_out_losses(planted.votes, {"m": lambda votes: majority(votes.at([0, 1]))})


def test_who_is_certain_of_a_label_is_not_held_to_be_certain_of_a_vote():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=3000)
    codes = np.where(rng.random(3000) < 0.7, truth, rng.integers(3, size=3000))
    folds = prompt_folds([str(n // 3) for n in range(3000)])
    assert all(len(set(folds[n : n + 3])) == 1 for n in range(0, 3000, 3)) and set(folds) == set(range(5))
    likely = foretold(np.eye(3)[truth], codes, folds)
    assert np.allclose(likely.sum(1), 1)
    assert np.allclose(likely[truth == 1].mean(0), [0.1, 0.8, 0.1], atol=0.02)
    blind = foretold(np.full((3000, 3), 1 / 3), codes, folds)
    assert np.allclose(blind, np.bincount(codes) / 3000, atol=0.03)


def test_a_good_judge_helps_to_foretell_a_vote(planted):
    good = planted_votes(replace(PANEL, judge=0.9, prompts=120), 1)
    methods = {"majority": majority, "crowdlab": methods_with({"crowdlab": good.judge})["crowdlab"]}
    losses, clusters = held_out_losses(good.votes, methods, draws=2)
    table = held_out_table(losses, clusters, methods, n_boot=400).set_index("method")
    assert table.loc["majority", "brier_gain"] is None and table.loc["majority", "p_holm"] is None
    gain = table.loc["crowdlab", "accuracy_gain"]
    alone = [table.loc[name, "accuracy"].value for name in methods]
    assert gain.low > 0 and gain.value == pytest.approx(alone[1] - alone[0])
    assert table.loc["crowdlab", "brier_gain"].low > 0 and table.loc["crowdlab", "p_holm"] < 0.05


# ---------------------------------------------------------------- judges


def pair(item_id, first, second, votes, turns=()):
    return PreferencePair(
        item_id, "mtbench", "Why?", "a", "b", cluster_id="81", model_a=first, model_b=second, votes=votes, turns=turns
    )


def test_verdicts_turn_with_the_models_and_a_contradiction_is_a_tie():
    votes = Votes(("81:alpaca:gpt-4:1", "81:bard:gpt-4:1", "none"), ("ann",), [[0], [1], [2]])
    pairs = [pair("x", "gpt-4", "alpaca", {}), pair("y", "alpaca", "gpt-4", {}), pair("z", "gpt-4", "bard", {})]
    agreeing = [
        Verdict("x", "j", "ab", "A"),
        Verdict("y", "j", "ab", "B"),
        Verdict("z", "j", "ab", None, status="unparsed"),
    ]
    assert verdicts_on(votes, agreeing, pairs).tolist() == [1, NO_VOTE, NO_VOTE]
    contradicting = [Verdict("x", "j", "ab", "A"), Verdict("x", "j", "ba", "B"), Verdict("z", "j", "ab", "A")]
    assert verdicts_on(votes, contradicting, pairs).tolist() == [2, 1, NO_VOTE]


def test_agreement_counts_meetings():
    votes = votes_of([[0, 0, 1, 2], [1, -1, -1, 1], [2, 2, -1, -1]])
    found = people_with_people(votes, **FEW)
    assert (found.n, found.value) == (4, 0.5)
    assert people_with_people(votes, LABELS, **FEW).n == 8
    judged = judge_with_people(votes, [0, 0, 0], **FEW)
    assert (judged.n, judged.value) == (5, 2 / 5)
    assert judge_with_people(votes, [0, 2, NO_VOTE], **FEW).n == 3
    with pytest.raises(ValueError, match="nothing to compare"):
        judge_with_people(votes, [2, 2, 2], **FEW)


def test_a_judges_own_vote_lifts_its_score(planted):
    said = np.random.default_rng(99).integers(3, size=len(planted.votes.items))
    joined = with_voter(planted.votes, "j", said)
    assert joined.annotators[-1] == "j" and joined.given.sum() == planted.votes.given.sum() + len(said)
    table = own_vote_table(planted.votes, said, {"majority": majority}, **FEW).iloc[0]
    assert table["left_out"].value == pytest.approx(1 / 3, abs=0.1)
    assert table["inflation"].low > 0.05
    assert table["inflation"].value == pytest.approx(table["own_vote"].value - table["left_out"].value)


def test_judges_are_ranked_under_each_consensus(planted):
    wrong = (planted.truth + 1) % 3
    judges = {"right": planted.truth, "wrong": np.where(np.arange(len(wrong)) < 5, NO_VOTE, wrong)}
    consensuses = {"majority": majority(planted.votes), "nothing": majority(planted.votes, "none")}
    table = score_table(consensuses, judges, planted.votes.clusters, **FEW)
    assert table[table["method"] == "majority"]["judge"].tolist() == ["right", "wrong"]
    assert set(table["accuracy"].map(lambda number: number.n)) == {
        175,
        175 - (consensuses["nothing"].labels[5:] < 0).sum(),
    }
    assert table.iloc[0]["p_value"] < 0.05 and np.isnan(table.iloc[1]["p_value"])


# ---------------------------------------------------------------- truth


def test_planted_annotators_are_as_planted():
    many = planted_votes(replace(PANEL, prompts=20_000), 1)
    right = many.votes.codes == many.truth[:, None]
    rates = [right[many.votes.given[:, j], j].mean() for j in range(6)]
    assert rates == pytest.approx(PANEL.rates, abs=0.01)
    assert np.bincount(many.votes.given.sum(1))[1:] / 60_000 == pytest.approx([0.25] * 4, abs=0.01)
    said = many.judge.values.argmax(1)
    assert (said == many.truth).mean() == pytest.approx(0.65, abs=0.01)
    for level in np.unique(many.judge.values.max(1).round(6)):
        here = many.judge.values.max(1).round(6) == level
        assert (said == many.truth)[here].mean() == pytest.approx(level, abs=0.01)
    misled = planted_votes(replace(PANEL, prompts=2000, misleading=1.0, votes=(4, 4)), 1)
    wrong = (misled.votes.counts - np.eye(3, dtype=int)[misled.truth] * misled.votes.counts) > 0
    assert (wrong.sum(1) <= 1).all()
    hard = planted_votes(replace(PANEL, prompts=20_000, hard=1.0), 1)
    first = hard.votes.given[:, 0]
    assert (hard.votes.codes[first, 0] == hard.truth[first]).mean() == pytest.approx(
        1 / 3 + 0.3 * (0.95 - 1 / 3), abs=0.02
    )


def test_quality_tells_right_from_wrong(planted):
    consensus = majority(planted.votes)
    found = against_truth(consensus, planted.truth, planted.votes.clusters, 200)
    right = consensus.labels == planted.truth
    assert found["accuracy"].value == pytest.approx(right.mean())
    ranks = consensus.quality[:, None] - consensus.quality[None, :]
    by_hand = ((ranks > 0) + 0.5 * (ranks == 0))[right][:, ~right].mean()
    assert found["auroc"].value == pytest.approx(by_hand) and found["auroc"].low > 0.5
    perfect = replace(consensus, labels=planted.truth)
    assert set(against_truth(perfect, planted.truth, planted.votes.clusters, 10)) == {"accuracy"}
    assert auroc([1, 2], [True, True]) == 0
    assert np.isnan(rank_agreement({"a": 1.0}, {"a": 1.0}))


def test_the_samples_rates_are_those_of_its_votes():
    pairs = [pair for name in ("sample_natural", "sample_adversarial", "sample_validation") for pair in load_set(name)]
    rates = sample_rates(pairs)
    for name, rate in rates.items():
        cast = [pair.votes[name] == pair.label for pair in pairs if name in pair.votes]
        assert np.mean(cast) == pytest.approx(rate, abs=3 * np.sqrt(rate * (1 - rate) / len(cast)) + 0.02)
    assert max(rates, key=rates.get) == "annotator-1" and min(rates, key=rates.get) == "annotator-8"


def test_single_preferences_fit_an_order_or_do_not():
    def compared(question, edges):
        for x, y, label in edges:
            yield PreferencePair(f"{question}{x}{y}", "s", question, x, y, cluster_id=question, label=label)

    fine = [("x", "y", "A"), ("y", "z", "tie"), ("x", "z", "A")]
    circle = [("x", "y", "A"), ("z", "y", "B"), ("z", "x", "A")]
    pairs = [*compared("p", fine), *compared("q", circle), *compared("r", fine[:2])]
    found = consistent_triples(pairs, **FEW)
    assert (found.value, found.n) == (0.5, 2)
    with pytest.raises(ValueError, match="nothing to compare"):
        consistent_triples(pairs[:2], **FEW)


def test_simulated_panels_give_numbers():
    table = simulated({"few": PANEL}, 2, prompts=30)
    assert set(table["method"]) == {*methods_with({"crowdlab": None})}
    numbers = simulated_numbers(table).set_index("method")
    assert numbers.loc["majority", "gain"] is None and numbers.loc["glad", "accuracy"].n == 2
    values = table[table["method"] == "mace"]["auroc"]
    assert numbers.loc["mace", "auroc"].value == pytest.approx(values.mean())
    assert numbers.loc["crowdlab_uniform", "accuracy"].value > 0.6


# ---------------------------------------------------------------- real votes


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("turn", "judge", "people"),
    [(None, (1197, 1400), (864, 1048)), (1, (689, 804), (633, 772)), (2, (508, 596), (231, 276))],
)
def test_golden_agreement_on_mtbench(turn, judge, people):
    from judgekit.data.votes import matchup_votes

    pairs = load_set("mtbench")
    votes, repeats = matchup_votes(pairs, turn)
    said = verdicts_on(votes, published_verdicts("gpt-4-pair"), pairs)
    found = judge_with_people(votes, said, **FEW), people_with_people(votes, **FEW)
    assert [(round(number.value * number.n), number.n) for number in found] == [judge, people]
    assert len(repeats) == (turn != 2)


@pytest.mark.realdata
def test_sets_with_several_votes():
    votes = votes_of_pairs(load_set("pandalm"))
    assert (votes.given.sum(1) == 3).all() and len(set(votes.clusters)) == 170
    assert votes_of_pairs(load_set("summ_pairwise")).given.sum() == 599
    assert not any(pair.votes for pair in load_set("finegrained_rlhf"))
    assert consistent_triples(load_set("finegrained_rlhf"), **FEW).n > 1800
    assert (majority(votes).labels == crowdlab(votes, knows_nothing(votes)).consensus.labels).mean() > 0.95


# ---------------------------------------------------------------- sets, tables, pictures


def test_sets_and_their_parts_are_found_by_name():
    one = voted_set("sample_natural:decided")
    assert one.key == "sample_natural_decided" and one.votes.classes == TIE_FREE and one.part_words == ", without ties"
    assert (one.votes.given.sum(1) > 0).all()
    whole = voted_set("sample_natural")
    assert whole.votes.given.sum() > one.votes.given.sum()
    assert [LABELS[code] for code in whole.truth()] == [pair.label for pair in whole.pairs]
    for name, message in {"sample_natural:x": "no part", "sample_natural:turn1": "no turns"}.items():
        with pytest.raises(KeyError, match=message):
            voted_set(name)
    with pytest.raises(ValueError, match="nobody voted"):
        voted_set("sample_train")


def test_sets_are_joined_by_key_with_their_probabilities():
    sets = [voted_set(name) for name in ("sample_natural", "sample_adversarial")]
    votes = joined(sets)
    assert votes.given.sum() == sum(one.votes.given.sum() for one in sets)
    row, column = 170, sets[1].votes.annotators.index("annotator-3")
    assert votes.items[row] == f"sample_adversarial:{sets[1].votes.items[10]}"
    assert votes.codes[row, votes.annotators.index("annotator-3")] == sets[1].votes.codes[10, column]
    stated = [knows_nothing(one.votes) for one in sets]
    assert joined_probabilities(sets, stated).items == votes.items
    with pytest.raises(ValueError, match="row 0"):
        joined_probabilities(sets, [stated[0].at(sets[0].votes.items[::-1]), stated[1]])


def test_labels_are_kept_by_item_without_text(planted):
    table = label_table(planted.votes, {"majority": majority(planted.votes, "none")})
    assert list(table.columns) == ["item", "votes", "label_majority", "quality_majority"]
    assert set(table["label_majority"]) == {"A", "B", "tie", ""}
    with pytest.raises(ValueError, match="m is on other items"):
        label_table(planted.votes, {"m": majority(planted.votes.at([0]))})


def test_the_originals_mistakes_are_seen():
    good = planted_votes(replace(PANEL, judge=0.85, prompts=100), 2)
    said = good.judge.values.argmax(1)
    said[:10] = NO_VOTE
    table = original_table(good.votes, said, good.judge, n_boot=50).set_index(["vote", "rows"])
    assert table.loc[("left out", "aligned"), "changed"].value == 0
    assert table.loc[("left out", "misaligned"), "changed"].value > 0.05
    assert (
        table.loc[("own vote", "misaligned"), "agreement"].value
        > table.loc[("left out", "misaligned"), "agreement"].value
    )
    assert table.loc[("left out", "misaligned"), "weight"] < 0.1 * table.loc[("left out", "aligned"), "weight"]
    assert {number.n for number in table["agreement"]} == {290}


def test_pictures_of_annotators_and_panels(planted):
    table = quality_table(annotator_quality(planted.votes))
    assert set(table["group"]) == {"annotators"} and table["shrunk"].is_monotonic_decreasing
    ax = plot_annotators(table.replace({"group": {"annotators": "experts"}}))
    assert [label.get_text() for label in ax.get_xticklabels()][-1].startswith("annotator-5 (")
    values = pd.DataFrame(
        [
            {"regime": "few", "method": name, "gain": None if name == "majority" else Number(0.1, 0.0, 0.2)}
            | {"auroc": Number(0.8, 0.7, 0.9), "rank": Number(0.5, 0.2, 0.8)}
            for name in ("majority", "glad")
        ]
    )
    axes = plot_planted(values, METHOD_TITLES)
    assert [len(axis.containers) for axis in axes] == [1, 2, 2]
    plt.close("all")


def test_own_votes_are_read_with_one_annotator_and_with_several(planted):
    numbers, table = own_numbers(planted.votes)
    assert numbers["votes.items"].n == planted.votes.given.sum() and len(table) == 6
    assert numbers["votes.undecided"].value == (majority(planted.votes, "none").labels == NO_VOTE).sum()
    assert numbers["annotators.annotator_0"].value > numbers["annotators.annotator_5"].value
    numbers, table = own_numbers(planted.votes.of(["annotator-2"]))
    assert table is None and set(numbers) == {"votes.items", "votes.undecided", "majority.quality"}
    with pytest.raises(ValueError, match="holds none"):
        own_numbers(planted.votes.masked(planted.votes.given))
