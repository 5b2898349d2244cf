"""Consensus of people's votes: by key, against the libraries' own answers, and on votes whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest
from cleanlab.multiannotator import get_label_quality_multiannotator
from notebook_functions import functions_of

from judgekit.data import paths
from judgekit.data.benchmarks.outputs import published_verdicts
from judgekit.data.catalogue import load_set
from judgekit.data.sample import annotators
from judgekit.data.votes import NO_VOTE, TIE_FREE, Votes, matchup_votes
from judgekit.people import agreement
from judgekit.people.agreement import annotator_quality, credits_of, shrunken
from judgekit.people.consensus import Consensus, crowdlab, dawid_skene, glad, hidden_votes, mace, majority, methods_with
from judgekit.people.planted import Panel, planted_votes
from judgekit.records import LABELS, PreferencePair, Verdict
from judgekit.scoring import verdicts
from judgekit.stats import prompt_folds

PANEL = Panel((0.95, 0.9, 0.85, 0.8, 0.7, 1 / 3), prompts=60, per_prompt=3, votes=(1, 4))
FEW = {"n_boot": 50}
NOTEBOOK = functions_of("60_human_consensus")


@pytest.fixture(scope="module")
def planted():
    return planted_votes(PANEL, 0)


def votes_of(codes, classes=LABELS, clusters=()):
    codes = np.array(codes)
    items = tuple(f"i{n}" for n in range(len(codes)))
    return Votes(items, tuple(f"a{n}" for n in range(codes.shape[1])), codes, classes, clusters)


def test_majority_counts_and_says_what_becomes_of_an_even_split():
    votes = votes_of([[0, 0, 1], [0, 1, -1], [2, 1, -1], [1, 1, -1], [-1, -1, -1]])
    assert majority(votes).labels.tolist() == [0, 1, 1, 1, 1]
    assert majority(votes, "none").labels.tolist() == [0, NO_VOTE, NO_VOTE, 1, NO_VOTE]
    assert majority(votes).posterior[0] == pytest.approx([(2 + 4 / 12) / 4, (1 + 6 / 12) / 4, 2 / 12 / 4])
    with pytest.raises(ValueError, match="no tie rule 'first'"):
        majority(votes, "first")


def test_a_consensus_that_does_not_fit_its_items_is_refused():
    items, classes = ("i", "j"), ("A", "B")
    assert Consensus(items, classes, [[0.5, 0.5], [1, 0]], [1, NO_VOTE]).quality.tolist() == [0.5, 1.0]
    with pytest.raises(ValueError, match="j: the probabilities are no distribution"):
        Consensus(items, classes, [[0.5, 0.5], [1, 1]], [0, 0])


@pytest.mark.parametrize("method", [dawid_skene, lambda votes: dawid_skene(votes, one_coin=True), glad, mace])
def test_models_find_labels_and_annotators_under_their_keys_whatever_the_names_and_the_order(planted, method):
    found = method(planted.votes)
    assert (found.labels == planted.truth)[planted.votes.given.sum(1) > 2].mean() > 0.9
    assert set(found.skill) == set(planted.votes.annotators)
    assert min(found.skill, key=found.skill.get) == "annotator-5"
    order = np.random.default_rng(1).permutation(len(planted.votes.items))
    names = ("zoe", "yan", "xia", "wim", "vic", "una")
    turned = method(replace(planted.votes.at(order), annotators=names).of(names[::-1]))
    assert np.abs(found.posterior - turned.posterior[np.argsort(order)]).max() < 0.02
    assert found.skill["annotator-0"] == pytest.approx(turned.skill["zoe"], abs=0.02)


@pytest.mark.parametrize("one_coin", [False, True])
def test_labels_that_an_annotator_never_met_play_no_part_in_its_skill(one_coin):
    """Before, a third of the skill of who saw two labels of three was missing."""
    codes = np.repeat([[0], [1], [2]], 40, 0) * np.ones((1, 4), int)
    codes[::10, 0] = (codes[::10, 0] + 1) % 3
    codes[1::5, 3] = 1 - codes[1::5, 3]  # right on four of five
    codes[80:, 3] = NO_VOTE
    assert dawid_skene(votes_of(codes), one_coin).skill["a3"] == pytest.approx(0.8, abs=0.01)


def test_an_item_without_votes_gets_the_shares_of_the_classes(planted):
    hidden = np.zeros(planted.votes.codes.shape, bool)
    hidden[3] = True
    found = dawid_skene(planted.votes.masked(hidden))
    assert found.posterior[3] == pytest.approx(planted.votes.masked(hidden).counts.sum(0) / 1000, abs=0.3)
    with pytest.raises(ValueError, match="no votes"):
        glad(planted.votes.masked(planted.votes.given))


def test_crowdlab_is_cleanlabs_own_on_aligned_rows_and_leaves_the_generator_as_it_was(planted):
    np.random.seed(11)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(11)  # noqa: NPY002
    found = crowdlab(planted.votes, planted.judge, seed=3)
    assert np.random.random() == expected  # noqa: NPY002
    np.random.seed(3)  # noqa: NPY002
    wide = planted.votes.wide()
    own = get_label_quality_multiannotator(wide, planted.judge.values, verbose=False, return_weights=True)
    assert found.model_weight == own["model_weight"]
    assert list(found.annotator_weight.values()) == own["annotator_weight"].tolist()
    assert found.consensus.labels.tolist() == own["label_quality"]["consensus_label"].tolist()
    assert np.allclose(found.consensus.quality, own["label_quality"]["consensus_quality_score"])
    assert found.consensus.skill == own["annotator_stats"]["annotator_quality"].to_dict()


def test_crowdlab_refuses_rows_of_others_and_items_without_a_vote(planted):
    with pytest.raises(ValueError, match="row 0: votes on 'item-0' beside probabilities of 'item-179'"):
        crowdlab(planted.votes, planted.judge.at(planted.votes.items[::-1]))
    hidden = np.zeros(planted.votes.codes.shape, bool)
    hidden[7] = True
    with pytest.raises(ValueError, match="item-7: no vote"):
        crowdlab(planted.votes.masked(hidden), planted.judge)
    alone = planted.votes.given & (planted.votes.given.cumsum(1) > 1)
    with pytest.raises(ValueError, match="no item has two votes"):
        crowdlab(planted.votes.masked(alone), planted.judge)


def test_an_annotator_is_no_part_of_what_it_is_measured_by():
    votes = votes_of([[0, 0, 1], [1, 0, -1], [2, -1, -1]])
    expected = [[0.5, 0.5, 0.0], [0, 0, np.nan], [np.nan] * 3]
    assert np.array_equal(credits_of(votes), expected, equal_nan=True)
    found = annotator_quality(votes)
    assert found.set_index("annotator").loc[["a0", "a1", "a2"], "n"].tolist() == [2, 2, 1]
    assert found.set_index("annotator").loc[["a0", "a1", "a2"], "rate"].tolist() == [0.25, 0.25, 0.0]
    with pytest.raises(ValueError, match="no vote meets another"):
        annotator_quality(votes_of([[0, -1], [-1, 1]]))


def test_annotators_stand_best_first_and_few_votes_are_drawn_to_the_mean(planted):
    value, low, high = shrunken(np.array([2.0, 160, 120, 150, 140]), np.array([2.0, 200, 200, 200, 200]))
    assert 0.7 < value[0] < 0.85 and abs(value[1] - 0.8) < 0.02
    assert high[0] - low[0] > high[1] - low[1]
    table = annotator_quality(planted.votes)
    assert table["annotator"].iloc[-1] == "annotator-5" and table["shrunk"].is_monotonic_decreasing
    assert set(table["group"]) == {"annotators"}


def test_no_method_sees_the_hidden_vote(planted):
    seen = []

    def watching(votes):
        seen.append(votes.given.sum())
        return majority(votes)

    hidden, scored = hidden_votes(planted.votes, 0), planted.votes.given.sum(1) > 1
    assert (hidden.sum(1) == scored).all() and not (hidden & ~planted.votes.given).any()
    losses, clusters = NOTEBOOK.held_out_losses(planted.votes, {"majority": watching}, draws=2)
    assert seen == [planted.votes.given.sum() - scored.sum()] * 2
    assert losses.shape == (scored.sum(), 1, 3) and len(clusters) == scored.sum()
    leaking, _ = NOTEBOOK.held_out_losses(planted.votes, {"majority": lambda _: majority(planted.votes)}, draws=2)
    assert leaking[:, 0, 0].mean() > losses[:, 0, 0].mean() + 0.05
    codes = planted.votes.codes[hidden]
    one, _ = NOTEBOOK.held_out_losses(planted.votes, {"majority": majority}, draws=1)
    assert one[:, 0, 0].tolist() == (majority(planted.votes.masked(hidden)).labels[scored] == codes).tolist()


def test_who_is_certain_of_a_label_is_not_certain_of_a_vote():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=3000)
    codes = np.where(rng.random(3000) < 0.7, truth, rng.integers(3, size=3000))
    folds = prompt_folds([str(n // 3) for n in range(3000)])
    likely = NOTEBOOK.vote_probabilities(np.eye(3)[truth], codes, folds)
    assert np.allclose(likely[truth == 1].mean(0), [0.1, 0.8, 0.1], atol=0.02)
    blind = NOTEBOOK.vote_probabilities(np.full((3000, 3), 1 / 3), codes, folds)
    assert np.allclose(blind, np.bincount(codes) / 3000, atol=0.03)


def test_a_good_judge_helps_to_predict_a_vote():
    good = planted_votes(replace(PANEL, judge=0.9, prompts=120), 1)
    methods = {"majority": majority, "crowdlab": methods_with({"crowdlab": good.judge})["crowdlab"]}
    losses, clusters = NOTEBOOK.held_out_losses(good.votes, methods, draws=2)
    table = NOTEBOOK.on_hidden(losses, clusters, methods, n_boot=400).set_index("method")
    assert table.loc["majority", ["brier_gain", "p"]].isna().all()
    gain, alone = table.loc["crowdlab", "accuracy_gain"], table["accuracy"].map(lambda number: number.value)
    assert gain.low > 0 and gain.value == pytest.approx(alone["crowdlab"] - alone["majority"])
    assert table.loc["crowdlab", "brier_gain"].low > 0 and table.loc["crowdlab", "p"] < 0.05


def pair(item_id, first="a", second="b", votes=None):
    models = {"model_a": first, "model_b": second}
    return PreferencePair(item_id, "mtbench", "Why?", "a", "b", cluster_id="81", votes=votes or {}, **models)


def test_verdicts_turn_with_the_models_and_a_contradiction_is_a_tie():
    votes = Votes(("81:alpaca:gpt-4:1", "81:bard:gpt-4:1", "none"), ("ann",), [[0], [1], [2]])
    pairs = [pair("x", "gpt-4", "alpaca"), pair("y", "alpaca", "gpt-4"), pair("z", "gpt-4", "bard")]
    unread = Verdict("z", "j", "ab", None, status="unparsed")
    agreeing = [Verdict("x", "j", "ab", "A"), Verdict("y", "j", "ab", "B"), unread]
    assert agreement.verdicts_on(votes, agreeing, pairs, True).tolist() == [1, NO_VOTE, NO_VOTE]
    labels = agreement.labels_by_item(agreeing, pairs, matchups=True)
    assert labels == {"81:alpaca:gpt-4:1": "B", "81:bard:gpt-4:1": "tie"}
    contradicting = [Verdict("x", "j", "ab", "A"), Verdict("x", "j", "ba", "B"), Verdict("z", "j", "ab", "A")]
    assert agreement.verdicts_on(votes, contradicting, pairs, True).tolist() == [2, 1, NO_VOTE]
    assert agreement.labels_by_item(contradicting, pairs)["x"] == "tie"
    with pytest.raises(ValueError, match="1: j failed"):
        agreement.labels_by_item([Verdict("1", "j", "ab", None, status="error")], [pair("1")])


def test_only_items_that_all_judges_labelled_are_kept():
    pairs = [pair("1", votes={"expert_1": "A", "author_1": "B"}), pair("2", votes={"expert_1": "B"})]
    one, both = ([Verdict(i, "j", "ab", "A") for i in items] for items in ("1", "12"))
    beside_people = functions_of("62_replace_annotators").beside_people
    votes, labels = beside_people(pairs, {"one": one, "both": both}, "expert", False)
    assert votes.items == ("1",) and votes.annotators == ("expert_1",) and set(labels) == {"one", "both"}
    with pytest.raises(AssertionError, match="0 annotators"):
        beside_people(pairs, {"both": both}, "student", False)


def test_the_table_of_verdicts_comes_back_as_records(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "project_root", lambda: tmp_path)
    table = verdicts(["baseline/features"], ["sample_natural"], "sample", progress=False)
    failed = table.iloc[0].copy()
    failed[["judge", "verdict", "p_a", "p_b", "p_tie", "status"]] = ["gone", None, np.nan, np.nan, np.nan, "error"]
    table.loc[len(table)] = failed
    found = agreement.verdicts_by_judge(table)
    one = found["sample_natural", "features"][1]
    row = table[(table["item"] == one.item_id) & (table["order"] == one.order)].iloc[0]
    assert (one.verdict, one.p_a, one.status) == (row.verdict, row.p_a, "ok")
    assert found["sample_natural", "gone"][0].p_a is None
    assert ("sample_natural", "gone") not in agreement.verdicts_by_judge(table, ["gone"])


def test_agreement_counts_meetings():
    votes = votes_of([[0, 0, 1, 2], [1, -1, -1, 1], [2, 2, -1, -1]])
    found = NOTEBOOK.people_with_people(votes, TIE_FREE, **FEW)
    assert (found.n, found.value) == (4, 0.5)
    assert NOTEBOOK.people_with_people(votes, LABELS, **FEW).n == 8
    judged = NOTEBOOK.judge_with_people(votes, np.array([0, 0, 0]), TIE_FREE, **FEW)
    assert (judged.n, judged.value) == (5, 2 / 5)
    assert NOTEBOOK.judge_with_people(votes, np.array([0, 2, NO_VOTE]), TIE_FREE, **FEW).n == 3


def test_a_judges_own_vote_lifts_its_score(planted):
    codes = np.random.default_rng(99).integers(3, size=len(planted.votes.items))
    found = NOTEBOOK.own_vote(planted.votes, codes, majority, majority(planted.votes), **FEW)
    assert found["left_out"].value == pytest.approx(1 / 3, abs=0.1)
    assert found["inflation"].low > 0.05
    assert found["inflation"].value == pytest.approx(found["own_vote"].value - found["left_out"].value)


def test_the_rule_for_even_splits_is_shown_beside_a_coin():
    """Two items are split evenly: the rule gives both to the class with more votes, a coin half of each."""
    votes, codes = votes_of([[0, 1], [0, 1], [1, 1], [2, -1]]), np.array([0, 1, 1, NO_VOTE])
    assert NOTEBOOK.judged_against(majority(votes), codes, votes.clusters, **FEW).value == pytest.approx(2 / 3)
    coin = NOTEBOOK.with_even_splits_at_random(votes, codes, **FEW)
    assert (coin.value, coin.n) == (pytest.approx((0.5 + 0.5 + 1) / 3), 3)
    assert NOTEBOOK.with_even_splits_at_random(votes, np.array([0, 0, 1, 2]), **FEW).value == pytest.approx(0.75)


def test_planted_annotators_are_as_planted():
    many = planted_votes(replace(PANEL, prompts=20_000), 1)
    right = many.votes.codes == many.truth[:, None]
    assert [right[many.votes.given[:, j], j].mean() for j in range(6)] == pytest.approx(PANEL.rates, abs=0.01)
    assert np.bincount(many.votes.given.sum(1))[1:] / 60_000 == pytest.approx([0.25] * 4, abs=0.01)
    agree, sure = many.judge.values.argmax(1) == many.truth, many.judge.values.max(1).round(6)
    assert agree.mean() == pytest.approx(0.65, abs=0.01)
    assert all(agree[sure == level].mean() == pytest.approx(level, abs=0.01) for level in np.unique(sure))
    misled = planted_votes(replace(PANEL, prompts=2000, misleading=1.0, votes=(4, 4)), 1)
    wrong = (misled.votes.counts * (1 - np.eye(3, dtype=int)[misled.truth])) > 0
    assert (wrong.sum(1) <= 1).all()


def test_the_samples_rates_are_those_of_its_votes():
    pairs = [pair for name in ("sample_natural", "sample_adversarial", "sample_validation") for pair in load_set(name)]
    rates = {who.name: NOTEBOOK.planted_rate(who, pairs) for who in annotators()}
    for name, rate in rates.items():
        cast = [pair.votes[name] == pair.label for pair in pairs if name in pair.votes]
        assert np.mean(cast) == pytest.approx(rate, abs=3 * np.sqrt(rate * (1 - rate) / len(cast)) + 0.02)
    assert max(rates, key=rates.get) == "annotator-1" and min(rates, key=rates.get) == "annotator-8"


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("turn", "judge", "people"),
    [(None, (1197, 1400), (864, 1048)), (1, (689, 804), (633, 772)), (2, (508, 596), (231, 276))],
)
def test_golden_agreement_on_mtbench(turn, judge, people):
    pairs = load_set("mtbench")
    votes, repeats = matchup_votes(pair for pair in pairs if turn in (None, len(pair.turns) + 1))
    codes = agreement.verdicts_on(votes, published_verdicts("gpt-4-pair"), pairs, True)
    with_people = NOTEBOOK.judge_with_people(votes, codes, TIE_FREE, **FEW)
    found = (with_people, NOTEBOOK.people_with_people(votes, TIE_FREE, **FEW))
    assert [(round(number.value * number.n), number.n) for number in found] == [judge, people]
    assert len(repeats) == (turn != 2)


def test_sets_and_their_parts_are_found_by_name():
    one, whole = NOTEBOOK.voted_set("sample_natural:decided"), NOTEBOOK.voted_set("sample_natural")
    assert one.key == "sample_natural_decided" and one.votes.classes == TIE_FREE
    assert 0 < one.votes.given.sum() < whole.votes.given.sum()
    with pytest.raises(KeyError, match="no set is called 'sample_natural:x'"):
        NOTEBOOK.voted_set("sample_natural:x")
    with pytest.raises(AssertionError, match="nobody voted"):
        NOTEBOOK.voted_set("sample_train")
