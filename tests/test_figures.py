"""Figures as printed, a palette that colour-blind readers can use, and pictures that draw what their tables say."""

import re
import subprocess
import warnings
import zlib
from itertools import combinations

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from notebook_functions import functions_of
from test_latex import needs_poppler, read_pdf

from judgekit.data.paths import project_root
from judgekit.figures import curve, draw, forest, heat, judge_style, scatter, style_of
from judgekit.figures.style import COLUMN, JUDGES, SLIDE, TEXT, use_style

matplotlib.use("Agg")

waterfall = functions_of("10_clean_preferences").waterfall
label_shares = functions_of("11_audit_benchmarks").label_shares


PHOTOGRAPHS = {"labelling_page"}  # a page as a browser shows it: pixels, without letters of ours
FIGURES = sorted((project_root() / "outputs" / "laptop" / "figures").glob("*.pdf"))
SMALLEST = 5.5  # points, printed
STREAM = re.compile(rb"stream\r?\n(.*?)\r?\nendstream", re.DOTALL)
FONT = re.compile(rb"/F\d+ ([\d.]+) Tf")

each = pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.stem)


def width_of(pdf):
    """Width of the only page in inches, as it is included: nothing is scaled."""
    (box,) = re.findall(rb"/MediaBox \[ ?([\d.]+) ([\d.]+) ([\d.]+) ([\d.]+) ?\]", pdf)
    return (float(box[2]) - float(box[0])) / 72


def letter_sizes(pdf):
    """Sizes of all letters in points; matplotlib writes them into the font operator and never scales text."""
    sizes = set()
    for match in STREAM.finditer(pdf):
        try:
            content = zlib.decompressobj().decompress(match[1])  # a last byte may look like the end of a line
        except zlib.error:  # a stream of another kind
            continue
        sizes |= {float(size) for size in FONT.findall(content)}
    return sizes


def fonts_left_out(pdf):
    """What describes fonts that are not embedded; a font of type 3 is no file, but a drawing of each glyph."""
    parts = dict(re.findall(rb"(\d+) 0 obj(.*?)endobj", pdf, re.DOTALL))
    fonts = [part for part in parts.values() if b"/Subtype /Type3" in part and b"/CharProcs" in part]
    drawn = {re.search(rb"/FontDescriptor (\d+) 0 R", font)[1] for font in fonts}
    described = [part for name, part in parts.items() if b"/Type /FontDescriptor" in part and name not in drawn]
    return [part for part in described if not re.search(rb"/FontFile[23]?\b", part)]


@each
def test_it_has_the_printed_width_embedded_fonts_and_letters_that_can_be_read(path):
    pdf = path.read_bytes()
    assert min(abs(width_of(pdf) - width) for width in (COLUMN, SLIDE, TEXT)) < 0.01 and not fonts_left_out(pdf)
    sizes = letter_sizes(pdf)
    if path.stem in PHOTOGRAPHS:
        assert not sizes and b"/Subtype /Image" in pdf
    else:
        assert sizes, "no text was found: is it a picture of pixels?"
        assert min(sizes) >= SMALLEST, sorted(sizes)


def cut_words(page):
    """Words of a page of ``pdftotext -bbox`` that reach over its edge."""
    width, height = map(float, re.search(r'<page width="([\d.]+)" height="([\d.]+)"', page).groups())
    words = re.findall(r'xMin="(.*?)" yMin="(.*?)" xMax="(.*?)" yMax="(.*?)">(.*?)</word>', page)
    over = []
    for *corners, word in words:
        left, top, right, bottom = map(float, corners)
        # Boxes hold the room above and below letters, which may stand over the edge.
        if left < -0.5 or right > width + 0.5 or top < -1.5 or bottom > height + 1.5:
            over.append(word)
    return over


def is_drawn_over_the_edge(pdf):
    """Whether anything but white touches the edge of the page: boxes of words in fonts of type 3 are too large."""
    command = ["pdftoppm", "-r", "144", "-gray", "-singlefile", pdf]
    _, width, height, _, pixels = subprocess.run(command, capture_output=True, check=True).stdout.split(maxsplit=4)
    page = np.frombuffer(pixels, np.uint8)[-int(width) * int(height) :].reshape(int(height), int(width))
    return min(edge.min() for edge in (page[0], page[-1], page[:, 0], page[:, -1])) < 255


@needs_poppler
@each
def test_no_word_is_cut_at_the_edge(path):
    if path.name.endswith(".zh.pdf"):
        assert not is_drawn_over_the_edge(path)
    else:
        assert cut_words(read_pdf(path, "-bbox")) == []


@needs_poppler
def test_faulty_figures_are_seen(tmp_path):
    use_style()
    figure = plt.figure(figsize=(5, 1))
    figure.text(0.9, 0.5, "small, and beyond the edge", fontsize=4.5)
    figure.savefig(tmp_path / "figure.pdf")
    plt.close("all")
    pdf = (tmp_path / "figure.pdf").read_bytes()
    assert width_of(pdf) == pytest.approx(5) and min(letter_sizes(pdf)) == 4.5 and not fonts_left_out(pdf)
    assert fonts_left_out(pdf.replace(b"/FontFile2", b"/NoFile"))
    with plt.rc_context({"pdf.fonttype": 3}):
        figure.savefig(tmp_path / "drawn.pdf")
    pdf_of_type_3 = (tmp_path / "drawn.pdf").read_bytes()
    assert not fonts_left_out(pdf_of_type_3) and fonts_left_out(pdf_of_type_3.replace(b"/CharProcs", b"/NoGlyphs"))
    assert cut_words(read_pdf(tmp_path / "figure.pdf", "-bbox"))
    assert is_drawn_over_the_edge(tmp_path / "drawn.pdf")


# Machado, Oliveira and Fernandes (2009), IEEE TVCG 15(6), Table 1, severity 1.0: applied to linear RGB.
SEEN_WITH = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    "all colours": np.eye(3).tolist(),
}
# CIE 1931 XYZ of linear sRGB (IEC 61966-2-1), and its white.
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
# Marks that look alike at the size they are printed.
ALIKE = {"8": "o", "h": "o", "H": "o", "p": "o", "d": "D"}
APART = 10  # CIE76 difference in Lab: about four times what side-by-side patches need


def lab(colour, matrix):
    """A colour in Lab, as someone with that vision sees it."""
    srgb = np.array(to_rgb(colour))
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(np.array(matrix) @ linear, 0, 1) / TO_XYZ.sum(1)
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def confused(styles, matrix, apart=APART):
    """Pairs of judges with markers that look alike whose colours cannot be told apart."""
    seen = {judge: lab(colour, matrix) for judge, (colour, _) in styles.items()}
    return [
        (one, other)
        for one, other in combinations(styles, 2)
        if ALIKE.get(styles[one][1], styles[one][1]) == ALIKE.get(styles[other][1], styles[other][1])
        and np.linalg.norm(seen[one] - seen[other]) < apart
    ]


@pytest.mark.parametrize("vision", [*SEEN_WITH, "grey"])
def test_judges_can_be_told_apart(vision):
    assert not confused(JUDGES, SEEN_WITH.get(vision, [TO_XYZ[1]] * 3), apart=5 if vision == "grey" else APART)


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
    return table.assign(low=table["value"] - 0.05, high=table["value"] + 0.05, random=0.4)


def contests():
    rows = [(a, b, 0.1 * (i - j), abs(i - j) > 1) for i, a in enumerate(SLUGS) for j, b in enumerate(SLUGS) if i != j]
    return pd.DataFrame(rows, columns=["judge", "other", "value", "clear"])


def labels():
    return pd.DataFrame({"set": ["PandaLM", "LLMBar"], "A": 50, "B": 40, "tie": 0})


def steps():
    return pd.DataFrame({"step": ["read", "duplicate", "empty", "kept"], "count": [1000, 300, 1, 699]})


PICTURES = [
    (forest, scores, {"panel": "set", "reference": 0.5}),
    (forest, scores, {"y": "set", "hue": "judge", "clear": "clear"}),
    (curve, lines, {"x": "share", "spread": "band", "beside": {"random": "random routing"}}),
    (curve, lines, {"x": "share", "spread": "bars", "diagonal": True, "percent": "xy"}),
    (scatter, points, {}),
    (heat, contests, {"x": "other", "y": "judge", "limit": 0.5, "clear": "clear"}),
]
IN_NOTEBOOKS = [(label_shares, labels, {}), (waterfall, steps, {})]


@pytest.mark.parametrize("width", [COLUMN, TEXT])
@pytest.mark.parametrize(("kind", "table", "options"), [*PICTURES, *IN_NOTEBOOKS])
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
    with pytest.raises(AssertionError, match="a row is lost"):
        draw(waterfall, pd.DataFrame({"step": ["read", "x", "kept"], "count": [10, 1, 8]}))


def test_one_colour_and_marker_per_judge_and_series():
    assert judge_style("gpt_4_vanilla_norules") == judge_style("gpt_4_pair") == judge_style("gpt_4")
    assert len(set(style_of("abcdefgh").values())) == 8
