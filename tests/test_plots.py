"""judgekit.figures: every kind draws what its table says, at the width and under the names that are printed."""

import warnings

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from judgekit.figures import bars, curve, draw, forest, heat, judge_style, scatter, style_of, waterfall
from judgekit.figures.style import COLUMN, JUDGES, TEXT

SLUGS = ["minilm", "features", "gpt_4_vanilla_norules", "some_other_judge"]
PRINTED = ["MiniLM (ours)", "surface features", "GPT-4, vanilla no rules", "some other judge"]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def scores():
    rows = [(judge, name, 0.1 * i + 0.3) for name in ("PandaLM", "Auto-J") for i, judge in enumerate(SLUGS)]
    table = pd.DataFrame(rows, columns=["judge", "set", "value"])
    return table.assign(low=table["value"] - 0.05, high=table["value"] + 0.05, clear=table["value"] > 0.45)


def points():
    x = np.linspace(0.4, 0.6, len(SLUGS))
    return pd.DataFrame({"judge": SLUGS, "x": x, "y": 1 - x, "x_low": x - 0.02, "x_high": x + 0.02})


def lines():
    rows = [(judge, x, 0.5 * x) for judge in SLUGS[:2] for x in (0.2, 0.6, 1.0)]
    table = pd.DataFrame(rows, columns=["judge", "share", "value"])
    return table.assign(low=table["value"] - 0.05, high=table["value"] + 0.05, random=0.4, n=[1, 2, 3, 1, 2, 3])


def contests():
    rows = [(a, b, 0.1 * (i - j)) for i, a in enumerate(SLUGS) for j, b in enumerate(SLUGS) if i != j]
    return pd.DataFrame(rows, columns=["judge", "other", "value"]).assign(clear=lambda t: t["value"].abs() > 0.15)


def labels():
    rows = [(name, label, n) for name in ("PandaLM", "LLMBar") for label, n in (("A", 50), ("B", 40), ("tie", 0))]
    return pd.DataFrame(rows, columns=["set", "label", "count"])


def steps():
    return pd.DataFrame({"step": ["read", "duplicate", "empty", "kept"], "count": [1000, 300, 1, 699]})


PICTURES = [
    (forest, scores, {"panel": "set", "reference": 0.5}),
    (forest, scores, {"y": "set", "hue": "judge", "clear": "clear"}),
    (curve, lines, {"x": "share", "spread": "band", "beside": {"random": "random routing"}}),
    (curve, lines, {"x": "share", "spread": "bars", "diagonal": True, "counts": "n", "percent": "xy"}),
    (scatter, points, {"chance": (0.5, 0.5)}),
    (heat, contests, {"x": "other", "y": "judge", "limit": 0.5, "clear": "clear"}),
    (bars, labels, {}),
    (waterfall, steps, {}),
]


@pytest.mark.parametrize("width", [COLUMN, TEXT])
@pytest.mark.parametrize(("kind", "table", "options"), PICTURES)
def test_a_picture_is_as_wide_as_it_is_printed_and_cuts_nothing(kind, table, options, width):
    figure = draw(kind, table(), width=width, xlabel="a label (%)", ylabel="another", **options)
    assert figure.get_size_inches()[0] == width
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a missing glyph, a layout that does not fit
        figure.canvas.draw()
    page = figure.bbox
    letters = [text.get_fontsize() for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    assert min(letters) >= 7, "too small in print"
    for ax in figure.axes:
        if ax.get_visible():
            box = ax.get_tightbbox()
            assert box.x0 > -2 and box.y0 > -2 and box.x1 < page.x1 + 2 and box.y1 < page.y1 + 2


@pytest.mark.parametrize(("kind", "table", "options"), PICTURES)
def test_a_table_that_lacks_a_column_or_all_rows_is_refused(kind, table, options):
    options = {name: value for name, value in options.items() if name != "panel"}
    ax = plt.subplots()[1]
    with pytest.raises(ValueError, match="lacks"):
        kind(ax, table().iloc[:, :1].rename(columns=lambda name: f"no {name}"), **options)
    with pytest.raises(ValueError, match="empty"):
        kind(ax, table().iloc[:0], **options)


def marks(ax):
    """Middle and ends of every estimate with whiskers, and whether it is filled."""
    drawn = []
    for container in ax.containers:
        line, _, whiskers = container
        (x,), (y,) = line.get_xdata(), line.get_ydata()
        ends = whiskers[0].get_segments()[0][:, 0]
        drawn.append((x, y, *ends, line.get_markerfacecolor() != "white"))
    return drawn


def test_a_forest_has_each_estimate_in_its_row_with_its_interval():
    figure = draw(forest, scores(), "set", clear="clear")
    for ax, name in zip(figure.axes, ("PandaLM", "Auto-J"), strict=True):
        assert ax.get_title(loc="left") == name
        shown = np.array([(0.1 * i + 0.3, i, 0.1 * i + 0.25, 0.1 * i + 0.35, 0.1 * i + 0.3 > 0.45) for i in range(4)])
        assert np.array(marks(ax)) == pytest.approx(shown)
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == PRINTED
    assert figure.axes[0].get_ylim()[0] > figure.axes[0].get_ylim()[1], "the first row stands on top"


def test_values_without_an_interval_or_outside_of_it_are_drawn():
    draw(forest, scores().assign(low=np.nan, high=np.nan))
    draw(forest, scores().assign(low=lambda t: t["value"] + 0.01))


def test_marks_of_one_row_stand_side_by_side_and_the_legend_names_them_once():
    figure = draw(forest, scores(), y="set", hue="judge", before="low")
    heights = [y for _, y, *_ in marks(figure.axes[0])]
    assert len(set(heights)) == len(heights)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == PRINTED


def test_a_curve_goes_through_its_points_and_shows_what_stands_beside():
    figure = draw(curve, lines(), x="share", spread="band", beside={"random": "random routing"})
    drawn = {tuple(line.get_ydata()) for line in figure.axes[0].lines}
    assert (0.1, 0.3, 0.5) in drawn and (0.4, 0.4, 0.4) in drawn
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [*PRINTED[:2], "random routing"]


def test_cells_say_who_is_ahead_by_how_much():
    ax = draw(heat, contests(), x="other", y="judge", limit=0.5, clear="clear").axes[0]
    cells = {(round(text.get_position()[1] - 0.5), round(text.get_position()[0] - 0.5)): text for text in ax.texts}
    assert cells[0, 1].get_text() == "−10" and cells[3, 0].get_text() == "+30" and (0, 0) not in cells
    assert cells[3, 0].get_fontweight() == "bold" and cells[0, 1].get_fontweight() == "normal"


def test_names_of_points_do_not_hide_each_other():
    table = points().assign(x=0.5, y=[0.5, 0.501, 0.502, 0.503])
    ax = draw(scatter, table, width=COLUMN, height=2.5).axes[0]
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text()]
    assert len(boxes) == len(SLUGS)
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])


def test_marks_of_a_row_stand_close_where_others_are_missing():
    table = scores().assign(y=["one"] * 4 + ["two"] * 4).iloc[:6]  # two of four judges in the second row
    first, second = np.split([y for _, y, *_ in marks(draw(forest, table, y="y", hue="judge").axes[0])], [4])
    assert np.diff(first) == pytest.approx(second[1] - second[0]) and second.mean() == pytest.approx(1)


def test_points_that_are_not_named_are_in_the_legend():
    figure = draw(scatter, points().assign(alone=[False, False, True, True]), named="alone")
    assert [text.get_text() for text in figure.axes[0].texts] == PRINTED[2:]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == PRINTED[:2]


def test_a_picture_is_the_same_each_time():
    made = [draw(scatter, points(), width=COLUMN).axes[0] for _ in range(2)]
    one, other = ([text.get_position() for text in ax.texts] for ax in made)
    assert one == other


def test_a_waterfall_that_loses_rows_is_refused():
    with pytest.raises(ValueError, match="a row is lost"):
        draw(waterfall, pd.DataFrame({"step": ["read", "x", "kept"], "count": [10, 1, 8]}))


def test_one_colour_and_marker_per_judge_and_series():
    assert judge_style("gpt_4_vanilla_norules") == judge_style("gpt_4_pair") == judge_style("gpt_4")
    assert len({judge_style(judge) for judge in JUDGES}) == len(JUDGES)
    assert len(set(style_of("abcdefgh").values())) == 8
