"""What all tests share: the data mirror, and a loud skip of the tests that need what is not there."""

import os
import subprocess
import time
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from shutil import copytree, ignore_patterns

os.environ.pop("JUDGEKIT_BF16", None)  # tests say themselves what is computed in bfloat16
if "PYTEST_XDIST_WORKER" in os.environ:  # a worker a core: threads of their own would wait for each other; before torch
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from judged_file import judge_file, run_file, serve  # noqa: F401 - fixtures

from judgekit.data import paths

NO_MIRROR = "needs real data: set JUDGEKIT_DATA to a data mirror"
NO_RAY = "needs Ray: docs/scaling.md says how to install it"
NO_VLLM = "needs vLLM, in an environment of its own: docs/generative_judges.md says how to make one"


def pytest_addoption(parser):
    parser.addoption("--changed-since", metavar="COMMIT", help="slow tests alone, of what has changed since")
    parser.addoption("--minutes", type=float, help="no slow test is started after as many")


def changed_since(commit):
    """What a file of tests names where it tests something that has changed: folders of judgekit, files of tests."""
    command = ["git", "diff", "--name-only", commit, "--", "judgekit", "notebooks", "params", "tests"]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    changed = set()
    for folder, name, *_ in (Path(line).with_suffix("").parts for line in done.stdout.splitlines()):
        changed.add({"judgekit": f"judgekit.{name}", "tests": name}.get(folder, folder))
    return changed


def is_touched(path, changed):
    """Whether a file of tests has changed, or names what has, itself or in a helper that it imports."""
    source = path.read_text(encoding="utf-8")
    helpers = [other for other in path.parent.glob("*.py") if f"from {other.stem} import" in source]
    texts = [source, *(helper.read_text(encoding="utf-8") for helper in helpers)]
    return path.stem in changed or any(word in text for text in texts for word in changed)


def pytest_collection_modifyitems(config, items):
    """Skip tests marked ``realdata``, ``vllm`` or ``ray`` where there is none; ``-ra`` prints the reason."""
    if commit := config.getoption("--changed-since"):
        changed = changed_since(commit)
        touched = {path: is_touched(path, changed) for path in {item.path for item in items}}
        parts = {True: [], False: []}
        for item in items:
            parts[bool(item.get_closest_marker("slow")) and touched[item.path]].append(item)
        config.hook.pytest_deselected(items=parts[False])
        items[:] = parts[True]
    if paths.data_mirror() is None:
        for item in items:
            if item.get_closest_marker("realdata"):
                item.add_marker(pytest.mark.skip(reason=NO_MIRROR))
    for package, reason in (("vllm", NO_VLLM), ("ray", NO_RAY)):
        if find_spec(package) is None:
            for item in items:
                if item.get_closest_marker(package):
                    item.add_marker(pytest.mark.skip(reason=reason))


def pytest_runtest_setup(item):
    minutes = item.config.getoption("--minutes")
    if minutes is not None and item.get_closest_marker("slow") and time.monotonic() - STARTED > 60 * minutes:
        pytest.skip("no time is left: make test-all runs it")


STARTED = time.monotonic()
NUMBERS = count()


@pytest.fixture(scope="session")
def folder_of_stores(tmp_path_factory):
    """A folder for the verdict stores of users that tests make up."""
    return tmp_path_factory.mktemp("stores")


@pytest.fixture(autouse=True)
def own_store(folder_of_stores, monkeypatch):
    """Every test is another user: what it judges is kept in a store of its own, which this is the path of."""
    path = folder_of_stores / f"{next(NUMBERS)}.sqlite"
    monkeypatch.setenv("JUDGEKIT_STORE", str(path))
    return path


@pytest.fixture
def store():
    """An empty verdict store in memory."""
    from judgekit.scoring.store import VerdictStore

    with VerdictStore(":memory:") as opened:
        yield opened


@pytest.fixture
def mirror():
    """The data mirror's folder; a test that asks for it is skipped aloud when there is none."""
    folder = paths.data_mirror()
    if folder is None:
        pytest.skip(NO_MIRROR)
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """The folder of a random Qwen3 whose tokenizer keeps every digit by itself; tests that change it copy it."""
    from tiny_causal import save_tiny

    return save_tiny(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture(scope="session")
def reader(tmp_path_factory):
    """Reads the states of a random BERT, of texts up to 96 tokens."""
    from tiny_encoder import save_tiny_encoder

    from judgekit.models.states import StateReader

    return StateReader(str(save_tiny_encoder(tmp_path_factory.mktemp("encoder") / "bert")), limit=96)


@pytest.fixture
def exact(monkeypatch):
    """Language models compute in float32 where nothing else is set, as on a processor without bfloat16."""
    monkeypatch.setattr("judgekit.judges.hf.native_bf16", lambda device: device != "cpu")


@pytest.fixture
def report_copy(tmp_path, monkeypatch):
    """A project that holds the report and the results which it quotes, and nothing else."""
    root = paths.project_root()
    copytree(root / "report", tmp_path / "report", ignore=ignore_patterns("build", "*.pdf"))
    for folder in ("results", "tables", "figures"):
        copytree(root / "outputs" / "laptop" / folder, tmp_path / "outputs" / "laptop" / folder)
    monkeypatch.setattr(paths, "project_root", lambda: tmp_path)
    return tmp_path
