"""How many parameters judges have, each with its source: data, beside the verdicts that they left."""

from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from judgekit.data.plain_yaml import load_plain


@dataclass(frozen=True, slots=True)
class Size:
    """The size of one judge.

    Attributes
    ----------
    title : str
        The judge's name as written in figures.
    parameters : int or None
        None where the owner never stated it.
    source : str
        Model card or paper, or what was counted.
    """

    title: str
    parameters: int | None
    source: str


@lru_cache(maxsize=1)
def sizes():
    """Every size that is known, or known not to be published: dict of slug to `Size`."""
    text = resources.files("judgekit.data.benchmarks").joinpath("sizes.yaml").read_text(encoding="utf-8")
    return {slug: Size(**entry) for slug, entry in load_plain(text).items()}


def size_of(judge):
    """The size of a judge; a prompt or a variant has its judge's.

    Parameters
    ----------
    judge : str
        The slug.

    Raises
    ------
    KeyError
        If nothing is stated: add it to ``sizes.yaml``, with null and a source where the owner states none.

    Examples
    --------
    >>> size_of("auto_j_13b").parameters, size_of("gpt_4_vanilla_norules").parameters
    (13000000000, None)
    """
    known = [name for name in sizes() if judge == name or judge.startswith(f"{name}_")]
    if not known:
        raise KeyError(f"no size is stated for {judge!r}: add it to judgekit/data/benchmarks/sizes.yaml")
    return sizes()[max(known, key=len)]
