"""``judgekit new``: a run on pairs of one's own, from its parameters to what its notebooks and its report read."""

import json
import shutil
from contextlib import closing

import pytest
import yaml
from notebook_functions import run_cells
from test_pairfile import CHOSEN
from tiny_causal import save_adapter, save_reward

from judgekit.cli import main
from judgekit.data.catalogue import load_set, set_hashes
from judgekit.data.declared import DeclaredError
from judgekit.data.files import sha256_of
from judgekit.data.paths import PACKAGE, PRETRAINED
from judgekit.judges import load_judge
from judgekit.people.labelling.votefile import Vote, VoteFile
from judgekit.report import latex
from judgekit.report.results import document_files, find_quotes
from judgekit.report.workflow import jobs_of, read_parameters
from judgekit.scoring.protocols import protocol_of

VOTES = [{"ann": "A", "bob": "a", "cat": "tie"}, {"ann": "B", "bob": None}, {"ann": "A", "bob": "B"}]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A checkout with the notebooks of this one and no runs, and a file of pairs with votes."""
    root = latex.paths.project_root()
    (tmp_path / "params").mkdir()
    (tmp_path / "notebooks").symlink_to(root / "notebooks")
    rows = [
        {"id": n, "question": f"Q{n}?", "response_a": "yes", "response_b": "no", "votes": VOTES[n % 3]}
        for n in range(60)
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    monkeypatch.setattr("judgekit.data.paths.project_root", lambda: tmp_path)
    monkeypatch.setattr("judgekit.report.workflow.project_root", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def new(project, *words, run="mine", judges=("encoder/minilm", "baseline/features")):
    pairs = () if "--pairs" in words else ("--pairs", "pairs.jsonl")
    return main(["new", run, *pairs, *(word for one in judges for word in ("--judge", one)), *words])


def test_a_run_is_made_that_the_workflow_takes(project):
    assert new(project, "--title", "Ours & theirs", "--protocol", "both_right") == 0
    jobs = ["30_score_benchmarks", "31_compare_judges", "33_measure_agreement", "40_position_bias"]
    assert list(jobs_of("mine")) == [*jobs, "41_verbosity_bias", "61_calibration"]
    given = {job: read_parameters("mine", job) for job in jobs_of("mine")}
    assert given["33_measure_agreement"]["voted"] == ["mine"]
    assert given["61_calibration"]["sets"] == {"mine": ["mine", "label"], "mine_votes": ["mine", "votes"]}
    assert protocol_of("mine").rule == "both_right" and protocol_of("mine").labels == ("A", "B", "tie")
    assert [(pair.label, pair.votes) for pair in load_set("mine")[:3]] == [
        ("A", {"ann": "A", "bob": "A", "cat": "tie"}), ("B", {"ann": "B"}), (None, {"ann": "A", "bob": "B"})
    ]  # fmt: skip
    assert set_hashes(["mine"]) == {"mine": sha256_of("pairs.jsonl")}
    assert latex.own_title("mine") == "Ours & theirs" and latex.own_title("laptop") is None
    assert new(project, "--title", "", run="untitled") == 0
    assert latex.own_title("untitled") == "", "a run of one's own has no other documents, whatever it is called"


def test_what_does_not_apply_is_left_out(project, capsys):
    rows = [{"question": f"Q{n}?", "response_a": "yes", "response_b": "no"} for n in range(40)]
    (project / "pairs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert new(project, judges=["hf/nobody/model"]) == 2  # and nothing is written
    assert new(project) == 0
    assert list(jobs_of("mine")) == ["33_measure_agreement", "40_position_bias"]
    assert read_parameters("mine", "33_measure_agreement")["voted"] == []
    assert "0 of 40 pairs have a label or a majority" in capsys.readouterr().err
    for run, part in (("alike", {"label": "A"}), ("asked", {"question": "Q?"})):
        labelled = [row | {"label": "AB"[n % 2]} | part for n, row in enumerate(rows)]
        (project / "pairs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in labelled))
        assert new(project, run=run) == 0
    assert "41_verbosity_bias" not in jobs_of("alike") and "61_calibration" in jobs_of("alike")
    assert list(jobs_of("asked")) == ["33_measure_agreement", "40_position_bias"]
    told = capsys.readouterr().err
    assert "every label is A: what length does to verdicts" in told and "on 1 questions: nothing is scored" in told


def voted(project, *lines, pair=None):
    """Pairs without labels, and a file of votes on them, as people cast them on the labelling page."""
    rows = [{"id": f"q{n}", "question": f"Q{n}?", "response_a": "yes", "response_b": "no"} for n in range(40)]
    rows[5] |= {"label": "B", "topic": "sums"}
    (project / "pairs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with closing(VoteFile(project / "votes.jsonl")) as file:
        for item, who, label in lines:
            file.append(Vote(item, who, label, "ab", 1.0, "2026-01-01T00:00:00+00:00", pair))


def test_people_s_votes_become_labels(project):
    cast = [(f"q{n}", who, "A" if n % 2 else "B") for n in range(40) for who in ("ann", "bob")]
    voted(project, *cast, ("q0", "bob", None), ("q1", "bob", "tie"), ("q1", "cat", "tie"))
    assert new(project, "--votes", "votes.jsonl") == 0
    assert "41_verbosity_bias" in jobs_of("mine")
    assert read_parameters("mine", "33_measure_agreement")["voted"] == ["mine"]
    first, second, third, *_, sixth = load_set("mine")[:6]
    assert (first.votes, first.label) == ({"ann": "B"}, "B")  # one was taken back
    assert (second.votes, second.label) == ({"ann": "A", "bob": "tie", "cat": "tie"}, "tie")
    assert (third.label, sixth.label) == ("B", "B")  # the label that stood there stays
    assert sixth.votes == {"ann": "A", "bob": "A"} and sixth.item_id == "q5"


@pytest.mark.parametrize(
    ("vote", "texts", "row", "said"),
    [
        ("q40", None, None, "bob voted on 'q40', which is none of the pairs"),
        ("q3", "0" * 16, None, "votes.jsonl: ann voted on 'q0' when it had other texts"),
        ("q0", None, CHOSEN | {"id": "q0"}, "pairs.jsonl, line 1: field 'chosen' is preferred already"),
    ],
)
def test_votes_that_fit_no_pair_are_refused(project, capsys, vote, texts, row, said):
    voted(project, ("q0", "ann", "A"), (vote, "bob", "A"), pair=texts)
    if row:
        (project / "pairs.jsonl").write_text(f"{json.dumps(row)}\n")
    assert new(project, "--votes", "votes.jsonl") == 2
    assert said in capsys.readouterr().err
    assert not (project / "params" / "mine").exists()


def test_settings_go_to_those_who_take_them(project, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    assert new(project, "--set", "concurrency=4", judges=["openai/m-7b", "encoder/minilm"]) == 0
    declared = yaml.safe_load((project / "params" / "mine" / "judges.yaml").read_text())
    asked = {"name": "openai/m-7b", "settings": {"concurrency": "4"}}
    assert declared == {"m_7b": asked, "minilm": {"name": "encoder/minilm"}}
    assert read_parameters("mine", "61_calibration")["drawn"] == ["minilm"]  # the server states no probabilities


def test_paths_are_written_as_notebooks_find_them_and_names_stay_names(project, tiny, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    shutil.copy(PACKAGE / "prompts" / "strategies" / "pairwise.txt", "mine.txt")
    for name, place in {"here": tiny, "m": tiny, "minilm": tiny, "judge": PRETRAINED / "minilm"}.items():
        (project / name).symlink_to(place)
    save_adapter(tiny, project / "adapter")
    save_reward(tiny, project / "scores")
    (project / "ties.json").write_text('{"scale": 0.1, "log_nu": 2.0, "n_pairs": 100, "n_ties": 40}')
    found = {
        "hf/here+adapter#mine.txt-strict": f"hf/{project}/here+{project}/adapter#{project}/mine.txt-strict",
        "openai/m#mine.txt": f"openai/m#{project}/mine.txt",
        "encoder/judge": f"encoder/{project}/judge",
        "encoder/minilm": "encoder/minilm",
    }
    assert new(project, judges=list(found)) == 0
    assert new(project, "--set", "ties=ties.json", run="other", judges=["reward/scores"]) == 0
    first, other = (yaml.safe_load((project / "params" / run / "judges.yaml").read_text()) for run in ("mine", "other"))
    assert [one["name"] for one in first.values()] == list(found.values())
    assert other == {"scores": {"name": f"reward/{project}/scores", "settings": {"ties": f"{project}/ties.json"}}}
    monkeypatch.chdir(project / "notebooks")
    assert load_judge("here_mine_txt_strict", run="mine").files.adapter == f"{project}/adapter"


@pytest.mark.parametrize(
    ("words", "run", "judges", "said"),
    [
        ((), "../x", ["encoder/minilm"], "RUN '../x'"),
        ((), "there", ["encoder/minilm"], "params/there is there already"),
        ((), "pandalm", ["encoder/minilm"], "a set is called so"),
        ((), "mine", ["encoder/none"], "no judge is called 'encoder/none'"),
        ((), "mine", ["encoder/minilm", "encoder/minilm@x"], "encoder/minilm@x"),
        (("--set", "nosuch=1"), "mine", ["baseline/features"], "baseline/features takes no settings"),
        (("--protocol", "best"), "mine", ["encoder/minilm"], "--protocol best: there are primary"),
    ],
)
def test_whatever_is_wrong_is_told_and_nothing_written(project, capsys, words, run, judges, said):
    (project / "params" / "there").mkdir()
    assert new(project, *words, run=run, judges=judges) == 2
    assert said in capsys.readouterr().err
    assert [path.name for path in (project / "params").iterdir()] == ["there"]


def test_a_protocol_of_ones_own_takes_three_lines(project):
    folder = project / "params" / "mine"
    folder.mkdir()
    for text, found in {
        "ours: {file: pairs.jsonl, protocol: {rule: joined, labels: [A, B], unparsed: wrong}}": ("joined", ("A", "B")),
        "ours: {file: pairs.jsonl}": ("forward", ("A", "B", "tie")),
    }.items():
        (folder / "sets.yaml").write_text(text)
        assert (protocol_of("ours").rule, protocol_of("ours").labels) == found
    assert len(load_set("ours")) == 60


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ours: {file: pairs.jsonl, protocol: {rule: best}}", "protocol of the set 'ours'.*rule"),
        ("ours: {file: pairs.jsonl, protocol: {speed: 2}}", "protocol of the set 'ours'.*speed"),
        ("ours: {protocol: both_right}", "params/two/sets.yaml: ours.file: Field required"),
        ("ours: {file: a, path: b}", "ours.path: Extra inputs"),
        ("theirs: {file: other.jsonl}", r"params/two/sets\.yaml: another run declares another set 'theirs'"),
        ("pandalm: {file: pairs.jsonl}", "'pandalm', which is known by that name"),
    ],
)
def test_a_set_that_is_declared_wrongly_is_told(project, text, words):
    for run, declared in {"one": "theirs: {file: pairs.jsonl}", "two": text}.items():
        (project / "params" / run).mkdir()
        (project / "params" / run / "sets.yaml").write_text(declared)
    with pytest.raises(DeclaredError, match=words):
        (load_set if "protocol" not in text else protocol_of)(text.partition(":")[0])


def test_a_set_of_the_hub_is_read_at_its_revision(project, monkeypatch):
    commit = "0123456789abcdef0123456789abcdef01234567"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(project / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    kept = project / "cache" / "datasets--nobody--pairs" / "snapshots" / commit / "data"
    kept.mkdir(parents=True)
    (kept / "test.jsonl").write_text((project / "pairs.jsonl").read_text())
    (project / "params" / "mine").mkdir()
    for place, words in {
        f"nobody/pairs@{commit}/data/test.jsonl": None,
        f"nobody/pairs@{commit}/data/none.jsonl": "cannot be fetched from the hub",
        "nobody/pairs/data/test.jsonl": "write hub:owner/name@revision/path",
    }.items():
        (project / "params" / "mine" / "sets.yaml").write_text(f"ours: {{file: 'hub:{place}'}}")
        if words is None:
            assert len(load_set("ours")) == len(load_set(f"hub:{place}")) == 60
            assert protocol_of(f"hub:{place}") == protocol_of("file:test.jsonl")
        else:
            with pytest.raises(DeclaredError, match=words):
                load_set("ours")


def test_the_report_shows_what_its_notebooks_save():
    notebooks = latex.paths.project_root() / "notebooks"
    code = "".join(path.read_text() for path in notebooks.glob("*.ipynb"))
    quotes = find_quotes(document_files(latex.OWN))
    assert {kind for kind, _ in quotes} <= {"table", "figure"}  # numbers by key would be those of one run
    assert len(quotes) > 10 and all(f'run, \\"{name}\\"' in code for _, name in quotes)


def test_a_control_of_every_run_may_be_named_among_the_judges(project, capsys):
    """At 1f28f818 it was there twice, and 30, 31 and 33 stopped: both were called ``longer``."""
    assert new(project, judges=("baseline/longer", "baseline/first")) == 2
    assert "are in every run; name a judge to hold against them" in capsys.readouterr().err
    assert new(project, judges=("baseline/features", "baseline/longer")) == 0
    assert read_parameters("mine", "30_score_benchmarks")["judges"]["all"].count("baseline/longer") == 1
    assert read_parameters("mine", "33_measure_agreement")["judges"] == {"mine": ["features", "baseline/longer"]}


def test_position_is_studied_on_a_handful_of_pairs(project):
    """At 1f28f818 40 stopped at an empty picture on 4 pairs, as docs/use_your_own.md has them."""
    kept = (project / "pairs.jsonl").read_text().splitlines()[:4]
    (project / "pairs.jsonl").write_text("\n".join(kept))
    assert new(project, judges=("baseline/features", "encoder/minilm")) == 0
    run_cells("40_position_bias", **read_parameters("mine", "40_position_bias"), n_boot=50)
    assert (project / "outputs/mine/results/40_position_bias.json").is_file()
