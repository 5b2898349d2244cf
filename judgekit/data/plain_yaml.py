"""YAML as files of settings need it: plain values, nothing constructed, nothing that grows when it is read."""

from typing import Any

import yaml

LONGEST = 2**20  # characters; a file of settings has some thousands
MOST = 100_000  # values, aliases written out


class PlainSafeLoader(yaml.SafeLoader):
    """The safe loader, which also counts what aliases stand for: nine lines of them can stand for a billion words."""

    def construct_document(self, node: yaml.Node) -> Any:
        """The value of a document, unless it is too large when it is written out."""
        if _expanded(node, {}) > MOST:
            raise yaml.YAMLError(f"more than {MOST:,} values when its aliases (*name) are written out")
        return super().construct_document(node)


def _expanded(node: yaml.Node, known: dict[int, int | None]) -> int:
    """Number of values of a YAML node with every alias written out."""
    if id(node) not in known:
        known[id(node)] = None  # until its inner nodes are counted
        inner = node.value if isinstance(node, yaml.CollectionNode) else ()
        pairs = isinstance(node, yaml.MappingNode)
        known[id(node)] = 1 + sum(_expanded(n, known) for each in inner for n in (each if pairs else [each]))
    count = known[id(node)]
    if count is None:
        raise yaml.YAMLError(f"line {node.start_mark.line + 1}: holds an alias of itself")
    return count


def load_plain(text: str) -> Any:
    """The value of a YAML text; None for an empty one.

    YAMLError if it is not YAML, holds a tag of Python's, is nested beyond reason, or larger than `LONGEST` or `MOST`.
    """
    if len(text) > LONGEST:
        raise yaml.YAMLError(f"{len(text):,} characters, where a file of settings has {LONGEST:,} at most")
    try:
        return yaml.load(text, Loader=PlainSafeLoader)
    except (RecursionError, ValueError) as bad:  # ValueError: a date that is none
        raise yaml.YAMLError(f"not to be read ({type(bad).__name__}: {bad})") from None
