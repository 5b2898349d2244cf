"""Every set by name, whatever kind it is: test sets, corpora and the authored sample."""

from pathlib import Path

from judgekit.benchmarks import BENCHMARKS, UNLABELLED, benchmark_hashes, load_benchmark_with_report
from judgekit.benchmarks.protected import files as protected_files
from judgekit.benchmarks.protected import protected_prompts
from judgekit.corpora import (
    CORPORA,
    HUB_CORPORA,
    answer_hashes,
    corpus_hashes,
    load_answers_with_report,
    load_corpus_with_report,
    preferred_responses,
)
from judgekit.corpora.aspect_ratings import PROBING, ROSCOE, load_probing_set, load_roscoe, read_probing_file
from judgekit.records import with_counts
from judgekit.sample import SAMPLE_SETS, load_sample
from judgekit.sample.ratings import load_sample_ratings
from judgekit.sources import source_hashes

SAMPLE_TESTS = ("sample_natural", "sample_adversarial")
UNIONS = ("llmbar_adversarial",)  # sets whose items also stand in others
# Sets whose prompts were protected before they were scored: they keep the places that the register of what was dropped
# names, and `protected_prompts` goes on reading them.
LONG_PROTECTED = ("rm_bench", "evalbiasbench")


def load_set(name):
    """The pairs of a set.

    Parameters
    ----------
    name : str
        A test set (``pandalm``), one without labels (``mtbench_repro``), a corpus (``alpaca_eval``) or a part of the
        sample (``sample_train``).

    Returns
    -------
    list of PreferencePair

    Raises
    ------
    KeyError
        If there is no such set; the message lists those there are.
    judgekit.sources.DataError
        If a file cannot be had or a row is malformed.
    """
    return load_set_with_report(name)[0]


def load_set_with_report(name):
    """The pairs of a set, and counts of what was repaired, skipped or is odd (dict of str to int)."""
    if name in SAMPLE_SETS:
        return with_counts(load_sample(name), {})
    if name in BENCHMARKS or name in UNLABELLED:
        return load_benchmark_with_report(name)
    if name in CORPORA or name in HUB_CORPORA:
        return load_corpus_with_report(name)
    known = [*SAMPLE_SETS, *BENCHMARKS, *UNLABELLED, *CORPORA, *HUB_CORPORA]
    raise KeyError(f"no set is called {name!r}; there are {', '.join(known)}")


def set_hashes(names):
    """File to SHA-256 for everything that the named sets are read from: the provenance of a result."""
    hashes = {}
    for name in names:
        if name in BENCHMARKS or name in UNLABELLED:
            hashes |= benchmark_hashes(name)
        elif name in CORPORA or name in HUB_CORPORA:
            hashes |= corpus_hashes(name)
    return hashes


def load_answer_set(name):
    """Questions with single responses: `load_answer_set_with_report` without the report."""
    return load_answer_set_with_report(name)[0]


def load_answer_set_with_report(name):
    """Questions with single responses, and counts of what was skipped or is odd (dict of str to int).

    Parameters
    ----------
    name : str
        A source of `judgekit.corpora.ANSWERS`, or a part of the sample: then the better response of each pair.

    Returns
    -------
    responses : list of judgekit.records.Response
    report : dict of str to int

    Raises
    ------
    KeyError
        If there is no such source; the message lists those there are.
    judgekit.sources.DataError
        If a file cannot be had or a row is malformed.
    """
    if name not in SAMPLE_SETS:
        return load_answers_with_report(name)
    responses, report = preferred_responses(load_sample(name))
    return responses, {"items": len(responses), **report}


def answer_set_hashes(names):
    """File to SHA-256 for everything that the named sources of single responses are read from."""
    return {file: sha256 for name in names if name not in SAMPLE_SETS for file, sha256 in answer_hashes(name).items()}


def load_rated_set(name):
    """Responses rated on several aspects.

    Parameters
    ----------
    name : str
        A probing set (``gsm8k``, ``gpqa``, ``alpacaeval``), a set that people rated (``roscoe_gsm8k``, ...), the
        ``sample``, or the path of a file in the published form (``.json``), e.g. one's own or that of MATH.

    Returns
    -------
    dict of str to list of Response
        By aspect.

    Raises
    ------
    KeyError
        If there is no such set.
    judgekit.sources.DataError
        If a file cannot be had or an item is malformed.
    """
    if name == "sample":
        return load_sample_ratings()
    if name.startswith("roscoe_"):
        return load_roscoe(name.removeprefix("roscoe_"))
    if name.endswith(".json"):
        return read_probing_file(name, Path(name).stem)
    return load_probing_set(name)


def rated_set_hashes(names):
    """File to SHA-256 for everything that the named rated sets are read from."""
    files = {name: PROBING.get(name) or ROSCOE.get(name.removeprefix("roscoe_")) for name in names}
    return source_hashes([file for file in files.values() if file])


def hashes_of_tests(sample=False):
    """File to SHA-256 for everything that `questions_of_tests` reads."""
    return {} if sample else set_hashes(BENCHMARKS) | source_hashes(protected_files())


def questions_of_tests(sample=False):
    """Every question of every test set, which training data must not contain.

    Parameters
    ----------
    sample : bool
        The test parts of the sample instead of the real sets.

    Returns
    -------
    list of (str, str)
        Where the question stands, and its text. Labels and responses are not among it.
    """
    names = SAMPLE_TESTS if sample else [name for name in BENCHMARKS if name not in (*UNIONS, *LONG_PROTECTED)]
    found = []
    for name in names:
        for pair in load_set(name):
            where = f"{name}/{pair.item_id}"
            found += [(where, question) for question in (*(turn.question for turn in pair.turns), pair.question)]
    if not sample:
        found += [(name, question) for name, questions in protected_prompts().items() for question in questions]
    return found
