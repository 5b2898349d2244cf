"""The list of notebooks, the parameters of a run, and one notebook executed by papermill."""

import argparse
import ast
import json
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import cache

import yaml

from judgekit.locks import try_lock
from judgekit.paths import PACKAGE, project_root, run_folder
from judgekit.plain_yaml import load_plain

LIST = "notebooks.yaml"
RESOURCES = "resources.yaml"  # of a run: what its jobs ask a cluster for
PROFILES = ("slurm",)


class WorkflowError(Exception):
    """Something a user can mend: a parameter that no notebook has, a notebook that failed."""


# ---------------------------------------------------------------- what there is


def notebook_list():
    """The notebooks of the chain in order, each with ``after``, ``threads`` and ``resources``.

    Returns
    -------
    dict of str to dict

    Raises
    ------
    WorkflowError
        If an entry names an unknown field, or a notebook that does not stand before it.
    """
    entries = load_plain((project_root() / "notebooks" / LIST).read_text(encoding="utf-8"))
    known = {}
    for name, entry in entries.items():
        entry = {"after": [], "threads": 1, "resources": {}} | (entry or {})
        if unknown := set(entry) - {"after", "threads", "resources"}:
            raise WorkflowError(f"{LIST}: {name} has unknown fields {', '.join(sorted(unknown))}")
        if missing := [other for other in entry["after"] if other not in known]:
            raise WorkflowError(f"{LIST}: {name} comes after {missing[0]}, which does not stand before it")
        known[name] = entry
    return known


def notebook_of(job):
    """The notebook that a job runs: ``21_train-large`` is the variant ``large`` of ``21_train``."""
    return job.partition("-")[0]


def notebook_path(job):
    """The source of a job's notebook."""
    return project_root() / "notebooks" / f"{notebook_of(job)}.ipynb"


def jobs_of(run):
    """What a run executes: each notebook that it has parameters for, once for every file of parameters.

    Returns
    -------
    dict of str to list of str
        Job to the jobs it comes after, in the order of the list; a notebook's variants in the order of their names.

    Raises
    ------
    WorkflowError
        If there is no such run.
    """
    if run not in runs():
        raise WorkflowError(f"no run is called {run!r}; params/ has {', '.join(runs())}")
    files = sorted(path.stem for path in (project_root() / "params" / run).glob("*.yaml") if path.name != RESOURCES)
    known = notebook_list()
    if strange := [job for job in files if notebook_of(job) not in known]:
        raise WorkflowError(f"params/{run}/{strange[0]}.yaml: no notebook is called {notebook_of(strange[0])!r}")
    by_notebook = {name: [job for job in files if notebook_of(job) == name] for name in known}
    return {
        job: [before for other in entry["after"] for before in by_notebook[other]]
        for name, entry in known.items()
        for job in by_notebook[name]
    }


def resources_of(run):
    """What the jobs of a run ask a cluster for, from its ``resources.yaml``; nothing where there is no such file.

    Returns
    -------
    dict of str to dict
        Job to resources in Snakemake's words: ``gpu`` (how many), ``mem_mb``, ``runtime`` (minutes), ...

    Raises
    ------
    WorkflowError
        If it names a job that the run does not have, or a resource that is neither a number nor a word.
    """
    path = project_root() / "params" / run / RESOURCES
    if not path.is_file():
        return {}
    where = f"params/{run}/{RESOURCES}"
    found = yaml_mapping(path, where)
    for job, wanted in found.items():
        if job not in jobs_of(run):
            raise WorkflowError(f"{where}: the run has no job {job!r}; it has {', '.join(jobs_of(run))}")
        if not isinstance(wanted, dict) or not all(isinstance(value, int | str) for value in wanted.values()):
            raise WorkflowError(f"{where}: {job}: expected 'resource: number' lines")
    return found


def parameter_file(run, name):
    """The file with a job's parameters in a run, or None when the run has none for it.

    Raises
    ------
    WorkflowError
        If there is no such run: a misspelt one would otherwise be a run of nothing.
    """
    if run not in runs():
        raise WorkflowError(f"no run is called {run!r}; params/ has {', '.join(runs())}")
    path = project_root() / "params" / run / f"{name}.yaml"
    return path if path.is_file() else None


def runs():
    """Names of the runs that have parameters."""
    return sorted(path.name for path in (project_root() / "params").iterdir() if path.is_dir())


# ---------------------------------------------------------------- parameters


def known_parameters(path):
    """Names that the cell tagged ``parameters`` of a notebook assigns.

    Raises
    ------
    WorkflowError
        If there is no such cell.
    """
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    tagged = [cell for cell in cells if "parameters" in cell.get("metadata", {}).get("tags", [])]
    if len(tagged) != 1:
        raise WorkflowError(f"{path.name}: {len(tagged)} cells are tagged 'parameters'; there must be one")
    tree = ast.parse("".join(tagged[0]["source"]))
    return {target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets}


def read_parameters(run, name):
    """A job's parameters in a run, with every name checked against the notebook.

    Papermill itself only warns of an unknown name and runs with the default.

    Raises
    ------
    WorkflowError
        Names the file and the parameter, and lists those the notebook has.
    """
    path = parameter_file(run, name)
    if path is None:
        raise WorkflowError(f"params/{run}/{name}.yaml does not exist; the runs are {', '.join(runs())}")
    given = yaml_mapping(path, f"params/{run}/{name}.yaml")
    known = known_parameters(notebook_path(name))
    if unknown := sorted(set(given) - known):
        raise WorkflowError(
            f"params/{run}/{name}.yaml: the notebook has no parameter {unknown[0]!r}; it has {', '.join(sorted(known))}"
        )
    if given.get("run") != run:
        raise WorkflowError(f"params/{run}/{name}.yaml: run is {given.get('run')!r}, but the folder says {run!r}")
    return given


def yaml_mapping(path, where):
    """The names and values of a file.

    Raises
    ------
    WorkflowError
        If it is not YAML, or holds anything else.
    """
    try:
        given = load_plain(path.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as broken:
        raise WorkflowError(f"{where} is not YAML: {broken}") from None
    if not isinstance(given, dict):
        raise WorkflowError(f"{where}: expected 'name: value' lines")
    return given


# ---------------------------------------------------------------- what a notebook depends on


def imported_modules(source):
    """Dotted names of this package's modules that a piece of Python imports."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in found if name.split(".")[0] == PACKAGE.name}


@cache
def modules_of_file(path):
    """`imported_modules` of one of this package's files, read once: most notebooks import most of them."""
    return sorted(imported_modules(path.read_text(encoding="utf-8")))


def module_files(name):
    """Files that importing a dotted name executes: the module and the packages above it."""
    parts = name.split(".")[1:]
    files = [PACKAGE.joinpath(*parts[:depth], "__init__.py") for depth in range(len(parts) + 1)]
    files.append(PACKAGE.joinpath(*parts).with_suffix(".py"))
    return [path for path in files if path.is_file()]


def code_files(name):
    """The package's modules that a notebook imports, directly or through others.

    They are inputs of its rule: whoever edits the scoring sees the scores made again.
    """
    cells = json.loads(notebook_path(name).read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    waiting, files = list(imported_modules(code)), set()
    while waiting:
        for path in module_files(waiting.pop()):
            if path not in files:
                files.add(path)
                waiting += modules_of_file(path)
    return sorted(files)


# ---------------------------------------------------------------- running


def run_notebook(name, run):
    """Execute one job of a run; the executed copy is kept whether it succeeds or fails.

    Parameters
    ----------
    name, run : str

    Returns
    -------
    pathlib.Path
        ``outputs/<run>/executed/<name>.ipynb``.

    Raises
    ------
    WorkflowError
        On failure: names the notebook, the cell and the error, and where to look at the executed copy
        (``<name>.failed.ipynb``, so that a failure is never mistaken for a result). If another process executes it.
    """
    parameters = read_parameters(run, name)
    folder = run_folder(run, "executed")
    with locked(folder / f".{name}.lock", f"{name} of run {run} is being executed by another process"):
        return executed(name, run, parameters, folder)


def executed(name, run, parameters, folder):
    """`run_notebook`, alone: the executed copy goes to a folder."""
    import papermill
    from papermill.exceptions import PapermillExecutionError

    target, attempt = folder / f"{name}.ipynb", folder / f"{name}.failed.ipynb"
    started = time.monotonic()
    print(f"[{run}] {name} ...", flush=True)
    try:
        papermill.execute_notebook(
            str(notebook_path(name)),
            str(attempt),
            parameters=parameters,
            kernel_name="python3",
            progress_bar=False,
            log_output=False,
            stderr_file=sys.stderr,  # the progress lines of long cells
            extra_arguments=["--IPKernelApp.log_level=ERROR"],  # kernels warn that loopback is not encrypted
            cwd=str(project_root() / "notebooks"),
        )
    except PapermillExecutionError as failure:
        cell = failure.source.strip().splitlines()[0] if failure.source.strip() else "(empty)"
        raise WorkflowError(
            f"{name}: cell {failure.cell_index + 1} failed with {failure.ename}: {failure.evalue}\n"
            f"  the cell starts with: {cell}\n  executed copy: {attempt}"
        ) from None
    attempt.replace(target)
    print(f"[{run}] {name} done in {time.monotonic() - started:.0f} s", flush=True)
    return target


@contextmanager
def locked(path, said):
    """Hold an operating system's lock, which goes with the process that holds it, however that ends.

    Raises
    ------
    WorkflowError
        ``said``, if another process holds it.
    """
    with path.open("w") as lock:
        if not try_lock(lock.fileno()):
            raise WorkflowError(said)
        yield lock


def make_run(run, cores, profile=None):
    """Bring every notebook of a run up to date, by Snakemake; returns its exit status.

    Parameters
    ----------
    run : str
    cores : int
        Of this machine; not read with a profile.
    profile : str, optional
        Where the jobs run instead: ``slurm``, or the folder of a Snakemake profile of one's own.

    Raises
    ------
    WorkflowError
        If another process is making this checkout's outputs at the moment.

    Notes
    -----
    Snakemake's own lock survives a killed process and then has to be removed by hand. The lock here is the
    operating system's: it goes with its process. Jobs on GPUs take turns on one machine.
    """
    for job in jobs_of(run):
        read_parameters(run, job)
    resources_of(run)
    with locked(run_folder(run) / ".lock", f"run {run} is being made by another process") as lock:
        where = ["--cores", str(cores), "--resources", "gpu=1", "--quiet", "all"]
        if profile:  # a failed job tells its reason in a log whose name only Snakemake knows
            folder = str(project_root() / "profiles" / profile) if profile in PROFILES else profile
            where = ["--profile", folder, "--quiet", "host"]
        command = [sys.executable, "-m", "snakemake", *where, "--config", f"run={run}", "--nolock"]
        command += ["--rerun-incomplete", "--rerun-triggers", "mtime", "--keep-going"]
        # Snakemake holds the lock, too: it goes on when this process alone is killed.
        return subprocess.run(command, cwd=project_root(), pass_fds=(lock.fileno(),)).returncode


def main(arguments=None):
    """``python -m judgekit.workflow run NOTEBOOK RUN`` (what the Snakefile calls) and ``... make RUN``."""
    parser = argparse.ArgumentParser(prog="python -m judgekit.workflow")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run", help="execute one notebook of a run")
    one.add_argument("notebook")
    one.add_argument("run")
    every = commands.add_parser("make", help="bring every notebook of a run up to date")
    every.add_argument("run")
    every.add_argument("--cores", type=int, default=1)
    every.add_argument("--profile", help="slurm, or the folder of a Snakemake profile")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.command == "make":
            return make_run(chosen.run, chosen.cores, chosen.profile)
        run_notebook(chosen.notebook, chosen.run)
    except WorkflowError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:  # a disk that is full, a folder that may not be written
        print(f"error: {error.filename or chosen.command}: {error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from what is finished", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
