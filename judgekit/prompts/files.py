"""Template files: a head of ``key: value`` lines, then sections that begin with ``@@ name``."""

import re
from importlib import resources

SECTION = re.compile(r"(?m)^@@ (.+)\n")
PLACEHOLDER = re.compile(r"\{([a-z_]+(?:\.\d+)?)\}")


def template_text(name):
    """The text of a packaged template file, e.g. ``"strategies/cot.txt"``.

    Raises
    ------
    FileNotFoundError
        If there is none.
    """
    return (resources.files("judgekit.prompts") / name).read_text(encoding="utf-8")


def template_names(folder):
    """Names of the template files of a folder, without ``.txt``."""
    files = (resources.files("judgekit.prompts") / folder).iterdir()
    return sorted(file.name.removesuffix(".txt") for file in files if file.name.endswith(".txt"))


def read_sections(text):
    """Head and sections of a template file.

    Returns
    -------
    head : dict of str to str
    sections : list of (str, str)
        Name and text, blank lines at either end taken off, in the order of the file.

    Examples
    --------
    >>> read_sections("kind: pair\\n\\n@@ system\\nYou judge.\\n")
    ({'kind': 'pair'}, [('system', 'You judge.')])
    """
    first, *rest = SECTION.split(text)
    head = dict(line.split(": ", 1) for line in first.splitlines() if line.strip())
    return head, [(name.strip(), body.strip("\n")) for name, body in zip(rest[::2], rest[1::2], strict=True)]


def fill(template, values):
    """Put values in place of ``{name}``, in one pass: nothing that a value holds is looked at again.

    Raises
    ------
    KeyError
        If the template has a placeholder without a value. Braces around anything but a lower-case name are text.

    Examples
    --------
    >>> fill("Q: {question} {x: 1}", {"question": "What is {question}?"})
    'Q: What is {question}? {x: 1}'
    """
    return PLACEHOLDER.sub(lambda found: values[found[1]], template)


def placeholders(template):
    """Names of the placeholders of a template."""
    return {found[1] for found in PLACEHOLDER.finditer(template)}
