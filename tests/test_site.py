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
    site.write_real()
    site.write_gallery()
    site.write_api()
    site.write_front()
    listed = (tmp_path / "notebooks" / "index.md").read_text()
    named = re.findall(r"\]\((\d\d_\w+)\.ipynb\) \| \S", listed)
    assert named == sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
    assert listed.count("| not run |") == len(named) - len(executed)
    front = (tmp_path / "index.md").read_text()
    pages = [path.stem for path in (ROOT / "docs").glob("*.md") if path.stem != "moved"]
    assert all(f"\ndocs/{page}\n" in front for page in pages) and "\ndocs/moved\n" not in front
    shown = re.findall(r"\]\((outputs/laptop/figures/\w+\.png)\)", (tmp_path / "gallery.md").read_text())
    assert len(shown) > 30 and all((tmp_path / figure).is_file() for figure in shown)
    real = {path.stem: json.loads(path.read_text()) for path in (tmp_path / "real").glob("*.ipynb")}
    assert sorted(real) == named and not any(cell.get("outputs") for book in real.values() for cell in book["cells"])
    texts = {stem: "\n".join("".join(cell["source"]) for cell in book["cells"]) for stem, book in real.items()}
    seen = {
        stem: set(re.findall(r"\]\(\.\./(outputs/laptop/figures/\w+\.png)\)", text)) for stem, text in texts.items()
    }
    assert set(shown) - set().union(*seen.values()) <= {
        "outputs/laptop/figures/ranking_saved.png"
    }  # named by a variable
    assert "outputs/laptop/figures/scores_forest.png" in seen["30_score_benchmarks"]
    assert {"```yaml", "| MiniLM (ours) |"} <= set(
        re.findall(r"```yaml|\| MiniLM \(ours\) \|", texts["30_score_benchmarks"])
    )
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
