"""The planted judges: what was planted is there, and the table that estimators read holds the verdicts."""

from types import SimpleNamespace

import numpy as np
import pytest

from judgekit.bias.judged import judged_table
from judgekit.bias.planted import PlantedBias, PlantedJudge, Population, planted_table
from judgekit.records import PreferencePair, Verdict
from judgekit.scoring import run_judge
from judgekit.scoring.store import VerdictStore
from judgekit.stats import coverage


def pair(number, label="A", **fields):
    return PreferencePair(str(number), "made", "Why?", "one two three", "one", cluster_id="p", label=label, **fields)


def log_odds(share):
    return float(np.log(share / (1 - share)))


def test_what_was_planted_is_there():
    many = Population(prompts=40_000, per_prompt=2, richer=0.0)
    plain = {"skill": 0.0, "opinion": 0.0}
    for order, expected in (("ab", 0.7), ("ba", -0.7)):
        table = planted_table(PlantedBias(position=0.7, **plain), many, 0)
        assert log_odds(table[order].mean()) == pytest.approx(expected, abs=0.03)
        assert log_odds(table[f"p_{order}"].mean()) == pytest.approx(expected, abs=1e-9)
    long = planted_table(PlantedBias(length=0.5, **plain), many, 0)
    near = (np.log2(long["words_a"] / long["words_b"]) - 1).abs() < 0.1
    assert log_odds(long["ab"][near].mean()) == pytest.approx(0.5, abs=0.1)
    own = planted_table(PlantedBias(own=0.8, **plain), many, 0)
    of_a, of_b = (own[f"model_{side}"].str.startswith("amber") for side in "ab")
    assert log_odds(own["ab"][of_a & ~of_b].mean()) == pytest.approx(0.8, abs=0.05)
    tied = planted_table(PlantedBias(log_nu=0.0, **plain), many, 0)
    assert (tied["ab"] == 0.5).mean() == pytest.approx(1 / 3, abs=0.01)
    richer = planted_table(PlantedBias(), Population(prompts=5000, richer=0.8), 1)
    assert (
        np.log2(richer["words_a"] / richer["words_b"]).corr(richer["quality"])
        > 0.4
        < richer["people"].corr(richer["quality"])
    )


def test_coverage_counts_the_intervals_that_hold_the_truth():
    assert coverage(lambda k: SimpleNamespace(low=k, high=k + 1.5), 4.0, lambda k: k, simulations=10) == 2


def test_a_planted_judge_judges_pairs_as_it_was_told():
    pairs = [pair(k, "A" if k % 2 else "B") for k in range(2000)]
    first = PlantedJudge(pairs, PlantedBias(skill=0.0, opinion=0.0, position=1.0))
    table = judged_table(pairs, run_judge(first, pairs, VerdictStore(":memory:"), progress=False))
    assert log_odds(table["ab"].mean()) == pytest.approx(1.0, abs=0.2)
    assert log_odds(table["ba"].mean()) == pytest.approx(-1.0, abs=0.2)
    opinionated = PlantedJudge(pairs, PlantedBias(skill=0.0, opinion=20.0))
    table = judged_table(pairs, run_judge(opinionated, pairs, VerdictStore(":memory:"), progress=False))
    assert (table["ab"] == table["ba"]).mean() > 0.9


def test_a_judged_table_holds_votes_verdicts_and_words():
    voted = pair(0, None, votes={"x": "A", "y": "tie"}, model_a="m", model_b="n")
    verdicts = [
        Verdict("0", "j", "ab", "A", 0.6, 0.2, 0.2),
        Verdict("0", "j", "ba", None, status="unparsed"),
        Verdict("1", "j", "ab", "tie"),
        Verdict("2", "j", "ab", "B"),
    ]
    table = judged_table([voted, pair(1, "B"), pair(2, None)], verdicts).set_index("item")
    columns = ["people", "n_votes", "ab", "p_ab", "words_a", "model_b"]
    assert table.loc["0", columns].tolist() == [0.75, 2, 1, 0.7, 3, "n"]
    assert np.isnan(table.loc["0", "ba"]) and np.isnan(table.loc["0", "p_ba"])
    assert table.loc["1", ["people", "ab"]].tolist() == [0.0, 0.5] and np.isnan(table.loc["2", "people"])
    with pytest.raises(ValueError, match="no pair of these"):
        judged_table([pair(1)], verdicts)
    with pytest.raises(ValueError, match="duplicate"):
        judged_table([pair(1)], [verdicts[2], verdicts[2]])
