"""Kill real processes at random moments and start them again: nothing may be lost, doubled, or left for a human.

``make torture`` kills forty times, two of them in the middle of one whole sample chain, and writes ``fault.*``
to ``outputs/laptop/results/scale-faults.json``. tests/test_torture.py is the short form. All work is done in a copy of
the tracked files, so that no output of the checkout is touched. A server that fails at times answers in this process,
and counts what a killed run asks for twice.

A kind of fault is a `Case`. To add one, add it to `cases`. Bits of the files that keep what was paid for are flipped
too, and replies that were written to mislead the parsers are read.
"""

import argparse
import hashlib
import json
import math
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from chat_server import KEY, ChatServer, faults_at, running
from tiny_causal import save_tiny

ROOT = Path(__file__).resolve().parents[1]
CLI = [sys.executable, "-c", "import sys; from judgekit.cli import main; sys.exit(main(sys.argv[1:]))"]
LANGUAGE_MODELS = ("llama", "qwen2", "phi3")
NEAR = 5e-3  # probabilities: other batches are padded otherwise, and bfloat16 keeps three digits
PATIENCE = 3600  # seconds for one process
ORPHANS = 900  # seconds that a restart waits for what a killed process left running
BUSY = "another process"
RESULTS = "scale-faults"
SERVER = ChatServer(faults_at(0.1), hang=1.0)  # each of eight faults meets a tenth of the texts first
IN_FLIGHT = 8  # requests at once: what a kill may cost twice

TRAIN = """
import sys, warnings
warnings.simplefilter("ignore", FutureWarning)
from judgekit.models.encoder import TextEncoder
from judgekit.data.sample import load_sample
from judgekit.training.encoder import RelevanceRecipe, train_encoder
from judgekit.training.mixture import make_material

recipe = RelevanceRecipe(steps=24, questions_per_step=8, eval_every=2, max_response_tokens=64, bf16=False)
validation = {"sample_validation": load_sample("sample_validation")[:12]}
material = make_material(load_sample("sample_train")[:120], {"sample_train": 1.0}, validation, TextEncoder())
train_encoder(recipe, material, sys.argv[1])
"""


LABEL = """
import sys
from pathlib import Path

from judgekit.data.sample import load_sample
from judgekit.people.labelling import label_all, Labelling
from judgekit.people.labelling.votefile import read_lines

pairs, path = load_sample("sample_natural")[:60], Path(sys.argv[1]) / "votes.jsonl"
print("going on from", len(read_lines(path)) if path.exists() else 0, "votes", flush=True)
with Labelling(pairs, path, ["ann", "bob"]) as page:
    for name in ("ann", "bob"):
        label_all(page.link(name), lambda shown: min("first", "second", key=lambda side: len(shown[side]["raw"])))
"""


ASK = """
import json, sys
from pathlib import Path

from judgekit.data.pairfile import read_pairs
from judgekit.judges import load_judge
from judgekit.scoring import run_judge, waiting_requests
from judgekit.scoring.store import VerdictStore

folder, settings = Path(sys.argv[1]), {"mode": "one_pass", "batch_tokens": 1000, "dtype": "float32"}
pairs, store, rows = read_pairs(folder / "in.jsonl"), VerdictStore(folder / "s.sqlite"), []
judges = {kind: load_judge(f"hf/{folder / kind}", settings=settings) for kind in sys.argv[2:]}
waiting = sum(len(waiting_requests(judge, pairs, store)) for judge in judges.values())
print("going on from", 2 * len(pairs) * len(judges) - waiting, "verdicts", flush=True)
for kind, judge in judges.items():
    for one in run_judge(judge, pairs, store, progress=False):
        rows.append({"id": f"{kind} {one.item_id} {one.order}", "verdict": one.verdict, "p_a": one.p_a})
(folder / "out.jsonl").write_text("".join(json.dumps(row) + chr(10) for row in rows))
"""


class Broken(AssertionError):
    """A process that did not come back, or came back with something else."""


@dataclass(frozen=True)
class Case:
    """Something that is killed; ``{}`` in ``command`` stands for the folder it works in."""

    kind: str
    kills: int  # in the long form
    command: list
    prepare: Callable  # fills the folder
    outcome: Callable  # of the folder: a dictionary from a key to values, several where something is doubled
    kept: Callable | None = None  # how many finished pieces a killed run has stored; what the next one goes on from
    in_a_row: bool = False  # one run is killed so often, each time after it went on; else each kill has its own


# ---------------------------------------------------------------- what goes in and comes out


def write_pairs(n, models=()):
    """A preparation: authored pairs in ``in.jsonl``, their responses and questions, and tiny models of some kinds."""

    def prepare(folder):
        from judgekit.data.sample import load_sample

        pairs = [pair for name in ("sample_train", "sample_natural", "sample_validation") for pair in load_sample(name)]
        rows, responses, questions = [], [], []
        for k in range(n):
            pair, again = pairs[k % len(pairs)], k // len(pairs)
            asked = {"id": k, "question": pair.question}
            row = asked | {"response_a": pair.response_a + " " * again, "response_b": pair.response_b}
            row[f"response_{'ab'[k % 2]}"] += " right"  # which the server prefers
            rows.append(row | {"label": pair.label})
            responses.append(asked | {"response": f"{pair.response_a} ({k})"})
            questions.append({"id": k, "question": f"{pair.question} ({k})"})
        for name, lines in {"in": rows, "responses": responses, "questions": questions}.items():
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        for kind in models:
            save_tiny(folder / kind, kind)

    return prepare


def rows_of(folder):
    """Rows of ``out.jsonl`` by id, and the names of all files."""
    found = files_of(folder)
    for place, line in enumerate((folder / "out.jsonl").read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        found.setdefault(f"row {row.get('id', row.get('attack', place))}", []).append(row)
    return found


def files_of(folder):
    """Names of all files of a folder: what is half-written and left shows here."""
    return {f"file {path.relative_to(folder)}": [None] for path in sorted(folder.rglob("*")) if path.is_file()}


def weights_of(folder):
    """The files of a trained judge, by content; training.json also says how long it took."""
    found = files_of(folder)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "training.json":
            found[f"content {path.relative_to(folder)}"] = [hashlib.sha256(path.read_bytes()).hexdigest()]
    return found


def numbers_of(folder):
    """Every number of the sample run by key, and the files of its results, tables and data."""
    found = {}
    for part in ("results", "tables", "figures", "data"):
        found |= {f"{part} {key}": value for key, value in files_of(folder / "outputs" / "sample" / part).items()}
    for path in sorted((folder / "outputs" / "sample" / "results").glob("*.json")):
        for key, row in json.loads(path.read_text(encoding="utf-8"))["numbers"].items():
            # Times and what is made of them differ from run to run.
            timed = re.search(r"seconds|minutes|_ms|per_second|peak_mb|ratio|cost|speed", key)
            found.setdefault(f"number {key}", []).append(None if timed else row["value"])
    return found


def stored(folder):
    path = folder / "s.sqlite"
    if not path.is_file():
        return 0
    try:
        with closing(sqlite3.connect(path, timeout=30)) as connection:
            return connection.execute("SELECT count(*) FROM replies WHERE status != 'error'").fetchone()[0]
    except sqlite3.OperationalError:  # killed before there was a table
        return 0


def cast(folder):
    """Whole lines of ``votes.jsonl``."""
    path = folder / "votes.jsonl"
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def votes_of(folder):
    """Labels by annotator and item, and the names of all files."""
    found = files_of(folder)
    for line in (folder / "votes.jsonl").read_text(encoding="utf-8").splitlines():
        vote = json.loads(line)
        found.setdefault(f"vote {vote['annotator']} {vote['item_id']}", []).append(vote["label"])
    return found


def cases(n_fast=4000, n_slow=100):
    files = ["--out", "{}/out.jsonl", "--store", "{}/s.sqlite"]
    judge = [*CLI, "judge", "{}/in.jsonl", *files, "--judge"]
    rate = [*CLI, "rate", "{}/responses.jsonl", *files, "--probe", "gsm8k-binary"]
    attack = [*CLI, "attack", "{}/in.jsonl", *files, "--judge", "baseline/features", "--queries", "0"]
    wait = [f"--set={name}" for name in (f"concurrency={IN_FLIGHT}", "timeout=10", "backoff=0.05")]
    collect = [*CLI, "collect", "{}/questions.jsonl", *files, "--model", "openai/rule", *wait]
    exact = ["--set", "mode=one_pass", "--set", "dtype=float32", "--set", "batch_tokens=2000"]
    ask = [sys.executable, "-c", ASK, "{}", *LANGUAGE_MODELS]
    workflow = [sys.executable, "-m", "judgekit.report.workflow", "run", "33_measure_agreement", "sample"]
    return [
        Case("judge_features", 3, [*judge, "baseline/features"], write_pairs(n_fast), rows_of, stored),
        # Some of the encoder's batches of pairs, so that some are finished when it is killed.
        Case("judge_encoder", 3, [*judge, "encoder/minilm"], write_pairs(9 * n_slow), rows_of, stored),
        Case("judge_causal", 3, ask, write_pairs(n_slow, LANGUAGE_MODELS), rows_of, stored),
        Case("judge_smollm2", 5, [*judge, "hf/smollm2-135m", *exact], write_pairs(n_slow // 2), rows_of, stored),
        Case("judge_server", 5, [*judge, "openai/rule", *wait], write_pairs(n_slow), rows_of, stored),
        Case("collect", 4, collect, write_pairs(2 * n_slow), rows_of, stored),
        Case("rate", 3, rate, write_pairs(n_slow), rows_of, stored),
        Case("attack", 3, attack, write_pairs(n_slow), rows_of, stored),
        Case("labelling", 3, [sys.executable, "-c", LABEL, "{}"], lambda folder: None, votes_of, cast),
        Case("training", 3, [sys.executable, "-c", TRAIN, "{}/judge"], lambda folder: None, weights_of),
        Case("notebook", 3, workflow, copy_of_checkout, numbers_of),
    ]


def chain():
    command = [sys.executable, "-m", "judgekit.report.workflow", "make", "sample", "--cores", "2"]
    return Case("chain", 2, command, copy_of_checkout, numbers_of, in_a_row=True)


def copy_of_checkout(folder):
    done = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=True)
    for name in filter(None, done.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


# ---------------------------------------------------------------- killing


def start(case, folder):
    """The case's process, the first of a group of its own."""
    checkout = folder if (folder / "judgekit").is_dir() else ROOT
    command = [word.replace("{}", str(folder)) if "\n" not in word else word for word in case.command]
    log = open(folder.with_suffix(".log"), "a+b")  # noqa: SIM115 - the process writes it
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(checkout), "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
    )


def finished(case, folder):
    """Run a case to its end, after what an earlier, killed process left running; what it said. Broken if it fails."""
    log, deadline = folder.with_suffix(".log"), time.monotonic() + ORPHANS
    while True:
        place = log.stat().st_size if log.exists() else 0
        code = start(case, folder).wait(PATIENCE)
        said = log.read_bytes()[place:].decode(errors="replace")
        if code == 0:
            return said
        if BUSY not in said or time.monotonic() > deadline:
            raise Broken(f"{case.kind} ended with {code}:\n{said[-3000:]}")
        time.sleep(2)


def killed(case, folder, moment, whole_group, at_work):
    """Start a case and kill it after so many seconds; whether it was still running then.

    With ``at_work`` the seconds are counted from the first piece that it keeps: most of a short run is its start.
    """
    log, deadline = folder.with_suffix(".log"), time.monotonic() + ORPHANS
    while True:
        place = log.stat().st_size if log.exists() else 0
        process = start(case, folder)
        while at_work and process.poll() is None and not case.kept(folder):
            time.sleep(0.01)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            (os.killpg if whole_group else os.kill)(process.pid, signal.SIGKILL)
            process.wait()
            return True
        if BUSY not in log.read_bytes()[place:].decode(errors="replace") or time.monotonic() > deadline:
            return False
        time.sleep(2)  # an earlier, killed process has left something running


def lost_and_doubled(expected, found):
    """What of an undisturbed outcome is missing (or another), and what is there more often than it was."""
    lost = [key for key, values in expected.items() if not alike(values[:1], found.get(key, [])[:1])]
    doubled = [key for key, values in found.items() if len(values) > len(expected.get(key, []))]
    return lost, doubled


def alike(one, other):
    """Whether two values are equal, numbers up to rounding."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=NEAR, abs_tol=NEAR)
    return one == other


def tortured(case, folder, rng, kills):
    """Kill a case so often, and compare with an undisturbed run: counts of ``kills``, ``lost``, ``doubled``.

    What a server was paid for twice counts as doubled, beyond what was in flight.

    Broken if a restart does not end well by itself.
    """
    undisturbed = folder / "undisturbed"
    undisturbed.mkdir(parents=True)
    case.prepare(undisturbed)
    SERVER.asked.clear()  # its faults strike anew
    SERVER.answered.clear()
    started = time.monotonic()
    finished(case, undisturbed)
    latest = seconds = time.monotonic() - started
    paid = SERVER.answered.total()
    expected = case.outcome(undisturbed)
    report = {"kills": 0, "lost": 0, "doubled": 0}
    while report["kills"] < kills:
        place = folder / f"try{report['kills']}"
        place.mkdir()
        case.prepare(place)
        SERVER.asked.clear()
        SERVER.answered.clear()
        started = time.monotonic()
        at_work = case.kept is not None and report["kills"] % 3 > 0
        moment = latest * (rng.uniform(0, 0.2) if at_work else rng.uniform(0.25, 1))
        if case.in_a_row:
            moment = seconds * rng.uniform(0.1, 0.5)
        # What a killed process left running would keep the next one waiting, and it could not be killed.
        if not killed(case, place, moment, case.in_a_row or rng.random() < 0.5, at_work):
            latest = time.monotonic() - started  # it was faster this time, and came to its end: not killed
            shutil.rmtree(place)
            continue
        more = 1
        while case.in_a_row and more < kills:
            if not killed(case, place, seconds * rng.uniform(0.1, 0.5), True, False):
                break  # it came to its end before
            more += 1
        kept = case.kept(place) if case.kept else 0
        said = finished(case, place)
        went_on = max((int(n) for n in re.findall(r"going on from (\d+)", said)), default=0)
        lost, doubled = lost_and_doubled(expected, case.outcome(place))
        report["kills"] += more
        report["lost"] += len(lost) + max(0, kept - went_on)
        twice = SERVER.answered.total() - paid
        report["doubled"] += len(doubled) + max(0, twice - IN_FLIGHT * more)
        told = f"lost {lost[:5]}, doubled {doubled[:5]}, paid twice {twice}"
        print(f"  {case.kind}: killed with {kept} kept, went on from {went_on}; {told}", flush=True)
    return report


def flipped(path, read, rng, flips):
    """Flip bits of a file, the last eight and others: how many ``flips``, ``refused`` by the file's name, and ``lost``.

    Lost is what is read in silence as something else.
    """
    content, whole, report = path.read_bytes(), read(path), {"flips": flips, "refused": 0, "lost": 0}
    last = 8 * len(content) - 8
    for bit in [*range(last, last + 8), *rng.sample(range(last), flips - 8)]:
        struck = path.with_name(f"{bit}{path.suffix}")
        struck.write_bytes(content[: bit // 8] + bytes([content[bit // 8] ^ 1 << bit % 8]) + content[bit // 8 + 1 :])
        try:
            report["lost"] += read(struck) != whole
        except ValueError as said:
            report["refused" if str(struck) in str(said) else "lost"] += 1
        for left in path.parent.glob(f"{bit}{path.suffix}*"):
            left.unlink()
    return report


def many_replies():
    from judgekit.records import Reply

    kinds = (Reply("first", 0.5, 0.25, 0.25), Reply("tie", raw="some text " * 20), Reply(None, status="unparsed"))
    return {f"{97 * n:064x}": kinds[n % 3] for n in range(120)}


def flips(folder):
    """A file of each kind that keeps what was paid for, with how it is read: verdicts and votes."""
    from judgekit.people.labelling.votefile import Vote, VoteFile, read_votes
    from judgekit.scoring.store import VerdictStore

    replies = many_replies()
    with VerdictStore(folder / "s.sqlite") as store:
        store.put("judge", "{}", replies)
    with closing(VoteFile(folder / "v.jsonl")) as file:
        for n in range(12):
            who, label = ("ann", "bob")[n % 2], "AB"[n // 2 % 2]
            file.append(Vote(f"own-{n}", who, label, "ab", 1.5, "2026-01-02T03:04:05+00:00"))

    def replies_of(path):
        with VerdictStore(path) as store:
            return store.get("judge", "{}", replies)

    def votes_of(path):
        votes = read_votes(path)
        return votes.items, votes.annotators, votes.codes.tolist()

    return {"store": (folder / "s.sqlite", replies_of), "votes": (folder / "v.jsonl", votes_of)}


def authored(form):
    """Of replies that were written to mislead a parser, which was mended on them: what it reads, what was meant."""
    from judgekit.prompts.parsing import parse

    lines = Path(__file__).with_name("authored_replies.jsonl").read_text(encoding="utf-8").splitlines()
    replies = [reply for reply in map(json.loads, lines) if reply["form"] == form]
    found = [parse(form, reply["reply"]) for reply in replies]
    read = [parsed.verdict or (parsed.scores[0] if parsed.scores else parsed.status) for parsed in found]
    return list(zip(read, (reply["reading"] for reply in replies), strict=True))


@contextmanager
def served():
    with running(SERVER):
        os.environ |= {"OPENAI_BASE_URL": SERVER.url, "OPENAI_API_KEY": KEY}
        yield


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--run", default="laptop")
    arguments.add_argument("--only", nargs="+", help="kinds of faults; all by default")
    arguments.add_argument("--kills", type=int, help="kills of each kind; three, and two of the chain, by default")
    chosen = arguments.parse_args()
    from judgekit.prompts.parsing import FORMATS
    from judgekit.report import load_results, save_results
    from judgekit.report.workflow import jobs_of
    from judgekit.stats import Number, proportion_interval

    # Some kinds alone leave what was found out about the others.
    numbers = {
        key: Number(row["value"], n=row["n"], spec="d")
        for key, row in (load_results(chosen.run).items() if chosen.only else ())
        if row["notebook"] == RESULTS and key.startswith("fault.")
    }
    failed = False
    with tempfile.TemporaryDirectory(prefix="torture-") as folder, served():
        for case in [*cases(), chain()]:
            if chosen.only and case.kind not in chosen.only:
                continue
            rng, kills = random.Random(f"0 {case.kind}"), chosen.kills or case.kills
            print(f"{case.kind}: {kills} kills", flush=True)
            report = tortured(case, Path(folder) / case.kind, rng, kills)
            failed |= bool(report["lost"] or report["doubled"])
            for name in ("kills", "lost", "doubled"):
                numbers[f"fault.{case.kind}.{name}"] = Number(report[name], n=report["kills"], spec="d")
            if case.kind == "chain":
                numbers["fault.chain.notebooks"] = Number(len(jobs_of("sample")), spec="d")
            save_results(chosen.run, "scale", numbers, variant="faults")
        for kind, (path, read) in flips(Path(folder)).items():
            if not chosen.only or f"flip_{kind}" in chosen.only:
                report = flipped(path, read, random.Random(f"0 {kind}"), 500)
                failed |= bool(report["lost"])
                print(f"flip_{kind}: {report}", flush=True)
                numbers |= {f"fault.flip_{kind}.{name}": Number(n, n=500, spec="d") for name, n in report.items()}
        for form in FORMATS:
            right = [said == meant for said, meant in authored(form)]
            share, n = sum(right) / len(right), len(right)
            numbers[f"parsing.{form}.accuracy"] = Number(share, *proportion_interval(share, n), n=n, spec=".1%")
        save_results(chosen.run, "scale", numbers, variant="faults")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
