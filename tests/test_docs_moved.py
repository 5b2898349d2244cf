"""docs/moved.md accounts for every command, public name and notebook of the first edition."""

import ast
import re
import subprocess
from pathlib import Path

import pytest
from test_docs import found

from judgekit.data.paths import project_root

ROOT = project_root()
FIRST = "4098d62"
KINDS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
ROW = re.compile(r"\| `([^`]+)` \| (?:`([^`]+)`|(gone)) \|(?: ([^|]*?) \|)?")


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)


pytestmark = pytest.mark.skipif(
    git("cat-file", "-e", f"{FIRST}^{{commit}}").returncode != 0, reason="the first edition's history is not here"
)


@pytest.fixture(scope="module")
def moved():
    """Old name to its new one, or to None and a reason, as the page says."""
    page = (ROOT / "docs" / "moved.md").read_text(encoding="utf-8")
    rows = [(old, new or None, (why or "").strip()) for old, new, _, why in ROW.findall(page)]
    names = [old for old, _, _ in rows]
    assert len(set(names)) == len(names), "a name stands twice"
    return {old: (new, why) for old, new, why in rows}


def first_modules():
    for path in git("ls-tree", "-r", "--name-only", FIRST, "judgekit").stdout.split():
        if path.endswith(".py") and not path.endswith("__main__.py"):
            yield path[:-3].replace("/", ".").removesuffix(".__init__"), path


def test_every_public_name_is_kept_moved_or_gone_with_a_reason(moved):
    lost = []
    for module, path in first_modules():
        new_module, _ = moved.get(module, (module, ""))
        for node in ast.parse(git("show", f"{FIRST}:{path}").stdout).body:
            if not isinstance(node, KINDS) or node.name.startswith("_"):
                continue
            old = f"{module}.{node.name}"
            new, why = moved.get(old, (f"{new_module}.{node.name}" if new_module else None, ""))
            if new is None and not why:
                lost.append(f"{old}: gone without a reason")
            elif new is not None and not found(new):
                lost.append(f"{old}: {new} is not there")
    assert not lost, "\n".join(lost[:40])


def test_what_the_page_calls_gone_is_gone(moved):
    assert not [old for old, (new, _) in moved.items() if new is None and old.count(".") > 1 and found(old)]


def test_every_notebook_and_command_of_the_first_edition_is_named(moved):
    there = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    listed = git("ls-tree", "--name-only", FIRST, "notebooks/").stdout.split()
    notebooks = {Path(path).stem for path in listed if path.endswith(".ipynb")}
    assert notebooks and notebooks <= there | set(moved)
    page = (ROOT / "docs" / "moved.md").read_text(encoding="utf-8")
    assert all(f"`judgekit {name}`" in page for name in ("judge", "rate", "attack", "label", "collect", "fetch"))
