"""The code of a notebook, and the functions that it defines, for tests of the estimators that stand in it."""

import ast
import json
from types import SimpleNamespace

from judgekit.data.paths import project_root


def code_of(path):
    """Text and tags of every code cell."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [("".join(c["source"]), c["metadata"].get("tags", [])) for c in cells if c["cell_type"] == "code"]


def functions_of(notebook, **given):
    """Its functions, with its imports, parameters and constants as globals, and what is ``given`` in place of data."""
    space = {}
    for text, tags in code_of(project_root() / "notebooks" / f"{notebook}.ipynb"):
        tree = ast.parse(text)
        tree.body = [node for node in tree.body if "parameters" in tags or _defines(node)]
        exec(compile(tree, notebook, "exec"), space)
    space |= given
    return SimpleNamespace(**{name: value for name, value in space.items() if not name.startswith("__")})


def run_cells(notebook, n_cells=None, **parameters):
    """The globals after a notebook's first code cells (None: all), with parameters and stand-ins of one's own."""
    space = {}
    cells = code_of(project_root() / "notebooks" / f"{notebook}.ipynb")[:n_cells]
    for number, (text, tags) in enumerate(cells):
        exec(compile(text, notebook, "exec"), space)
        if "parameters" in tags or number == 1:
            space |= parameters
    return space


def _defines(node):
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Name) and target.id.isupper() for target in node.targets)
    return isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef)
