"""The test sets as preference pairs: those with labels, and one that judges judged and nobody else.

Every loader returns the pairs in the file's own order, sides as published, and a report of what it had to repair.
"""

from functools import partial

from judgekit.data.benchmarks import labelled, mtbench, mtbench_repro
from judgekit.data.loading import DataSet, Loaded, load_named, of_files
from judgekit.records import PreferencePair

BENCHMARKS = {
    "pandalm": of_files(labelled.pandalm, "pandalm/testset-v1.json"),
    "autoj": of_files(labelled.autoj, "autoj/testdata_pairwise.jsonl"),
    "mtbench": DataSet(mtbench.load, mtbench.hashes),
    **{
        name: of_files(partial(labelled.llmbar, benchmark=name), *(labelled.LLMBAR[subset] for subset in subsets))
        for name, subsets in labelled.LLMBAR_SETS.items()
    },
    "judgebench": of_files(labelled.judgebench, *labelled.JUDGEBENCH.values()),
    "rm_bench": of_files(labelled.rm_bench, *labelled.RM_BENCH.values()),
    "evalbiasbench": of_files(labelled.evalbiasbench, "evalbiasbench/biasbench.json", read=labelled.read_grouped),
}
# The same for sets without labels: judges may be compared with each other there, never scored.
UNLABELLED = {"mtbench_repro": DataSet(mtbench_repro.load, mtbench_repro.hashes)}


def load_benchmark(name: str) -> list[PreferencePair]:
    """The pairs of one of `BENCHMARKS` or `UNLABELLED`; errors as of `judgekit.data.loading.load_named`."""
    return load_benchmark_with_report(name)[0]


def load_benchmark_with_report(name: str) -> Loaded:
    """The pairs of a test set, and counts: ``items``, ``empty_responses`` (pairs with one), what was repaired."""
    return load_named("benchmark", BENCHMARKS | UNLABELLED, name)


def benchmark_hashes(name: str) -> dict[str, str]:
    """The provenance of a test set, to be saved with a result: file name to SHA-256; KeyError if there is no such set.

    A set read from the hub is entered as ``hub:<owner>/<name>@<revision>``.
    """
    return (BENCHMARKS | UNLABELLED)[name].hashes()
