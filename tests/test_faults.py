"""What goes wrong around the programs: each fault ends in a right result or one clear sentence, and loses nothing."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from safetensors.numpy import load_file
from test_bulk import lines_of
from test_workflow import project, write_notebook  # noqa: F401 - a fixture
from tiny_causal import save_tiny, short_of_memory
from torture import CLI

from judgekit.data import paths
from judgekit.data.files import write_json
from judgekit.data.paths import PRETRAINED
from judgekit.judges import Request, load_judge
from judgekit.judges.encoder import OTHERS, EncoderJudge
from judgekit.judges.layers import LayeredJudge
from judgekit.models import Unavailable
from judgekit.models.files import SEAL, check_seal, seal
from judgekit.records import PreferencePair, Reply
from judgekit.report import load_results, save_results
from judgekit.report.workflow import WorkflowError, run_notebook
from judgekit.report.workflow import main as workflow_main
from judgekit.scoring import run_judge
from judgekit.scoring.store import VerdictStore
from judgekit.stats import Number
from judgekit.training.causal import last_checkpoint

ENVIRONMENT = os.environ | {"PYTHONPATH": str(paths.project_root())}
ADAPTER = "adapter/adapter_model.safetensors"


def asked(n=3):
    return [Request(f"What is {k}?", f"It is {k}. " * (k + 1), "Nobody knows.", item_id=str(k)) for k in range(n)]


def judge_command(folder, *more):
    files = [folder / "pairs.jsonl", "--out", folder / "out.jsonl", "--store", folder / "s.sqlite"]
    return [*map(str, [*CLI, "judge", *files, *more])]


def run(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600, env=ENVIRONMENT)


def one_sentence(done):
    """The error of a process, which is one line and no traceback."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1 and "Traceback" not in done.stderr, done.stderr
    return lines[0]


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 192 kB; without the right to mount one, the test is skipped aloud."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=192k", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("no right to mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_costs_no_verdict(small_disk):
    (small_disk / "pairs.jsonl").write_text("\n".join(lines_of(400)))
    done = run(judge_command(small_disk, "--judge", "baseline/longer"))
    assert done.returncode == 1 and "full" in one_sentence(done)
    assert not (small_disk / "out.jsonl").exists()
    subprocess.run(["mount", "-o", "remount,size=16m", small_disk], check=True)
    done = run(judge_command(small_disk, "--judge", "baseline/longer"))
    assert done.returncode == 0, done.stderr
    verdicts = [json.loads(line) for line in (small_disk / "out.jsonl").read_text().splitlines()]
    assert [row["id"] for row in verdicts] == list(range(400)) and {row["status"] for row in verdicts} == {"ok"}
    assert sorted(os.listdir(small_disk)) == ["out.jsonl", "pairs.jsonl", "s.sqlite"]


def test_results_stay_whole_on_a_full_disk(small_disk, monkeypatch):
    monkeypatch.setattr(paths, "project_root", lambda: small_disk)
    path = save_results("sample", "10_x", {"a.b": Number(0.5)})
    before = path.read_bytes()
    with suppress(OSError), open(small_disk / "ballast", "wb", buffering=0) as stream:
        while True:
            stream.write(b"x" * 4096)
    with pytest.raises(OSError, match="No space left"):
        save_results("sample", "10_x", {f"a.b{k}": Number(0.25) for k in range(900)})
    assert path.read_bytes() == before and os.listdir(path.parent) == ["10_x.json"]
    assert set(load_results("sample")) == {"a.b"}


def test_outputs_that_may_only_be_read_are_one_sentence(project, small_disk, capsys):  # noqa: F811
    (project / "outputs").symlink_to(small_disk)
    (small_disk / "pairs.jsonl").write_text("\n".join(lines_of(2)))
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    done = run(judge_command(small_disk, "--judge", "baseline/longer"))
    assert done.returncode == 2 and "may not be written" in one_sentence(done)
    assert workflow_main(["run", "10_count", "sample"]) == 1
    assert "Read-only file system" in capsys.readouterr().err


def test_two_processes_do_not_write_one_output(tmp_path, judge_file):
    with open(tmp_path / "verdicts.jsonl.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        code, rows, said = judge_file("baseline/longer")
        assert (code, rows) == (2, None) and "another process is writing it" in said
    assert judge_file("baseline/longer")[0] == 0  # a lock that a killed process left behind is none
    assert sorted(os.listdir(tmp_path)) == ["pairs.jsonl", "verdicts.jsonl"]


def test_a_notebook_is_executed_by_one_process(project):  # noqa: F811
    folder = project / "outputs" / "sample" / "executed"
    folder.mkdir(parents=True)
    with open(folder / ".10_count.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(WorkflowError, match="10_count of run sample is being executed by another process"):
            run_notebook("10_count", "sample")


def test_half_a_results_file_is_no_results_file(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "project_root", lambda: tmp_path)
    folder = paths.run_folder("sample", "results")
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    ours, foreign = (folder / f".{process}-10_x.json.part" for process in (dead.pid, os.getppid()))
    for path in (ours, foreign):
        path.write_text('{"schema": 1, "numb')
    save_results("sample", "10_x", {"a.b": Number(0.5)})
    assert set(load_results("sample")) == {"a.b"}
    assert not ours.exists() and foreign.exists(), "the other's process lives: it is about to finish"


def test_a_checkpoint_that_was_not_finished_is_thrown_away(tmp_path):
    for step in (10, 20, 30):
        (tmp_path / f"checkpoint-{step}").mkdir()
    (tmp_path / "checkpoint-10" / "trainer_state.json").write_text("{}")
    (tmp_path / "checkpoint-20" / "trainer_state.json").write_text('{"epoch":')
    assert last_checkpoint(tmp_path) == str(tmp_path / "checkpoint-10")
    assert os.listdir(tmp_path) == ["checkpoint-10"]
    shutil.rmtree(tmp_path / "checkpoint-10")
    assert last_checkpoint(tmp_path) is None


def test_a_clock_that_jumps_changes_no_verdict(tmp_path, monkeypatch):
    """Durations are monotonic; when a row was written is information, and nothing reads it."""
    jumps = iter(range(10**9, 0, -(10**6)))
    monkeypatch.setattr("time.time", lambda: float(next(jumps)))
    pairs = [PreferencePair(str(k), "authored", f"Question {k}?", "yes " * (k + 1), "no") for k in range(20)]
    with VerdictStore(tmp_path / "verdicts.sqlite") as store:
        first = run_judge(load_judge("baseline/features"), pairs, store, progress=False)
        store.connection.execute("UPDATE replies SET written = '2970-01-01T00:00:00.000Z'")
        again = run_judge(load_judge("baseline/features"), pairs, store, progress=False)
    assert first == again and all(verdict.seconds is None or verdict.seconds >= 0 for verdict in first)


def test_what_has_its_name_is_on_the_disk(tmp_path, monkeypatch):
    """As far as system calls say so: the file, its name, and the name's folder, in this order; a commit at once."""
    done, sync, replace = [], os.fsync, os.replace

    def synced(descriptor):
        done.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", lambda old, new: (done.append("replace"), replace(old, new)))
    write_json(tmp_path / "x.json", {})
    assert done == [tmp_path / f".{os.getpid()}-x.json.part", "replace", tmp_path]
    with VerdictStore(tmp_path / "v.sqlite") as store:
        assert store.connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


def test_who_has_no_home_is_told_what_to_name(tmp_path):
    """In a folder of an odd name, off line; nobody, not even root, makes a folder in what is none."""
    folder = tmp_path / "a b" / "ü 路径's"
    folder.mkdir(parents=True)
    (folder / "pairs.jsonl").write_text('{"question": "q", "response_a": "a", "response_b": "bb", "label": "B"}\n')
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JUDGEKIT", "XDG"))}
    environment |= {"HOME": "/dev/null", "PYTHONPATH": str(paths.project_root())}
    environment |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}

    def run(judge, *more):
        command = [*CLI, "judge", "pairs.jsonl", "--judge", judge, "--out", "v ü.csv", *more]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)

    refused = run("baseline/longer")
    assert refused.returncode == 2 and len(refused.stderr.strip().splitlines()) == 1, refused.stderr
    assert "/dev/null" in refused.stderr and "--store FILE or JUDGEKIT_STORE names another" in refused.stderr
    absent = run("hf/owner/none", "--store", "my store.sqlite")
    assert absent.returncode == 2
    assert "owner/none: no such folder, and cannot be fetched from the hub" in absent.stderr
    assert len(absent.stderr.strip().splitlines()) == 1, absent.stderr
    done = run("baseline/features", "--store", "my store.sqlite")
    assert done.returncode == 0 and "accuracy 100.0%" in done.stderr, done.stderr
    assert (folder / "v ü.csv").read_text().count("\n") == 2 and (folder / "my store.sqlite").is_file()


def test_a_store_whose_making_was_cut_off_is_finished(tmp_path):
    """Killed between the table and the number of its schema."""
    path = tmp_path / "verdicts.sqlite"
    with VerdictStore(path) as store:
        store.put("j", "{}", {"i": Reply("first")})
        store.connection.execute("PRAGMA user_version=0")
    with VerdictStore(path) as store:
        assert store.count() == 1


def verdicts_of(judge, requests):
    pairs = [PreferencePair(r.item_id, "authored", r.question, r.first, r.second) for r in requests]
    with VerdictStore(":memory:") as store:
        return run_judge(judge, pairs, store, ("ab",), progress=False)


CAUSAL = {
    "hf, written": ("hf/{}#letter", {"max_new_tokens": 8}),
    "hf, sampled": ("hf/{}#letter", {"max_new_tokens": 8, "temperature": 1.0}),
    "hf, weighed": ("hf/{}#letter", {"mode": "one_pass"}),
    "layers, ratings": ("layers/{}", {}),
}


@pytest.mark.parametrize("name", CAUSAL)
def test_one_pair_without_numbers_costs_no_other(tiny, name):
    """A token that only one of the pairs holds has no finite embedding."""
    label, settings = CAUSAL[name]
    judge = load_judge(label.format(tiny), settings=settings)
    requests = asked(3)
    requests[1] = Request("What is 1?", "\u20ac", "Nobody knows.", item_id="1")
    calm = {verdict.item_id: verdict for verdict in verdicts_of(judge, asked(3))}
    engine = judge.engine
    rare = judge.tokens.plain_ids("\u20ac")[-1]
    with torch.no_grad():
        engine.model.get_input_embeddings().weight[rare] = float("nan")
    found = {verdict.item_id: verdict for verdict in verdicts_of(judge, requests)}
    assert (found["1"].status, found["1"].verdict) == ("error", None)
    for item in ("0", "2"):
        assert (found[item].status, found[item].verdict) == (calm[item].status, calm[item].verdict)
        assert found[item].status != "error"


@pytest.fixture
def minilm(tmp_path):
    return shutil.copytree(PRETRAINED / "minilm", tmp_path / "minilm")


@pytest.mark.parametrize(
    ("name", "part", "words"),
    [
        ("encoder/minilm", lambda judge: next(judge.encoder.model.parameters()).data, "no numbers"),
        ("encoder/minilm", lambda judge: judge.surface.parts["weight"], "no numbers"),
        ("encoder/minilm", lambda judge: judge.others, "no numbers"),  # embeddings of other questions
        ("probe/pairs", lambda judge: next(judge.reader.model.parameters()).data, "not finite"),
    ],
)
def test_a_judge_without_numbers_gives_no_verdict(name, part, words):
    judge = load_judge(name)
    part(judge)[...] = float("nan")
    for verdict in verdicts_of(judge, asked(2)):
        assert (verdict.status, verdict.verdict) == ("error", None) and words in verdict.raw


def flip(path):
    """Turn one bit of a file round: in its middle, where tensors are."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", [ADAPTER, OTHERS, "adapter/adapter_config.json"])
def test_a_flipped_bit_is_found(minilm, name, judge_file):
    flip(minilm / name)
    with pytest.raises(Unavailable, match=f"{name}: not the file that sha256.json was written for"):
        EncoderJudge(minilm)
    code, _, said = judge_file(f"encoder/{minilm}")
    assert code == 2 and "damaged or replaced" in said


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "expected JSON"),
        ("[]", "each with a SHA-256"),
        ('{"a": 1}', "each with a SHA-256"),
        (json.dumps({"../judge.json": "0" * 64}), "names of files"),
        (json.dumps({"gone.safetensors": "0" * 64}), "is missing"),
    ],
)
def test_a_damaged_seal_is_named(tmp_path, content, words):
    (tmp_path / "folder").mkdir()
    (tmp_path / "judge.json").write_text("{}")
    (tmp_path / "folder" / SEAL).write_text(content)
    with pytest.raises(Unavailable, match=words):
        check_seal(tmp_path / "folder")


def test_what_ships_is_sealed():
    """Every file of tensors is named by a seal, or by the probe beside it."""
    files = sorted(PRETRAINED.rglob("*.safetensors"))
    for path in files:
        folder = next((parent for parent in path.parents if (parent / SEAL).is_file()), None)
        if folder is not None:
            check_seal(folder)
            assert path.relative_to(folder).as_posix() in json.loads((folder / SEAL).read_text())
        else:
            assert len(json.loads((path.parent / "probe.json").read_text())["sha256"]) == 64
    assert any(path.name == "adapter_model.safetensors" for path in files)


def test_an_adapter_with_a_flipped_bit_is_found(tmp_path):
    """As training leaves one: sealed beside its base."""
    folder = save_tiny(tmp_path / "model")
    seal(folder, ["model.safetensors"])
    assert load_judge(f"hf/{folder}").fingerprint
    flip(folder / "model.safetensors")
    assert load_file(folder / "model.safetensors")  # safetensors itself sees nothing
    for provider in ("hf", "layers"):
        with pytest.raises(Unavailable, match=r"model\.safetensors: not the file that sha256\.json was written for"):
            load_judge(f"{provider}/{folder}")


@pytest.mark.usefixtures("exact")
def test_layers_halve_their_batches_and_one_prompt_that_does_not_fit_costs_no_other(tiny, monkeypatch):
    plain, short = LayeredJudge(str(tiny)), LayeredJudge(str(tiny))
    longest = max(short.measure(next(short.steps(r)).messages) for r in asked(6)) + 50
    short.load()
    seen = short_of_memory(monkeypatch, short.engine, lambda rows, columns: rows > 2 or columns > longest)
    for one, other in zip(plain.judge(asked(6)), short.judge(asked(6)), strict=True):
        assert (one.verdict, one.status) == (other.verdict, other.status)
        assert one.p_first == pytest.approx(other.p_first, abs=1e-5)
    assert max(rows for rows, _ in seen) > 2 and min(rows for rows, _ in seen) <= 2
    replies = short.judge([*asked(2), Request("Long?", "very " * 400, "no", item_id="long")])
    assert [reply.status for reply in replies] == ["ok", "ok", "error"]
    assert "do not fit into the memory" in replies[2].raw


def test_other_failures_are_not_taken_for_memory(tiny, monkeypatch):
    judge = LayeredJudge(str(tiny))
    judge.load()

    def broken(**_):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(judge.engine.model, "forward", broken)
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        judge.judge(asked(2))
