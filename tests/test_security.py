"""What SECURITY.md promises: hostile texts set off nothing, files execute nothing, no secret is in the repository."""

import ast
import csv
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version

import hostile
import pytest
import yaml
from doc_page import tracked
from notebook_functions import code_of
from test_environment import pinned
from test_floors import dangers
from test_workflow import give, project  # noqa: F401 - a fixture
from tiny_causal import CHATML, save_tiny

from judgekit.cli import main
from judgekit.data import paths
from judgekit.data.files import LONGEST, load_plain
from judgekit.judges import Request, load_judge
from judgekit.models import Unavailable
from judgekit.records import Reply
from judgekit.report.escaping import escape, escape_markdown, typeset
from judgekit.report.workflow import WorkflowError, read_parameters
from judgekit.scoring.store import VerdictStore

ROOT = paths.project_root()
COMMANDS = hostile.COMMANDS
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.fixture(autouse=True)
def nothing_was_set_off():
    """No text of a test may have been executed."""
    assert not os.path.exists(hostile.OWNED)
    yield
    assert not os.path.exists(hostile.OWNED)


def threats(text):
    """Rows of the table of SECURITY.md: threat to the tests named beside it."""
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| ")]
    found = {row[1].strip(): named_in(row[-2]) for row in rows[1:]}
    return {threat: tests for threat, tests in found.items() if set(threat) - set("- ")}


def named_in(text):
    """Module and name of the tests that a text names."""
    return re.findall(r"`(test_[a-z_]+)\.py::(test_[a-z0-9_]+)`", text)


def test_every_threat_names_tests_that_exist():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    found = threats(text)
    parts = {part.splitlines()[0]: part for part in re.split(r"(?m)^## ", text)}
    found |= {item[:60]: named_in(item) for item in re.split(r"(?m)^- ", parts["What is not done"])[1:]}
    found["trusted"] = named_in(parts["What is trusted, and what is not"])
    assert len(found) >= 10 and all(found.values()), [threat for threat, tests in found.items() if not tests]
    for module, name in {pair for tests in found.values() for pair in tests}:
        tree = ast.parse((ROOT / "tests" / f"{module}.py").read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, f"{module}.py::{name}"

    table = "| threat | what is done | tests |\n|---|---|---|\n| a | b | `test_x.py::test_y` |\n| c | d | none |\n"
    assert threats(table) == {"a": [("test_x", "test_y")], "c": []}


# Patterns, and what must be seen: written in two pieces, or this file would hold it itself.
SECRETS = {
    "AWS key": (r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", "AKIA" + "ABCDEFGHIJKLMNOP"),
    "OpenAI key": (r"\bsk-(?:proj-|svcacct-)?[A-Za-z0-9]{20}[A-Za-z0-9_-]*", "sk-" + "a1B2c3D4e5F6g7H8i9J0k1"),
    "Anthropic key": (r"\bsk-ant-[A-Za-z0-9_-]{20,}", "sk-ant-" + "api03-abcdefghijklmnopqrst"),
    "Hugging Face token": (r"\bhf_[A-Za-z0-9]{30,}", "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"),
    "GitHub token": (r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{50,})", "ghp_" + "a" * 36),
    "Google key": (r"\bAIza[0-9A-Za-z_-]{35}", "AIza" + "b" * 35),
    "Slack token": (r"\bxox[abprs]-[0-9A-Za-z-]{10,}", "xoxb-" + "123456789012-abc"),
    "private key": (r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----", "-----BEGIN RSA " + "PRIVATE KEY-----"),
    "assigned key": (
        r"(?i)(?:api_?key|auth_?token|secret_?key|password)[\"']?\s*[:=]\s*[\"'][^\"'\s{}$<>]{12,}[\"']",
        "api_key" + ' = "correct-horse-battery"',
    ),
    "home folder": (r"/(?:home|Users)/(?!user\b|you\b|me\b)[a-z][a-z0-9_-]+/", "/home" + "/alice/project"),
}
# Each looks like one and is none: part of a test of this very thing.
HARMLESS = ("sk-0123456789",)


def secrets_in(text):
    """Names of the patterns that a text holds, with what was found."""
    for word in HARMLESS:
        text = text.replace(word, "")
    return [(name, found.group()) for name, (pattern, _) in SECRETS.items() for found in re.finditer(pattern, text)]


def readable(path):
    """A file's text: unpacked where it is gzip; bytes that are no text do no harm."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return content.decode("utf-8", "replace")


def test_no_secret_is_tracked():
    found = {
        str(path.relative_to(ROOT)): secrets
        for path in tracked()
        if path.suffix not in (".safetensors", ".png", ".pdf") and (secrets := secrets_in(readable(path)))
    }
    assert found == {}


def test_planted_secrets_are_seen():
    seen = {name: dict(secrets_in(f"x = 1\n{planted}\n")) for name, (_, planted) in SECRETS.items()}
    assert all(name in found for name, found in seen.items()), seen
    said = "api_key = os.environ['OPENAI_API_KEY']; sk-learn; password: ${PASSWORD}; hf_judge; /home/user/data; ghp_x"
    assert secrets_in(said) == []


NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
BENCHES = [*sorted((ROOT / "tests" / "bench").glob("*.py")), ROOT / "tests" / "torture.py"]


def test_notebooks_and_benches_execute_no_file_either():
    found = {path.name: dangers(path.read_text(encoding="utf-8")) for path in BENCHES}
    found |= {path.name: [what for text, _ in code_of(path) for what in dangers(text)] for path in NOTEBOOKS}
    assert BENCHES and len(NOTEBOOKS) > 20
    assert not any(found.values()), found


def test_every_dependency_is_pinned_and_what_is_installed_fits_together():
    for name in ("torch", "transformers", "safetensors", "pyyaml"):
        assert version(name).partition("+")[0] in pinned()[name], f"{name} is not the version that is pinned"
    done = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True)
    if "No module named pip" in done.stderr:
        pytest.skip("there is no pip to ask")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("text", COMMANDS.values(), ids=COMMANDS)
def test_a_text_is_judged_and_not_obeyed(judge_file, tmp_path, text):
    """Through the command line, the store and the file it writes: as question, response, reference and id."""
    row = {"id": text, "question": text, "response_a": text, "response_b": "two", "reference": text, "label": "A"}
    code, (judged,), _ = judge_file("baseline/features", "--quiet", rows=[row])
    assert code == 0 and judged["id"] == text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pairs.jsonl", "verdicts.jsonl"]


@pytest.mark.parametrize("text", COMMANDS.values(), ids=COMMANDS)
def test_the_store_keeps_any_text_as_a_text(text):
    with VerdictStore(":memory:") as store:
        store.put(text, text, {text: Reply("first", raw=text)})
        assert store.get(text, text, [text])[text].raw == text
        assert store.count() == store.count(text) == 1


@pytest.mark.parametrize("text", [*COMMANDS.values(), *hostile.LATEX.values()], ids=[*COMMANDS, *hostile.LATEX])
def test_markdown_and_html_show_any_text(text):
    shown = escape_markdown(text)
    assert "<" not in shown and ">" not in shown and not re.search(r"(?<!\\)[|`\[\]~$]", shown)
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in shown)


@pytest.mark.skipif(not shutil.which("lualatex"), reason="LaTeX is not installed: nothing was compiled")
def test_commands_are_printed_by_latex(tmp_path):
    """The list for LaTeX itself is compiled in test_latex.py."""
    shutil.copy(ROOT / "report" / "results.sty", tmp_path)
    body = "\n\n".join(typeset(text) + escape(text) for text in COMMANDS.values())
    (tmp_path / "x.tex").write_text(
        rf"\documentclass{{article}}\usepackage{{results}}\begin{{document}}{body}\end{{document}}", encoding="utf-8"
    )
    command = ["lualatex", "--no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "x.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:].decode(errors="replace")


@pytest.mark.parametrize("text", COMMANDS.values(), ids=COMMANDS)
def test_a_parameter_is_a_value_in_the_notebook(text):
    from papermill.translators import PythonTranslator

    tree = ast.parse(PythonTranslator.codify({"given": text, "several": [text, {"x": text}]}))
    values = [ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign)]
    assert values == [text, [text, {"x": text}]] and len(tree.body) == 2


def formulas(text):
    """Cells of a CSV that a spreadsheet would compute."""
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    return [cell for cell in cells if re.match(r"[=@\t\r]|[+-](?![\d.])", cell)]


def test_no_tracked_table_holds_a_formula():
    """Tables are keys for programs, written as they are (SECURITY.md); a formula among them must be noticed here."""
    tables = [path for path in tracked("*.csv*") if path.suffix in (".csv", ".gz")]
    assert tables and {str(path): formulas(readable(path)) for path in tables if formulas(readable(path))} == {}
    seen = [COMMANDS["formula"], COMMANDS["formula, hidden"]]
    assert formulas("\n".join([*seen, "-1.5", "a=b"])) == seen


@pytest.mark.parametrize("name", ["../x", "x/../../y", "/etc", "a\0b", "", "..", "x;y", "$(x)"])
def test_a_run_stays_in_its_folder(name):
    with pytest.raises(ValueError, match="use lower-case letters"):
        paths.run_folder(name)


DEEP = 100_000


def test_a_yaml_bomb_is_refused():
    assert len(yaml.safe_load(BOMB)["i"]) == 9  # what the plain loader would hand on: 9**9 words when written out
    with pytest.raises(yaml.YAMLError, match="more than 100,000 values"):
        load_plain(BOMB)
    with pytest.raises(yaml.YAMLError, match="line 1: holds an alias of itself"):
        load_plain("a: &a [1, *a]")
    assert load_plain("a: &a [1, 2]\nb: *a") == {"a": [1, 2], "b": [1, 2]}


HOSTILE_YAML = {
    "bomb": f"run: sample\n{BOMB}",
    "deep": "[" * DEEP,
    "NUL": "run: sample\nn: \x00\n",
    "long": "x" * (LONGEST + 1),
    "no date": "when: 2020-99-99",
    "command": COMMANDS["yaml"],
    "open": "a: [",
    "name": "a: !!python/name:os.system x",
}


@pytest.mark.parametrize("name", HOSTILE_YAML)
def test_a_hostile_parameter_file_is_named(project, name):  # noqa: F811
    give(project, HOSTILE_YAML[name])
    said = ": cannot be read" if name == "long" else " is not YAML"
    with pytest.raises(WorkflowError, match=rf"params/sample/10_count\.yaml{said}"):
        read_parameters("sample", "10_count")


@pytest.mark.parametrize("name", ["bomb.jsonl.gz", "bomb.csv.gz"])
def test_a_gzip_bomb_is_refused_before_it_is_unpacked(tmp_path, capsys, name):
    path = tmp_path / name
    with gzip.open(path, "wb", compresslevel=9) as stream:
        for _ in range(80):
            stream.write(b"x" * 2**20)
    assert path.stat().st_size < 200_000
    assert main(["judge", str(path), "--judge", "baseline/longer", "--out", str(tmp_path / "out.jsonl")]) == 2
    assert "line 1: is longer than 8 MiB" in capsys.readouterr().err


def test_a_chat_template_runs_no_code(tmp_path):
    """A model's own template is Jinja from a stranger: it renders in a sandbox."""
    template = "{{ ''.__class__.__mro__[1].__subclasses__() }}" + CHATML
    judge = load_judge(f"hf/{save_tiny(tmp_path / 'model', template=template)}")
    (reply,) = judge.judge([Request("q", "a", "b")])
    assert reply.status == "error" and reply.verdict is None and "unsafe" in reply.raw


def test_a_model_brings_no_code(tmp_path):
    folder = save_tiny(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "owned", "auto_map": {"AutoConfig": "owned.Config", "AutoModelForCausalLM": "owned.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "owned.py").write_text(f"open({hostile.OWNED!r}, 'w')\n")
    with pytest.raises(Unavailable):
        load_judge(f"hf/{folder}")


def test_weights_as_a_pickle_are_not_read(tmp_path):
    folder = save_tiny(tmp_path / "model")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    judge = load_judge(f"hf/{folder}")
    with pytest.raises(OSError, match="safetensors"):
        judge.load()
