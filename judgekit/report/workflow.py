"""The list of notebooks, the parameters of a run, what a notebook depends on, and notebooks executed by papermill."""

import argparse
import ast
import hashlib
import json
import os
import re
import shutil
import sys
import time
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from judgekit.data.declared import SETS, DeclaredError, declared_sets, own_file
from judgekit.data.files import read_plain, sha256_of, write_text
from judgekit.data.paths import PACKAGE, PRETRAINED, project_root, run_folder
from judgekit.judges import DECLARED, declared_judges
from judgekit.records import fingerprint_of
from judgekit.report.results import ResultsError, check_inputs

LIST = "notebooks.yaml"
RESOURCES = "resources.yaml"  # of a run: what its jobs ask a cluster for
KEPT = "kept.yaml"  # of a run: its jobs of hours, each with what takes them
_JUDGE = re.compile(r"(\w+)/")  # a judge's name stands for its provider's module, which loading it imports
SAMPLE = "sample"  # the run of the defaults: a notebook takes part in it without a file of parameters


class WorkflowError(ValueError):
    """Something a user can mend: a parameter that no notebook has, a notebook that failed."""


def notebook_list() -> dict[str, dict[str, Any]]:
    """The notebooks of the chain in order, each with ``after`` (that stand before it) and ``threads``."""
    known: dict[str, dict[str, Any]] = {}
    for name, given in _yaml_mapping(project_root() / "notebooks" / LIST).items():
        entry = {"after": [], "threads": 1} | (given or {})
        if unknown := set(entry) - {"after", "threads"}:
            raise WorkflowError(f"{LIST}: {name} has unknown fields {', '.join(sorted(unknown))}")
        if missing := [other for other in entry["after"] if other not in known]:
            raise WorkflowError(f"{LIST}: {name} comes after {missing[0]}, which does not stand before it")
        known[name] = entry
    return known


def notebook_of(job: str) -> str:
    """The notebook that a job runs: ``21_train-large`` is the variant ``large`` of ``21_train``."""
    return job.partition("-")[0]


def notebook_path(job: str) -> Path:
    return project_root() / "notebooks" / f"{notebook_of(job)}.ipynb"


def runs() -> list[str]:
    """Names of the runs that have parameters."""
    return sorted(path.name for path in (project_root() / "params").iterdir() if path.is_dir())


def _parameter_folder(run: str) -> Path:
    if run not in runs():  # a misspelt one would otherwise be a run of nothing
        raise WorkflowError(f"no run is called {run!r}; params/ has {', '.join(runs())}")
    return project_root() / "params" / run


def jobs_of(run: str) -> dict[str, list[str]]:
    """A run's jobs in order, each with those it comes after: a notebook once for each of its files of parameters.

    The sample run also executes each notebook that it has no file for.
    """
    known, paths = notebook_list(), _parameter_folder(run).glob("*.yaml")
    files = sorted(path.stem for path in paths if path.name not in (RESOURCES, KEPT, DECLARED, SETS))
    if strange := [job for job in files if notebook_of(job) not in known]:
        raise WorkflowError(f"params/{run}/{strange[0]}.yaml: no notebook is called {notebook_of(strange[0])!r}")
    files += [name for name in known if run == SAMPLE and name not in map(notebook_of, files)]
    jobs = {name: [job for job in files if notebook_of(job) == name] for name in known}
    return {
        job: [before for other in entry["after"] for before in jobs[other]]
        for name, entry in known.items()
        for job in jobs[name]
    }


def resources_of(run: str) -> dict[str, dict[str, int | str]]:
    """What jobs ask a cluster for, in Snakemake's words (``gpu``, ``mem_mb``, ``runtime``), by ``resources.yaml``."""
    path, jobs = _parameter_folder(run) / RESOURCES, jobs_of(run)
    wanted = _yaml_mapping(path) if path.is_file() else {}
    for job, resources in wanted.items():
        if job not in jobs:
            raise WorkflowError(f"params/{run}/{RESOURCES}: the run has no job {job!r}; it has {', '.join(jobs)}")
        if not isinstance(resources, dict):
            raise WorkflowError(f"params/{run}/{RESOURCES}: {job}: expected 'resource: number' lines")
    return wanted


def kept_of(run: str) -> list[str]:
    """Jobs that need not run: ``kept.yaml`` names them, and the repository tracks what they found."""
    path, jobs = _parameter_folder(run) / KEPT, jobs_of(run)
    named = list(_yaml_mapping(path)) if path.is_file() else []
    if unknown := [job for job in named if job not in jobs]:
        raise WorkflowError(f"params/{run}/{KEPT}: the run has no job {unknown[0]!r}; it has {', '.join(jobs)}")
    return [job for job in named if (run_folder(run, "results") / f"{job}.json").is_file()]


def read_parameters(run: str, name: str) -> dict[str, Any]:
    """A job's parameters in a run; WorkflowError for an unknown name, of which papermill itself only warns."""
    import papermill

    path, where = _parameter_folder(run) / f"{name}.yaml", f"params/{run}/{name}.yaml"
    if not path.is_file() and not (run == SAMPLE and name in notebook_list()):
        raise WorkflowError(f"{where} does not exist; the runs are {', '.join(runs())}")
    given = _yaml_mapping(path) if path.is_file() else {"run": run}
    known = papermill.inspect_notebook(notebook_path(name))
    if unknown := sorted(set(given) - set(known)):
        raise WorkflowError(f"{where}: the notebook has no parameter {unknown[0]!r}; it has {', '.join(sorted(known))}")
    if given.get("run") != run:
        raise WorkflowError(f"{where}: run is {given.get('run')!r}, but the folder says {run!r}")
    return given


def _yaml_mapping(path: Path) -> dict[str, Any]:
    where = path.relative_to(project_root()).as_posix()
    given = read_plain(path, where, WorkflowError)
    if not isinstance(given, dict):
        raise WorkflowError(f"{where}: expected 'name: value' lines")
    return given


@cache
def _digest_and_imports(source: str) -> tuple[str, tuple[str, ...]]:
    """Digest of Python code, docstrings apart, and the dotted names of this package's modules that it imports."""
    tree = ast.parse(source)
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = node.body[ast.get_docstring(node, clean=False) is not None :]
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Constant) and (judge := _JUDGE.match(str(node.value))):
            names.add(f"{PACKAGE.name}.judges.{judge[1].replace('baseline', 'surface')}")
    digest = hashlib.sha256(ast.dump(tree).encode("utf-8", "surrogatepass")).hexdigest()
    return digest, tuple(sorted(name for name in names if name.split(".")[0] == PACKAGE.name))


def _notebook_code(name: str) -> str:
    cells = json.loads(notebook_path(name).read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def code_files(name: str, given: str = "") -> dict[Path, str]:
    """Digests of the modules that a notebook and what it is given need, through others, too, and of what these read."""
    modules = [module for source in (_notebook_code(name), given) for module in _digest_and_imports(source)[1]]
    digests: dict[Path, str] = {}
    for module in modules:  # which grows; an import executes the module and the packages above it
        parts = module.split(".")[1:]
        packages = [PACKAGE.joinpath(*parts[:depth], "__init__.py") for depth in range(len(parts) + 1)]
        for path in [*packages, PACKAGE.joinpath(*parts).with_suffix(".py")]:
            if path not in digests and path.is_file():
                digests[path], imports = _digest_and_imports(path.read_text(encoding="utf-8"))
                modules += [one for one in imports if one not in modules]
    folders = [path.parent for path in digests if path.parent not in (PACKAGE, PACKAGE / "report")]
    folders += [one for each in set(folders) for one in each.iterdir() if not (one / "__init__.py").is_file()]
    read = [path for folder in set(folders) for path in folder.glob("*.[jmty]*") if path.is_file()]  # prompts, names
    read += [one for one in (PACKAGE / "report").glob("*.txt") if one.stem in {path.stem for path in digests}]
    return dict(sorted((digests | {path: sha256_of(path) for path in read}).items()))


def stamp(run: str, job: str) -> Path:
    """The file that is written anew when a job's code or parameters change, or the run's judges, sets or files."""
    code, parameters, judges = _notebook_code(job), read_parameters(run, job), declared_judges(run)
    asked = repr((parameters, [one.name for name, one in judges.items() if name in code + str(parameters)]))
    modules = [(path.relative_to(PACKAGE).as_posix(), one) for path, one in code_files(job, asked).items()]
    own = [{n: one.model_dump(exclude={"title"}) for n, one in each.items()} for each in (judges, declared_sets(run))]
    given = json.dumps([parameters, *own], sort_keys=True, default=str, ensure_ascii=False)
    named = [json.loads(one) for one in re.findall(r'"(?:[^"\\]|\\.)*"', given)]  # texts: files, models, and others
    places = [(":" in one and own_file(one)) or one.removesuffix("-strict") for one in named]
    places += [one.rpartition("#")[2].removesuffix("-strict") for one in named if "#" in one]  # prompts
    paths = [project_root() / folder / place for place in places for folder in ("", "notebooks")]
    contents = [sha256_of(path) for path in paths if os.path.isfile(path)]
    models = set(re.findall(r"\b[a-z]+/([\w.-]+)", code + given))
    models |= {model.partition("_")[0] for model in models}  # minilm lends its weights to minilm_wide
    contents += [_digest_of(folder) for folder in sorted(PRETRAINED.glob("**/")) if folder.name in models]
    made_of = given, contents, _digest_and_imports(code)[0], modules
    digest = hashlib.sha256(repr(made_of).encode("utf-8", "surrogatepass")).hexdigest() + "\n"
    path = run_folder(run, "executed") / f".{job}.digest"
    if not path.is_file() or path.read_text(encoding="utf-8") != digest:
        write_text(path, digest)
    return path


def run_notebook(name: str, run: str) -> Path:
    """Execute one job of a run; its executed copy, ``outputs/<run>/executed/<name>.ipynb``.

    WorkflowError on failure, with the copy that shows it (``<name>.failed.ipynb``), or where another process runs it.
    """
    import papermill
    from papermill.exceptions import PapermillExecutionError

    parameters = read_parameters(run, name)
    folder = run_folder(run, "executed")
    target, attempt = folder / f"{name}.ipynb", folder / f"{name}.failed.ipynb"
    with _alone(folder / f".{name}.lock", f"{name} of run {run} is being executed by another process"):
        stamp(run, name)
        started = time.monotonic()
        print(f"[{run}] {name} ...", flush=True)
        try:
            papermill.execute_notebook(
                notebook_path(name),
                attempt,
                parameters=parameters,
                kernel_name="python3",
                progress_bar=False,
                stderr_file=sys.stderr,  # the progress lines of long cells
                extra_arguments=["--IPKernelApp.log_level=ERROR"],  # kernels warn that loopback is not encrypted
                cwd=project_root() / "notebooks",
            )
        except PapermillExecutionError as failure:
            cell = failure.source.strip().partition("\n")[0]
            raise WorkflowError(
                f"{name}: cell {failure.cell_index + 1} failed with {failure.ename}: {failure.evalue}\n"
                f"  the cell starts with: {cell}\n  executed copy: {attempt}"
            ) from None
        except RuntimeError as failure:  # of a kernel that was killed, or never began
            raise WorkflowError(f"{name}: {failure} (for want of memory?); executed copy: {attempt}") from None
        attempt.replace(target)
        print(f"[{run}] {name} done in {time.monotonic() - started:.0f} s", flush=True)
    return target


def _alone(path: Path, refusal: str) -> AbstractContextManager[object]:
    """The operating system's lock, held: it goes with this process, however that ends; WorkflowError if it is taken."""
    try:
        return FileLock(path).acquire(timeout=0)
    except Timeout:
        raise WorkflowError(refusal) from None


def _digest_of(folder: Path) -> str:
    """What tells a folder from others: names and contents of its files."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return fingerprint_of(*((path.relative_to(folder).as_posix(), sha256_of(path)) for path in files))


def _copy_shipped(model: Path, folder: Path) -> None:
    """Copy a model that ships where none is, or an earlier copy that nobody has changed: a training is left alone."""
    own, copied, part, old = (folder / name.format(model.name) for name in ("{}", ".{}.copied", ".{}.part", ".{}.old"))
    known = copied.read_text(encoding="utf-8") if copied.is_file() else ""
    if own.exists() and (known != _digest_of(own) or known == _digest_of(model)):
        return
    for left in (part, old):  # of a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    shutil.copytree(model, part)
    if own.exists():
        own.rename(old)
    part.rename(own)  # whole, or not at all
    write_text(copied, _digest_of(own))
    shutil.rmtree(old, ignore_errors=True)


def make_run(run: str, cores: int, profile: str | None = None, everything: bool = False) -> int:
    """Bring every notebook of a run up to date, by Snakemake on ``cores`` of this machine; returns its exit status.

    With ``profile`` (a folder of ``profiles/``, or any with a profile of Snakemake's) the jobs run elsewhere. Unless
    ``everything`` is made, what `kept_of` names stands, with the models that ship.
    """
    from snakemake.cli import main as snakemake

    root = project_root()
    for job in jobs_of(run):
        read_parameters(run, job)
    resources_of(run)
    declared_judges(run)
    declared_sets(run)
    if kept := [] if everything else kept_of(run):
        print(f"[{run}] tracked results stand of {', '.join(kept)}", flush=True)
    # A failed job of a cluster tells its reason in a log whose name only Snakemake knows.
    where = ["--cores", str(cores), "--resources", "gpu=1", "--quiet", "all"]
    if profile:
        ours = root / "profiles" / profile
        where = ["--profile", str(ours if ours.is_dir() else profile), "--quiet", "host"]
    command = ["--snakefile", str(root / "Snakefile"), "--directory", str(root), *where, "--config", f"run={run}"]
    command += [f"kept={','.join(kept)}"]
    command += ["--rerun-incomplete", "--rerun-triggers", "mtime", "--keep-going"]
    # Snakemake's own lock survives a killed process and would have to be removed by hand. It runs in this process,
    # so that whoever kills this one leaves no run behind that nobody holds.
    with _alone(run_folder(run) / ".lock", f"run {run} is being made by another process"):
        for model in PRETRAINED.iterdir() if kept else ():  # what these jobs trained is what ships
            _copy_shipped(model, run_folder(run, "models"))
        try:
            snakemake([*command, "--nolock"])
        except SystemExit as end:
            if end.code:
                return int(end.code)
    check_inputs(run)
    return 0


def main(arguments: list[str] | None = None) -> int:
    """``python -m judgekit.report.workflow run NOTEBOOK RUN`` (what the Snakefile calls) and ``... make RUN``."""
    parser = argparse.ArgumentParser(prog="python -m judgekit.report.workflow")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run", help="execute one notebook of a run")
    one.add_argument("notebook")
    every = commands.add_parser("make", help="bring every notebook of a run up to date")
    every.add_argument("--cores", type=int, default=1)
    every.add_argument("--profile", help="slurm, or the folder of a Snakemake profile")
    every.add_argument("--everything", action="store_true", help="also the jobs of hours, whose results are tracked")
    for command in (one, every):
        command.add_argument("run")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.command == "make":
            return make_run(chosen.run, chosen.cores, chosen.profile, chosen.everything)
        run_notebook(chosen.notebook, chosen.run)
    # OSError: a full disk, a folder that may not be written
    except (WorkflowError, ResultsError, DeclaredError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from what is finished", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
