"""The Chinese edition says what the English one says, by the same keys, and is set as Chinese is."""

import re
from html import unescape
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.text import Text
from test_latex import needs_lualatex, needs_poppler, read_pdf

from judgekit.data import paths
from judgekit.figures import curve, draw, forest, heat, save_chinese, scatter, use_style
from judgekit.judges import names
from judgekit.report import latex, save_figure
from judgekit.report.results import CHINESE_DOCUMENTS as EDITIONS
from judgekit.report.results import code_of, document_files, find_quotes

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "report"
SOURCES = [*dict.fromkeys(path for name in EDITIONS for path in document_files(name)), REPORT / "chinese.sty"]
HAN = "\u4e00-\u9fff"
PARTS = "实验目的 实验原理 实验内容 实验结果与分析 对于自己模型局限性的思考 实验过程总结和感想 实验分工".split()
TEAM = """
members:
  - name: 张三
    share: 2
    work: [语料的清洗与去污染, 训练（MiniLM + LoRA）]
    reflection: 不读内容的对照就能拿到大半分数——这是没有料到的。
  - name: 李四
    share: 1
    work: [计分规则, 偏差]
    reflection: “平局”的含义各不相同；先用公开的判定核对计分代码，心里才踏实。
"""


QUOTED = re.compile(r"\\(result(?:pc|ci|n|table|longtable|figure)?)(?![A-Za-z])(?:\[[^\]]*\])?\{([^{}]*)\}")


def source(name):
    return code_of([REPORT / f"{name}.tex"])


def frames(name):
    """The quotes of each frame of the slides, in order, with its options."""
    body = source(name).split(r"\begin{document}")[1]
    found = re.findall(r"\\begin\{frame\}(\[[^\]]*\])?(.*?)\\end\{frame\}", body, re.DOTALL)
    return [(options, QUOTED.findall(text)) for options, text in found]


def sections(document):
    """The files of a document's sections, in order, by their names."""
    return {path.stem: path for path in document_files(document) if (REPORT / "sections") in path.parents}


FLOAT = re.compile(r"\\begin\{(table|figure)(\*?)\}.*?\\end\{\1\2\}", re.DOTALL)
HEADING = r"(?=\\(?:sub)*section\*?\{)"
DISPLAY = re.compile(r"\\\[(.*?)\\\]|\\begin\{gather\*\}(.*?)\\end\{gather\*\}", re.DOTALL)


def cells(table):
    """What is quoted in each cell of a table."""
    return [tuple(QUOTED.findall(cell)) for cell in re.split(r"&|\\\\", table)]


def said(code):
    """What a piece of a report refers to and shows: numbers with what is printed of them, keys, places, formulas."""
    shown = {(kind, key) for kind, key in QUOTED.findall(code) if kind != "resultpc"}
    shown |= {(kind, key) for pc, key in QUOTED.findall(code) if pc == "resultpc" for kind in ("result", "resultci")}
    cited = {key.strip() for keys in re.findall(r"\\(?:text)?cite\{([^}]*)\}", code) for key in keys.split(",")}
    places = set(re.findall(r"\\(?:ref|label|supplement|owner|notebook|input)\{([^}]*)\}", code))
    places |= set(re.findall(r"\\reference\{[^}]*\}\{([^}]*)\}", code))
    # Words, spaces and the mark that ends a formula are those of the language.
    formulas = ["".join(found) for found in DISPLAY.findall(code)]
    formulas = [re.sub(r"\\(?:text|mathrm)\{[^}]*\}|\\[, ]|\s", "", formula).rstrip(".,;") for formula in formulas]
    places = {place.replace("sections/zh/", "sections/") for place in places}
    tables = re.findall(r"\\begin\{tabular\}.*?\\end\{tabular\}", code, re.DOTALL)
    return {
        "numbers, tables and figures": shown,
        "cells": {(number, *cell) for number, table in enumerate(tables) for cell in enumerate(cells(table))},
        "references": cited,
        "places": places,
        "formulas": set(formulas),
        "items": {code.count(r"\item")},
    }


def pieces(path):
    """The floats of a section by kind and label, then the text between its headings."""
    code = code_of([path])
    floats = {re.search(r"\\label\{([^}]*)\}", found[0])[1]: found[0] for found in FLOAT.finditer(code)}
    texts = re.split(HEADING, FLOAT.sub("", code))
    return floats | {f"text {number}": text for number, text in enumerate(texts)}


def test_report_has_the_seven_parts_of_the_assignment_in_order():
    body, appendix = source("report-zh").split(r"\appendix")
    files = [REPORT / f"{name}.tex" for name in re.findall(r"\\input\{(sections/zh/\w+)\}", body)]
    assert re.findall(r"\\section\{([^}]*)\}", code_of(files)) == PARTS
    assert "sections/zh/owners}" in appendix and "sections/owners}" in source("report").split(r"\appendix")[1]


def test_report_has_the_sections_of_the_english_one_in_order():
    english, chinese = sections("report"), sections("report-zh")
    assert list(chinese) == list(english) and len(english) > 15 and next(iter(english)) == "abstract"
    assert {path.parent.name for path in chinese.values()} == {"zh"}
    for paths_of in (english, chinese):  # what is compared below is found at all
        assert all(said(code_of(list(paths_of.values()))).values())


@pytest.mark.parametrize("name", sections("report"))
def test_a_section_shows_and_cites_what_the_english_one_does(name):
    english, chinese = pieces(sections("report")[name]), pieces(sections("report-zh")[name])
    assert list(chinese) == list(english)
    for piece, text in english.items():
        theirs, ours = said(text), said(chinese[piece])
        for kind in theirs:
            lacks, adds = theirs[kind] - ours[kind], ours[kind] - theirs[kind]
            assert not lacks | adds, f"{piece}, {kind}: only in English {lacks}, only in Chinese {adds}"


def test_slides_are_the_same_frames_over_the_same_keys_and_figures():
    english, chinese = frames("slides"), frames("slides-zh")
    assert len(chinese) == len(english) > 10
    for number, (ours, theirs) in enumerate(zip(chinese, english, strict=True), 1):
        assert ours[0] == theirs[0], f"frame {number}: other options"
        assert sorted(ours[1]) == sorted(theirs[1]), f"frame {number} quotes otherwise than the English one"


def half_width(code):
    """Lines of LaTeX in which punctuation beside Chinese characters is not as wide as they are."""
    text = re.sub(r"\$[^$\n]*\$|\\[A-Za-z@]+\*?(\[[^\]\n]*\])?(\{[a-z0-9_.:,]*\})?", "\ufffc", code)
    wrong = re.compile(rf"[{HAN}”）][,;:?!(]|[{HAN}]\.(?!\d)|[,;:?!)][{HAN}“（]")
    return list(filter(wrong.search, text.splitlines()))


def test_punctuation_beside_han_is_full_width():
    assert half_width(code_of(SOURCES)) == []
    faulty = ["准确率,一致率", "准确率(见下)", "完毕.", "“引号”,"]
    assert half_width("\n".join(faulty)) == faulty


WORD = re.compile(r'<word xMin="([\d.]+)" yMin="([\d.]+)" xMax="([\d.]+)" yMax="([\d.]+)">(.*?)</word>')
GUTTER = 11.0  # points: wider than any space in a line, narrower than that between columns


def misplaced(page):
    """Words of a page of ``pdftotext -bbox`` that begin a line with a closing mark, or end one with an opening mark."""
    words = [(*map(float, found[:4]), unescape(found[4])) for found in WORD.findall(page)]

    def beside(word, gap):
        middle = (word[1] + word[3]) / 2
        return any(other is not word and -5 < gap(other) < GUTTER and other[1] < middle < other[3] for other in words)

    return [
        word[4]
        for word in words
        if (word[4][0] in "，。、；：！？）》”’…—" and not beside(word, lambda other, w=word: w[0] - other[2]))
        or (word[4][-1] in "（《“‘" and not beside(word, lambda other, w=word: other[0] - w[2]))
    ]


FIGURES = ROOT / "outputs" / "laptop" / "figures"
PICTURED = sorted({name for kind, name in find_quotes(SOURCES) if kind == "figure"})


@pytest.fixture
def chinese_font():
    use_style()
    if len(plt.rcParams["font.family"]) == 1:
        pytest.skip("no font for Chinese is installed: no figure could be made")


needs_font = pytest.mark.usefixtures("chinese_font")


def english_words(text):
    """English words left in the text of a figure, which may lack spaces; one letter is a unit (10M).

    Left out are names that are the same in both languages, and Chinese ones, which may hold Latin words.
    """
    text, parts = text.replace(" ", ""), names.printed_names()
    printed = {name for part in parts.values() for name in part.values() if name not in parts["chinese"]}
    for name in sorted(printed - {""}, key=len, reverse=True):
        text = text.replace(name.replace(" ", ""), "|")
    return re.findall("[A-Za-z]{2,}", text)


def words_of(figure):
    return [text.get_text() for text in figure.findobj(Text)]


def box_of(path):
    return re.search(rb"/MediaBox \[.*?\]", path.read_bytes())[0]


def test_names_are_chinese():
    chinese = names.printed_names()["chinese"]
    assert len(chinese) > 80
    assert [name for name in chinese.values() if not re.search(f"[{HAN}（，：]", name)] == []
    assert half_width("\n".join(chinese.values())) == []


def all_judges():
    """A table of every judge and set that has a name."""
    models, sets = names.printed_names()["models"], list(names.printed_names()["sets"].values())
    table = pd.DataFrame({"judge": list(models), "set": sets[:12] + sets[-12:-11] * (len(models) - 12)})
    table["value"] = [0.2 + 0.6 * rank / len(table) for rank in range(len(table))]
    return table.assign(low=table["value"] - 0.05, high=table["value"] + 0.05, x=table["value"], y=1 - table["value"])


WORDS = {"xlabel": "accuracy (%)", "ylabel": "mean accuracy, ordinary sets (%)"}


@needs_font
@needs_poppler
@pytest.mark.parametrize(("kind", "options"), [(scatter, {}), (heat, {"x": "set", "y": "judge"})])
def test_a_figure_has_chinese_words_and_the_same_numbers_at_the_same_size(kind, options, tmp_path):
    figure = draw(kind, all_judges(), **options, **({} if kind is heat else WORDS))
    numbers = [figure.number for figure in map(plt.figure, plt.get_fignums())]
    figure.savefig(tmp_path / "one.pdf")
    before = words_of(figure)
    for name in ("one.zh.pdf", "two.zh.pdf"):
        save_chinese(figure, tmp_path / name, metadata={"CreationDate": None})
    assert (tmp_path / "one.zh.pdf").read_bytes() == (tmp_path / "two.zh.pdf").read_bytes()
    assert words_of(figure) == before and plt.get_fignums() == numbers, "the notebook shows the English figure"
    english, chinese = (read_pdf(tmp_path / name, "-raw") for name in ("one.pdf", "one.zh.pdf"))
    assert english_words(english) and not english_words(chinese) and len(re.findall(f"[{HAN}]", chinese)) > 50
    if kind is heat:  # cells: of other axes there may be room for a further tick
        assert sorted(re.findall(r"\d", english)) == sorted(re.findall(r"\d", chinese))
    assert box_of(tmp_path / "one.pdf") == box_of(tmp_path / "one.zh.pdf")
    plt.close("all")


@needs_font
@needs_poppler
def test_a_word_that_the_names_lack_is_noticed(tmp_path):
    table = pd.DataFrame({"judge": ["minilm", "people"], "n": [1, 2], "value": [0.1, 0.2]})
    save_chinese(draw(curve, table, x="n", ylabel="some rate (%)"), tmp_path / "figure.pdf")
    assert "".join(english_words(read_pdf(tmp_path / "figure.pdf", "-raw"))) == "somerate"


@needs_font
def test_what_a_chinese_document_quotes_is_saved_in_both_languages(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "project_root", lambda: tmp_path)
    (tmp_path / "report" / "sections" / "zh").mkdir(parents=True)
    (tmp_path / "report" / "slides-zh.tex").write_text(r"\input{sections/zh/one}", encoding="utf-8")
    (tmp_path / "report" / "sections" / "zh" / "one.tex").write_text(r"\resultfigure[3in]{quoted}", encoding="utf-8")
    figure = draw(forest, all_judges())
    saved = {name: save_figure(figure, "sample", name).with_suffix(".zh.pdf") for name in ("quoted", "other")}
    assert saved["quoted"].is_file() and not saved["other"].exists()
    with plt.rc_context({"font.family": ["DejaVu Sans"]}):  # as where no font for Chinese is installed
        save_figure(figure, "sample", "quoted")
    assert not saved["quoted"].exists(), "it shows earlier numbers"


def test_the_quoted_figures_and_no_others_are_there_in_chinese():
    there = {path.name.removesuffix(".zh.pdf") for path in FIGURES.glob("*.zh.pdf")}
    assert there == set(PICTURED), "execute its notebook where a font for Chinese is installed, or quote it"


@needs_poppler
@pytest.mark.parametrize("name", PICTURED)
def test_a_tracked_figure_has_no_english_words_and_the_size_of_the_english_one(name):
    text = read_pdf(FIGURES / f"{name}.zh.pdf", "-raw")
    assert not english_words(text) and re.search(f"[{HAN}]", text)
    assert box_of(FIGURES / f"{name}.zh.pdf") == box_of(FIGURES / f"{name}.pdf")


@needs_lualatex
@needs_poppler
@pytest.mark.parametrize("name", EDITIONS)
def test_pages_and_lines_of_the_compiled_edition(name, report_copy):
    (report_copy / "report" / "team.yaml").write_text(TEAM, encoding="utf-8")
    if name == "report-zh":
        latex.build("laptop", "supplement")  # the report points into it
    figures = report_copy / "outputs" / "laptop" / "figures"
    shown = [figure for kind, figure in find_quotes(document_files(name)) if kind == "figure"]
    (figures / f"{shown[0]}.zh.pdf").unlink(missing_ok=True)
    pdf = latex.build("laptop", name)
    read = (report_copy / "report" / "build" / "laptop" / f"{name}.fls").read_text(encoding="utf-8")
    for figure in shown:  # the Chinese one where there is one
        chinese = (figures / f"{figure}.zh.pdf").is_file()
        assert (f"figures/{figure}.zh.pdf" in read, f"figures/{figure}.pdf" in read) == (chinese, not chinese)
    html = read_pdf(pdf, "-bbox")
    assert WORD.search(html)
    pages = html.split("<page ")[1:]
    assert len(pages) in (range(12, 16) if name == "report-zh" else range(15, 19))
    assert len(re.findall(f"[{HAN}]", html)) > 1000 and "张三" in html
    assert not (wrong := [word for page in pages for word in misplaced(page)]), wrong
