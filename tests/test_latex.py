"""judgekit.report.latex: what LaTeX gets is safe, what it lacks is named, and a hostile page compiles."""

import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hostile import LATEX as HOSTILE
from hypothesis import example, given
from hypothesis import strategies as st

from judgekit.data import paths
from judgekit.report import latex, save_results, save_table
from judgekit.report.escaping import escape, typeset
from judgekit.report.latex import write_generated
from judgekit.report.results import document_files, find_quotes
from judgekit.stats import Number

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """An empty project that has this one's style file, and nothing of its results."""
    for folder in ("notebooks", "params", "report"):
        (tmp_path / folder).mkdir()
    shutil.copy(REPOSITORY / "report" / "results.sty", tmp_path / "report")
    monkeypatch.setattr(paths, "project_root", lambda: tmp_path)
    return tmp_path


def write_document(project, body, preamble=r"\usepackage{results}"):
    """A report of one page."""
    text = rf"\documentclass{{article}}{preamble}\begin{{document}}" + "\n" + body + "\n" + r"\end{document}"
    (project / "report" / "report.tex").write_text(text + "\n", encoding="utf-8")


def written_numbers(project):
    """What a build of the laptop run inputs of its numbers."""
    write_generated("laptop")
    return (project / "outputs" / "laptop" / "numbers.tex").read_text(encoding="utf-8")


needs_lualatex = pytest.mark.skipif(
    not (shutil.which("lualatex") and shutil.which("latexmk") and shutil.which("biber")),
    reason="LaTeX is not installed: nothing was compiled",
)
needs_poppler = pytest.mark.skipif(not shutil.which("pdftotext"), reason="pdftotext is not installed: nothing was read")


def read_pdf(path, *options):
    """The text of a document, or what stands where on its pages."""
    return subprocess.run(["pdftotext", *options, path, "-"], capture_output=True, text=True, check=True).stdout


def unescaped(tex):
    """``tex`` without the commands that ``escape`` may write; what is left must hold nothing special."""
    tex = re.sub(r"\\(unitext|codepoint|ensuremath)\{(\\[a-z]+|-|[^\\{}$&#%_^~]*)\}", "", tex)
    tex = re.sub(r"\\rtltext\{((?:[^\\{}]|\\.)*)\}", r"\1", tex)
    tex = re.sub(r"\\text(backslash|asciicircum|asciitilde|asciigrave|quotedbl|bar)\{\}", "", tex)
    return re.sub(r"\\text(less|greater)\\kern0pt\{\}|\\kern0pt\{\}|\\[{}$&#%_-]|~", "", tex)


@given(st.text(st.characters(codec=None)))
@example("".join(map(chr, range(0x250))))
@example("\\unitext{x} ^^41 \x00\ud800")
def test_escape_is_total(text):
    tex = escape(text)
    tex.encode("utf-8")
    assert "\n" not in tex
    assert not set(unescaped(tex)) & set("\\{}$&#%_^~")


@given(st.text(st.characters(codec=None)), st.integers(1, 50))
@example("a\u0301" * 60, 7)
@example("😀\u200d" * 40, 9)
def test_typeset_is_total(text, limit):
    tex = typeset(text, limit)
    tex.encode("utf-8")
    assert tex.startswith(r"\excerpt{") and tex.endswith("}")
    body = re.sub(r"\\(wordbreak|newlinemark|cutmark|emptytext|rtltext)(\{\})?", "", tex[len(r"\excerpt{") : -1])
    assert not set(unescaped(body)) & set("\\$&#%_^~")
    assert tex.replace(r"\{", "").replace(r"\}", "").count("{") == tex.replace(r"\{", "").replace(r"\}", "").count("}")


def test_quotes_are_found_in_order_and_not_in_comments(project):
    (project / "report" / "sections").mkdir()
    part = "x\n\\result\n{a.b}\\resultlongtable{t} % \\result{not.this}"
    (project / "report" / "sections" / "one.tex").write_text(part)
    write_document(project, "\n\\resultpc{a.c}\\resultfigure[3in]{f}\n\\input{sections/one}", "")
    quotes = find_quotes(document_files("report"))
    assert quotes == [("number", "a.c"), ("figure", "f"), ("number", "a.b"), ("table", "t")]


def test_run_without_results_is_one_sentence(project, capsys):
    write_document(project, r"\result{a.b}")
    assert latex.main(["--run", "sample"]) == 2
    assert "make report RUN=sample" in capsys.readouterr().err


def test_numbers_are_written_with_signs_and_dashes(project):
    numbers = {"a.b": Number(-0.5, -0.6, -0.4, 1200), "a.p": Number(2e-5, spec=".0e"), "a.unquoted": Number(1)}
    save_results("laptop", "10_x", numbers)
    write_document(project, "\\result{a.b} \\result{a.p} % \\result{a.unquoted}")
    tex = written_numbers(project)
    assert tex.count("DefineResult") == 2, "what no document quotes is not read by any"
    minus = r"\ensuremath{-}"
    assert rf"\DefineResult{{a.b}}{{{minus}0.500}}{{{minus}0.600 to {minus}0.400}}{{1,200}}% 10_x" in tex
    assert r"\DefineResult{a.p}{2\ensuremath{\times10^{-5}}}{--}{--}" in tex


@pytest.mark.parametrize(
    ("low", "high", "spec", "tex", "markdown"),
    [
        (-0.057, -0.023, ".1%", r"\ensuremath{-}5.7 to \ensuremath{-}2.3", "−5.7 to −2.3"),
        (-0.057, 0.188, ".1%", r"\ensuremath{-}5.7 to 18.8", "−5.7 to 18.8"),
        (-0.057, -0.0001, ".1%", r"\ensuremath{-}5.7 to 0.0", "−5.7 to 0.0"),
        (-0.0001, 0.188, ".1%", "0.0–18.8", "0.0–18.8"),
        (0.124, 0.188, ".1%", "12.4–18.8", "12.4–18.8"),
        (1e5, 2e5, ".0e", r"1\ensuremath{\times10^{5}}–2\ensuremath{\times10^{5}}", None),
    ],
)
def test_bounds_with_signs_stand_apart(project, low, high, spec, tex, markdown):
    number = Number(high, low, high, spec=spec)
    save_results("laptop", "10_x", {"a.b": number})
    write_document(project, r"\resultci{a.b}")
    assert f"{{{tex}}}{{--}}%" in written_numbers(project)
    table = save_table("laptop", "t", [{"gain": number}])
    assert f"({tex})" in table.read_text()
    assert markdown is None or f"({markdown})" in table.with_suffix(".md").read_text()


def test_a_number_leads_to_its_file_and_command(project):
    save_results("laptop", "10_x", {"a.b": Number(0.5), "a.c": Number(0.25)})
    save_results("laptop", "bench", {"bench.b": Number(0.5)})
    write_document(project, r"\result{a.b}\resultci{bench.b}")
    owners = (write_generated("laptop") / "report_owners.tex").read_text().replace(r"\wordbreak{}", "")
    command = r"\texttt{python -m judgekit.report.workflow run 10\_x laptop}"
    key = r"{\ownerkey{a.b}{\texttt{a.b}}}"
    assert rf"\ownerlist{{\texttt{{10\_x}}}}{{no repository}}{{{command}}}{key}" in owners
    assert r"\ownerlist{\texttt{bench}}{no repository}{\texttt{python tests/bench/encoder\_speed.py}}" in owners
    assert "a.c" not in owners


def test_the_supplement_lists_what_any_document_quotes_and_the_footer_counts_files(project):
    for notebook, key in (("10_x", "a.b"), ("11_y", "c.d"), ("12_z", "e.f")):
        path = save_results("laptop", notebook, {key: Number(0.5)})
        document = json.loads(path.read_text())
        document["provenance"] |= {"git": ("a" if notebook == "12_z" else "b") * 40, "dirty": notebook == "12_z"}
        path.write_text(json.dumps(document))
    write_document(project, r"\result{a.b}")
    (project / "report" / "supplement.tex").write_text(r"\documentclass{article}\result{c.d}")
    folder = write_generated("laptop")
    report, supplement = ((folder / f"{name}_owners.tex").read_text() for name in ("report", "supplement"))
    assert r"\ownerkey{c.d}" in supplement and r"\ownerkey{a.b}" in supplement and "e.f" not in supplement
    assert r"\ownerkey{a.b}" in report and "c.d" not in report and "{bbbbbbb}" in report
    made = (folder / "provenance.tex").read_text()
    assert r"\runcommit}{bbbbbbb}" in made and r"\runcount}{2}" in made and r"\runnotebooks}{3}" in made


@pytest.mark.parametrize(
    ("team", "words"),
    [
        ("members: [{name: X, share: 1, work: [a]}]", 'member 1 has no "reflection", or none of its kind'),
        ("members: [{name: X, share: 1, work: a, reflection: r}]", 'member 1 has no "work"'),
        ("members: [{name: X, share: 1, work: [a], reflection: r, zh: 1}]", 'member 1 has no "zh", or none'),
        ("members: [{name: X, share: 1, work: [a], reflection: r}]\nzh: X", r'team\.yaml: "zh" is no list of fields'),
        ("members: [Ann]", 'member 1 has no "name"'),
        ("members:", 'member 1 has no "name"'),
        ("members: 3", r"team\.yaml: no fields with a list of members"),
        ("Ann and Bob", r"team\.yaml: no fields with a list of members"),
        ("members: [{name: X", r"team\.yaml is not YAML: while parsing"),
    ],
)
def test_team_without_a_field_is_an_error(project, team, words):
    (project / "report" / "team.yaml").write_text(team)
    write_document(project, "x")
    with pytest.raises(ValueError, match=words):
        write_generated("laptop")


def test_what_is_left_empty_in_chinese_is_said_in_english(project):
    """At 83ba5504 an emptied field ended in a traceback, and an emptied name was printed as None."""
    member = "{name: Ann, share: 1, work: [reads], reflection: r, zh: "
    members = f"members: [{member}}}, {member}{{name: , work: , reflection: }}}}]"
    (project / "report" / "team.yaml").write_text(f"zh:\ncourse: C\n{members}\n")
    write_document(project, "x")
    text = (write_generated("laptop") / "team.tex").read_text()
    assert r"\teamauthorszh}{Ann、Ann}" in text and r"\teamoccasionzh}{C}" in text and text.count("reads") == 4


@needs_lualatex
def test_hostile_text_compiles(project):
    rows = [{"kind": kind, "text": text} for kind, text in HOSTILE.items()]
    save_table("laptop", "hostile", rows)
    (project / "outputs" / "laptop" / "tables" / "hostile.tex").unlink()
    body = "\n\n".join(rf"\textbf{{{kind}}}: {typeset(text, 6000)}" for kind, text in HOSTILE.items())
    escaped = "\n\n".join(escape(text) for kind, text in HOSTILE.items() if "long" not in kind)
    save_results("laptop", "10_x", {"a.b": Number(0.611, 0.58, 0.64, 999, ".1%")})
    numbers = r"Number \result{a.b} (\resultci{a.b}; \resultn{a.b})."
    write_document(project, rf"{numbers}\par {body}\par \small {escaped}")
    pdf = latex.build("laptop", "report")
    log = (project / "report" / "build" / "laptop" / "report.log").read_text(errors="replace")
    assert not re.findall("Missing character.*", log)
    assert not [line for line in re.findall(r"Overfull \\hbox \((\d+)", log) if int(line) > 40]
    if not shutil.which("pdftotext"):
        pytest.skip("pdftotext is not installed: the page compiled, its text was not read")
    text = read_pdf(pdf, "-layout")
    assert "61.1 (58.0–64.0; 999)." in text
    assert r"\input{/etc/passwd}" in text and "root:" not in text
    assert "[U+0000]" in text and "[U+D800]" in text and "(empty)" in text and "[[A]]" in text


@needs_lualatex
def test_a_build_that_failed_is_made_once_the_fault_is_mended(project):
    """The log of the first says that a bibliography is missing: latexmk then makes that, from nothing, and fails."""
    save_results("laptop", "10_x", {"a.b": Number(0.5)})
    (project / "report" / "refs.bib").write_text("@misc{one, title={One}, author={A. Author}, year={2026}}")
    preamble = r"\usepackage{results}\usepackage[backend=biber]{biblatex}\addbibresource{refs.bib}"
    body = r"\cite{one}\result{a.late}\printbibliography"
    write_document(project, body, preamble)
    with pytest.raises(latex.BuildError, match=r"No result 'a\.late'"):
        latex.build("laptop", "report")
    save_results("laptop", "10_x", {"a.b": Number(0.5), "a.late": Number(0.25)})
    assert latex.build("laptop", "report").is_file()


@needs_lualatex
def test_a_report_that_was_compiled_before_its_supplement_is_compiled_again(project):
    """At dda19e23 its references stayed lost, since nothing that latexmk watches had changed."""
    save_results("laptop", "10_x", {"a.b": Number(0.5)})
    preamble = r"\usepackage{results}\usepackage{xr}\externaldocument[S:]{build/\run/supplement}"
    write_document(project, r"\result{a.b} \ref{S:s}", preamble)
    with pytest.raises(latex.BuildError, match="Reference `S:s'"):
        latex.build("laptop", "report")
    supplement = r"\documentclass{article}\begin{document}\section{A}\label{s}\end{document}"
    (project / "report" / "supplement.tex").write_text(supplement)
    assert latex.build("laptop", "supplement").is_file() and latex.build("laptop", "report").is_file()


@needs_lualatex
def test_a_document_is_compiled_again_only_if_something_changed(project):
    save_results("laptop", "10_x", {"a.b": Number(0.5)})
    write_document(project, r"\result{a.b}")
    built = project / "report" / "build" / "laptop"
    pdf = latex.build("laptop", "report")
    first = (built / "report.log").stat().st_mtime_ns
    pdf.unlink()
    assert latex.build("laptop", "report").is_file() and (built / "report.log").stat().st_mtime_ns == first
    save_results("laptop", "10_x", {"a.b": Number(10.75)})  # latexmk counts in seconds: another size tells, too
    latex.build("laptop", "report")
    second = (built / "report.log").stat().st_mtime_ns
    assert second > first
    auxiliary = built / "report.aux"
    auxiliary.write_bytes(auxiliary.read_bytes()[:-30] + b"\\broken{")  # killed while it was written
    latex.build("laptop", "report")
    assert (built / "report.log").stat().st_mtime_ns > second


FAULTY = {
    r"\noindent\rule{20cm}{1pt}": r"Overfull \\hbox \(224\.\d+pt too wide\) in paragraph at lines 2--3",
    r"\newpage x\newpage\noindent\rule{1cm}{50cm}": r"Overfull \\vbox \(8\d\d\.\d+pt too high\)",
    r"\begin{figure}\rule{1cm}{50cm}\end{figure}": r"Float too large for page by 8\d\d\.\d+pt",
    r"\ref{lost}": r"Reference `lost' on page 1 undefined on input line 2",
    r"\cite{lost}": r"Citation ['`]lost' on page 1 undefined",
    r"\section{a}\label{a}\section{b}\label{a}": "Label `a' multiply defined",
    "中": "Missing character: There is no 中",
    r"\textbf{\textsc{both}}": r"Font shape .TU/lmr/bx/sc. undefined",
    r"{\fontfamily{lost}\selectfont x}": "Font shape .TU/lost/m/n. undefined",
    r"\hyperlink{lost}{x}": "unreferenced destination with name 'lost'",
}


@needs_lualatex
@pytest.mark.parametrize("body", FAULTY)
def test_what_latex_warns_of_fails_the_build_each_time(project, body):
    save_results("laptop", "10_x", {"a.b": Number(0.5)})
    write_document(project, body, r"\usepackage{results}\usepackage{hyperref}")
    messages = []
    for _ in range(2):  # the second time there is nothing to compile
        with pytest.raises(latex.BuildError, match=rf"^report\.tex: .*{FAULTY[body]}") as caught:
            latex.build("laptop", "report")
        messages.append(str(caught.value))
    assert messages[0] == messages[1] and not (project / "report" / "report.pdf").exists()
    assert (project / "report" / "build" / "laptop" / "report.pdf").is_file()


@needs_lualatex
def test_two_builds_of_one_state_are_equal_byte_by_byte(project):
    save_results("laptop", "10_x", {"a.b": Number(0.5)})
    body = r"\result{a.b} \today\section{a}\ref{s}\label{s}"
    write_document(project, body, r"\usepackage{results}\usepackage{hyperref}")
    first = latex.build("laptop", "report").read_bytes()
    shutil.rmtree(project / "report" / "build")
    time.sleep(1.1)  # a date in the file would have another second
    assert latex.build("laptop", "report").read_bytes() == first


@needs_lualatex
@pytest.mark.parametrize(
    ("quote", "words"),
    [
        (r"\result{a.lost}", ".*No result 'a.lost' in run 'laptop'"),
        (r"\resulttable{t}", ".*No table 't' in run 'laptop'"),
        (r"\resultfigure{f}", ".*No figure 'f' in run 'laptop'"),
        (r"\undefinedcommand", "Undefined control sequence"),
    ],
)
def test_what_the_run_of_the_text_lacks_and_any_other_error_stops_the_build_with_its_place(project, quote, words):
    save_results("laptop", "10_x", {"a.b": Number(0.5)})
    write_document(project, f"\n{quote}")
    with pytest.raises(latex.BuildError, match=rf"^report\.tex: (\./)?report\.tex:3: {words}"):
        latex.build("laptop", "report")


@needs_lualatex
def test_what_another_run_lacks_is_marked_and_its_warnings_stop_nothing(project, capsys):
    save_results("gpu", "10_x", {"a.b": Number(0.5)})
    body = r"\result{a.b} \resultci{a.lost} \resulttable{t}\resultfigure[3in]{f}\par\noindent\rule{20cm}{1pt}"
    write_document(project, body)
    pdf = latex.build("gpu", "report")
    assert "warning: report.tex: Overfull" in capsys.readouterr().err
    if shutil.which("pdftotext"):
        assert "0.500 not run not runnot run" in " ".join(read_pdf(pdf).split())
