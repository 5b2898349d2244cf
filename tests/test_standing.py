"""Published judges on the two axes of 30_score_benchmarks."""

import pytest
from notebook_functions import functions_of

QUALITY = {"pandalm": "accuracy", "autoj": "agreement"}
SIZES = {"pandalm": 999, "autoj": 1392, "llmbar_neighbor": 134, "llmbar_manual": 46}


def test_published_judges_stand_where_their_figures_say():
    published_standing = functions_of("30_score_benchmarks").published_standing
    table = published_standing(QUALITY, ["llmbar_neighbor", "llmbar_manual"], SIZES).set_index("judge")
    row = table.loc["PandaLM-7B, published"]
    assert row["x"] == pytest.approx((0.6757 + 0.400) / 2, abs=1e-3)
    assert row["y"] == pytest.approx((0.165 * 134 + 0.261 * 46) / 180, abs=1e-3)
    assert (table["x_low"] < table["x"]).all() and (table["y"] < table["y_high"]).all()
    assert "Prometheus-7B, published" not in table.index  # it has no figure on PandaLM
