"""The functions that a notebook defines, for tests of the estimators that stand in it."""

import ast
import json
from types import SimpleNamespace

from judgekit.data.paths import project_root


def functions_of(notebook, **given):
    """Its functions, with its imports, parameters and constants as globals, and what is ``given`` in place of data."""
    document = json.loads((project_root() / "notebooks" / f"{notebook}.ipynb").read_text(encoding="utf-8"))
    space = {}
    for cell in document["cells"]:
        if cell["cell_type"] == "code":
            tree = ast.parse("".join(cell["source"]))
            parameters = "parameters" in cell["metadata"].get("tags", [])
            tree.body = [node for node in tree.body if parameters or _defines(node)]
            exec(compile(tree, notebook, "exec"), space)
    space |= given
    return SimpleNamespace(**{name: value for name, value in space.items() if not name.startswith("__")})


def _defines(node):
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Name) and target.id.isupper() for target in node.targets)
    return isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef)
