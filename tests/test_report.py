"""The report says nothing that a results file does not: keys, tables, figures, references, no typed numbers."""

import re
import shutil
from pathlib import Path

import matplotlib
import pytest

from judgekit import latex, paths
from judgekit.results import Number, load_results, save_figure, save_results, save_table

matplotlib.use("Agg")
import matplotlib.pyplot as plt

REPORT = Path(__file__).resolve().parents[1] / "report"
TEX = sorted([*REPORT.glob("*.tex"), *REPORT.glob("sections/*.tex")])
RUN = "laptop"
COMMENT = re.compile(r"(?<!\\)%.*")
# A decimal fraction, or a percentage; digits in names such as Qwen3-4B or in keys are neither.
TYPED = re.compile(
    r"(?<![\w.])(?<![A-Za-z]-)\d+\.\d+(?![\w])|(?<![\w.{])\d+\s*(?:\\,)?\s*\\%|(?<![\w.])\d+\s+per\s?cent|(?<![\w\d])\.\d+"
    "|百分之|％",
    re.ASCII,  # a Han character is no part of a number
)


def test_documents_are_the_files_that_latex_can_compile():
    compiled = {path.stem for path in REPORT.glob("*.tex") if r"\documentclass" in path.read_text(encoding="utf-8")}
    assert compiled == set(latex.DOCUMENTS)


@pytest.mark.parametrize("document", latex.DOCUMENTS)
def test_all_that_is_quoted_exists(document):
    results = load_results(RUN)
    if not results:
        pytest.skip(f"outputs/{RUN}/results is empty: run 'make report RUN={RUN}'")
    latex.check_keys(latex.document_files(document), results, RUN)


@pytest.mark.parametrize("document", latex.DOCUMENTS)
def test_quotes_are_found(document):
    quotes = latex.find_quotes(latex.document_files(document))
    assert {quote.kind for quote in quotes} >= {"number", "figure"}
    assert all(re.fullmatch(r"[a-z0-9_.]+", quote.name) for quote in quotes)


def test_every_section_is_part_of_a_document():
    printed = {path for document in latex.DOCUMENTS for path in latex.document_files(document)}
    assert set(TEX) <= printed, f"no document inputs {sorted(path.name for path in set(TEX) - printed)}"


@pytest.mark.parametrize("path", TEX, ids=lambda path: path.name)
def test_no_number_is_typed_by_hand(path):
    typed = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.rstrip().endswith("% literal") and (found := TYPED.search(COMMENT.sub("", line))):
            typed.append(f"{path.name}:{number}: {found[0]}")
    assert not typed, "quote it with \\result{key}, or end the line with '% literal' if it is a definition"


@pytest.mark.parametrize(
    "line",
    [
        "accuracy of 61.1",
        "61\\%",
        "61\\,\\%",
        "by .5 points",
        "61 \\%",
        "12 percent",
        "准确率为61.1",
        "百分之六",
    ],
)
def test_typed_numbers_are_noticed(line):
    assert TYPED.search(line)


@pytest.mark.parametrize(
    "line", [r"\result{scores.a_1.b_2.c}\,\%", "PandaLM-7B", "GPT-3.5 shows", "Qwen2.5-7B", "in \\%"]
)
def test_names_are_no_numbers(line):
    assert not TYPED.search(line)


def test_references_exist():
    text = "\n".join(COMMENT.sub("", path.read_text(encoding="utf-8")) for path in TEX)
    cited = {
        key.strip()
        for group in re.findall(r"\\(?:text|paren|auto)?cite\w*\{([^}]*)\}", text)
        for key in group.split(",")
    }
    bibliography = (REPORT / "refs.bib").read_text(encoding="utf-8")
    known = set(re.findall(r"@\w+\{([^,\s]+),", bibliography))
    assert cited <= known, f"cited but not in refs.bib: {sorted(cited - known)}"
    assert known <= cited, f"in refs.bib but not cited: {sorted(known - cited)}"


FLOAT = re.compile(r"\\begin\{(figure|table)(\*?)\}(.*?)\\end\{\1\2\}", re.DOTALL)


def test_captions_of_results_end_with_their_notebook():
    for path in TEX:
        for _, _, body in FLOAT.findall(COMMENT.sub("", path.read_text(encoding="utf-8"))):
            caption = re.search(r"\\caption\{(.*?)\}\s*\\label", body, re.DOTALL)
            assert caption, f"{path.name}: a float without caption and label: {body.strip()[:60]}"
            if r"\result" in body:
                assert re.search(r"\\owner\{\d\d_[a-z_]+\}?$", caption[1].strip()), f"{path.name}: {caption[1][:60]}"


PARTS = ["aim", "principle", "content", "results", "limits", "process", "division"]


def test_seven_parts_are_there_in_order():
    text = COMMENT.sub("", (REPORT / "report.tex").read_text(encoding="utf-8"))
    inputs = re.findall(r"\\input\{sections/(\w+)\}", text)
    assert [name for name in inputs if name in PARTS] == PARTS
    assert inputs[0] == "abstract" and "owners" in inputs
    body, appendix = text.split(r"\appendix")
    assert all(f"sections/{name}}}" in body for name in PARTS) and "sections/owners}" in appendix


@pytest.fixture
def invented(tmp_path, monkeypatch):
    """A project with this report and an invented result for all that it quotes."""
    for folder in ("notebooks", "params"):
        (tmp_path / folder).mkdir()
    shutil.copytree(REPORT, tmp_path / "report", ignore=shutil.ignore_patterns("build", "*.pdf"))
    monkeypatch.setattr(paths, "project_root", lambda: tmp_path)
    quotes = {(q.kind, q.name) for d in latex.DOCUMENTS for q in latex.find_quotes(latex.document_files(d))}
    number = Number(0.5, 0.4, 0.6, 1000, ".1%")
    save_results("laptop", "30_score_benchmarks", {name: number for kind, name in quotes if kind == "number"})
    ax = plt.subplots(figsize=(3.4, 1))[1]
    for kind, name in quotes:
        if kind == "figure":
            save_figure(ax, "laptop", name)
        elif kind == "table":
            save_table("laptop", name, [{"judge": "minilm 中文 😀", "accuracy": number}])
    plt.close("all")
    return tmp_path


needs_lualatex = pytest.mark.skipif(
    not all(map(shutil.which, ("lualatex", "latexmk", "biber"))), reason="LaTeX is not installed: nothing was compiled"
)


@needs_lualatex
def test_documents_compile_with_and_without_a_sample_run(invented):
    sample = invented / "report/build/laptop/sample.tex"
    for document in latex.DOCUMENTS:
        assert latex.build("laptop", document).stat().st_size > 10_000
    assert "nosamplerun" in sample.read_text()
    number = Number(0.25, -0.1, 0.5, 20)
    keys = ("scores.sample_dates.minilm.accuracy", "position.sample.minilm.flip_rate")
    save_results("sample", "30_score_benchmarks", dict.fromkeys(keys, number), seconds=60)
    latex.build("laptop", "report")
    assert "nosamplerun" not in sample.read_text()


def test_quoting_the_sample_run_is_refused_in_one_sentence(invented, capsys):
    save_results("sample", "30_score_benchmarks", {"scores.sample_dates.minilm.accuracy": Number(0.5)})
    assert latex.main(["--run", "sample"]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and "run 'sample' lacks" in message and "make report RUN=" in message
