"""Figures as printed: width, size of letters, embedded fonts; and a palette that colour-blind readers can use."""

import re
import shutil
import subprocess
import zlib
from itertools import combinations

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from judgekit.data.paths import project_root
from judgekit.figures.style import COLUMN, JUDGES, SLIDE, TEXT, use_style

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
    """Names of fonts that are described but not embedded."""
    described = re.findall(rb"/Type /FontDescriptor.*?endobj", pdf, re.DOTALL)
    return [part for part in described if not re.search(rb"/FontFile[23]?\b", part)]


def test_there_are_figures():
    assert len(FIGURES) > 40


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


def words_of(path):
    return subprocess.run(["pdftotext", "-bbox", path, "-"], capture_output=True, text=True, check=True).stdout


needs_poppler = pytest.mark.skipif(
    not shutil.which("pdftotext"), reason="poppler's pdftotext is not installed: nobody looked for words that are cut"
)


@needs_poppler
@each
def test_no_word_is_cut_at_the_edge(path):
    assert cut_words(words_of(path)) == []


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
    assert cut_words(words_of(tmp_path / "figure.pdf"))


# ---------------------------------------------------------------- colours

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


@pytest.mark.parametrize("vision", SEEN_WITH)
def test_judges_can_be_told_apart(vision):
    assert not confused(JUDGES, SEEN_WITH[vision])


def test_judges_can_be_told_apart_in_grey():
    grey = [TO_XYZ[1].tolist()] * 3
    assert not confused(JUDGES, grey, apart=5)


def test_a_palette_that_colour_blind_readers_confuse_is_seen():
    red_green = {"one": ("#b03030", "o"), "other": ("#5c6a20", "o")}
    assert not confused(red_green, SEEN_WITH["all colours"])
    assert confused(red_green, SEEN_WITH["deuteranopia"]) or confused(red_green, SEEN_WITH["protanopia"])
    assert not confused({"one": ("#b03030", "o"), "other": ("#5c6a20", "s")}, SEEN_WITH["deuteranopia"])
