"""`judgekit judge` needs the core dependencies alone."""

import ast
import importlib.util
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from test_pairfile import GOOD, pair_line, write

from judgekit.data.paths import project_root

MODULES = {"scikit-learn": "sklearn", "crowd-kit": "crowdkit", "ppi-python": "ppi_py", "markdown-it-py": "markdown_it"}
WANTED = {"sklearn", "datasets", "peft", "httpx2", "anyio"}  # of libraries that are needed, where they are there
RUN = """
import sys
sys.modules |= dict.fromkeys({blocked!r})
from judgekit.cli import main
assert not main(["judge", "pairs.jsonl", "--out", "verdicts.jsonl", "--per-order", "--summary", "summary.json"])
assert not main(["score", "verdicts.jsonl", "--pairs", "pairs.jsonl", "--protocol", "both_right", "--out", "s.csv"])
print("LOADED", *(name for name in sys.modules if name.split(".")[0] == "judgekit"))
"""


def extras():
    """Top-level modules of what only the optional dependencies bring."""
    project = tomllib.loads((project_root() / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {Requirement(line).name for group in project["optional-dependencies"].values() for line in group}
    return {MODULES.get(name, name) for name in names}


def imports_on_loading(source):
    """Top-level packages that a module imports when it is loaded (not inside its functions)."""
    waiting, imported = list(ast.parse(source).body), set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += ast.iter_child_nodes(node)
    return imported


def test_judging_loads_no_optional_dependency(tmp_path):
    write(tmp_path, pair_line(label="A") + "\n" + pair_line(id=2, question="And?", label="A"))
    code = RUN.format(blocked=sorted(extras() - WANTED))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.partition("LOADED")[2].split()
    assert "judgekit.judges.encoder" in loaded
    sources = {name: Path(importlib.util.find_spec(name).origin).read_text(encoding="utf-8") for name in loaded}
    used = {name: imports_on_loading(source) & extras() for name, source in sources.items()}
    assert not {name: found for name, found in used.items() if found}


@pytest.mark.parametrize(
    ("package", "words", "extra"),
    [
        ("starlette", ["label", "pairs.jsonl", "--votes", "v.jsonl", "--annotator", "ann"], "label"),
        ("openai", ["judge", "pairs.jsonl", "--out", "out.jsonl", "--judge", "openai/any"], "openai"),
        ("ray", ["judge", "pairs.jsonl", "--out", "out.jsonl", "--engine", "ray"], "ray"),
    ],
)
def test_a_missing_optional_package_is_named_with_what_brings_it(package, words, extra, tmp_path):
    write(tmp_path, GOOD)
    code = f"import sys\nsys.modules[{package!r}] = None\nfrom judgekit.cli import main\nsys.exit(main({words!r}))"
    server = os.environ | {"OPENAI_BASE_URL": "http://127.0.0.1:9", "OPENAI_API_KEY": "none"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=server, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert f"needs the package {package}, which is not installed" in done.stderr
    assert f"pip install 'judgekit-notebooks[{extra}]'" in done.stderr and done.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ["pairs.jsonl"]
