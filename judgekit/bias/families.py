"""Which family a model is of: whose weights it started from, by a table with a reason for each decision.

The question is whether a judge knows its own kind, so descendants count by their base and not by who tuned them: what
LLaMA's pre-training left in Vicuna is still there. `families.yaml` says how closed models are counted.
"""

import re
from functools import lru_cache
from pathlib import Path

import yaml

TABLE = Path(__file__).with_name("families.yaml")
NO_FAMILY = ("other", "none")  # never the same as anything, itself included


@lru_cache(maxsize=1)
def family_patterns():
    """The table: a tuple of (pattern, family, reason).

    Raises
    ------
    ValueError
        If an entry lacks a part or holds a pattern that is none; names the file and the entry.
    """
    rows = []
    for number, entry in enumerate(yaml.safe_load(TABLE.read_text(encoding="utf-8")), 1):
        if set(entry) != {"family", "names", "reason"} or not all(entry.values()):
            raise ValueError(f"{TABLE.name}, entry {number}: needs family, names and reason, has {sorted(entry)}")
        for name in entry["names"]:
            try:
                rows.append((re.compile(name), entry["family"], entry["reason"]))
            except re.error as problem:
                raise ValueError(f"{TABLE.name}, entry {number}: {name!r} is no pattern: {problem}") from problem
    return tuple(rows)


def family_of(name):
    """The family of an author or a judge.

    Parameters
    ----------
    name : str
        As the sets spell an author (``"vicuna-13b:20230322-clean-lang"``), or a judge (``"replay/pandalm-7b"``).

    Returns
    -------
    str
        ``"other"`` where the base is not known or mixed, ``"none"`` where no language model writes.

    Raises
    ------
    KeyError
        If no pattern of the table matches the name: somebody has to decide, and write down why.
    ValueError
        If patterns of several entries match it.

    Examples
    --------
    >>> family_of("vicuna-13b-v1.2"), family_of("replay/gpt-4-pair"), family_of("claude2-alpaca-13b")
    ('llama', 'openai', 'llama')
    """
    short = name.split("/")[-1].split(":")[0].lower()
    found = [(family, pattern.pattern) for pattern, family, _ in family_patterns() if pattern.fullmatch(short)]
    if not found:
        raise KeyError(f"no family is known for {name!r}: add it to {TABLE.name} with a reason")
    if len(found) > 1:
        matched = ", ".join(f"{pattern} ({family})" for family, pattern in found)
        raise ValueError(f"{name!r} is matched by several patterns of {TABLE.name}: {matched}")
    return found[0][0]


def same_family(first, second):
    """Whether two families are one; what has no family is akin to nothing.

    Examples
    --------
    >>> same_family("llama", "llama"), same_family("llama", "opt"), same_family("other", "other")
    (True, False, False)
    """
    return first == second and first not in NO_FAMILY
