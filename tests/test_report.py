"""The report says nothing that a results file does not: keys, tables, figures, references, no typed numbers."""

import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from doc_page import tracked
from test_latex import needs_lualatex, needs_poppler, read_pdf

from judgekit.data.paths import PRETRAINED
from judgekit.report import latex, load_results, save_results
from judgekit.report.latex import SCRIPTS
from judgekit.report.results import code_of, document_files, find_quotes, read_keys
from judgekit.report.tables import latex_number
from judgekit.report.workflow import jobs_of, notebook_list
from judgekit.stats import Number

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "report"
TEX = sorted([*REPORT.glob("*.tex"), *REPORT.glob("sections/**/*.tex")])
RUN = "laptop"
DIGIT = "零〇一二三四五六七八九"
# A decimal fraction, or a percentage, in figures or in Chinese words; digits in names such as Qwen3-4B or in keys, and
# addresses such as 127.0.0.1, are neither. ASCII: a Chinese character beside a digit is no part of a name.
TYPED = re.compile(
    r"(?<![\w.])(?<![A-Za-z]-)\d+\.\d+(?![\w]|\.\d)"
    r"|(?<![\w.{])\d+\s*(?:\\,)?\s*(?:\\%|％)"
    r"|(?<![\w.])\d+\s+per\s?cent|(?<![\w\d.])\.\d+"
    rf"|百分之|[{DIGIT}十百]点[{DIGIT}]|(?<!\w)[两三四五六七八九]成(?![为功立员果])|[０-９]",
    re.ASCII,
)


@pytest.mark.parametrize("document", latex.DOCUMENTS)
def test_all_that_is_quoted_exists(document):
    results, missing = load_results(RUN), []
    for kind, name in find_quotes(document_files(document)):
        ending = "tex" if kind == "table" else "pdf"
        kept = name in results if kind == "number" else (ROOT / f"outputs/{RUN}/{kind}s/{name}.{ending}").exists()
        missing += [] if kept else [f"{kind} {name}"]
    assert not missing


def test_every_kept_number_is_read():
    kept = set(load_results(RUN))
    assert len(kept) <= 4_000 and not kept - read_keys(kept)


def test_every_section_is_part_of_a_document():
    printed = {path for document in (*latex.DOCUMENTS, latex.OWN) for path in document_files(document)}
    assert set(TEX) <= printed, f"no document inputs {sorted(path.name for path in set(TEX) - printed)}"


@pytest.mark.parametrize("path", TEX, ids=lambda path: path.relative_to(REPORT).as_posix())
def test_no_number_is_typed_by_hand(path):
    lines = [*zip(path.read_text(encoding="utf-8").splitlines(), code_of([path]).splitlines(), strict=True)]
    typed = [code for line, code in lines if TYPED.search(code) and not line.rstrip().endswith("% literal")]
    assert not typed, "quote it with \\result{key}, or end the line with '% literal' if it is a definition"
    hidden = [line for line, _ in lines if "% literal" in line and not line.rstrip().endswith("% literal")]
    assert not hidden, "what stands behind '% literal' is a comment, and not printed"


def test_typed_numbers_are_noticed():
    lines = ["accuracy of 61.1", "61\\%", "61\\,\\%", "by .5 points", "61 \\%", "12 percent"]
    lines += ["准确率61.1分", "准确率为61\\%", "百分之六十一", "六十一点一", "超过六成", "约６１", "占61％"]
    assert all(map(TYPED.search, lines))


def keys_of(command, text):
    """All that stands, between commas, in the braces of a LaTeX command."""
    found = re.findall(rf"\\(?:{command})\{{([^}}]*)\}}", text)
    return {key.strip() for keys in found for key in keys.split(",")}


CITE = r"(?:text|paren|auto)?cite\w*"
TAKEN = REPORT / "sections" / "taken.tex"


def test_references_exist_are_cited_and_say_where_they_are_found():
    cited = keys_of(CITE, code_of([path for path in TEX if path != TAKEN]))
    bibliography = (REPORT / "refs.bib").read_text(encoding="utf-8")
    known = set(re.findall(r"@\w+\{([^,\s]+),", bibliography))
    assert cited <= known, f"cited but not in refs.bib: {sorted(cited - known)}"
    assert known <= cited, f"in refs.bib but not cited: {sorted(known - cited)}"
    listed = re.findall(r"\\textcite\{(.*?)\}", code_of([TAKEN]))
    assert sorted(listed) == sorted(known), "each reference has one line in the table of what is taken from whom"
    entries = re.split(r"^@", bibliography, flags=re.MULTILINE)[1:]
    lost = [entry.split(",")[0] for entry in entries if not re.search(r"\b(?:doi|eprint|url) = \{", entry)]
    assert not lost, "give its DOI, the number of its preprint, or an address"


FLOAT = re.compile(r"\\begin\{(figure|table)(\*?)\}(.*?)\\end\{\1\2\}", re.DOTALL)
OWNED = re.compile(r"\\owner\{\d\d_[a-z_]+\}?$|\\texttt\{tests/[a-z_/\\]+\.py\}\.$")


def test_captions_of_results_end_with_the_notebook_or_script_that_made_them():
    for path in TEX:
        for _, _, body in FLOAT.findall(code_of([path])):
            caption = re.search(r"\\caption\{(.*?)\}\s*\\label", body, re.DOTALL)
            assert caption, f"{path.name}: a float without caption and label: {body.strip()[:60]}"
            if r"\result" in body:
                assert OWNED.search(caption[1].strip()), f"{path.name}: {caption[1][:60]}"


DOCS = sorted([ROOT / "README.md", *ROOT.glob("C*.md"), *ROOT.glob("docs/*.md"), *PRETRAINED.glob("*/README.md")])
# What may be typed on a page, and why.
LITERAL = {
    "95 %": "the level of every interval",
    "3.11": "a version of Python",
    "3.12": "a version of Python",
    "3.13": "a version of Python",
    "4.0": "a licence",
    "2.0": "a licence",
    "2508.03550": "the number of a preprint",
}
TYPED_ON_PAGE = re.compile(r"\d+(?:\.\d+)?\s?[%％]|(?<![\w.])\d+\.\d+(?![\w]|\.\d)|\d+ per ?cent|百分之", re.ASCII)


def page_text(path):
    """A page without what is made from results, code, addresses and front matter."""
    text = re.sub(r"<!-- (\w+):begin -->.*?<!-- \1:end -->", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"```.*?```|^---.*?^---|`[^`\n]*`|\]\([^)]*\)|<[^>\n]*>", "", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_number_is_typed_on_a_page(path):
    typed = set(TYPED_ON_PAGE.findall(page_text(path))) - set(LITERAL)
    assert not typed, "make it from a result (judgekit/report/readme.py), or name it in LITERAL with a reason"


def test_typed_numbers_on_a_page_are_noticed(tmp_path):
    page = tmp_path / "page.md"
    made = "<!-- a:begin -->\n61.1 %\n<!-- a:end -->\n```\n0.5\n```\n`0.5` [x](y-1.5.md) 127.0.0.1 Qwen2.5 v1.5\n"
    page.write_text(f"{made}right on 61.1 or 61% of 12, 占62.5％ and 百分之六十\n", encoding="utf-8")
    assert TYPED_ON_PAGE.findall(page_text(page)) == ["61.1", "61%", "62.5％", "百分之"]


def test_every_kept_figure_and_table_is_shown():
    quotes = find_quotes([path for document in latex.DOCUMENTS for path in document_files(document)])
    text = "\n".join(path.read_text(encoding="utf-8") for path in [*TEX, *DOCS])
    shown = set(re.findall(r"outputs/(?:laptop|\\run)/(tables|figures)/([a-z0-9_]+)", text))
    shown |= {(f"{kind}s", name) for kind, name in quotes}
    listed = tracked(f"outputs/{RUN}/figures", f"outputs/{RUN}/tables")
    kept = {(path.parent.name, path.name.partition(".")[0]) for path in listed}
    assert {folder for folder, _ in kept} == {"figures", "tables"}
    assert sorted(kept - shown) == [], "show it in a document or link it in the docs, or do not save it"


def test_every_notebook_is_referred_to():
    text = code_of(TEX)
    named = keys_of("owner|notebook|from", text)
    notebooks = {path.stem for path in ROOT.glob("notebooks/*.ipynb")}
    assert notebooks <= named, "no document names it as the owner of a figure or table"
    assert {name for name in named if re.match(r"\d\d_", name)} <= notebooks, "there is no such notebook"


def test_every_results_file_has_what_makes_it():
    owners = {path.stem for path in tracked(f"outputs/{RUN}/results")}
    assert owners <= set(jobs_of(RUN)) | set(SCRIPTS), "neither a notebook nor a script makes it"
    assert set(SCRIPTS) <= owners


@needs_lualatex
def test_slides_compile_and_so_does_what_a_run_holds_next_to_nothing_of(report_copy):
    """Report and supplement are compiled below, the Chinese edition in test_chinese.py."""
    assert latex.build(RUN, "slides").stat().st_size > 10_000
    save_results("sample", "30_score_benchmarks", {"scores.sample_dates.minilm.accuracy": Number(0.25, n=20)})
    latex.build("sample", "report-zh")


DRAWN = 10


def drawn_intervals():
    """Ten quoted numbers of ten studies, drawn by a fixed seed: key and interval, as it is printed."""
    quoted = set(re.findall(r"\\result(?:pc|ci)\{([^}]*)\}", code_of(document_files("report"))))
    given = {key: row["interval"] for key, row in load_results(RUN).items() if key in quoted and row["interval"]}
    draw, studies = random.Random(0), sorted({key.split(".")[0] for key in given})
    keys = [draw.choice([key for key in given if key.startswith(f"{study}.")]) for study in draw.sample(studies, DRAWN)]
    return {key: latex_number(given[key]).replace(r"\ensuremath{-}", "−") for key in keys}


@needs_lualatex
@needs_poppler
def test_a_clean_clone_prints_the_kept_numbers(tmp_path):
    for path in tracked("judgekit", "report", "notebooks", "params", "pyproject.toml", f"outputs/{RUN}"):
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    command = [sys.executable, "-m", "judgekit.report.latex", "--document", "supplement", "--document", "report"]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()

    def printed_in(document):
        return "".join(read_pdf(tmp_path / "report" / f"{document}.pdf").split())

    printed = printed_in("report")
    assert not {key: text for key, text in drawn_intervals().items() if "".join(text.split()) not in printed}
    cases = [path.read_text(encoding="utf-8") for path in tracked(f"outputs/{RUN}/cases") if path.suffix == ".tex"]
    starts = [re.search(r"{Question}{\\excerpt{([A-Za-z ]{20})", text)[1].replace(" ", "") for text in cases]
    assert len(starts) == 6 and all(start in printed for start in starts), "a clone holds the texts of the cases"
    assert "Whatistakenfromwhom" in printed_in("supplement")


FIGURE = (REPORT / "overview.tex").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "overview.md").read_text(encoding="utf-8")
DRAWING = FIGURE[FIGURE.index(r"\begin{tikzpicture}") :]


def test_every_label_is_a_macro_and_every_macro_is_drawn():
    defined = set(re.findall(r"\\providecommand\{\\(ov\w+)\}", FIGURE))
    used = set(re.findall(r"\\(ov[A-Z]\w+)", FIGURE.replace("providecommand{", "")))
    assert used == defined
    undrawn = {name for name in defined if f"\\{name}" not in DRAWING} - {"ovWidth"}
    assert not undrawn
    nodes = re.findall(r"\) \{(.*?)\};", DRAWING)
    words = [re.sub(r"\\\w+|[{}\d\s]|--", "", text) for text in nodes]
    assert len(nodes) > 15 and not any(words), f"typed where a macro belongs: {words}"


def test_the_page_names_every_stage_and_the_figure_too():
    stages = {name[0] for name in notebook_list()}
    assert stages == set("1234567")
    for stage in stages:
        assert re.search(rf"`{stage}\d_\w+`", PAGE), f"no notebook of the {stage}0s is named"
        assert re.search(rf"\b{stage}\d", DRAWING), f"the figure lacks the {stage}0s"


def test_the_page_shows_a_picture_that_needs_no_script():
    """A chart in a language of its own is source text on the site."""
    assert "](overview.svg)" in PAGE and "```" not in PAGE
    root = ElementTree.parse(ROOT / "docs" / "overview.svg").getroot()
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {text[0] for text in texts if re.match(r"\d\d", text)} == set("1234567")
    assert not list(root.iter("{http://www.w3.org/2000/svg}script")) and "http" not in "".join(texts)


@pytest.mark.parametrize(
    "left",
    [
        "example: true",
        "  - name: Member one (example)",
        "      name: 成员一（示例）",
        'course: ""',
        "Example of a reflection",
    ],
)
def test_nothing_is_handed_in_while_the_team_is_an_example(left, tmp_path):
    (tmp_path / "team.yaml").write_text(f"members:\n{left}\n", encoding="utf-8")
    command = ["make", "handin", f"TEAM_FILE={tmp_path / 'team.yaml'}"]
    done = subprocess.run(command, cwd=REPORT.parent, capture_output=True, text=True)
    assert done.returncode != 0 and "still to be filled in" in done.stdout and left in done.stdout
    conda = ["make", "-n", "handin", "CONDA_DEFAULT_ENV=judgekit", "CONDA_PREFIX=/opt/conda/envs/judgekit"]
    planned = subprocess.run(conda, cwd=REPORT.parent, capture_output=True, text=True, check=True).stdout
    assert "/opt/conda/envs/judgekit/bin/python -m zipfile" in planned and f"{REPORT.parent}//" not in planned
    (tmp_path / "team.yaml").unlink()
    assert subprocess.run(command, cwd=REPORT.parent, capture_output=True, check=False).returncode != 0
