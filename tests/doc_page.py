"""A page of the docs, or the README, as tests read it."""

import configparser
import contextlib
import io
import re
import shlex
import subprocess
import tomllib
import warnings
from pathlib import Path

import pytest

from judgekit.data.paths import project_root

FOLDER = project_root() / "docs"
BLOCK = re.compile(r"(?:^`([\w./]+)`:\n\n)?^```(\w+)\n(.*?)^```", re.S | re.M)  # perhaps a file's name, language, text


def text_of(page):
    """The page's Markdown; of `moved.md`, whose first column is what was there once, what is there now."""
    text = (FOLDER / page).read_text(encoding="utf-8")
    return re.sub(r"(?m)^\| `[^`]+` \|", "|", text) if page == "moved.md" else text


def make_targets():
    """What ``make`` can be asked for."""
    text = (project_root() / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):(?!=)", text, re.M))


def tracked(*patterns):
    """Files under version control; without a checkout there are none to ask for, and the test is skipped."""
    command = ["git", "-C", project_root(), "ls-files", "-z", *patterns]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    if done.returncode:
        pytest.skip("not a checkout: there is no list of tracked files")
    return [path for path in map(project_root().joinpath, done.stdout.split("\0")) if path.is_file()]


def run_examples(page):
    """Run the page's Python blocks one after another, as one program; the names that it leaves."""
    names = {}
    for block in re.findall(r"```python\n(.*?)```", text_of(page), re.S):
        run_python(block, page, names)
    return names


def run_python(block, page, names):
    """Run one block; what it defines stays in ``names``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # crowd-kit's own
        exec(compile(block, page, "exec"), names)


def words_of(line):
    """The words of a shell line without its comment; ``hf/MODEL#letter`` holds none."""
    return shlex.split(re.sub(r"(^|\s)#.*", "", line))


class Reader:
    """Somebody who does, in a folder, what a page says: writes the files, gives the commands, runs the Python.

    A block under a file's name is that file; a block of ``text`` alone is what must have been printed. ``make`` takes
    the words after ``make``.
    """

    def __init__(self, text, make=None):
        self.blocks, self.make, self.said = BLOCK.findall(text), make, ""

    def read(self):
        """Do everything, in order."""
        for name, language, block in self.blocks:
            if name:
                Path(name).parent.mkdir(parents=True, exist_ok=True)
                Path(name).write_text(block, encoding="utf-8")
            elif language == "bash":
                self.said = "".join(self.give(line) for line in block.splitlines())
            elif language == "python":
                with contextlib.redirect_stdout(io.StringIO()) as printed:
                    run_python(block, "page", {})
                self.said = printed.getvalue() or self.said
            elif language == "text":
                for line in block.splitlines():
                    assert line in self.said, f"not printed: {line}\nbut: {self.said}"
            else:
                raise AssertionError(f"a block of {language} that is no file")

    def give(self, line):
        """Give one command; what it printed."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = self.command(words_of(line))
        assert not code, f"{line}: exit code {code}\n{printed.getvalue()}"
        return printed.getvalue()

    def command(self, words):
        """One command; its exit code."""
        if words[0] == "judgekit":
            from judgekit.cli import main

            return main(words[1:])
        if words[:3] == ["python", "-m", "judgekit.training.causal_run"]:
            from judgekit.training.causal_run import main

            return main(words[3:])
        if words[0] == "make":
            return self.make(words[1:])
        if words == ["pip", "install", "-e", "."]:
            return install_here()
        assert words[0] == "export" or words[:2] == ["pip", "install"], f"nobody knows how to {' '.join(words)}"
        return 0


def install_here():
    """What pip writes for the entry points of the package in this folder, which is on Python's path already."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = Path(f"{project['name'].replace('-', '_')}-{project['version']}.dist-info")
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = configparser.ConfigParser()
    groups.read_dict(project["entry-points"])
    with (info / "entry_points.txt").open("w") as file:
        groups.write(file)
    return 0
