"""How many parameters judges have, each with its source: data, beside the verdicts that they left."""

from functools import lru_cache
from importlib import resources
from typing import NamedTuple

from judgekit.data.plain_yaml import load_plain


class Size(NamedTuple):
    """The size of one judge."""

    title: str  # the judge's name as written in figures
    parameters: int | None  # None where the owner never stated it
    source: str  # model card or paper, or what was counted


@lru_cache(maxsize=1)
def sizes() -> dict[str, Size]:
    """Every size that is known, or known not to be published, by slug."""
    text = resources.files("judgekit.data.benchmarks").joinpath("sizes.yaml").read_text(encoding="utf-8")
    return {slug: Size(**entry) for slug, entry in load_plain(text).items()}


def size_of(judge: str) -> Size:
    """The size of a judge, by its slug; a prompt or a variant has its judge's.

    KeyError if nothing is stated: add it to ``sizes.yaml``, with null and a source where the owner states none.

    >>> size_of("auto_j_13b").parameters, size_of("gpt_4_vanilla_norules").parameters
    (13000000000, None)
    """
    known = [name for name in sizes() if judge == name or judge.startswith(f"{name}_")]
    if not known:
        raise KeyError(f"no size is stated for {judge!r}: add it to judgekit/data/benchmarks/sizes.yaml")
    return sizes()[max(known, key=len)]
