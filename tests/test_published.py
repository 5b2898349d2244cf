"""data.benchmarks.published: figures as printed, each with source and protocol, and what they can stand for."""

import re

import pytest

from judgekit.data.benchmarks import BENCHMARKS, published
from judgekit.data.benchmarks.published import (
    counterpart_of,
    fitting_counts,
    owner_statistics,
    published_scores,
)
from judgekit.judges.names import slug
from judgekit.scoring import protocols_for

SIZES = {"llmbar_natural": 100, "llmbar_neighbor": 134, "llmbar_gptinst": 92, "llmbar_gptout": 47, "llmbar_manual": 46}


def test_every_figure_has_source_and_protocol():
    for score in published_scores():
        assert score.source and score.protocol and score.title
        assert re.fullmatch(r"\d{2}(\.\d{1,2})?", score.printed)
        assert score.value == pytest.approx(float(score.printed) / 100)
        assert slug(score.judge) == score.judge


def test_sets_are_test_sets_but_for_the_one_that_is_published_only():
    assert {score.set for score in published_scores()} - set(BENCHMARKS) == {"judgelm_test"}


def test_rules_that_can_be_applied_are_named_as_in_scoring():
    for score in published_scores():
        if score.scored_as:
            assert score.scored_as in protocols_for(score.set)


def test_figure_4_averages_come_out_again():
    averages = {"gpt_3_5": 59.83, "gpt_4_0613": 73.42, "judgelm_7b": 65.53, "pandalm_7b": 57.61, "auto_j_13b": 66.31}
    for judge, average in averages.items():
        used = [s.value for s in published_scores("figure4") if s.judge == judge and s.metric != "macro_f1"]
        assert 100 * sum(used) / 3 == pytest.approx(average, abs=0.011)


def test_unknown_table_is_an_error_that_lists_the_known():
    with pytest.raises(KeyError, match="figure4"):
        published_scores("figure7")


def test_counterparts_name_published_rows():
    rows = {(s.table, s.judge, "llmbar" if s.set in SIZES else s.set) for s in published_scores()}
    for entry in published._document()["counterparts"]:
        assert (entry["table"], entry["judge"], entry["set"]) in rows
        assert entry["why"].endswith(".")


def test_a_figure_finds_its_counterpart():
    found = {s.set: counterpart_of(s) for s in published_scores("figure6") if s.judge == "gpt_4_0613"}
    assert {entry.ours for entry in found.values()} == {"gpt_4_vanilla_norules"}
    assert all(counterpart_of(score) is None for score in published_scores("figure4") if score.judge == "judgelm_7b")


@pytest.mark.parametrize(
    ("printed", "n", "step", "counts"),
    [
        ("50.0", 10, 1, [5]),
        ("93.5", 100, 1, []),
        ("93.5", 100, 0.5, [93.5]),
        ("0.0", 10, 1, [0]),
        ("100.0", 10, 1, [10]),
        ("50", 300, 1, [149, 150, 151]),
        ("16.5", 134, 0.5, []),
    ],
)
def test_fitting_counts(printed, n, step, counts):
    assert fitting_counts(printed, n, step) == counts


@pytest.mark.realdata
def test_owner_statistics_of_llmbar():
    own = owner_statistics("gpt-4-vanilla-norules")
    assert set(own) == set(SIZES)
    assert own["llmbar_natural"]["accuracy"] == 0.935
    assert own["llmbar_natural"]["kappa"] == pytest.approx(0.2517, abs=1e-4)
