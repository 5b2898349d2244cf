"""Test sets are for testing: training, cleaning and selection never see their labels or responses."""

import ast
import gzip
import json
import re
import subprocess
import sys

import pandas as pd
import pytest
import yaml

from judgekit import catalogue
from judgekit.benchmarks import BENCHMARKS
from judgekit.cleaning import clean
from judgekit.corpora import ANSWERS, CORPORA, HUB_CORPORA
from judgekit.paths import PACKAGE, project_root
from judgekit.sample import SAMPLE_SETS

ROOT = project_root()
TEST_SETS = {*BENCHMARKS, *catalogue.SAMPLE_TESTS}
FORBIDDEN = ("benchmarks", "scoring", "catalogue", "judges.replay", "audit", "bias", "attacks", "calibration")
SIGHTLESS = sorted([*(PACKAGE / "cleaning").glob("*.py"), *(PACKAGE / "training").glob("*.py")])
TRAINING_NOTEBOOKS = sorted([*(ROOT / "notebooks").glob("10_*.ipynb"), *(ROOT / "notebooks").glob("2*.ipynb")])
ALLOWED = {
    "load_set",
    "load_set_with_report",
    "set_hashes",
    "load_answer_set_with_report",
    "answer_set_hashes",
}


def imported(text):
    """Dotted names below judgekit that a piece of code imports, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.removeprefix("judgekit.") for name in found if name.startswith("judgekit.")}


def reaches(names, forbidden=FORBIDDEN):
    return sorted(n for n in names if any(n == part or n.startswith(part + ".") for part in forbidden))


def code_of(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [("".join(c["source"]), c["metadata"].get("tags", [])) for c in cells if c["cell_type"] == "code"]


# ---------------------------------------------------------------- the code


@pytest.mark.parametrize("path", SIGHTLESS, ids=lambda path: path.stem)
def test_cleaning_and_training_cannot_reach_the_test_sets(path):
    text = path.read_text(encoding="utf-8")
    assert reaches(imported(text)) == []
    words = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
    assert not words & TEST_SETS


def test_reaching_is_seen():
    assert reaches(imported("def f():\n    from judgekit.benchmarks import load_benchmark")) == [
        "benchmarks.load_benchmark"
    ]
    assert reaches(imported("from judgekit import scoring")) == ["scoring"]
    assert reaches(imported("import judgekit.catalogue as c")) == ["catalogue"]
    assert reaches(imported("from judgekit.judges.features import CLIP")) == []


def test_training_and_cleaning_load_no_benchmark_indirectly():
    code = "import sys, judgekit.cleaning, judgekit.training.encoder, judgekit.training.features\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("judgekit.") for name in done.stdout.split() if name.startswith("judgekit.")}
    assert "training.encoder" in loaded
    assert reaches(loaded) == []


# ---------------------------------------------------------------- the notebooks


@pytest.mark.parametrize("path", TRAINING_NOTEBOOKS, ids=lambda path: path.stem)
def test_training_notebooks_load_named_corpora_and_nothing_else(path):
    names = set().union(*(imported(text) for text, _ in code_of(path)))
    loaders = {name.rpartition(".")[2] for name in names if name.startswith("catalogue")}
    cleans = path.stem.startswith("10_")  # it reads test questions to drop them, and hashes what it read
    allowed = ALLOWED | ({"questions_of_tests", "hashes_of_tests"} if cleans else set())
    assert loaders <= allowed
    others = [name for name in names if not name.startswith("catalogue.")]
    assert reaches(others) == []
    assert not any(name == "corpora" or name.startswith(("corpora.", "benchmarks", "sample")) for name in others)


@pytest.mark.parametrize("path", TRAINING_NOTEBOOKS, ids=lambda path: path.stem)
def test_training_notebooks_name_no_test_set(path):
    for text, _ in code_of(path):
        words = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
        assert not words & TEST_SETS


def names_in(value):
    """Every text in a nested parameter, keys included."""
    if isinstance(value, dict):
        return {name for pair in value.items() for part in pair for name in names_in(part)}
    if isinstance(value, (list, tuple)):
        return {name for part in value for name in names_in(part)}
    return {value} if isinstance(value, str) else set()


PARAMETER_FILES = [path for notebook in TRAINING_NOTEBOOKS for path in ROOT.glob(f"params/*/{notebook.stem}*.yaml")]


@pytest.mark.parametrize("path", PARAMETER_FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_run_trains_or_selects_on_a_test_set(path):
    given = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert not names_in(given) & TEST_SETS
    for key in ("corpora", "held_out", "validation_sets", "shares"):
        assert names_in(given.get(key)) <= {*CORPORA, *HUB_CORPORA, *SAMPLE_SETS} - TEST_SETS
    assert names_in(given.get("answers")) <= {*ANSWERS, *SAMPLE_SETS} - TEST_SETS


def test_there_are_notebooks_and_parameters_to_check():
    assert len(TRAINING_NOTEBOOKS) >= 2 and len(PARAMETER_FILES) >= 4
    assert names_in({"shares": {"pandalm": 1}, "x": ["autoj", 3]}) & TEST_SETS == {"pandalm", "autoj"}


# ---------------------------------------------------------------- at work


class Guarded:
    """A test item of which only the question may be read."""

    READABLE = ("item_id", "benchmark", "question", "turns")

    def __init__(self, pair):
        object.__setattr__(self, "_pair", pair)

    def __getattr__(self, name):
        if name not in self.READABLE:
            raise AssertionError(f"{name} of a test item was read")
        value = getattr(self._pair, name)
        return tuple(GuardedTurn(turn.question) for turn in value) if name == "turns" else value


class GuardedTurn:
    """An earlier turn of a test item: its question only."""

    def __init__(self, question):
        self.question = question

    def __getattr__(self, name):
        raise AssertionError(f"{name} of a test item's turn was read")


def test_the_guard_guards():
    guarded = Guarded(catalogue.load_set("sample_natural")[0])
    assert guarded.question
    for name in ("label", "votes", "response_a", "response_b", "reference", "swapped"):
        with pytest.raises(AssertionError, match=name):
            getattr(guarded, name)


def test_collecting_test_questions_reads_questions_only(monkeypatch):
    load, seen = catalogue.load_set, []
    monkeypatch.setattr(catalogue, "load_set", lambda name: [seen.append(name) or Guarded(p) for p in load(name)])
    found = catalogue.questions_of_tests(sample=True)
    assert set(seen) == set(catalogue.SAMPLE_TESTS)
    assert {text for _, text in found} == {p.question for name in catalogue.SAMPLE_TESTS for p in load(name)}


@pytest.mark.realdata
def test_collecting_real_test_questions_reads_questions_only(monkeypatch):
    load, seen = catalogue.load_set, []
    monkeypatch.setattr(catalogue, "load_set", lambda name: [seen.append(name) or Guarded(p) for p in load(name)])
    found = catalogue.questions_of_tests()
    assert set(seen) == set(BENCHMARKS) - set(catalogue.UNIONS)
    assert all(isinstance(where, str) and isinstance(text, str) for where, text in found)
    asked = {text for _, text in found}
    for name in BENCHMARKS:  # the unions too: their items stand in other sets
        for one in load(name):
            assert {one.question, *(turn.question for turn in one.turns)} <= asked


def test_what_is_collected_holds_no_response():
    responses = {t for n in catalogue.SAMPLE_TESTS for p in catalogue.load_set(n) for t in (p.response_a, p.response_b)}
    assert not {text for _, text in catalogue.questions_of_tests(sample=True)} & responses


def test_the_sample_is_split_by_question():
    train, tests = catalogue.load_set("sample_train"), catalogue.questions_of_tests(sample=True)
    assert not {p.question for p in train} & {text for _, text in tests}
    assert clean(train, tests)[0]


# ---------------------------------------------------------------- what was trained


def plain(question):
    return " ".join(re.sub(r"[^\w]+", " ", question.casefold()).split())


def read_split(run):
    with gzip.open(ROOT / "outputs" / run / "data" / "training_split.csv.gz", "rt", encoding="utf-8") as file:
        return pd.read_csv(file, dtype=str)


@pytest.mark.realdata
@pytest.mark.slow
def test_the_split_that_was_trained_on_holds_no_test_question():
    split = read_split("laptop")
    assert not set(split["benchmark"]) & TEST_SETS
    asked = {plain(text) for _, text in catalogue.questions_of_tests()} - {""}
    questions = {}
    for name, rows in split.groupby("benchmark"):
        by_id = {pair.item_id: pair for pair in catalogue.load_set(name)}
        for part, items in rows.groupby("split")["item_id"]:
            pairs = [by_id[item] for item in items]
            questions.setdefault(part, set()).update(plain(pair.asked) for pair in pairs)
            texts = {plain(text) for pair in pairs for text in (pair.question, *(turn.question for turn in pair.turns))}
            assert not texts & asked, f"{name}: {sorted(texts & asked)[:3]}"
    assert len(questions["train"]) > 1000
    assert not questions["train"] & questions["validation"]
