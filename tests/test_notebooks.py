"""The notebooks as committed: stripped, in order, and with no number that could go stale."""

import ast
import io
import json
import re
import tokenize

import pytest
import yaml
from notebook_functions import code_of

from judgekit.data.paths import project_root

ROOT = project_root()
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MAX_LINES, MAX_CELLS, MAX_IMPORTS = 40, 30, 10
MAX_FUNCTION = 15  # the estimator that a notebook is about stands in it; what is longer belongs to the package
ARXIV = re.compile(r"arXiv:\d{4}\.\d{4,5}(?:v\d+)?", re.I)
DECIMAL = re.compile(r"\d+[.,]\d+|\d+(?:\.\d+)?\s?%")

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells_of(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def source(cell):
    return "".join(cell["source"])


def code_faults(text):
    """What a code cell must not hold, beside what is no Python; comments of code and unused imports are ruff's."""
    faults = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.AsyncFunctionDef, ast.ClassDef)):
            faults.append(f"defines {node.name}")
        elif isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= MAX_FUNCTION:
            faults.append(f"{node.name} is longer than {MAX_FUNCTION} lines")
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("os.chdir", "os.system", "get_ipython"):
            faults.append(ast.unparse(node.func))
    faults += ["shows texts as HTML: .pipe(escaped)"] if re.search(r"\.style\.(?:hide|format)|to_html", text) else []
    last = re.fullmatch(r"(?:\w+\.)?save_\w+\(.*\)", ast.unparse(ast.parse(text).body[-1]), re.DOTALL)
    faults += ["shows the path of what it saved: end it with ;"] if last and not text.rstrip().endswith(";") else []
    return faults + ([f"more than {MAX_LINES} lines"] if len(text.splitlines()) > MAX_LINES else [])


@each
def test_code_cells_are_short_and_the_package_owns_every_long_function(path):
    for text, tags in code_of(path):
        assert "parameters" in tags or code_faults(text) == [], text
    ids = [cell.get("id") for cell in cells_of(path)]
    assert all(ids) and 5 <= len(set(ids)) == len(ids) <= MAX_CELLS


@each
def test_no_cell_reads_what_several_earlier_ones_have_shown(path):
    """At dda19e23 one of 40 read the judges of its tables there, and got another cell's frame: none was repaired."""
    makers = 0
    for text, _ in code_of(path):
        uses = [node.ctx for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name) and node.id == "shown"]
        makes = any(isinstance(use, ast.Store) for use in uses)
        assert makes or not uses or makers < 2, text
        makers += makes


def test_the_list_names_every_notebook_and_numbers_are_used_once():
    listed = yaml.safe_load((ROOT / "notebooks" / "notebooks.yaml").read_text(encoding="utf-8"))
    assert sorted(listed) == [path.stem for path in NOTEBOOKS]
    assert all(re.fullmatch(r"\d\d_[a-z0-9_]+", path.stem) for path in NOTEBOOKS)
    assert len({path.stem[:2] for path in NOTEBOOKS}) == len(NOTEBOOKS)


@each
def test_it_opens_with_title_question_and_what_it_touches_and_ends_with_a_conclusion(path):
    (title, parameters), last = cells_of(path)[:2], cells_of(path)[-1]
    assert title["cell_type"] == last["cell_type"] == "markdown"
    lines = source(title).splitlines()
    assert re.fullmatch(r"# [A-Z0-9].+", lines[0])
    assert lines[1].startswith("> ") and lines[1].endswith("?")
    assert re.search(r"\bReads\b", source(title)) and re.search(r"\bWrites\b", source(title))
    assert "parameters" in parameters["metadata"]["tags"]
    assert source(last).startswith("**Conclusion.**") and "Open:" in source(last)


@each
def test_parameters_are_plain_explained_and_used(path):
    (text,) = [text for text, tags in code_of(path) if "parameters" in tags]
    nodes = ast.parse(text).body
    assert all(isinstance(node, ast.Assign) and len(node.targets) == 1 for node in nodes)
    values = {node.targets[0].id: ast.literal_eval(node.value) for node in nodes}
    assert values["run"] == "sample" and len(values) == len(nodes) <= 10, "a name stands twice, or there are too many"
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}
    for node in nodes:
        said = comments.get(node.lineno, "") + comments.get(node.end_lineno, "")
        assert len(said.strip("# ")) >= 3, f"{node.targets[0].id} has no comment"
    used = [node for other, _ in code_of(path) if other != text for node in ast.walk(ast.parse(other))]
    assert set(values) <= {node.id for node in used if isinstance(node, ast.Name)}


@each
def test_imports_stand_together(path):
    nodes = [(n, node) for n, (text, _) in enumerate(code_of(path)) for node in ast.walk(ast.parse(text))]
    imports = [(n, node) for n, node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert {(n, node.col_offset) for n, node in imports} == {(1, 0)}, "imports stand in the cell after the parameters"
    assert sum(node.end_lineno - node.lineno + 1 for _, node in imports) <= MAX_IMPORTS


@each
def test_it_checks_what_it_loads_and_saves_under_its_own_name(path):
    nodes = [node for text, _ in code_of(path) for node in ast.walk(ast.parse(text))]
    assert any(isinstance(node, ast.Assert) for node in nodes)
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    calls = [call for call in calls if ast.unparse(call.func).removeprefix("report.") == "save_results"]
    assert [(ast.unparse(call.args[0]), ast.literal_eval(call.args[1])) for call in calls] == [("run", path.stem)]


@each
def test_prose_holds_no_number_that_could_go_stale(path):
    for cell in cells_of(path):
        if cell["cell_type"] == "markdown":  # arXiv numbers and code are not prose
            assert DECIMAL.findall(re.sub(r"`[^`]*`", "", ARXIV.sub("", source(cell)))) == []
