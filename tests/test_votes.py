"""Votes and probabilities found by key, never by position."""

import numpy as np
import pytest

from judgekit.data import votes as tables
from judgekit.data.catalogue import load_set
from judgekit.data.votes import TIE_FREE, ClassProbabilities, Votes, aligned, matchup_votes, votes_from_long
from judgekit.judges import load_judge
from judgekit.records import LABELS, PreferencePair
from judgekit.scoring import run_judge
from judgekit.scoring.items import stated_probabilities
from judgekit.scoring.store import VerdictStore

ROWS = [("i", "ann", "A", "p"), ("i", "bob", "tie", "p"), ("j", "bob", "B", "q"), ("j", "cat", "B", "q")]


def test_votes_stand_under_their_item_and_annotator():
    votes, repeats = votes_from_long(ROWS)
    assert votes.items == ("i", "j") and votes.annotators == ("ann", "bob", "cat") and votes.clusters == ("p", "q")
    assert votes.codes.tolist() == [[0, 2, -1], [-1, 1, 1]] and repeats == []
    assert votes.counts.tolist() == [[1, 0, 1], [0, 2, 0]]
    assert votes.long().values.tolist() == [[item, who, label] for item, who, label, _ in ROWS]
    assert np.array_equal(votes.wide().to_numpy(), [[0, 2, np.nan], [np.nan, 1, 1]], equal_nan=True)


def test_parts_of_votes_keep_their_names():
    votes, _ = votes_from_long(ROWS)
    assert votes.at([False, True]).items == ("j",) and votes.at([1, 0]).codes.tolist() == votes.codes[::-1].tolist()
    assert votes.of(["cat", "ann"]).codes.tolist() == [[-1, 0], [1, -1]]
    assert votes.of(["cat"]).voted().items == ("j",)
    assert votes.only(TIE_FREE).codes.tolist() == [[0, -1, -1], [-1, 1, 1]]
    assert votes.masked(votes.codes == 1).codes.tolist() == [[0, 2, -1], [-1, -1, -1]]
    with pytest.raises(KeyError, match="no annotator is called 'dan'"):
        votes.of(["dan"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"items": ("i", "i")}, "items: 'i' stands twice"),
        ({"annotators": ("ann", "ann")}, "annotators: 'ann' stands twice"),
        ({"codes": [[0, 1]]}, r"shape \(1, 2\) for 2 items"),
        ({"codes": [[0, 1], [3, 0]]}, "none of A, B, tie"),
        ({"clusters": ("p",)}, "1 clusters for 2 items"),
    ],
)
def test_votes_that_do_not_fit_their_names_are_refused(change, message):
    fine = {"items": ("i", "j"), "annotators": ("ann", "bob"), "codes": [[0, 1], [2, -1]]}
    Votes(**fine)
    with pytest.raises(ValueError, match=message):
        Votes(**(fine | change))


def pair(item_id, first, second, votes):
    models = {"model_a": first, "model_b": second}
    return PreferencePair(item_id, "mtbench", "Why?", "a", "b", cluster_id="81", votes=votes, **models)


def test_a_match_shown_both_ways_is_one_item():
    pairs = [pair("x", "gpt-4", "alpaca", {"ann": "A", "bob": "tie"})]
    pairs.append(pair("y", "alpaca", "gpt-4", {"cat": "A", "ann": "B"}))
    votes, repeats = matchup_votes([*pairs, pair("z", "alpaca", "gpt-4", {"ann#2": "A"})])
    assert votes.items == ("81:alpaca:gpt-4:1",) and votes.annotators == ("ann", "bob", "cat")
    assert votes.codes.tolist() == [[1, 2, 0]]
    assert repeats == [("81:alpaca:gpt-4:1", "ann", "B", "B"), ("81:alpaca:gpt-4:1", "ann", "B", "A")]
    assert tables.matchup_of(pairs[0]) == ("81:alpaca:gpt-4:1", True)
    with pytest.raises(ValueError, match="ann voted twice"):
        tables.votes_of_pairs([pairs[0], pairs[0]])


def test_probabilities_are_found_by_key_and_those_of_other_rows_refused():
    stated = ClassProbabilities(("i", "j"), [[0.5, 0.2, 0.3], [0, 1, 0]])
    assert stated.at(["j", "i"]).values.tolist() == [[0, 1, 0], [0.5, 0.2, 0.3]]
    assert np.allclose(stated.only(TIE_FREE).values, [[5 / 7, 2 / 7], [0, 1]])
    assert ClassProbabilities(("k",), [[0, 0, 1]]).only(TIE_FREE).values.tolist() == [[0.5, 0.5]]  # sure of a tie
    with pytest.raises(KeyError, match="no item is called 'k'"):
        stated.at(["k"])
    votes, _ = votes_from_long(ROWS)
    assert aligned(votes, stated).tolist() == stated.values.tolist()
    with pytest.raises(ValueError, match="row 0: votes on 'i' beside probabilities of 'j'"):
        aligned(votes, stated.at(["j", "i"]))
    with pytest.raises(ValueError, match="votes on 2 items, probabilities of 1"):
        aligned(votes, stated.at(["i"]))
    with pytest.raises(ValueError, match="votes are on"):
        aligned(votes, stated.only(TIE_FREE))
    with pytest.raises(AttributeError):
        aligned(votes, stated.values)


def test_stated_probabilities_are_the_mean_of_both_orders_under_the_items_own_key(tmp_path):
    pairs = load_set("sample_natural")[:20]
    verdicts = run_judge(load_judge("baseline/features"), pairs, VerdictStore(tmp_path / "v.sqlite"), progress=False)
    stated = stated_probabilities(verdicts[::-1], pairs)
    assert stated.items == tuple(p.item_id for p in pairs) and stated.classes == LABELS
    said = {(v.item_id, v.order): v for v in verdicts}
    both = [said[pairs[3].item_id, order] for order in ("ab", "ba")]
    assert stated.values[3] == pytest.approx([np.mean([getattr(v, n) for v in both]) for n in ("p_a", "p_b", "p_tie")])
    with pytest.raises(ValueError, match="no probabilities"):
        stated_probabilities(verdicts, load_set("sample_natural")[:21])
