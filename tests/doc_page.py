"""A page of the docs as tests read it."""

import re
import warnings

from judgekit.paths import project_root

FOLDER = project_root() / "docs"


def text_of(page):
    """The page's Markdown."""
    return (FOLDER / page).read_text(encoding="utf-8")


def run_examples(page):
    """Run the page's Python blocks one after another, as one program; the names that it leaves."""
    names = {}
    for block in re.findall(r"```python\n(.*?)```", text_of(page), re.S):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # crowd-kit's own
            exec(compile(block, page, "exec"), names)
    return names
