"""judgekit.report.workflow: a misspelt parameter or a failed notebook is an error that says where."""

import ast
import fcntl
import json
import os
import re
import shutil
import time

import nbformat
import pytest
import yaml
from judged_file import python_in
from notebook_functions import code_of
from papermill import inspect_notebook
from watching import Interrupted, watched

from judgekit.data import paths
from judgekit.report import workflow
from judgekit.report.workflow import WorkflowError, jobs_of, notebook_list, read_parameters, run_notebook, stamp

ROOT = paths.project_root()
PARAMETERS = 'run = "sample"  # folder\nn = 2  # pairs'
CHAIN = [(run, job) for run in workflow.runs() for job in jobs_of(run)]


def write_notebook(folder, name, *cells):
    """A notebook of code cells, the first of them tagged."""
    code = [nbformat.v4.new_code_cell(text) for text in cells]
    code[0].metadata["tags"] = ["parameters"]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=code, metadata=kernel), folder / f"{name}.ipynb")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project of one run and one notebook, with functions to fill it."""
    for folder in ("notebooks", "params/sample"):
        (tmp_path / folder).mkdir(parents=True)
    for module in (paths, workflow):
        monkeypatch.setattr(module, "project_root", lambda: tmp_path)
    write_notebook(tmp_path / "notebooks", "10_count", PARAMETERS, "total = n * 2\ntotal")
    (tmp_path / "notebooks" / "notebooks.yaml").write_text("10_count:\n")
    (tmp_path / "params" / "sample" / "10_count.yaml").write_text("run: sample\n")
    return tmp_path


def give(project, text):
    (project / "params" / "sample" / "10_count.yaml").write_text(text)


def test_every_notebook_is_in_the_sample_and_a_file_there_says_more_than_the_run():
    assert {workflow.notebook_of(job) for job in jobs_of("sample")} == set(notebook_list())
    for path in (ROOT / "params" / "sample").glob("*.yaml"):
        assert set(yaml.safe_load(path.read_text(encoding="utf-8"))) > {"run"}, path.name


def test_a_parameter_file_is_valid_and_holds_only_what_differs():
    assert {"sample", "laptop"} <= set(workflow.runs()) and len(CHAIN) >= 8
    for run, name in CHAIN:
        (text,) = [text for text, tags in code_of(workflow.notebook_path(name)) if "parameters" in tags]
        tree = ast.parse(text)
        assert {node.targets[0].id for node in tree.body} == set(inspect_notebook(workflow.notebook_path(name)))
        defaults = {node.targets[0].id: ast.literal_eval(node.value) for node in tree.body}
        same = [key for key, value in read_parameters(run, name).items() if key != "run" and defaults[key] == value]
        assert not same, f"params/{run}/{name}.yaml repeats the default of {same}"


READERS = {
    "params/sample/10_count.yaml": lambda: read_parameters("sample", "10_count"),
    "params/sample/resources.yaml": lambda: workflow.make_run("sample", 1),
    "notebooks/notebooks.yaml": notebook_list,
}
PARAMS, RESOURCES, LIST = READERS


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        (PARAMS, "run: sample\nn_pairs: 3\n", "10_count.yaml: the notebook has no parameter 'n_pairs'; it has n, run"),
        (PARAMS, "run: laptop\n", f"{PARAMS}: run is 'laptop', but the folder says 'sample'"),
        (PARAMS, "", "run is None"),
        (PARAMS, "- run\n- sample\n", "expected 'name: value' lines"),
        (PARAMS, "run: [sample\n", f"{PARAMS} is not YAML"),
        (LIST, "10_count:\n  aftr: [x]\n", "10_count has unknown fields aftr"),
        (LIST, "10_count:\n  after: [11_later]\n11_later:\n", "after 11_later, which does not stand before it"),
        (RESOURCES, "10_coumt: {gpu: 1}\n", "the run has no job '10_coumt'; it has 10_count"),
        (RESOURCES, "10_count: gpu\n", "10_count: expected 'resource: number' lines"),
        (RESOURCES, "[10_count]\n", f"{RESOURCES}: expected 'name: value' lines"),
    ],
)
def test_a_faulty_file_is_refused_with_its_name(project, file, text, words):
    (project / file).write_text(text)
    with pytest.raises(WorkflowError, match=words):
        READERS[file]()


def test_a_notebook_with_several_files_of_parameters_is_several_jobs(project):
    (project / "notebooks" / "notebooks.yaml").write_text("10_count:\n20_more:\n  after: [10_count]\n30_no:\n")
    folder = project / "params" / "gpu"
    folder.mkdir()
    for name in ("10_count-b", "10_count-a", "20_more"):
        (folder / f"{name}.yaml").write_text("run: gpu\n")
    (folder / "resources.yaml").write_text("10_count-a: {gpu: 1}\n")
    assert jobs_of("gpu") == {"10_count-a": [], "10_count-b": [], "20_more": ["10_count-a", "10_count-b"]}
    assert list(jobs_of("gpu")) == ["10_count-a", "10_count-b", "20_more"]
    assert workflow.resources_of("gpu") == {"10_count-a": {"gpu": 1}} and workflow.resources_of("sample") == {}
    assert run_notebook("10_count-a", "gpu").name == "10_count-a.ipynb"


def test_a_job_whose_results_are_tracked_is_kept_and_what_ships_judges(project, monkeypatch):
    folder, given = project / "outputs" / "sample", []
    (project / "params" / "sample" / "kept.yaml").write_text("10_count: counts for hours\n")
    monkeypatch.setattr("snakemake.cli.main", given.append)
    monkeypatch.setattr(workflow, "check_inputs", lambda run: None)
    workflow.make_run("sample", 1)
    assert "kept=" in given.pop() and not (folder / "models" / "minilm").exists()
    (folder / "results" / "10_count.json").write_text("{}")
    with monkeypatch.context() as killed, pytest.raises(Interrupted):
        copied = watched(killed, shutil, "copyfile", end_at=2)
        workflow.make_run("sample", 1)
    assert copied and not [model for model in (folder / "models").iterdir() if not model.name.startswith(".")]
    workflow.make_run("sample", 1)
    assert "kept=10_count" in given.pop()
    assert (folder / "models" / "minilm" / "judge.json").is_file()
    workflow.make_run("sample", 1, everything=True)
    assert "kept=" in given.pop()
    (project / "params" / "sample" / "kept.yaml").write_text("10_coumt: counts\n")
    with pytest.raises(WorkflowError, match=r"kept.yaml: the run has no job '10_coumt'; it has 10_count"):
        workflow.kept_of("sample")


def test_a_copy_of_what_ships_is_refreshed_and_a_training_is_not(project, monkeypatch):
    """At 83ba5504 a run judged for ever with the models that shipped when it was first made."""
    ships, own = project / "ships" / "minilm", project / "outputs" / "sample" / "models" / "minilm"
    ships.mkdir(parents=True)
    (project / "params" / "sample" / "kept.yaml").write_text("10_count: counts for hours\n")
    (paths.run_folder("sample", "results") / "10_count.json").write_text("{}")
    monkeypatch.setattr("snakemake.cli.main", lambda command: None)
    monkeypatch.setattr(workflow, "check_inputs", lambda run: None)
    monkeypatch.setattr(workflow, "PRETRAINED", ships.parent)

    def judging(version):
        (ships / "judge.json").write_text(version)
        workflow.make_run("sample", 1)
        return (own / "judge.json").read_text()

    assert [judging("1"), judging("2")] == ["1", "2"]
    (own / "judge.json").write_text("own training")
    assert judging("3") == "own training"
    shutil.rmtree(own)
    shutil.copytree(ships, own)  # a training that was shipped itself
    assert judging("4") == "3" and judging("5") == "3"


def test_the_real_run_keeps_what_takes_hours_and_judges_anew():
    kept = set(workflow.kept_of("laptop"))
    trained = {job for job in jobs_of("laptop") if job.startswith("2")}
    assert trained <= kept and not kept & {"30_score_benchmarks", "31_compare_judges", "43_attacks", "61_calibration"}


def test_who_judges_with_what_a_run_trains_comes_after_it_and_who_asks_models_has_a_gpu():
    """Before, 30 of ``gpu`` started beside the trainings that it reads, without a GPU, and 40 beside 30."""
    jobs, resources = jobs_of("gpu"), workflow.resources_of("gpu")

    def earlier(job):
        return set(jobs[job]).union(*map(earlier, jobs[job]))

    trainings = {job for job in jobs if job.startswith("21_")}
    asking = {"30_score_benchmarks", "41_verbosity_bias", "43_attacks"}  # what is stored is not asked for again
    reading = {"50_representation_probes", "51_layer_aggregation"}  # models as they are
    judging = jobs.keys() - trainings - reading
    assert all(trainings <= earlier(job) for job in judging)
    assert all("30_score_benchmarks" in earlier(job) for job in judging - asking)
    assert {job for job in jobs if resources.get(job, {}).get("gpu")} == trainings | asking | reading


@pytest.fixture
def package(project, monkeypatch):
    """A package of three modules, one of which the project's notebook imports by way of another."""
    folder = project / "judgekit"
    (folder / "scoring").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "scoring" / "__init__.py").write_text('"""Scores."""\n')
    (folder / "scoring" / "rates.py").write_text("from judgekit import counts\nRATE = counts.half(3)\n")
    code = 'def half(n):\n    """Half."""\n    def inner():\n        return n\n    return inner() / 2  # of n\nBASE = 2'
    (folder / "counts.py").write_text(code)
    (folder / "other.py").write_text("RATE = 1\n")
    monkeypatch.setattr(workflow, "PACKAGE", folder)
    imports = "import json\nfrom judgekit.scoring.rates import RATE"
    write_notebook(project / "notebooks", "10_count", PARAMETERS, imports, "RATE")
    return folder


def digest():
    return stamp("sample", "10_count").read_text()


def test_what_says_nothing_else_changes_no_stamp(package, project):
    path, first = stamp("sample", "10_count"), digest()
    written = path.stat().st_mtime_ns
    code = '# counts\ndef half(n):\n    """Half of ``n``."""\n\n'
    code += "    def inner():\n        return n\n\n    return inner() / 2\n\n\nBASE = 2\n"
    (package / "counts.py").write_text(code)
    (package / "scoring" / "__init__.py").write_text("")
    (package / "other.py").write_text("RATE = 2\n")  # which no notebook imports
    give(project, "# the defaults\nrun: sample\n")
    notebook = project / "notebooks" / "10_count.ipynb"
    notebook.write_text(notebook.read_text().replace("# pairs", "# pairs drawn"))
    assert digest() == first and path.stat().st_mtime_ns == written


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("judgekit/counts.py", "/ 2", "/ 3"),
        ("judgekit/counts.py", "return n", "return -n"),
        ("judgekit/scoring/rates.py", "half(3)", "half(n=3)"),
        ("judgekit/scoring/__init__.py", '"""Scores."""', "from judgekit import other"),
        ("params/sample/10_count.yaml", "run: sample", "run: sample\nn: 3"),
        ("notebooks/10_count.ipynb", '"RATE"', '"RATE * n"'),
    ],
)
def test_what_says_something_else_changes_the_stamp(package, project, name, old, new):
    first, path = digest(), project / name
    assert path.read_text().count(old) == 1
    path.write_text(path.read_text().replace(old, new))
    changed = digest()
    assert changed != first
    path.write_text(path.read_text().replace(new, old))
    assert digest() == first


def test_judges_and_files_that_are_named_change_the_stamp(package, project):
    """At 29757e73 neither the module of a judge nor a prompt or pairs of one's own did: old numbers stood."""
    (package / "judges").mkdir()
    modules = [package / "judges" / name for name in ("__init__.py", "encoder.py", "hf.py")]
    files = [*modules, project / "a#b.jsonl", project / "short.txt"]
    for file in files:
        file.write_text("FORMAT = 1\n")
    cells = (PARAMETERS + '\nsets = []\njudges = ["encoder/minilm", "mine"]', "len(sets)")
    write_notebook(project / "notebooks", "10_count", *cells)
    give(project, f"run: sample\nsets: ['file:{project}/a#b.jsonl']\n")
    declared = project / "params" / "sample" / "judges.yaml"
    declared.write_text(f"mine: {{name: 'hf/smollm2-135m#{project}/short.txt-strict', settings: {{mode: one_pass}}}}\n")
    for file in files:
        before = digest()
        file.write_text("FORMAT = 2\n")
        assert digest() != before, file.name
    titled = []
    for title in ("One name", "Another"):  # in print, read by no notebook
        sets = f"own: {{file: '{project}/a#b.jsonl', title: {title}}}\n"
        (project / "params" / "sample" / "sets.yaml").write_text(sets)
        titled.append(digest())
    assert titled[0] == titled[1]


def test_texts_that_modules_read_change_the_stamp(package, project):
    """At dda19e23 another wording of a packaged prompt re-ran nothing, since only Python was looked at."""
    texts = [package / "scoring" / "names.yaml", package / "scoring" / "prompts" / "plain.txt"]
    texts[1].parent.mkdir()
    for text in [*texts, package / "elsewhere.txt"]:
        before = digest()
        text.write_text("1")
        assert (digest() != before) == (text in texts), text.name


def test_templates_and_judges_that_ship_change_the_stamp(package, project, monkeypatch):
    """At 83ba5504 neither another layout of the tables nor another shipped judge re-ran anything."""
    monkeypatch.setattr(workflow, "PRETRAINED", package / "pretrained")
    give(project, "run: sample\nn: [encoder/mine, 'probe/pairs#strict']\n")
    read = ["report/rates.txt", "pretrained/mine/adapter/judge.json", "pretrained/probes/pairs/probe.json"]
    for file in [*read, "report/generated.txt", "pretrained/probes/other/probe.json"]:
        before = digest()
        (package / file).parent.mkdir(parents=True, exist_ok=True)
        (package / file).write_text("1")
        assert (digest() != before) == (file in read), file


def test_a_notebook_runs_with_the_parameters_of_its_run(project, capfd):
    give(project, "run: sample\nn: 21\n")
    target = run_notebook("10_count", "sample")
    assert target == project / "outputs" / "sample" / "executed" / "10_count.ipynb"
    cells = json.loads(target.read_text())["cells"]
    assert cells[-1]["outputs"][0]["data"]["text/plain"] in ("42", ["42"])
    assert not target.with_name("10_count.failed.ipynb").exists()
    assert json.loads((project / "notebooks" / "10_count.ipynb").read_text())["cells"][1]["outputs"] == []


def test_a_failure_names_notebook_cell_and_error_and_leaves_the_copy(project, capsys):
    write_notebook(project / "notebooks", "10_count", 'run = "sample"', "\nratio = 1 / 0\n", "never = 1")
    assert workflow.main(["run", "10_count", "sample"]) == 1
    message = capsys.readouterr().err
    assert "10_count: cell" in message and "ZeroDivisionError: division by zero" in message
    assert "ratio = 1 / 0" in message
    attempt = project / "outputs" / "sample" / "executed" / "10_count.failed.ipynb"
    assert str(attempt) in message
    assert "ZeroDivisionError" in attempt.read_text()
    assert not attempt.with_name("10_count.ipynb").exists()


def test_a_kernel_that_ends_is_one_sentence(project, capsys):
    """At 29757e73 a notebook that the system killed, for want of memory say, ended in a traceback."""
    write_notebook(project / "notebooks", "10_count", 'run = "sample"', "import os", "os._exit(9)")
    assert workflow.main(["run", "10_count", "sample"]) == 1
    assert "error: 10_count: Kernel died (for want of memory?); executed copy: " in capsys.readouterr().err


def test_one_run_is_made_by_one_process(project, monkeypatch):
    folder = project / "outputs" / "sample"
    (folder / "results").mkdir(parents=True)
    (folder / "results" / "10_count.json").write_text("{}")
    (project / "params" / "sample" / "kept.yaml").write_text(
        "10_count: counts for hours\n"
    )  # the models that ship are due
    with open(folder / ".lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(WorkflowError, match="made by another process"):
            workflow.make_run("sample", 1)
    assert not [*folder.rglob("*minilm*")], "the other process may be copying it"
    with pytest.raises(WorkflowError, match="no run is called 'smaple'; params/ has sample"):
        workflow.make_run("smaple", 1)


@pytest.fixture
def checkout(tmp_path):
    """A copy of what a chain is made of, in which every notebook of the sample run seems to be executed."""
    for folder in ("notebooks", "params", "judgekit"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "pretrained"))
    shutil.copy(ROOT / "Snakefile", tmp_path)
    return tmp_path


def planned(folder):
    """The notebooks that a chain would execute."""
    done = python_in(folder, *"-m snakemake -n --cores 1 --nolock --rerun-triggers mtime".split())
    return set(re.findall(r"(?m)^rule (\d\d_\w+):", done.stdout + done.stderr))


def pretend(folder):
    """Every notebook is executed: the copies are as old as each other, and newer than the stamps."""
    for name in notebook_list():
        (folder / "outputs" / "sample" / "executed" / f"{name}.ipynb").write_text("{}")
    now = time.time()
    for name in notebook_list():
        os.utime(folder / "outputs" / "sample" / "executed" / f"{name}.ipynb", (now, now))


def following(names):
    """Notebooks and all that come after them."""
    for name, entry in notebook_list().items():
        names = names | {name} if set(entry["after"]) & names else names
    return names


@pytest.mark.slow
def test_a_statement_re_makes_the_notebooks_that_import_it_and_prose_none(checkout):
    assert planned(checkout) == set(notebook_list())
    pretend(checkout)
    assert planned(checkout) == set()
    used = paths.PACKAGE / "data" / "cleaning" / "near.py"
    users = {name for name in notebook_list() if used in workflow.code_files(name)}
    assert users and following(users) < set(notebook_list())
    module = checkout / "judgekit" / "data" / "cleaning" / "near.py"
    code = module.read_text()
    time.sleep(1.1)  # Snakemake compares seconds
    module.write_text("# A comment.\n" + code)
    os.utime(checkout / "judgekit" / "records.py")
    assert planned(checkout) == set()
    module.write_text(code + "\nCHANGED = True\n")
    assert planned(checkout) == following(users)
