"""The site before Sphinx: what is copied, listed and shown. The build itself refuses a link that leads nowhere."""

import importlib.util
import json
import re
import shutil

import pytest

from judgekit.data.paths import project_root

ROOT = project_root()


@pytest.fixture
def site(tmp_path, monkeypatch):
    """The script, with its source somewhere else."""
    spec = importlib.util.spec_from_file_location("site_script", ROOT / "setup" / "site.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script, "SOURCE", tmp_path)
    return script


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no repository: which files are kept is not known")
def test_everything_that_is_to_be_read_is_there(site, tmp_path):
    executed = site.copy_sources("laptop")
    site.write_notebooks("laptop", executed)
    for part in "real gallery api commands front links".split():
        getattr(site, f"write_{part}")()
    listed = (tmp_path / "notebooks" / "index.md").read_text()
    named = re.findall(r"\]\((\d\d_\w+)\.ipynb\) \| \S", listed)
    assert named == sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
    assert listed.count("| not run |") == len(named) - len(executed)
    front = (tmp_path / "index.md").read_text()
    pages = [path.stem for path in (ROOT / "docs").glob("*.md") if path.stem != "moved"]
    assert all(f"\ndocs/{page}\n" in front for page in pages) and "\ndocs/moved\n" not in front
    assert front.split(":caption: Use\n\n")[1].startswith("docs/use_your_own\ndocs/scoring\n")
    assert ("## Documents" in front) == any((ROOT / "report").glob("*.pdf"))
    shown = re.findall(r"\]\((outputs/laptop/figures/\w+\.png)\)", (tmp_path / "gallery.md").read_text())
    assert len(shown) > 30 and all((tmp_path / figure).is_file() for figure in shown)
    assert "](notebooks/" not in (tmp_path / "gallery.md").read_text()  # the sample's numbers say nothing
    real = {path.stem: json.loads(path.read_text()) for path in (tmp_path / "real").glob("*.ipynb")}
    assert sorted(real) == named and not any(cell.get("outputs") for book in real.values() for cell in book["cells"])
    texts = {stem: "\n".join("".join(cell["source"]) for cell in book["cells"]) for stem, book in real.items()}
    assert set(shown) <= set(re.findall(r"\]\(\.\./(outputs/laptop/figures/\w+\.png)\)", "\n".join(texts.values())))
    forest, parts = "](../outputs/laptop/figures/scores_forest.png)", ("```yaml", "| MiniLM (ours) |")
    assert all(part in texts["30_score_benchmarks"] for part in (forest, *parts))
    tables = {f"table-{path.stem}" for path in (ROOT / "outputs" / "laptop" / "tables").glob("*.md")}
    assert tables == set(re.findall(r"\((table-\w+)\)=", "\n".join(texts.values())))
    pages = "\n".join(path.read_text() for path in [*(tmp_path / "docs").glob("*.md"), *tmp_path.glob("*.md")])
    assert not re.findall(r"\]\([^)]*laptop/tables/|\[[\w/]+\.md\]\(", pages)
    assert "[this table](#table-alt_test)" in pages.replace("[This", "[this")
    commands = (tmp_path / "api" / "commands.md").read_text()
    assert all(said in commands for said in ("## judgekit convert\n", "Usage: judgekit new [OPTIONS]", "-h, --help"))
    api = "".join(path.read_text() for path in (tmp_path / "api").glob("*.rst"))
    modules = set(re.findall(r"automodule:: (\S+)", api))
    assert {"judgekit.stats", "judgekit.scoring.protocols", "judgekit.judges"} <= modules
    assert not any(name.startswith("judgekit.cli") for name in modules)


def test_an_executed_notebook_takes_the_place_of_its_source(site, tmp_path, monkeypatch):
    monkeypatch.setattr(site, "ROOT", tmp_path / "root")
    for place, said in {"notebooks": "source", "outputs/mine/executed": "executed"}.items():
        (tmp_path / "root" / place).mkdir(parents=True)
        cells = [{"cell_type": "markdown", "source": [f"# Title\n> {said}?"]}]
        (tmp_path / "root" / place / "10_x.ipynb").write_text(json.dumps({"cells": cells}))
    monkeypatch.setattr(site, "tracked", lambda: ["notebooks/10_x.ipynb"])
    for run, question in {"mine": "executed?", "other": "source?"}.items():
        shutil.rmtree(tmp_path / "notebooks", ignore_errors=True)
        assert site.copy_sources(run) == (["10_x"] if run == "mine" else [])
        assert site.question_of(tmp_path / "notebooks" / "10_x.ipynb") == ("Title", question)
        assert ("](../real/10_x.ipynb)" in (tmp_path / "notebooks" / "10_x.ipynb").read_text()) == (run == "mine")


def test_what_lives_only_while_a_notebook_runs_is_told_in_words(site):
    """A frame or a link of a server that has ended, and a widget, whose script a page would fetch from elsewhere."""
    made = [
        {"data": {"text/html": ['<iframe src="http://localhost:4/a/ann/?token=x"></iframe>']}},
        {"data": {"text/html": 'Tab: <a href="http://127.0.0.1:4/a">ann</a>'}},
        {"data": {"application/vnd.jupyter.widget-view+json": {}, "text/plain": "0/2"}},
        {"data": {"text/html": "<b>kept</b>"}},
        {"text": "http://localhost:4 is only spoken of"},
    ]
    book = {"metadata": {"widgets": {}}, "cells": [{"outputs": made}, {"source": "no outputs"}]}
    shown = site.lasting(json.loads(json.dumps(book)))
    assert shown["cells"][0]["outputs"][3:] == made[3:] and "widgets" not in shown["metadata"]
    assert not re.search("localhost:4/|127|widget|0/2", json.dumps(shown["cells"][0]["outputs"][:3]))


def test_a_formula_in_the_middle_of_a_paragraph_is_drawn(tmp_path):
    pytest.importorskip("furo", reason="make site installs what draws pages")
    build = pytest.importorskip("sphinx.cmd.build")
    (tmp_path / "index.md").write_text("# Title\n\nWith $n$ pairs the rate is\n$$\\frac1n$$\nand $n$ is known.\n")
    options = ["-q", "-b", "html", "-c", str(ROOT / "docs"), "-D", "html_title=x", "-D", "include_patterns=index.md"]
    assert build.main([*options, str(tmp_path), str(tmp_path / "made")]) == 0
    made = (tmp_path / "made" / "index.html").read_text()
    assert made.count("<math") == 3 and made.count('display="block"') == 1 and "$" not in made.split("<article")[1]
