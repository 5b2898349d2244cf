"""The test sets as preference pairs: those with labels, and one that judges judged and nobody else.

Every loader returns the pairs in the file's own order, sides as published, and a report of what it had to repair.
"""

from judgekit.data.benchmarks.labelled import BENCHMARKS, UNLABELLED
from judgekit.data.loading import Loaded, load_named
from judgekit.records import PreferencePair

__all__ = ["BENCHMARKS", "UNLABELLED", "load_benchmark", "load_benchmark_with_report"]


def load_benchmark(name: str) -> list[PreferencePair]:
    """The pairs of one of `BENCHMARKS` or `UNLABELLED`; errors as of `judgekit.data.loading.load_named`."""
    return load_benchmark_with_report(name)[0]


def load_benchmark_with_report(name: str) -> Loaded:
    """The pairs of a test set, and counts: ``items``, ``empty_responses`` (pairs with one), what was repaired."""
    return load_named("benchmark", BENCHMARKS | UNLABELLED, name)
