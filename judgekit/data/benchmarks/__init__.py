"""The test sets, one loader each, as preference pairs: those with labels, and one that judges judged and nobody else.

Every loader returns the pairs in the file's own order, sides as published, and a report of what it had to repair.
"""

from functools import partial

from judgekit.data.benchmarks import autoj, evalbiasbench, judgebench, llmbar, mtbench, mtbench_repro, pandalm, rm_bench
from judgekit.data.sources import load_named, source_hashes

# Name -> loader; a loader returns (list of PreferencePair, report: dict of str to int).
BENCHMARKS = {
    "pandalm": pandalm.load,
    "autoj": autoj.load,
    "mtbench": mtbench.load,
    **{name: partial(llmbar.load, name) for name in llmbar.SETS},
    "judgebench": judgebench.load,
    "rm_bench": rm_bench.load,
    "evalbiasbench": evalbiasbench.load,
}
# The same for sets without labels: judges may be compared with each other there, never scored.
UNLABELLED = {"mtbench_repro": mtbench_repro.load}


def load_benchmark(name):
    """The pairs of a test set.

    Parameters
    ----------
    name : str
        A key of `BENCHMARKS` or `UNLABELLED`.

    Returns
    -------
    list of PreferencePair
        Item ids are unique.

    Raises
    ------
    KeyError
        If there is no such set; the message lists those there are.
    DataError
        If a file cannot be had, or a row is malformed (names file, row and field).
    """
    return load_benchmark_with_report(name)[0]


def load_benchmark_with_report(name):
    """The pairs of a test set, and counts of what was repaired or is odd.

    Returns
    -------
    pairs : list of PreferencePair
    report : dict of str to int
        Always ``items`` and ``empty_responses`` (pairs with at least one empty response); the rest depends on the
        set.
    """
    return load_named("benchmark", BENCHMARKS | UNLABELLED, name)


def benchmark_hashes(name):
    """The provenance of a test set, to be saved with a result: file name to SHA-256.

    A set read from the hub is entered as ``hub:<owner>/<name>``, with its revision (or the row count it was
    checked by) in place of a hash.

    Raises
    ------
    KeyError
        If there is no such set.
    """
    if name in llmbar.SETS:
        return source_hashes(llmbar.SETS[name].values())
    if name == "mtbench":
        return source_hashes(mtbench.files()) | mtbench.hub_provenance()
    if name == "mtbench_repro":
        return source_hashes(mtbench_repro.files())
    modules = {one.__name__.rpartition(".")[2]: one for one in (pandalm, autoj, judgebench, rm_bench, evalbiasbench)}
    return source_hashes(modules[name].FILES)
