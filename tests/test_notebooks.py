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
MAX_LINES, MAX_CELLS = 40, 30
MAX_FUNCTION = 15  # the estimator that a notebook is about stands in it; what is longer belongs to the package
ARXIV = re.compile(r"arXiv:\d{4}\.\d{4,5}(?:v\d+)?", re.I)
DECIMAL = re.compile(r"\d+[.,]\d+|\d+(?:\.\d+)?\s?%")

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells_of(path, kind=None):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if kind in (None, cell["cell_type"])]


def source(cell):
    return "".join(cell["source"])


def parameter_cells(path):
    return [cell for cell in cells_of(path) if "parameters" in cell["metadata"].get("tags", [])]


# ---------------------------------------------------------------- as committed


@each
def test_cell_ids_are_there_and_unique(path):
    ids = [cell.get("id") for cell in cells_of(path)]
    assert all(ids) and len(set(ids)) == len(ids)


def test_the_list_names_no_notebook_that_is_not_there():
    listed = yaml.safe_load((ROOT / "notebooks" / "notebooks.yaml").read_text(encoding="utf-8"))
    assert sorted(listed) == [path.stem for path in NOTEBOOKS]


def test_numbers_are_used_once():
    numbers = [path.stem[:2] for path in NOTEBOOKS]
    assert all(re.fullmatch(r"\d\d_[a-z0-9_]+", path.stem) for path in NOTEBOOKS)
    assert len(set(numbers)) == len(numbers)


# ---------------------------------------------------------------- anatomy


@each
def test_it_opens_with_title_question_and_what_it_touches(path):
    title, parameters = cells_of(path)[:2]
    assert title["cell_type"] == "markdown"
    lines = source(title).splitlines()
    assert re.fullmatch(r"# [A-Z0-9].+", lines[0])
    assert lines[1].startswith("> ") and lines[1].endswith("?")
    assert re.search(r"\bReads\b", source(title)) and re.search(r"\bWrites\b", source(title))
    assert "parameters" in parameters["metadata"].get("tags", [])


@each
def test_it_ends_with_a_conclusion(path):
    last = cells_of(path)[-1]
    assert last["cell_type"] == "markdown"
    assert source(last).startswith("**Conclusion.**") and "Open:" in source(last)


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


@each
def test_parameters_are_plain_and_explained(path):
    (cell,) = parameter_cells(path)
    assert parameter_faults(source(cell)) == []
    values = {node.targets[0].id: ast.literal_eval(node.value) for node in ast.parse(source(cell)).body}
    assert values["run"] == "sample"
    assert len(values) <= 10


@each
def test_cells_parse_and_are_short(path):
    for cell in cells_of(path, "code"):
        ast.parse(source(cell))
        assert len(source(cell).splitlines()) <= MAX_LINES, source(cell)
    assert 5 <= len(cells_of(path)) <= MAX_CELLS


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
        if "parameters" not in cell["metadata"].get("tags", []):
            assert code_faults(source(cell)) == [], source(cell)


@each
def test_imports_stand_together_and_are_used(path):
    cells = [source(cell) for cell in cells_of(path, "code")]
    holders = [
        n
        for n, text in enumerate(cells)
        if any(isinstance(x, (ast.Import, ast.ImportFrom)) for x in ast.parse(text).body)
    ]
    assert holders == [1], "imports stand in the cell after the parameters"
    names = [alias.asname or alias.name for node in ast.parse(cells[1]).body for alias in node.names]
    used = {node.id for text in cells[2:] for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    assert set(names) <= used


@each
def test_every_parameter_is_used(path):
    (parameters,) = parameter_cells(path)
    given = {node.targets[0].id for node in ast.parse(source(parameters)).body}
    code = [source(cell) for cell in cells_of(path, "code") if cell["id"] != parameters["id"]]
    used = {node.id for text in code for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    assert given <= used


@each
def test_it_checks_what_it_loads_and_saves_under_its_own_name(path):
    trees = [ast.parse(source(cell)) for cell in cells_of(path, "code")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    assert any(isinstance(node, ast.Assert) for node in nodes)
    calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == "save_results"]
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
