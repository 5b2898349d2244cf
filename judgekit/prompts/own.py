"""A strategy file of the user's own, checked before it is used: what is wrong is told with the file and its field."""

from pathlib import Path

from judgekit.prompts.files import SECTION, placeholders, read_sections, template_names

SUFFIX = ".txt"
KNOWN = {
    "kind": ("pair", "single"),
    "flow": ("plain", "swap"),
    "reads": ("all", "first line"),
    "closed": ("yes", "no"),
    "needs": ("reference",),
    "demonstrations": ("yes", "no"),
}
FREE = ("format", "names", "source")  # fields whose values are no fixed words


def is_own(name):
    """Whether a strategy's name says a file."""
    return name.endswith(SUFFIX)


def read_own(path):
    """Head and sections of a user's strategy file, as `judgekit.prompts.files.read_sections` gives them.

    Parameters
    ----------
    path : str
        Relative to where the command was called.

    Raises
    ------
    ValueError
        Names the file, and the line or field that is wrong.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as missing:
        raise ValueError(f"{path}: {missing.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text") from None
    text = text.replace("\r\n", "\n")
    for number, line in enumerate(SECTION.split(text)[0].splitlines(), 1):
        if line.strip() and ": " not in line:
            raise ValueError(f"{path}, line {number}: expected 'field: value' or '@@ call verdict pair'")
    head, sections = read_sections(text)
    check_head(path, head)
    check_sections(path, sections)
    check_verdict(path, head["kind"], sections)
    return head, sections


def check_head(path, head):
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


def check_sections(path, sections):
    """Refuse sections that are no calls: ``@@ call NAME VIEW``, then ``@@ system`` and ``@@ user``."""
    names = [name for name, _ in sections]
    if not names:
        raise ValueError(f"{path}: there is no '@@ call verdict pair'")
    for place in range(0, len(names), 3):
        words = names[place].split()
        if len(words) != 3 or words[0] != "call" or words[2] not in ("pair", "single", "question"):
            raise ValueError(f"{path}: '@@ {names[place]}' is no call; write '@@ call verdict pair' (single, question)")
        if names[place + 1 : place + 3] != ["system", "user"]:
            raise ValueError(f"{path}: after '@@ {names[place]}' come '@@ system' and '@@ user'")


def check_verdict(path, kind, sections):
    """Refuse a file that never shows the responses to whoever judges them."""
    shown = {"pair": {"answer_a", "answer_b"}, "single": {"answer"}}[kind]
    names = [name for name, _ in sections]
    if f"call verdict {kind}" not in names:
        raise ValueError(f"{path}: kind is {kind!r}, and there is no '@@ call verdict {kind}'")
    user = sections[names.index(f"call verdict {kind}") + 2][1]
    if missing := sorted(shown - placeholders(user)):
        raise ValueError(f"{path}: '@@ user' of the verdict does not show {{{missing[0]}}}")
