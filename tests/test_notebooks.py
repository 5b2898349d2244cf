"""The notebooks as committed: stripped, in order, and with no number that could go stale."""

import ast
import io
import json
import re
import tokenize

import pytest
import yaml

from judgekit.data.paths import project_root

ROOT = project_root()
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MAX_LINES, MAX_CELLS, MAX_IMPORTS = 40, 30, 10
MAX_FUNCTION = 15  # the estimator that a notebook is about stands in it; what is longer belongs to the package
ARXIV = re.compile(r"arXiv:\d{4}\.\d{4,5}(?:v\d+)?", re.I)
DECIMAL = re.compile(r"\d+[.,]\d+|\d+(?:\.\d+)?\s?%")

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells_of(path, kind=None):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if kind in (None, cell["cell_type"])]


def source(cell):
    return "".join(cell["source"])


def has_parameters(cell):
    return "parameters" in cell["metadata"].get("tags", [])


def comments_by_line(text):
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}


def parameter_faults(text):
    """What is wrong with a cell of parameters."""
    faults, comments, known = [], comments_by_line(text), set()
    for node in ast.parse(text).body:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
            faults.append(f"line {node.lineno} is no plain assignment")
            continue
        name = node.targets[0].id
        said = comments.get(node.lineno, "") + comments.get(node.end_lineno, "")
        if len(said.strip("# ")) < 3:
            faults.append(f"{name} has no comment")
        try:
            ast.literal_eval(node.value)
        except ValueError:
            faults.append(f"{name} is derived")
        if name in known:
            faults.append(f"{name} stands twice")
        known.add(name)
    return faults + ([] if "run" in known else ["there is no run"])


def code_faults(text):
    """What a code cell must not hold."""
    faults = []
    if re.search(r"(?m)^\s*[%!]", text):
        return ["magic"]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.AsyncFunctionDef, ast.ClassDef)):
            faults.append(f"defines {node.name}")
        elif isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= MAX_FUNCTION:
            faults.append(f"{node.name} is longer than {MAX_FUNCTION} lines")
        elif isinstance(node, (ast.Import, ast.ImportFrom)) and node.col_offset:
            faults.append("import inside a block")
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("os.chdir", "os.system", "get_ipython"):
            faults.append(ast.unparse(node.func))
    commented = [line for line in comments_by_line(text).values() if re.match(r"#\s*\w+(\.\w+)*\s*(=|\()\s*\S", line)]
    return faults + [f"commented-out code: {line}" for line in commented]


@each
def test_the_package_owns_every_long_function(path):
    for cell in cells_of(path, "code"):
        if not has_parameters(cell):
            assert code_faults(source(cell)) == [], source(cell)


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
    assert has_parameters(parameters)
    assert source(last).startswith("**Conclusion.**") and "Open:" in source(last)


def names_used(cells):
    """Names that code cells read or call."""
    nodes = [node for text in cells for node in ast.walk(ast.parse(text))]
    return {node.id for node in nodes if isinstance(node, ast.Name)}


@each
def test_parameters_are_plain_explained_and_used(path):
    (cell,) = filter(has_parameters, cells_of(path))
    assert parameter_faults(source(cell)) == []
    values = {node.targets[0].id: ast.literal_eval(node.value) for node in ast.parse(source(cell)).body}
    assert values["run"] == "sample"
    assert len(values) <= 10
    assert set(values) <= names_used(source(other) for other in cells_of(path, "code") if other["id"] != cell["id"])


@each
def test_cells_parse_are_short_and_have_ids(path):
    for cell in cells_of(path, "code"):
        ast.parse(source(cell))
        assert len(source(cell).splitlines()) <= MAX_LINES, source(cell)
    ids = [cell.get("id") for cell in cells_of(path)]
    assert all(ids) and 5 <= len(set(ids)) == len(ids) <= MAX_CELLS


@each
def test_imports_stand_together_and_are_used(path):
    cells = [source(cell) for cell in cells_of(path, "code")]
    kinds = [{type(node) for node in ast.parse(text).body} for text in cells]
    holders = [n for n, found in enumerate(kinds) if found & {ast.Import, ast.ImportFrom}]
    assert holders == [1], "imports stand in the cell after the parameters"
    imports = ast.parse(cells[1]).body
    assert sum(node.end_lineno - node.lineno + 1 for node in imports) <= MAX_IMPORTS
    names = [alias.asname or alias.name for node in imports for alias in node.names]
    assert set(names) <= names_used(cells[2:])


@each
def test_it_checks_what_it_loads_and_saves_under_its_own_name(path):
    trees = [ast.parse(source(cell)) for cell in cells_of(path, "code")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    assert any(isinstance(node, ast.Assert) for node in nodes)
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    calls = [call for call in calls if ast.unparse(call.func).removeprefix("report.") == "save_results"]
    assert [ast.literal_eval(call.args[1]) for call in calls] == [path.stem]
    assert all(ast.unparse(call.args[0]) == "run" for call in calls)


def stale_numbers(text):
    """Decimals and percentages in prose; arXiv numbers and code are not prose."""
    prose = re.sub(r"`[^`]*`", "", ARXIV.sub("", text))
    return DECIMAL.findall(prose)


@each
def test_prose_holds_no_number_that_could_go_stale(path):
    for cell in cells_of(path, "markdown"):
        assert stale_numbers(source(cell)) == []
