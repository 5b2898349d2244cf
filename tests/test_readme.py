"""README, model card and docs: their numbers are the results', their tables the repository's."""

import json
import re
import tomllib

import pytest
import yaml
from doc_page import tracked

from judgekit.cli import main
from judgekit.data.paths import project_root
from judgekit.report import load_results, readme
from judgekit.report.readme import BLOCKS, MARKED, block, documents, filled
from judgekit.report.results import ResultsError, load_provenance
from judgekit.report.workflow import notebook_list

ROOT = project_root()
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_block_stands_somewhere():
    marked = {name for path in documents() for name in MARKED.findall(path.read_text(encoding="utf-8"))}
    assert marked == set(BLOCKS) and README.count(":begin -->") == README.count(":end -->") == 3
    assert README.count("\n") <= 150, "the front page is short"


@pytest.mark.parametrize("path", documents(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_blocks_are_what_the_results_say(path):
    text = path.read_text(encoding="utf-8")
    assert filled(text, load_results("laptop")) == text, "run 'make readme'"


def test_a_block_that_is_still_empty_is_filled():
    results = load_results("laptop")
    assert filled("<!-- scores:begin -->\n<!-- scores:end -->", results).count("\n") > 5


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_without_its_results_is_an_error(name):
    if name == "scores":  # judges may lack a set, and then have a dash
        assert "–" in block(name, {})
    elif name not in ("hours", "time"):  # which are made from provenance
        with pytest.raises(ResultsError):
            block(name, {})


def test_every_notebook_is_in_a_stage_and_its_minutes_in_the_sum():
    rows = block("time", load_results("laptop")).splitlines()[2:]
    assert {name[0] for name in notebook_list()} == {row[2] for row in rows[:-1]}
    minutes = [0.5 if "under" in row.split("|")[2] else float(row.split("|")[2]) for row in rows]
    assert abs(sum(minutes[:-1]) - minutes[-1]) <= 0.5 * len(rows)
    hours = float(re.search(r"([\d.]+) hours", block("hours", load_results("laptop")))[1])
    assert 60 * hours == pytest.approx(minutes[-1], abs=4)


def test_a_notebook_without_results_has_no_minutes(monkeypatch):
    held = load_provenance("laptop")
    held.pop("10_clean_preferences")
    monkeypatch.setattr(readme, "load_provenance", lambda run: held)
    with pytest.raises(ResultsError, match="no result '10_clean_preferences'"):
        block("time", load_results("laptop"))


def test_the_table_of_claims_lists_every_notebook_in_order():
    claims = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    found = re.findall(r"(?m)^\| .+ \| \[`(\w+)`\]\(\.\./notebooks/(\w+)\.ipynb\) \| .+ \|$", claims)
    assert [shown for shown, _ in found] == [linked for _, linked in found] == sorted(notebook_list())


def test_folder_table_lists_every_folder():
    table = README.split("| folder |")[1].split("\n\n")[0]
    listed = {name for line in table.splitlines() for name in re.findall(r"`(\w+)/", line.split("|")[1])}
    folders = {path.relative_to(ROOT).parts[0] for path in tracked("*/*")}
    assert listed == {name for name in folders if not name.startswith(".")}


def test_the_pair_is_judged_as_is_said(capsys, tmp_path, monkeypatch):
    row, said = re.search(r"echo '(.+)' > pairs\.jsonl.+?```text\n(.+?)\n```", README, re.S).groups()
    (tmp_path / "pairs.jsonl").write_text(row + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["judge", "pairs.jsonl", "--out", "-", "--no-resume"]) == 0
    found, wanted = json.loads(capsys.readouterr().out), json.loads(said)
    assert found == {name: pytest.approx(value, abs=1e-3) for name, value in wanted.items()}  # other processors round


def test_citation_is_valid_and_names_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"cff-version", "message", "title", "authors"} <= set(cited) and cited["cff-version"] == "1.2.0"
    assert cited["version"] == project["version"] and cited["type"] == "software"
    assert cited["authors"] == [{"name": "judgekit contributors"}]
    assert f"## {project['version']} (" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
