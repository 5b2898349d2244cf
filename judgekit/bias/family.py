"""Which family a model is of: whose weights it started from, by a table with a reason for each decision.

The question is whether a judge knows its own kind, so descendants count by their base and not by who tuned them.
"""

import re
from functools import lru_cache
from pathlib import Path

import yaml

TABLE = Path(__file__).with_name("families.yaml")
NO_FAMILY = ("other", "none")  # never the same as anything, itself included


@lru_cache(maxsize=1)
def _patterns() -> list[tuple[str, str]]:
    """Pattern and family of each name in the table."""
    entries = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return [(name, entry["family"]) for entry in entries for name in entry["names"]]


def family_of(name: str) -> str:
    """The family of an author or a judge: ``"other"`` if its base is unknown or mixed, ``"none"`` if no model writes.

    ``name`` as the sets spell an author (``"vicuna-13b:20230322-clean-lang"``), or a judge (``"replay/pandalm-7b"``).
    KeyError if no pattern of the table matches it: somebody has to decide, and write down why. ValueError if patterns
    of several entries do.

    >>> family_of("vicuna-13b-v1.2"), family_of("replay/gpt-4-pair"), family_of("claude2-alpaca-13b")
    ('llama', 'openai', 'llama')
    """
    short = name.split("/")[-1].split(":")[0].lower()
    found = [(family, pattern) for pattern, family in _patterns() if re.fullmatch(pattern, short)]
    if not found:
        raise KeyError(f"no family is known for {name!r}: add it to {TABLE.name} with a reason")
    if len(found) > 1:
        matched = ", ".join(f"{pattern} ({family})" for family, pattern in found)
        raise ValueError(f"{name!r} is matched by several patterns of {TABLE.name}: {matched}")
    return found[0][0]


def same_family(first: str, second: str) -> bool:
    """Whether two families are one; what has no family is akin to nothing.

    >>> same_family("llama", "llama"), same_family("llama", "opt"), same_family("other", "other")
    (True, False, False)
    """
    return first == second and first not in NO_FAMILY
