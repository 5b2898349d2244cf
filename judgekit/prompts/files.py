"""Template files: a head of ``key: value`` lines, then sections that begin with ``@@ name``."""

import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

SECTION = re.compile(r"(?m)^@@ (.+)\n")
PLACEHOLDER = re.compile(r"\{([a-z_]+(?:\.\d+)?)\}")
KNOWN = {
    "kind": ("pair", "single"),
    "flow": ("plain", "swap"),
    "reads": ("all", "first line"),
    "closed": ("yes", "no"),
    "needs": ("reference",),
    "demonstrations": ("yes", "no"),
}
FREE = ("format", "names", "source")  # fields whose values are no fixed words

Sections = list[tuple[str, str]]  # name and text, in the order of the file


def template_text(name: str) -> str:
    """The text of a packaged template file, e.g. ``"strategies/cot.txt"``; FileNotFoundError if there is none."""
    return (resources.files("judgekit.prompts") / name).read_text(encoding="utf-8")


def template_names(folder: str) -> list[str]:
    """Names of the template files of a folder, without ``.txt``."""
    files = (resources.files("judgekit.prompts") / folder).iterdir()
    return sorted(file.name.removesuffix(".txt") for file in files if file.name.endswith(".txt"))


def read_sections(text: str) -> tuple[dict[str, str], Sections]:
    """Head and sections of a template file; blank lines at either end of a section are taken off.

    >>> read_sections("kind: pair\\n\\n@@ system\\nYou judge.\\n")
    ({'kind': 'pair'}, [('system', 'You judge.')])
    """
    first, *rest = SECTION.split(text)
    head = dict(line.split(": ", 1) for line in first.splitlines() if line.strip())
    return head, [(name.strip(), body.strip("\n")) for name, body in zip(rest[::2], rest[1::2], strict=True)]


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put values in place of ``{name}``, in one pass: nothing that a value holds is looked at again.

    KeyError if the template has a placeholder without a value. Braces around anything but a lower-case name are text.

    >>> fill("Q: {question} {x: 1}", {"question": "What is {question}?"})
    'Q: What is {question}? {x: 1}'
    """
    return PLACEHOLDER.sub(lambda name: values[name[1]], template)


def placeholders(template: str) -> set[str]:
    """Names of the placeholders of a template."""
    return {name[1] for name in PLACEHOLDER.finditer(template)}


def read_own(path: str) -> tuple[dict[str, str], Sections]:
    """Head and sections of a user's strategy file.

    ValueError that names the file, and the line or field, if one is wrong.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    except OSError as missing:
        raise ValueError(f"{path}: {missing.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text") from None
    for number, line in enumerate(SECTION.split(text)[0].splitlines(), 1):
        if line.strip() and ": " not in line:
            raise ValueError(f"{path}, line {number}: expected 'field: value' or '@@ call verdict pair'")
    head, sections = read_sections(text)
    _check_head(path, head)
    _check_sections(path, head["kind"], sections)
    return head, sections


def _check_head(path: str, head: Mapping[str, str]) -> None:
    """Refuse unknown fields and values."""
    allowed = KNOWN | {"format": tuple(template_names("verdicts"))}
    if unknown := sorted(set(head) - set(KNOWN) - set(FREE)):
        raise ValueError(f"{path}: no field is called {unknown[0]!r}; there are {', '.join([*KNOWN, *FREE])}")
    for name in ("kind", "format"):
        if name not in head:
            raise ValueError(f"{path}: field {name!r} is missing; it is one of {', '.join(allowed[name])}")
    for name, values in allowed.items():
        if name in head and head[name] not in values:
            raise ValueError(f"{path}: {name} is {head[name]!r}; there are {', '.join(values)}")
    if "names" in head and head["names"].count(" | ") != 1:
        raise ValueError(f"{path}: names is {head['names']!r}; write both sides, as in 'Assistant A | Assistant B'")


def _check_sections(path: str, kind: str, sections: Sections) -> None:
    """Refuse sections that are no calls (``@@ call NAME VIEW``, ``@@ system``, ``@@ user``) or show no responses."""
    names = [name for name, _ in sections]
    if not names:
        raise ValueError(f"{path}: there is no '@@ call verdict pair'")
    for start in range(0, len(names), 3):
        words = names[start].split()
        if len(words) != 3 or words[0] != "call" or words[2] not in ("pair", "single", "question"):
            raise ValueError(f"{path}: '@@ {names[start]}' is no call; write '@@ call verdict pair' (single, question)")
        if names[start + 1 : start + 3] != ["system", "user"]:
            raise ValueError(f"{path}: after '@@ {names[start]}' come '@@ system' and '@@ user'")
    if f"call verdict {kind}" not in names:
        raise ValueError(f"{path}: kind is {kind!r}, and there is no '@@ call verdict {kind}'")
    user = sections[names.index(f"call verdict {kind}") + 2][1]
    shown = {"pair": {"answer_a", "answer_b"}, "single": {"answer"}}[kind]
    if missing := sorted(shown - placeholders(user)):
        raise ValueError(f"{path}: '@@ user' of the verdict does not show {{{missing[0]}}}")
