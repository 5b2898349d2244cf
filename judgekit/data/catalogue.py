"""Every set by name, whatever kind it is: test sets, corpora and the authored sample."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from judgekit.data.benchmarks import BENCHMARKS, FROM_HUB, PROTECTED, UNLABELLED, protected_prompts
from judgekit.data.corpora import ANSWERS, CORPORA, preferred_responses
from judgekit.data.corpora.aspect_ratings import RATED, load_rated, read_probing_file
from judgekit.data.declared import DeclaredError, declared_sets, own_file
from judgekit.data.files import sha256_of
from judgekit.data.loading import Loaded
from judgekit.data.pairfile import read_pairs
from judgekit.data.paths import OWN, data_mirror, known_names
from judgekit.data.sample import SAMPLE_SETS, load_sample, load_sample_ratings
from judgekit.data.sources import source_hashes
from judgekit.records import PreferencePair, Response, with_counts

SETS = BENCHMARKS | FROM_HUB | UNLABELLED | CORPORA
SAMPLE_TESTS = ("sample_natural", "sample_adversarial")
UNIONS = ("llmbar_adversarial", "rm_bench_chat")  # sets whose items also stand in others
# Sets whose prompts were protected before they were scored; `protected_prompts` goes on reading them.
LONG_PROTECTED = ("rm_bench", "evalbiasbench")


def load_set(name: str) -> list[PreferencePair]:
    """The pairs of a test set, a corpus, a part of the sample, or of one's own (``file:PATH``, or declared by a run).

    A relative path is one of the working folder, else of the project. KeyError lists the sets; ValueError if two items
    share an id; DataError if a file cannot be had; PairFileError as of `read_pairs`.
    """
    return load_set_with_report(name)[0]


def load_set_with_report(name: str) -> Loaded:
    """The pairs of a set, and counts of what was repaired, skipped or is odd."""
    if name in SAMPLE_SETS:
        return with_counts(load_sample(name), {})
    if path := own_file(name):
        if name in SETS:
            raise DeclaredError(f"a run declares a set {name!r}, which is known by that name: choose another")
        return with_counts([replace(pair, benchmark=name) for pair in read_pairs(path)], {})
    if name in SETS:
        return with_counts(*SETS[name].load())
    known = [*SAMPLE_SETS, *SETS, *declared_sets()]
    raise KeyError(f"no set is called {name!r}; {known_names(name, known, f'{OWN}PATH')}")


def set_hashes(names: Iterable[str]) -> dict[str, str]:
    """File to SHA-256 for all that the named sets, of whatever kind, are read from, save the sample."""
    names = list(names)
    own = {name: sha256_of(path) for name in names if (path := own_file(name))}
    sets = ANSWERS | SETS  # a name that stands in both is read from the same files
    registered = {file: digest for name in names if name in sets for file, digest in sets[name].hashes().items()}
    return own | registered | source_hashes([RATED[name] for name in names if name in RATED])


def load_answer_set_with_report(name: str) -> Loaded:
    """Single responses of one of `ANSWERS`, or the better of each pair of the sample or of one's own, and counts."""
    if name not in ANSWERS and (name in SAMPLE_SETS or own_file(name)):
        responses, report = preferred_responses(load_set(name))
        return responses, {"items": len(responses), **report}
    if name not in ANSWERS:
        raise KeyError(f"no answers {name!r}; {known_names(name, ANSWERS)}")
    return with_counts(*ANSWERS[name].load())


def load_rated_set(name: str) -> dict[str, list[Response]]:
    """Responses rated on several aspects, by aspect; errors as for `load_set`.

    ``name``: one of `RATED`, the ``sample``, or the path of a file in the published form (``.json``), e.g. one's own.
    """
    if name == "sample":
        return load_sample_ratings()
    return read_probing_file(name, Path(name).stem) if name.endswith(".json") else load_rated(name)


def _test_sets() -> list[str]:
    """The test sets that can be read: without a mirror, all of MT-bench's votes in place of a mirror's."""
    return [name if data_mirror() or name != "mtbench" else "mtbench_all" for name in BENCHMARKS]


def hashes_of_tests(sample: bool = False) -> dict[str, str]:
    """File to SHA-256 for everything that `questions_of_tests` reads."""
    return {} if sample else set_hashes(_test_sets()) | source_hashes(PROTECTED)


def questions_of_tests(sample: bool = False) -> list[tuple[str, str]]:
    """Every question of the test sets (or of the sample's test parts), each after where it stands."""
    names = SAMPLE_TESTS if sample else [name for name in _test_sets() if name not in (*UNIONS, *LONG_PROTECTED)]
    questions: list[tuple[str, str]] = []
    for name in names:
        for pair in load_set(name):
            where = f"{name}/{pair.item_id}"
            questions += [(where, question) for question in (*(turn.question for turn in pair.turns), pair.question)]
    return questions if sample else questions + protected_prompts()
