"""Template files: a head of ``key: value`` lines, then sections that begin with ``@@ name``."""

import re
from collections.abc import Mapping
from pathlib import Path

from judgekit.data.files import short_text
from judgekit.data.paths import known_names

_SECTION = re.compile(r"(?m)^@@ (.+)\n")
PLACEHOLDER = re.compile(r"\{([a-z_]+(?:\.\d+)?)\}")
_FOLDER = Path(__file__).parent

Sections = list[tuple[str, str]]  # name and text, in the order of the file


class PromptError(ValueError):
    """A strategy cannot be had, or cannot be rendered for this pair."""


def template_names(folder: str) -> list[str]:
    """Names of the template files of a folder, without ``.txt``."""
    return sorted(path.stem for path in (_FOLDER / folder).glob("*.txt"))


def read_sections(text: str) -> tuple[dict[str, str], Sections]:
    """Head and sections of a template file; blank lines at either end of a section are taken off.

    >>> read_sections("kind: pair\\n\\n@@ system\\nYou judge.\\n")
    ({'kind': 'pair'}, [('system', 'You judge.')])
    """
    first, *rest = _SECTION.split(text)
    head = dict(line.split(": ", 1) for line in first.splitlines() if line.strip())
    return head, [(name.strip(), body.strip("\n")) for name, body in zip(rest[::2], rest[1::2], strict=True)]


def template_of(name: str) -> tuple[dict[str, str], Sections]:
    """Head and sections of a packaged template file, e.g. ``"scores/direct.txt"``."""
    return read_sections((_FOLDER / name).read_text(encoding="utf-8"))


def read_strategy(name: str) -> tuple[dict[str, str], Sections]:
    """Head and sections of the package's file or one's own (``mine.txt``); PromptError names the file and the line."""
    names = template_names("strategies")
    if not name.endswith(".txt") and name not in names:
        raise PromptError(f"no strategy is called {name!r}; {known_names(name, names, 'files of your own (mine.txt)')}")
    path = Path(name) if name.endswith(".txt") else _FOLDER / "strategies" / f"{name}.txt"
    try:
        text = short_text(path)
    except OSError as missing:
        raise PromptError(f"{path}: {missing.strerror}") from None
    for number, line in enumerate(_SECTION.split(text)[0].splitlines(), 1):
        if line.strip() and ": " not in line:
            raise PromptError(f"{path}, line {number}: expected 'field: value' or '@@ call verdict pair'")
    return read_sections(text)


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put values in place of ``{name}``, in one pass: nothing that a value holds is looked at again.

    >>> fill("Q: {question} {x: 1}", {"question": "What is {question}?"})
    'Q: What is {question}? {x: 1}'
    """
    return PLACEHOLDER.sub(lambda name: values[name[1]], template)


def placeholders(template: str) -> set[str]:
    """Names of the placeholders of a template."""
    return {name[1] for name in PLACEHOLDER.finditer(template)}
