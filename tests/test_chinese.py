"""The Chinese edition says what the English one says, by the same keys, and is set as Chinese is."""

import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest
from test_latex import needs_lualatex

from judgekit.report import latex
from judgekit.report.results import code_of, document_files, find_quotes

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "report"
EDITIONS = ("report-zh", "slides-zh")
SOURCES = [*(REPORT / f"{name}.tex" for name in EDITIONS), REPORT / "chinese.sty"]
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
  - name: 王五
    share: 1
    work: [攻击与防御]
    reflection: 更难骗，并不等于骗不了。
"""


def source(name):
    return code_of([REPORT / f"{name}.tex"])


def frames(name):
    """The quotes of each frame of the slides, in order, with its options."""
    body = source(name).split(r"\begin{document}")[1]
    found = re.findall(r"\\begin\{frame\}(\[[^\]]*\])?(.*?)\\end\{frame\}", body, re.DOTALL)
    kinds = r"\\(result(?:pc|ci|n|table|longtable|figure)?)(?![A-Za-z])(?:\[[^\]]*\])?\{([^{}]*)\}"
    return [(options, re.findall(kinds, text)) for options, text in found]


def test_report_quotes_only_what_the_english_texts_quote():
    new = set(find_quotes(document_files("report-zh")))
    new -= {quote for name in ("report", "supplement") for quote in find_quotes(document_files(name))}
    assert not new, f"quoted in Chinese only: {sorted(new)}"


def test_report_has_the_seven_parts_of_the_assignment_in_order():
    assert re.findall(r"\\section\{([^}]*)\}", source("report-zh")) == PARTS


def test_marks_at_the_wrong_end_of_a_line_are_noticed():
    def word(x_min, y_min, x_max, text):
        return f'<word xMin="{x_min}" yMin="{y_min}" xMax="{x_max}" yMax="{y_min + 10}">{text}</word>'

    right = word(50, 100, 90, "甲（") + word(92, 101, 99, "）") + word(50, 114, 60, "丙")
    assert misplaced(right) == []
    assert misplaced(right + word(310, 100, 350, "。乙") + word(50, 128, 60, "丁“")) == ["。乙", "丁“"]


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


@needs_lualatex
@pytest.mark.skipif(not shutil.which("pdftotext"), reason="pdftotext is not installed: nothing could be read")
@pytest.mark.parametrize("name", EDITIONS)
def test_pages_and_lines_of_the_compiled_edition(name, report_copy):
    """Compiled from the tracked results: as many pages as were asked for, no line that begins with a closing mark."""
    (report_copy / "report" / "team.yaml").write_text(TEAM, encoding="utf-8")
    pdf = latex.build("laptop", name)
    html = subprocess.run(["pdftotext", "-bbox", pdf, "-"], capture_output=True, text=True, check=True).stdout
    pages = html.split("<page ")[1:]
    assert len(pages) in ((4, 5, 6) if name == "report-zh" else range(15, 19))
    assert len(re.findall(f"[{HAN}]", html)) > 1000 and "张三" in html
    assert not (wrong := [word for page in pages for word in misplaced(page)]), wrong
