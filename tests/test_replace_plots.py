"""Pictures of judges beside annotators: what is drawn is what the table says."""

import matplotlib
import pandas as pd
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from judgekit.figures import plot_alt_test, plot_gain_curves


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_a_judge_that_never_passes_is_hollow_and_stands_apart():
    table = pd.DataFrame(
        [
            ["s", "minilm", 0.8, 0.7, 0.9, 0.2],
            ["s", "longer", 0.6, 0.5, 0.7, None],
            ["t", "minilm", 0.7, 0.6, 0.8, 0.1],
        ],
        columns=["set", "judge", "value", "low", "high", "price"],
    )
    left, right = plot_alt_test(table)
    marks = [line for line in right.lines if line.get_marker() not in ("None", None, "")]
    assert [mark.get_xdata()[0] for mark in marks][0::2] == [0.2, 0.1]
    never = marks[1]
    assert never.get_markerfacecolor() == "white" and never.get_xdata()[0] > 0.2
    assert [label.get_text() for label in left.get_yticklabels()] == ["s", "t"]
    assert marks[0].get_ydata()[0] > marks[1].get_ydata()[0] > marks[2].get_ydata()[0]


def test_curves_of_a_set_share_a_panel():
    rows = [[s, w, x, x, x - 0.1, x + 0.1] for s in "ab" for w in ("random", "activelab", "margin") for x in (0.2, 0.4)]
    axes = plot_gain_curves(
        pd.DataFrame(rows, columns=["set", "strategy", "votes_per_item", "value", "low", "high"]), columns=2
    )
    for panel, name in zip(axes.flat, "ab", strict=True):
        drawn = {line.get_label(): line.get_ydata().tolist() for line in panel.lines if len(line.get_ydata())}
        assert drawn == {"at random": [0.2, 0.4], "ActiveLab": [0.2, 0.4]} and panel.get_title(loc="left") == name


def test_an_empty_table_is_refused():
    with pytest.raises(ValueError, match="lacks price"):
        plot_alt_test(pd.DataFrame({"set": ["s"], "judge": ["j"], "value": [1], "low": [1], "high": [1]}))
