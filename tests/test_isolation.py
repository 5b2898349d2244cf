"""Test sets are for testing: training, cleaning and selection never see their labels or responses."""

import ast
import math
import re
import subprocess
import sys
from collections import Counter, defaultdict

import pandas as pd
import pytest
import yaml
from notebook_functions import code_of
from test_floors import modules_of

from judgekit.data import catalogue
from judgekit.data.benchmarks import BENCHMARKS, FROM_HUB
from judgekit.data.cleaning import QuestionIndex, clean
from judgekit.data.corpora import ANSWERS, CORPORA
from judgekit.data.paths import PACKAGE, project_root
from judgekit.data.sample import SAMPLE_SETS
from judgekit.report.workflow import read_parameters
from judgekit.training.constructed import KINDS

ROOT = project_root()
TEST_SETS = {*BENCHMARKS, *FROM_HUB, *catalogue.SAMPLE_TESTS}
FORBIDDEN = "data.benchmarks data.catalogue scoring judges.replay studies.label_errors bias people.calibration".split()
BLIND = ("scoring.metrics", "scoring.running", "scoring.store", "bias.edits")  # of these rooms, what knows no set
CHOOSING = ("data/cleaning", "training", "inside")
SIGHTLESS = sorted(path for name in CHOOSING for path in (PACKAGE / name).rglob("*.py"))
SIGHTLESS.append(PACKAGE / "studies" / "data_selection.py")
TRAINING_NOTEBOOKS = sorted([*(ROOT / "notebooks").glob("10_*.ipynb"), *(ROOT / "notebooks").glob("2*.ipynb")])
TRAINING_STUDIES = [PACKAGE / "studies" / f"{name}.py" for name in ("data_mixture", "defend_encoder_judge")]
ALLOWED = {"load_set", "load_set_with_report", "set_hashes", "load_answer_set_with_report"}


def imported(text):
    """Dotted names below judgekit that a piece of code imports, also inside functions."""
    found = [name for node in ast.walk(ast.parse(text)) for name in modules_of(node)]
    return {name.removeprefix("judgekit.") for name in found if name.startswith("judgekit.")}


def reaches(names, forbidden=FORBIDDEN):
    def within(name, parts):
        return any(name == part or name.startswith(part + ".") for part in parts)

    return sorted(name for name in names if within(name, forbidden) and not within(name, BLIND))


def names_test_sets(text):
    return {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)} & TEST_SETS


@pytest.mark.parametrize("path", SIGHTLESS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_fits_and_chooses_cannot_reach_the_test_sets(path):
    text = path.read_text(encoding="utf-8")
    assert reaches(imported(text)) == [] and not names_test_sets(text)


def test_reaching_is_seen():
    inside = "def f():\n    from judgekit.data.benchmarks import BENCHMARKS"
    assert reaches(imported(inside)) == ["data.benchmarks.BENCHMARKS"]
    assert reaches(imported("from judgekit import scoring")) == ["scoring"]
    assert reaches(imported("import judgekit.data.catalogue as c")) == ["data.catalogue"]
    assert reaches(imported("from judgekit.judges.surface import CLIP")) == []


def test_training_and_cleaning_load_no_benchmark_indirectly():
    parts = "judgekit.data.cleaning, judgekit.training.encoder, judgekit.training.features"
    code = f"import sys, {parts}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("judgekit.") for name in done.stdout.split() if name.startswith("judgekit.")}
    assert "training.encoder" in loaded
    assert reaches(loaded) == []


@pytest.mark.parametrize("path", [*TRAINING_NOTEBOOKS, *TRAINING_STUDIES], ids=lambda path: path.stem)
def test_training_notebooks_and_what_they_call_load_named_corpora_and_name_no_test_set(path):
    notebook = path.suffix == ".ipynb"
    texts = [text for text, _ in code_of(path)] if notebook else [path.read_text(encoding="utf-8")]
    assert not any(map(names_test_sets, texts))
    names = set().union(*map(imported, texts))
    if notebook and "data.catalogue" in names:  # the module: what is used of it counts
        used = {name for text in texts for name in re.findall(r"\bcatalogue\.(\w+)", text)}
        assert used, "under another name: who reads it could not tell what is loaded"
        names = names - {"data.catalogue"} | {f"data.catalogue.{name}" for name in used}
    loaders = {name.rpartition(".")[2] for name in names if name.startswith("data.catalogue")}
    cleans = path.stem.startswith("10_")  # it reads test questions to drop them, and hashes what it read
    allowed = ALLOWED | ({"questions_of_tests", "hashes_of_tests"} if cleans else set())
    assert loaders <= allowed
    others = [name for name in names if not name.startswith("data.catalogue.")]
    assert reaches(others, (*FORBIDDEN, "data.corpora", "data.sample")) == []


def names_in(value):
    """Every text in a nested parameter, keys included."""
    if isinstance(value, dict):
        return {name for pair in value.items() for part in pair for name in names_in(part)}
    if isinstance(value, (list, tuple)):
        return {name for part in value for name in names_in(part)}
    return {value} if isinstance(value, str) else set()


# A judge is made and then scored in one notebook: what it is made of, and that it is made first.
MADE_AND_SCORED = "53_pairwise_probe"


def test_a_probe_judge_is_finished_before_a_test_set_is_loaded():
    cells = [text for text, _ in code_of(ROOT / "notebooks" / f"{MADE_AND_SCORED}.ipynb")]
    saved, scored = (
        next(k for k, text in enumerate(cells) if f"{name}(" in text) for name in ("save_probe_judge", "contests_of")
    )
    assert saved < scored
    for place, text in enumerate(cells[1:], 1):
        nodes = list(ast.walk(ast.parse(text)))
        uses = {node.id for node in nodes if isinstance(node, ast.Name)}
        uses |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        assert place >= scored or "sets" not in uses
        assert place < scored or not uses & {"choose_probe", "fit_choice", "fit_ties", "nested_probe"}


@pytest.mark.parametrize("run", ["sample", "laptop"])
def test_a_probe_judge_is_made_of_training_corpora(run):
    given = read_parameters(run, MADE_AND_SCORED)
    assert names_in(given.get("corpora")) <= {*CORPORA, *SAMPLE_SETS} - TEST_SETS
    assert run == "sample" or names_in(given["sets"]) & TEST_SETS


PARAMETER_FILES = [path for notebook in TRAINING_NOTEBOOKS for path in ROOT.glob(f"params/*/{notebook.stem}*.yaml")]


@pytest.mark.parametrize("path", PARAMETER_FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_run_trains_or_selects_on_a_test_set(path):
    given = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert not names_in(given) & TEST_SETS
    for key in ("corpora", "further", "held_out", "validation_sets", "shares"):
        # Constructed pairs are made of training questions and responses: tests/test_training.py.
        constructed = set(KINDS) if key == "shares" else set()
        assert names_in(given.get(key)) - constructed <= {*CORPORA, *SAMPLE_SETS} - TEST_SETS
    assert names_in(given.get("answers")) <= {*ANSWERS, *SAMPLE_SETS} - TEST_SETS


class Guarded:
    """A test item, or an earlier turn of one, of which only the question may be read."""

    READABLE = ("item_id", "benchmark", "question", "turns")

    def __init__(self, pair):
        object.__setattr__(self, "_pair", pair)

    def __getattr__(self, name):
        if name not in self.READABLE:
            raise AssertionError(f"{name} of a test item was read")
        value = getattr(self._pair, name)
        return tuple(map(Guarded, value)) if name == "turns" else value


@pytest.mark.parametrize("sample", [True, pytest.param(False, marks=pytest.mark.realdata)])
def test_collecting_test_questions_reads_questions_only(monkeypatch, sample):
    load, seen = catalogue.load_set, []
    monkeypatch.setattr(catalogue, "load_set", lambda name: [seen.append(name) or Guarded(p) for p in load(name)])
    found = catalogue.questions_of_tests(sample=sample)
    read = set(BENCHMARKS) - {*catalogue.UNIONS, *catalogue.LONG_PROTECTED}
    assert set(seen) == (set(catalogue.SAMPLE_TESTS) if sample else read)
    assert all(isinstance(where, str) and isinstance(text, str) for where, text in found)
    asked = {text for _, text in found}
    for name in catalogue.SAMPLE_TESTS if sample else BENCHMARKS:  # the unions too: their items stand in other sets
        for one in load(name):
            assert {one.question, *(turn.question for turn in one.turns)} <= asked


def test_the_sample_is_split_by_question():
    train, tests = catalogue.load_set("sample_train"), catalogue.questions_of_tests(sample=True)
    assert not {p.question for p in train} & {text for _, text in tests}
    assert clean(train, QuestionIndex(tests))[0]


def words_of(text):
    return tuple(re.sub(r"[^\w]+", " ", text.casefold()).split())


def trained_on(run):
    """Every record that a run's tables name, with its part."""
    pairs, singles = catalogue.load_set_with_report, catalogue.load_answer_set_with_report
    for table, load in (("training_split", pairs), ("further_split", pairs), ("training_answers", singles)):
        split = pd.read_csv(ROOT / "outputs" / run / "data" / f"{table}.csv.gz", dtype=str)
        for name, rows in split.groupby("source" if load is singles else "benchmark"):
            assert name not in TEST_SETS
            by_id = {record.item_id: record for record in load(name)[0]}
            for item, part in zip(rows["item_id"], rows["split"], strict=True):
                yield by_id[item], part


def nearly_equal(questions, others, share=0.8, shortest=6):
    """Pairs of questions with nearly the same set of words: an exact join by prefix, without hashing.

    Two sets that share that much must have a word in common among the rarest few of each.
    """
    counts = Counter(word for question in (*questions, *others) for word in set(question))

    def rarest(question):
        ordered = sorted(set(question), key=lambda word: (counts[word], word))
        return ordered[: len(ordered) - math.ceil(share * len(ordered)) + 1]

    holders = defaultdict(set)
    for other in others:
        for word in rarest(other) if len(other) >= shortest else ():
            holders[word].add(other)
    for question in questions:
        own = set(question)
        for other in set().union(*(holders[word] for word in rarest(question))) if len(question) >= shortest else ():
            if len(own & set(other)) >= share * len(own | set(other)):
                yield question, other


@pytest.mark.realdata
@pytest.mark.slow
def test_what_was_trained_on_holds_no_test_question():
    asked = {words_of(text) for _, text in catalogue.questions_of_tests()} - {()}
    questions, first = defaultdict(set), defaultdict(set)
    for record, part in trained_on("laptop"):
        turns = [words_of(turn.question) for turn in record.turns]
        questions[part] |= {*turns, words_of(record.question)}
        first[part].add((turns or [words_of(record.question)])[0])
    everything = questions["train"] | questions["validation"]
    assert not everything & asked, sorted(everything & asked)[:3]
    near = [(" ".join(question), " ".join(other)) for question, other in nearly_equal(everything, asked)]
    assert not near, near[:3]
    assert len(questions["train"]) > 20_000 and len(questions["validation"]) > 2_000
    # Pairs, further pairs and single responses to one question stand on one side.
    assert not first["train"] & first["validation"]
