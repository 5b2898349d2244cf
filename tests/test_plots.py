"""judgekit.figures: every picture draws on tidy tables, returns its axes and lacks no glyph."""

import warnings

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from judgekit import figures as plots
from judgekit.figures.probes import plot_layer_curves, plot_methods
from judgekit.figures.training import plot_rank_check, plot_stages
from judgekit.stats import Number

JUDGES = ["minilm", "features", "longer", "some_other_judge"]


def scores():
    rows = [(j, s, 0.1 * i + 0.3) for s in ("PandaLM", "Auto-J") for i, j in enumerate(JUDGES)]
    table = pd.DataFrame(rows, columns=["judge", "set", "value"])
    return table.assign(low=table["value"] - 0.05, high=table["value"] + 0.05)


def waterfall():
    return pd.DataFrame({"step": ["read", "duplicate", "empty", "kept"], "count": [1000, 300, 1, 699]})


def labels():
    rows = [(s, x, c) for s in ("PandaLM", "LLMBar") for x, c in (("A", 50), ("B", 40), ("tie", 0))]
    return pd.DataFrame(rows, columns=["set", "label", "count"])


def curve():
    steps = np.arange(1, 101)
    return pd.DataFrame({"step": steps, "loss": 1 / steps, "validation": np.where(steps % 20, np.nan, 1 / steps)})


def tradeoff():
    x = np.linspace(0.4, 0.6, len(JUDGES))
    table = pd.DataFrame({"judge": JUDGES, "x": x, "y": 1 - x})
    return table.assign(x_low=x - 0.02, x_high=x + 0.02, y_low=table["y"] - 0.02, y_high=table["y"] + 0.02)


def reliability():
    confidence = np.linspace(0.4, 0.95, 6)
    parts = [
        pd.DataFrame({"judge": j, "confidence": confidence, "accuracy": confidence, "count": 9}) for j in JUDGES[:2]
    ]
    return pd.concat(parts).assign(low=0.3, high=0.99)


def settings():
    rows = [("base", "base", 0.6, 0.3), ("gate_strength", "open", 0.4, 0.2), ("rank", "4", 0.61, 0.33)]
    return pd.DataFrame(rows, columns=["factor", "level", "validation", "test"])


def rank_check(table, **options):
    return plot_rank_check(table, "misleading", "LLMBar adversarial", **options)


PICTURES = [
    (rank_check, settings),
    (plots.plot_forest, scores),
    (plots.plot_waterfall, waterfall),
    (plots.plot_label_counts, labels),
    (plots.plot_training_curve, curve),
    (plots.plot_tradeoff, tradeoff),
    (plots.plot_reliability, reliability),
]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize(("plot", "table"), PICTURES)
def test_picture_draws_without_a_warning(plot, table):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax = plot(table())
        axes = np.atleast_1d(ax).flat[0]
        assert isinstance(axes, matplotlib.axes.Axes)
        figure = axes.get_figure()
        figure.canvas.draw()
    assert figure.get_figwidth() in (plots.COLUMN, plots.TEXT)
    # No text leaves the page.
    renderer = figure.canvas.get_renderer()
    for text in figure.findobj(matplotlib.text.Text):
        if text.get_visible() and text.get_text().strip() and text.get_in_layout():
            box = text.get_window_extent(renderer)
            on_page = box.x0 > -2 and box.y0 > -2 and box.x1 < figure.bbox.x1 + 2 and box.y1 < figure.bbox.y1 + 2
            assert on_page or not text.axes or text in _hidden_ticks(text.axes), text


def _hidden_ticks(ax):
    """Labels of ticks outside of the limits, which are never drawn."""
    ticks = [*ax.xaxis.get_major_ticks(), *ax.yaxis.get_major_ticks()]
    shown = {*ax.xaxis._update_ticks(), *ax.yaxis._update_ticks()}
    return [label for tick in ticks if tick not in shown for label in (tick.label1, tick.label2)]


@pytest.mark.parametrize(("plot", "table"), PICTURES)
def test_picture_takes_axes_and_names_missing_columns(plot, table):
    frame = table()
    if "set" in frame and "value" in frame:
        frame = frame[frame["set"] == "PandaLM"]
    ax = plt.subplots()[1]
    assert plot(frame, ax=ax) is ax
    with pytest.raises(ValueError, match="lacks"):
        plot(frame.iloc[:, :1])
    with pytest.raises(ValueError, match="empty"):
        plot(frame.iloc[:0])


def test_a_waterfall_that_loses_rows_is_refused():
    with pytest.raises(ValueError, match="a row is lost"):
        plots.plot_waterfall(pd.DataFrame({"step": ["read", "x", "kept"], "count": [10, 1, 8]}))


def test_value_outside_of_its_interval_is_drawn():
    table = scores().assign(low=lambda t: t["value"] + 0.01)
    plots.plot_forest(table)


def test_scores_without_intervals_are_drawn():
    plots.plot_forest(scores().assign(low=np.nan, high=np.nan))


def test_one_colour_per_judge():
    assert plots.judge_style("minilm") == plots.judge_style("minilm")
    assert plots.judge_style("qwen3_4b") == plots.judge_style("qwen3_4b")
    named = [plots.judge_style(judge) for judge in plots.style.JUDGES]
    assert len(set(named)) == len(named)


def test_names_in_other_scripts_are_drawn():
    ax = plots.plot_waterfall(pd.DataFrame({"step": ["读入", "مكرر", "kept"], "count": [3, 1, 2]}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without a font for them they are boxes, not an error
        ax.get_figure().canvas.draw()


def test_stages_are_drawn_side_by_side():
    histories = {stage: curve().assign(accuracy=np.linspace(0.5, 1, 100)) for stage in ("drill", "sft", "dpo")}
    figure = plot_stages(histories)
    assert [ax.get_title(loc="left") for ax in figure.axes[:3]] == list(histories) and len(figure.axes) == 6
    assert {tuple(ax.lines[0].get_ydata()[[0, -1]]) for ax in figure.axes[3:]} == {(0.5, 1.0)}
    with pytest.raises(ValueError, match="no stages"):
        plot_stages({})
    with pytest.raises(ValueError, match="lacks"):
        plot_stages({"sft": curve()})


# ---------------------------------------------------------------- probes


def test_layer_curves_have_a_line_per_aspect_and_a_panel_per_set():
    rows = [
        (name, aspect, layer, 0.1 * layer, 0.01)
        for name in ("one", "two")
        for aspect in ("a", "b")
        for layer in range(3)
    ]
    table = pd.DataFrame(rows, columns=["set", "aspect", "layer", "value", "deviation"])
    plots.use_style()  # titles stand on the left, whichever test came before
    panels = plot_layer_curves(table[:-3]).axes  # the second set lacks an aspect
    assert [panel.get_title(loc="left") for panel in panels] == ["one", "two"]
    assert [len(panel.containers) for panel in panels] == [2, 1]
    assert panels[1].containers[0][0].get_ydata().tolist() == pytest.approx([0, 0.1, 0.2])


def test_methods_stand_in_their_rows_and_the_first_has_an_interval():
    rows = [("one", "a", "probe", Number(0.7, 0.6, 0.8)), ("one", "a", "length", Number(0.5, 0.4, 0.6))]
    rows += [("two", "a", "probe", Number(0.6, 0.5, 0.7))]
    table = pd.DataFrame(rows, columns=["set", "aspect", "method", "number"])
    figure = plot_methods(table, {"probe": "a probe", "length": "length", "encoder": "an encoder"})
    first, second = figure.axes
    drawn = [line.get_xdata() for line in first.lines]
    assert any(list(x) == [0.6, 0.8] for x in drawn) and any(0.5 in list(x) for x in drawn)
    assert not any(0.5 in list(line.get_xdata()) and len(line.get_xdata()) == 1 for line in second.lines)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a probe", "length"]
