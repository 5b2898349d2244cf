"""judgekit.data.provenance: what results were made from, also where there is no checkout."""

import os
import shutil
import subprocess
import sys

from judgekit.data.paths import PACKAGE
from judgekit.data.provenance import git_state


def test_an_installed_package_has_no_commit(tmp_path):
    """As after ``pip install .``: the package stands outside of any checkout, and so does the working directory."""
    ignored = shutil.ignore_patterns("__pycache__", "pretrained")
    shutil.copytree(PACKAGE, tmp_path / "site" / "judgekit", ignore=ignored)
    code = "from judgekit.data.provenance import git_state; print(git_state())"
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, "{'git': None, 'dirty': None}"), done.stderr


def test_a_checkout_has_one():
    assert set(git_state()) == {"git", "dirty"}
