"""Build the site: the docs, the notebooks with what the laptop run saved, those that a run executed, public names.

``python setup/site.py RUN`` (make site) writes ``build/site``, which any static host can serve, off-line. Links of
the pages are those of the repository: tracked files are copied beside them, and the notebooks are those that the run
executed, so that they can be read without running anything. Of ``laptop`` they show examples of the data sets, whose
licences may not let you publish them; the sample's are the repository's own. So the real run is read on pages that are
made of what it tracks: each notebook's code, its parameters, and under every cell the figures and tables that it saved.
"""

import ast
import csv
import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import typer

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
            notebook = lasting(json.loads(made.read_text(encoding="utf-8")))
            said = f"Executed in the run `{run}`. The real run is on [a page of its own](../real/{path.name})."
            notebook["cells"].insert(1, _note(said, "other-run"))
            path.write_text(json.dumps(notebook), encoding="utf-8")
            executed.append(path.stem)
    return executed


def _note(text: str, name: str) -> dict:
    """A cell of Markdown."""
    return {"cell_type": "markdown", "metadata": {}, "source": text, "id": name}


def lasting(notebook: dict) -> dict:
    """A notebook, told in words where an output shows what lives while its kernel runs: a local page, a widget."""
    notebook.get("metadata", {}).pop("widgets", None)
    for output in (output for cell in notebook["cells"] for output in cell.get("outputs", ())):
        data = output.get("data", {})
        local = re.search(r"//(localhost|127\.0\.0\.1):", "".join(data.get("text/html", "")))
        if local or any("widget" in form for form in data):
            output["data"] = {"text/plain": "(shown while the notebook runs)"}
    return notebook


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
    said += "report stand on [the pages of the real run](../real/index.md)."
    table = "\n".join(["| notebook | question | |", "|---|---|---|", *rows])
    tree = "\n".join(path.stem for path in sorted((SOURCE / "notebooks").glob("*.ipynb")))
    text = f"# Notebooks, executed on the {run}\n\n{said}\n\n{table}\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
    (SOURCE / "notebooks" / "index.md").write_text(text, encoding="utf-8")


SAVES = {"save_figure": (2, ".png"), "save_table": (1, ".md"), "save_frame": (1, ".csv")}
# function to the place of the name among its arguments, and to the form of what it saves that a page shows
ROWS = 15  # of a saved frame, at most


def _saved_by(source: str) -> list[tuple[int, str]]:
    """Patterns of the files that a cell saves, each with how many letters of it are fixed."""
    nodes = list(ast.walk(ast.parse(source)))
    words = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    found = []
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        place, form = SAVES.get(getattr(call.func, "id", getattr(call.func, "attr", "")), (sys.maxsize, ""))
        if len(call.args) <= place:
            continue
        named = call.args[place]
        if isinstance(named, ast.Name):  # one of the words of the cell
            found += [(len(word), re.escape(word + form)) for word in words]
            continue
        parts = named.values if isinstance(named, ast.JoinedStr) else [named]
        fixed = [part.value if isinstance(part, ast.Constant) else None for part in parts]
        if any(fixed):  # a name that is all variable could be any
            pattern = "".join(r"\w*" if part is None else re.escape(str(part)) for part in fixed)
            found.append((sum(len(str(part)) for part in fixed if part), pattern + re.escape(form)))
    return found


def saved_of_run(run: str) -> dict[tuple[str, int], list[Path]]:
    """Tracked figures, tables and frames of a run by the notebook and the cell that saved them."""
    patterns = [
        (*found, path.stem, number)
        for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
        for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"])
        if cell["cell_type"] == "code"
        for found in _saved_by("".join(cell["source"]))
    ]
    owned = defaultdict(list)
    for name in tracked():
        path = Path(name)
        if path.parts[:2] == ("outputs", run) and path.parts[2] in ("figures", "tables", "data"):
            able = [(letters, *who) for letters, pattern, *who in patterns if re.fullmatch(pattern, path.name)]
            if able:  # the pattern that leaves least open
                owned[tuple(max(able)[1:])].append(path)
    return owned


def _picture_of(path: Path) -> str:
    """What a page shows of a saved file."""
    if path.suffix == ".png":
        return f"![{path.stem.replace('_', ' ')}](../{path})"
    if path.suffix == ".md":
        return f"(table-{path.stem})=\n\n" + (ROOT / path).read_text(encoding="utf-8")
    with (ROOT / path).open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    head, *rows = ([cell for cell, name in zip(row, head, strict=True) if name != "spec"] for row in (head, *rows))
    cells = [[re.sub(r"(\.\d{4})\d+", r"\1", cell).replace("|", "\\|") for cell in row] for row in rows[:ROWS]]
    lines = [head, ["---"] * len(head), *cells]
    more = f"\n\n{len(rows)} rows in all: [`{path.name}`](../{path})." if len(rows) > ROWS else ""
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + more


def write_real(run: str = "laptop") -> None:
    """The notebooks as a tracked run left them: parameters, and under each cell what it saved, without texts."""
    folder, owned, rows = SOURCE / "real", saved_of_run(run), []
    folder.mkdir()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook, cells = json.loads(path.read_text(encoding="utf-8")), []
        for number, cell in enumerate(notebook["cells"]):
            cells.append(cell)
            said = [_picture_of(file) for file in owned[path.stem, number]]
            if "parameters" in cell["metadata"].get("tags", ()):
                files = sorted((ROOT / "params" / run).glob(f"{path.stem}*.yaml"))
                said = [f"`{file.name}`\n\n```yaml\n{file.read_text(encoding='utf-8')}```" for file in files]
            cells += [_note(text, f"saved-{number}-{i}") for i, text in enumerate(said)]
        said = f"As the run `{run}` left it; every output, [on the sample](../notebooks/{path.name})."
        cells.insert(1, _note(said, "other-run"))
        (folder / path.name).write_text(json.dumps(notebook | {"cells": cells}), encoding="utf-8")
        title, question = question_of(path)
        rows.append(f"| [{title}]({path.name}) | {question} |")
    said = (
        f"Real data and real models (`{run}`): each notebook with the parameters of all variants and, under the cell\n"
    )
    said += (
        "that saved it, each figure, table and frame of estimates. Other outputs show texts of data sets, which are\n"
    )
    said += "not ours to publish; what they look like is seen [on the sample](../notebooks/index.md)."
    table = "\n".join(["| notebook | question |", "|---|---|", *rows])
    tree = "\n".join(path.stem for path in sorted(folder.glob("*.ipynb")))
    text = f"# The real run\n\n{said}\n\n{table}\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
    (folder / "index.md").write_text(text, encoding="utf-8")


def write_gallery() -> None:
    """The figures of the laptop run under the notebook that makes them, as the report says."""
    owned = defaultdict(list)
    for path in sorted((ROOT / "report").glob("sections/*.tex")):
        for floating in re.findall(r"\\begin\{figure(.*?)\\end\{figure", path.read_text(encoding="utf-8"), re.DOTALL):
            names = re.findall(r"\\resultfigure(?:\[[^]]*\])?\{(\w+)\}", floating)
            if names and (owner := re.search(r"\\owner\{(\w+)\}", floating)):
                owned[owner[1]] += names
    parts = ["# Figures of the real run", "Real data and real models; each stands under the notebook that makes it."]
    for notebook, names in sorted(owned.items()):
        title, question = question_of(SOURCE / "notebooks" / f"{notebook}.ipynb")
        parts.append(f"## {title}\n\n{question} [Notebook](real/{notebook}.ipynb)")
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


def write_commands() -> None:
    """What every command says of itself."""
    from judgekit.cli import app

    parts, group = ["# Commands"], typer.main.get_command(app)
    above = group.make_context("judgekit", [], resilient_parsing=True)
    for name, command in group.commands.items():
        said = command.get_help(command.make_context(name, [], above, resilient_parsing=True))
        parts.append(f"## judgekit {name}\n\n```text\n{said}\n```")
    (SOURCE / "api" / "commands.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def write_links() -> None:
    """On the site pages go by their titles, claims lead to the real run, and tables stand under what made them."""
    for path in [*SOURCE.glob("*.md"), *SOURCE.glob("docs/*.md"), *SOURCE.glob("judgekit/pretrained/**/README.md")]:
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"\[[\w/]+\.md\]\(", "[](", text)
        text = re.sub(r"\]\([./]*outputs/laptop/tables/(\w+)\.md\)", r"](#table-\1)", text)
        path.write_text(text.replace("](../notebooks/", "](../real/"), encoding="utf-8")


def write_front() -> None:
    """The README as the first page, and under it everything else, in the order in which it names pages."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    docs = list(dict.fromkeys(re.findall(r"\]\((docs/\w+)\.md\)", text)))
    read = ["docs/overview", "docs/claims", "real/index", "gallery", "outputs/laptop/cases/cases", "notebooks/index"]
    read += ["docs/exercises"]
    trees = {
        "Use": [page for page in docs if page not in read],
        "Read": read,
        "Look up": ["api/commands", "api/index", "cards", *(name.removesuffix(".md") for name in PAGES[1:])],
    }
    cards = "# Model cards\n\n```{toctree}\n:glob:\n:maxdepth: 1\n\njudgekit/pretrained/*/README\n```\n"
    (SOURCE / "cards.md").write_text(cards, encoding="utf-8")
    pdfs = [f"- [{path.stem}](report/{path.name})" for path in sorted((SOURCE / "report").glob("*.pdf"))]
    if pdfs:
        text += "\n".join(["\n## Documents\n", *pdfs, ""])
    for caption, pages in trees.items():
        entries = "\n".join(map(str, pages))
        text += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{entries}\n```\n"
    (SOURCE / "index.md").write_text(text, encoding="utf-8")


def main(run: str = "sample") -> int:
    """Build; 0, or what Sphinx says where a link or a page is wrong."""
    from sphinx.cmd.build import main as sphinx  # requirements-site.lock

    for folder in (SOURCE, SITE):  # a page whose source has gone would stay
        shutil.rmtree(folder, ignore_errors=True)
    executed = copy_sources(run)
    write_notebooks(run, executed)
    write_real()
    write_gallery()
    write_api()
    write_commands()
    write_front()
    write_links()
    return sphinx(["-q", "-W", "--keep-going", "-b", "html", "-c", str(ROOT / "docs"), str(SOURCE), str(SITE)])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
