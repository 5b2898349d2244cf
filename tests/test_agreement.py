"""judgekit.studies.measure_agreement and how far people agree: the textbooks' tables and the sets' own values."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from judgekit.data.catalogue import load_set
from judgekit.records import PreferencePair, Turn
from judgekit.scoring.metrics import coincidences, fleiss_kappa, krippendorff_alpha, rating_counts
from judgekit.studies.measure_agreement import agreement_table, vote_agreement

QUICK = {"n_boot": 50}

# Ten subjects, fourteen raters, five categories: the worked example of Wikipedia's article "Fleiss' kappa", 0.210.
FLEISS = """0 0 0 0 14  0 2 6 4 2  0 0 3 5 6  0 3 9 2 0  2 2 8 1 1
            7 7 0 0 0   3 2 6 3 0  2 5 3 2 2  6 5 2 1 0  0 2 2 3 7"""
# Four observers, twelve units: Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", section C.
KRIPPENDORFF_2011 = """1 2 3 3 2 1 4 1 2 . . .
                       1 2 3 3 2 2 4 1 2 5 . 3
                       . 3 3 3 2 3 4 2 2 5 1 .
                       1 2 3 3 2 4 4 1 2 5 1 ."""


def alpha(ratings, n_labels):
    return float(krippendorff_alpha(coincidences(rating_counts(ratings, n_labels)).sum(0)))


def test_kappa_and_alpha_of_the_worked_examples():
    counts = np.array(FLEISS.split(), float).reshape(10, 5)
    sums = coincidences(counts).sum(0)
    assert np.trace(sums) / sums.sum() == pytest.approx(0.378, abs=5e-4)
    assert fleiss_kappa(sums) == pytest.approx(0.210, abs=5e-4)
    rows = [[-1 if word == "." else int(word) - 1 for word in line.split()] for line in KRIPPENDORFF_2011.splitlines()]
    assert alpha(np.array(rows).T, 5) == pytest.approx(0.743, abs=5e-4)
    agreed, apart = (coincidences(rating_counts(rows, 3)).sum(0) for rows in ([[1, 1]] * 4, [[1, -1], [-1, 0]]))
    undefined = [function(sums) for function in (fleiss_kappa, krippendorff_alpha) for sums in (agreed, apart)]
    assert np.isnan(undefined).all(), "nobody could have differed, or nobody met"
    with pytest.raises(ValueError, match="codes 0 to 2"):
        rating_counts([[0, 3]], 3)


def voted(item_id, votes, question="q", models=("m", "n"), turn=1, label=None, benchmark="mtbench"):
    fields = {"model_a": models[0], "model_b": models[1], "turns": (Turn("Q", "a", "b"),) * (turn - 1)}
    fields |= {"cluster_id": question, "votes": votes, "label": label}
    return PreferencePair(item_id, benchmark, "Q?", "a", "b", **fields)


def test_votes_on_both_orders_of_two_models_meet():
    pairs = [
        voted("0", {"expert_1": "A", "expert_2": "tie"}),
        voted("1", {"expert_3": "B"}, models=("n", "m")),
        voted("2", {"expert_4": "A", "author_0": "A"}, turn=2),
    ]
    with_ties, without = (vote_agreement(pairs, ties=ties, **QUICK) for ties in (True, False))
    assert (with_ties.value, with_ties.n) == (pytest.approx(1 / 3), 3)
    assert (without.value, without.n) == (1, 1)
    assert vote_agreement(pairs, turn=2, voters="all", **QUICK).n == 1
    again = [*pairs[:1], voted("3", {"expert_1": "B", "expert_1#2": "B"}, models=("n", "m"))]
    others = vote_agreement(again, **QUICK)
    assert (others.value, others.n) == (0, 3), "expert 1, who voted three times, is not compared with herself"
    with pytest.raises(ValueError, match="no two votes"):
        vote_agreement(pairs, turn=2, **QUICK)


def agreements(pairs):
    return agreement_table(pairs, **QUICK).set_index(["who", "what"])["number"]


def test_annotators_by_hand():
    said = ["AAA", "ABA", "BBA", "BBB"]
    votes = [dict(zip("xyz", letters, strict=True)) for letters in said]
    pairs = [voted(str(n), votes[n], str(n), label="A") for n in range(4)]  # the label has no say in the majority
    found = agreements(pairs)
    assert [found[who, "majority"].value for who in "xyz"] == [1, 0.75, 0.75]
    assert found["x_vs_y", "agreement"].value == 0.75
    # x: the others agree on AAA and BBB; y: on all but BBA; z: on all but ABA.
    others = [(found[who, "others"].value, found[who, "others"].n) for who in "xyz"]
    assert others == [(1, 2), (pytest.approx(2 / 3), 3), (pytest.approx(2 / 3), 3)]
    assert ("", "alpha") in found.index
    columns = list(zip(*said, strict=True))
    assert found["y_vs_z", "kappa"].value == pytest.approx(cohen_kappa_score(columns[1], columns[2]))
    alone = agreements(
        [voted("0", dict(zip("xyz", "AAB", strict=True))), voted("1", dict(zip("xyz", "BBA", strict=True)))]
    )
    assert ("z", "others") in alone.index and ("x", "others") not in alone.index  # whose others never agree


def test_where_all_votes_are_the_same_there_is_no_kappa():
    panel = [dict(zip("xyz", letters, strict=True)) for letters in ("AAA", "AAB", "AAA")]
    found = agreements([voted(str(n), votes, str(n)) for n, votes in enumerate(panel)])
    assert found["x_vs_y", "agreement"].value == 1 and ("x_vs_y", "kappa") not in found.index
    assert found["x_vs_z", "kappa"].value == 0 and ("", "alpha") in found.index
    found = agreements([voted(str(n), panel[0], str(n)) for n in range(3)])
    assert {what for _, what in found.index} == {"majority", "others", "agreement"}


def test_pairs_of_ones_own_are_compared_by_themselves():
    """Before, two pairs of the same models on a question were one, and a voter called author was one of MT-bench's."""
    pairs = [voted("0", {"author": "A", "x": "A"}, benchmark="own"), voted("1", {"y": "B", "x": "B"}, benchmark="own")]
    found = agreements(pairs)["everyone_all_turns", "with_ties"]
    assert (found.value, found.n) == (1, 2)


def test_agreement_of_passing_voters():
    table = agreements([voted("0", {"x": "A", "y": "A"}), voted("1", {"y": "B", "z": "A"})])
    assert list(table.index) == [("everyone_all_turns", f"{how}_ties") for how in ("with", "without")]
    assert (table.iloc[0].value, table.iloc[0].n) == (0.6, 5)  # A, A, B, A: five meetings, as y does not meet y
    with pytest.raises(ValueError, match="no two votes"):
        agreement_table([voted("0", {"x": "A"})], **QUICK)


@pytest.mark.realdata
def test_golden_agreement():
    panel = agreement_table(load_set("pandalm"), **QUICK).set_index(["who", "what"])["number"]
    others = [panel[f"annotator{n}", "others"] for n in (1, 2, 3)]
    assert [(round(number.value, 3), number.n) for number in others] == [(0.959, 917), (0.947, 928), (0.964, 912)]
    # Own votes flatter: nobody does better against the others alone.
    assert all(panel[f"annotator{n}", "majority"].value > one.value for n, one in zip((1, 2, 3), others, strict=True))
    voters = agreement_table(load_set("mtbench"), **QUICK).set_index(["who", "what"])["number"]
    kappas = [round(panel[two, "kappa"].value, 3) for two, what in panel.index if what == "kappa"]
    assert kappas == [0.852, 0.879, 0.862]
    assert panel["", "fleiss_kappa"].value == pytest.approx(np.mean(kappas), abs=0.002)
    assert panel["", "alpha"].value == pytest.approx(panel["", "fleiss_kappa"].value, abs=0.001)
    assert len(voters) == 8
    number = voters["everyone_all_turns", "without_ties"]
    assert (round(number.value * number.n), number.n) == (864, 1048)
    experts = [voters["experts_turn1", f"{how}_ties"] for how in ("with", "without")]
    assert [(round(number.value, 3), number.n) for number in experts] == [(0.630, 721), (0.810, 479)]
