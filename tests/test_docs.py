"""What the pages of the docs name is there."""

import json
import re
import sys
from pkgutil import resolve_name

import pytest
import typer
from doc_page import BLOCK, FOLDER, Reader, make_targets, text_of, words_of
from judged_file import write_pairs

from judgekit.cli import app
from judgekit.data.paths import project_root
from judgekit.data.sample import load_sample
from judgekit.judges import load_judge
from judgekit.report import workflow
from judgekit.scoring.protocols import protocol_of

ROOT = project_root()


def found(name):
    """Whether a dotted name is a module of the package, or something in one."""
    try:
        return resolve_name(name) is not None
    except (ImportError, AttributeError):
        return False


FRONT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
ALL = [*FRONT, *sorted(FOLDER.glob("*.md"))]
COMMANDS = typer.main.get_command(app).commands
MACHINE = re.compile(r"(?<![\w.])/(?:home|root|Users|work|tmp|mnt|opt|srv)/\w")


def each(paths):
    """Tests by page, named after it."""
    return pytest.mark.parametrize("path", paths, ids=lambda path: path.stem)


def lines_of(text):
    """Shell lines of a page: its bash blocks, continued lines joined, and what stands in backticks."""
    blocks = "".join(block for _, language, block in BLOCK.findall(text) if language == "bash")
    prose = BLOCK.sub("", text)
    return [*blocks.replace("\\\n", " ").splitlines(), *(" ".join(t.split()) for t in re.findall(r"`([^`]+)`", prose))]


def wrong_commands(line):
    """What a line asks of make or judgekit that is not there."""
    line = line.removeprefix(".venv/bin/")
    words = words_of(line) if line.startswith(("make ", "judgekit ", "python -m judgekit")) else []
    if words[:1] == ["make"]:
        return [word for word in words[1:] if "=" not in word and word not in make_targets()]
    if words[:2] == ["python", "-m"]:
        return [] if found(words[2]) else [words[2]]
    if words[:1] != ["judgekit"] or words[1:] in (["--help"], ["--version"]):
        return []
    if words[1] not in COMMANDS:
        return [words[1]]
    known = {name for option in COMMANDS[words[1]].params for name in (*option.opts, *option.secondary_opts)}
    return [word for word in words[2:] if word.startswith("--") and word not in {*known, "--help"}]


def test_a_command_that_is_not_there_is_seen():
    assert wrong_commands("make paper") == ["paper"] and not wrong_commands("make report RUN=laptop  # hours")
    assert wrong_commands("judgekit weigh x") == ["weigh"] and wrong_commands("judgekit judge x --into y") == ["--into"]
    assert wrong_commands(".venv/bin/python -m judgekit.frontpage") == ["judgekit.frontpage"]
    assert not wrong_commands("judgekit judge x --out y --judge hf/M#letter --no-resume")


@each(ALL)
def test_every_link_and_anchor_is_there(path):
    for link, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", path.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        target = path.parent / link if link else path
        assert target.exists(), link
        if anchor:  # as GitHub makes it of a heading
            headings = re.findall(r"(?m)^#+ (.+)$", target.read_text(encoding="utf-8").lower())
            assert anchor in [re.sub(r"[^\w\- ]", "", one).replace(" ", "-") for one in headings], f"{link}#{anchor}"


@each(ALL)
def test_no_path_of_a_machine_stands_on_a_page(path):
    assert MACHINE.search("see /home/me") and not MACHINE.search("`outputs/home/x` is `/path/to/mirror`")
    assert not MACHINE.search(path.read_text(encoding="utf-8"))


@pytest.fixture
def desk(tmp_path, monkeypatch, serve):
    """A folder with what a user brings: a model, an encoder, pairs; and a server that answers."""
    from tiny_causal import save_tiny

    from judgekit.models.encoder import base_location

    save_tiny(tmp_path / "models" / "causal")
    (tmp_path / "models" / "encoder").symlink_to(base_location("minilm"))  # as if one had it in a folder
    write_pairs(tmp_path / "many_pairs.jsonl", load_sample("sample_train")[:600])
    write_pairs(tmp_path / "other_pairs.jsonl", load_sample("sample_validation")[:30])
    write_pairs(tmp_path / "held_out.jsonl", load_sample("sample_validation")[:4])
    (tmp_path / "notebooks").symlink_to(ROOT / "notebooks")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield serve()
    sys.modules.pop("my_judges", None)


@pytest.mark.slow
def test_what_one_can_use_of_ones_own_is_used(desk, tmp_path, monkeypatch):
    for place in ("judgekit.data.paths", "judgekit.report.workflow"):
        monkeypatch.setattr(f"{place}.project_root", lambda: tmp_path)
    made = {}

    def make(words):
        target, run = words[0], words[1].removeprefix("RUN=")
        assert target in make_targets()
        made[run] = {job: workflow.read_parameters(run, job) for job in workflow.jobs_of(run)}

    Reader(text_of("use_your_own.md"), make).read()
    verdicts = {path.stem: path.read_text().splitlines() for path in tmp_path.glob("*.jsonl") if "by_" in path.name}
    assert {name: len(rows) for name, rows in verdicts.items()} == dict.fromkeys(
        ["by_model", "by_mine", "by_reader", "by_own", "by_prompt", "by_prompt_2"], 4
    )
    for name, rows in verdicts.items():
        assert {json.loads(row)["status"] for row in rows} == {"ok"}, f"{name}: {rows}"
    assert [json.loads(row)["verdict"] for row in verdicts["by_own"]] == ["B", "B", "A", "tie"]
    asked = desk.bodies[0]["messages"]
    assert "among right ones, the shorter" in asked[0]["content"] and '"[[C]]" if neither' in asked[0]["content"]
    raters = made["mine"]["33_measure_agreement"]["judges"]["sample_natural"]
    assert "own/shorter" in raters and all(load_judge(name).name == name for name in raters)
    assert list(made["ours"]) == ["33_measure_agreement", "40_position_bias"]
    assert protocol_of("ours").rule == "both_right"


@each(ALL)
def test_what_a_page_names_is_there(path):
    """Commands with their options, notebooks, files and modules."""
    text = path.read_text(encoding="utf-8")
    now = text_of(path.name) if path.parent == FOLDER else text
    for line in lines_of(now):
        assert not wrong_commands(line), f"{line}: there is no {wrong_commands(line)}"
    for name in re.findall(r"`(judgekit(?:\.\w+)+)`", now):
        assert found(name), name
    for line in lines_of(text):
        for name in re.findall(r"(?<![\w/.-])\d\d_[a-z]\w+", line):
            assert (ROOT / "notebooks" / f"{name}.ipynb").is_file(), name
        for name in re.findall(
            r"(?<![\w/.-])(?:tests|setup|judgekit|report|params)/(?!mine|\w+/NN_)[\w./]+\.(?!pdf)\w+", line
        ):
            assert (ROOT / name).is_file(), name
