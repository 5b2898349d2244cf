"""Build the site: the docs, the executed notebooks of a run, the laptop run's figures, and the public names.

``python setup/site.py RUN`` (make site) writes ``build/site``, which any static host can serve, off-line. Links of
the pages are those of the repository: tracked files are copied beside them, and the notebooks are those that the run
executed, so that they can be read without running anything. Of ``laptop`` they show examples of the data sets, whose
licences may not let you publish them; the sample's are the repository's own.
"""

import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE, SITE = ROOT / "build" / "site_source", ROOT / "build" / "site"
LARGEST = 1 << 20  # bytes of a file that is copied: weights are not
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


def tracked() -> list[str]:
    """The files of the repository."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name]


def copy_sources(run: str) -> list[str]:
    """Copy what pages show or link to; the notebooks of the run that were executed, by name."""
    for name in tracked():
        if (ROOT / name).is_file() and (ROOT / name).stat().st_size <= LARGEST:
            (SOURCE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, SOURCE / name)
    for pdf in (ROOT / "report").glob("*.pdf"):
        shutil.copyfile(pdf, SOURCE / "report" / pdf.name)
    executed = []
    for path in sorted((SOURCE / "notebooks").glob("*.ipynb")):
        if (made := ROOT / "outputs" / run / "executed" / path.name).is_file():
            shutil.copyfile(made, path)
            executed.append(path.stem)
    return executed


def question_of(notebook: Path) -> tuple[str, str]:
    """A notebook's title, and the question under it."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    title, question = re.match(r"# (.*)\n>\s*(.*)", "".join(cells[0]["source"])).groups()
    return title, question


def write_notebooks(run: str, executed: list[str]) -> None:
    """The list of notebooks with their questions."""
    rows = []
    for path in sorted((SOURCE / "notebooks").glob("*.ipynb")):
        title, question = question_of(path)
        rows.append(f"| [{title}]({path.name}) | {question} | {'' if path.stem in executed else 'not run'} |")
    said = f"Executed in the run `{run}`. The sample is authored, its numbers say nothing about models; those of the "
    said += "report are in [the gallery](../gallery.md) and the documents."
    table = "\n".join(["| notebook | question | |", "|---|---|---|", *rows])
    tree = "\n".join(path.stem for path in sorted((SOURCE / "notebooks").glob("*.ipynb")))
    text = f"# Notebooks\n\n{said}\n\n{table}\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
    (SOURCE / "notebooks" / "index.md").write_text(text, encoding="utf-8")


def write_gallery() -> None:
    """The figures of the laptop run under the notebook that makes them, as the report says."""
    owned = defaultdict(list)
    for path in sorted((ROOT / "report").glob("sections/*.tex")):
        for floating in re.findall(r"\\begin\{figure(.*?)\\end\{figure", path.read_text(encoding="utf-8"), re.DOTALL):
            names = re.findall(r"\\resultfigure(?:\[[^]]*\])?\{(\w+)\}", floating)
            if names and (owner := re.search(r"\\owner\{(\w+)\}", floating)):
                owned[owner[1]] += names
    parts = ["# Figures of the laptop run", "Real data and real models; each stands under the notebook that makes it."]
    for notebook, names in sorted(owned.items()):
        title, question = question_of(SOURCE / "notebooks" / f"{notebook}.ipynb")
        parts.append(f"## {title}\n\n{question} [Notebook](notebooks/{notebook}.ipynb)")
        parts += [f"![{name.replace('_', ' ')}](outputs/laptop/figures/{name}.png)" for name in dict.fromkeys(names)]
    (SOURCE / "gallery.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _heading(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}"


def write_api() -> None:
    """A page for each folder of the package, with the public names of its modules."""
    (SOURCE / "api").mkdir()
    entries = sorted(
        path for path in (ROOT / "judgekit").iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()
    )
    entries = [path for path in entries if not path.name.startswith("__") and path.name not in ("pretrained", "cli")]
    for entry in entries:
        modules = [entry] if entry.is_file() else sorted(entry.rglob("*.py"))
        parts = [_heading(f"judgekit.{entry.stem}", "=")]
        for module in modules:
            parents = module.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parents[: -1 if parents[-1] == "__init__" else None])
            parts += [_heading(name, "-")] if len(modules) > 1 else []
            parts.append(f".. automodule:: {name}\n   :members:\n   :ignore-module-all:\n   :member-order: bysource")
        (SOURCE / "api" / f"{entry.stem}.rst").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    tree = "\n".join(path.stem for path in entries)
    text = f"# Public names\n\n```{{toctree}}\n:maxdepth: 1\n\n{tree}\n```\n"
    (SOURCE / "api" / "index.md").write_text(text, encoding="utf-8")


def write_front() -> None:
    """The README as the first page, and under it everything else."""
    docs = [path.relative_to(SOURCE).with_suffix("") for path in sorted((SOURCE / "docs").glob("*.md"))]
    trees = {
        "Use": [path for path in docs if path.name != "moved"],
        "Read": ["notebooks/index", "gallery"],
        "Look up": ["api/index", *(name.removesuffix(".md") for name in PAGES[1:])],
    }
    text = (ROOT / "README.md").read_text(encoding="utf-8") + "\n## Documents\n\n"
    text += (
        "\n".join(f"- [{path.stem}](report/{path.name})" for path in sorted((SOURCE / "report").glob("*.pdf"))) + "\n"
    )
    for caption, pages in trees.items():
        entries = "\n".join(map(str, pages))
        text += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{entries}\n```\n"
    (SOURCE / "index.md").write_text(text, encoding="utf-8")


def main(run: str = "sample") -> int:
    """Build; 0, or what Sphinx says where a link or a page is wrong."""
    from sphinx.cmd.build import main as sphinx  # requirements-site.lock

    shutil.rmtree(SOURCE, ignore_errors=True)
    executed = copy_sources(run)
    write_notebooks(run, executed)
    write_gallery()
    write_api()
    write_front()
    return sphinx(["-q", "-W", "--keep-going", "-b", "html", "-c", str(ROOT / "docs"), str(SOURCE), str(SITE)])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
