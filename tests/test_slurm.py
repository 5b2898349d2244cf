"""The chain on a cluster: a real Slurm of one node, and the same results as on one machine."""

import contextlib
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
import yaml
from judged_file import python_in
from test_workflow import write_notebook

from judgekit.data.paths import project_root

DAEMONS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue")

CACHED = Path("/run/slurm/conf")
CONFIG = """\
ClusterName=here
SlurmctldHost={host}(127.0.0.1)
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} Gres=gpu:1 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
ReturnToService=2
MpiDefault=none
SwitchType=switch/none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
"""


def why_not():
    """What keeps a cluster from being started here; None where nothing does."""
    if missing := [name for name in DAEMONS if not find(name)]:
        return f"Slurm is not installed ({missing[0]} is missing; on Debian: apt-get install slurm-wlm munge)"
    if os.geteuid() != 0:
        return "starting Slurm's daemons needs root"
    if os.path.lexists(CACHED):
        return f"this machine is a node of a cluster already ({CACHED} exists)"
    return None


def find(name):
    """A program, also where only root looks."""
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


@contextlib.contextmanager
def slurm_node(folder):
    """Start the cluster, its state below a folder that the user munge may enter; yields Slurm's environment."""
    folder, host = Path(folder), socket.gethostname()
    for name in ("munge", "state", "spool"):
        (folder / name).mkdir(parents=True)
    munge = pwd.getpwnam("munge")
    key = folder / "munge" / "munge.key"
    key.write_bytes(secrets.token_bytes(64))
    key.chmod(0o600)
    for path in (folder / "munge", key):
        os.chown(path, munge.pw_uid, munge.pw_gid)
    (folder / "munge").chmod(0o755)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20 - 512
    ports = free_ports(2)
    filled = CONFIG.format(host=host, cpus=os.cpu_count(), memory=memory, ports=ports, folder=folder)
    (folder / "slurm.conf").write_text(filled)
    (folder / "gres.conf").write_text(f"NodeName={host} Name=gpu File=/dev/null\n")
    environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}
    munged = [find("munged"), "--foreground", f"--socket={folder}/munge/socket", f"--key-file={key}"]
    munged += [f"--{kind}-file={folder}/munge/{kind}" for kind in ("pid", "log", "seed")]
    started = []
    try:
        # A job does not keep SLURM_CONF; where a node was given its configuration, commands inside a job look here.
        CACHED.parent.mkdir(exist_ok=True)
        CACHED.symlink_to(folder)
        as_munge = {"user": munge.pw_uid, "group": munge.pw_gid, "extra_groups": []}
        started.append(start(munged, environment, **as_munge))
        wait_for(lambda: (folder / "munge" / "socket").exists(), started, folder)
        started.append(start([find("slurmctld"), "-D"], environment))
        started.append(start([find("slurmd"), "-D", "-N", host], environment))
        wait_for(lambda: "idle" in command(["sinfo", "-h", "-o", "%T"], environment), started, folder)
        yield environment
    finally:
        CACHED.unlink(missing_ok=True)
        for process in reversed(started):
            process.send_signal(signal.SIGTERM)
        for process in reversed(started):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def free_ports(n):
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(n)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def start(arguments, environment, **user):
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(arguments, env=environment, **quiet, **user)


def command(arguments, environment):
    """What a command of Slurm prints; empty while the controller does not answer."""
    return subprocess.run(arguments, env=environment, capture_output=True, text=True).stdout


def wait_for(ready, started, folder, seconds=60):
    """Wait until the cluster is so far; its logs are in the error if it never is."""
    until = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > until or any(process.poll() is not None for process in started):
            logs = "\n".join(f"{path.name}: {path.read_text()[-1500:]}" for path in sorted(folder.glob("**/*.log")))
            raise RuntimeError(f"Slurm did not start:\n{logs}")
        time.sleep(0.2)


ROOT = project_root()
pytestmark = [
    pytest.mark.slurm,
    pytest.mark.slow,
    pytest.mark.skipif(why_not() is not None, reason=f"Slurm is not tested: {why_not()}"),
]

COUNT = """
import os
from judgekit.report import Number, save_results
numbers = {"chain.%s": Number(%s)}
print("GPU:", os.environ.get("CUDA_VISIBLE_DEVICES", "none"), "job:", os.environ.get("SLURM_JOB_ID", "none"))
save_results(run, "%s", numbers)
"""
NOTEBOOKS = {
    "10_first": (COUNT % ("first", "n", "10_first"), []),
    "20_on_gpu": (COUNT % ("on_gpu", "2 * n", "20_on_gpu"), ["10_first"]),
    "30_last": (
        "import json\nfrom judgekit.data.paths import run_folder\n"
        'before = json.loads((run_folder(run, "results") / "20_on_gpu.json").read_text())["numbers"]\n'
        'n = before["chain.on_gpu"]["value"]' + COUNT % ("last", "n + 1", "30_last"),
        ["20_on_gpu"],
    ),
}


def make_project(folder):
    """A checkout with a chain of three small notebooks, the second of which asks for a GPU."""
    ignored = shutil.ignore_patterns("__pycache__", "pretrained")
    shutil.copytree(ROOT / "judgekit", folder / "judgekit", ignore=ignored)
    shutil.copytree(ROOT / "profiles", folder / "profiles")
    shutil.copy(ROOT / "Snakefile", folder)
    for part in ("notebooks", "params/sample"):
        (folder / part).mkdir(parents=True)
    for name, (code, _) in NOTEBOOKS.items():
        write_notebook(folder / "notebooks", name, 'run = "sample"  # folder\nn = 20  # pairs', code)
        (folder / "params" / "sample" / f"{name}.yaml").write_text("run: sample\n")
    listed = {name: {"after": after} for name, (_, after) in NOTEBOOKS.items()}
    (folder / "notebooks" / "notebooks.yaml").write_text(yaml.safe_dump(listed))
    # A job's memory is that of a small machine: the node is whatever runs the test.
    resources = {name: {"mem_mb": 1000, "runtime": 10} for name in NOTEBOOKS}
    resources["20_on_gpu"]["gpu"] = 1
    (folder / "params" / "sample" / "resources.yaml").write_text(yaml.safe_dump(resources))
    return folder


def made(folder, environment, *arguments):
    """The chain of a project is made; its numbers by notebook, and what every notebook printed."""
    python_in(folder, "-m", "judgekit.report.workflow", "make", "sample", *arguments, timeout=300, **environment)
    numbers, printed = {}, {}
    for name in NOTEBOOKS:
        outputs = folder / "outputs" / "sample"
        numbers[name] = json.loads((outputs / "results" / f"{name}.json").read_text())["numbers"]
        cells = json.loads((outputs / "executed" / f"{name}.ipynb").read_text())["cells"]
        texts = [output.get("text", "") for cell in cells for output in cell.get("outputs", [])]
        printed[name] = "".join("".join(text) for text in texts)
    return numbers, printed


@pytest.fixture
def folder():
    """A folder that the daemons' users may enter, as pytest's own is not."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_cluster_makes_the_same_results_and_gives_gpus_to_those_who_ask(folder):
    alone, printed = made(make_project(folder / "alone"), dict(os.environ), "--cores", "2")
    assert {text.split()[1] for text in printed.values()} == {"none"} and alone["30_last"]["chain.last"]["value"] == 41
    with slurm_node(folder / "cluster") as environment:
        together, printed = made(make_project(folder / "together"), environment, "--profile", "slurm")
        left = command(["squeue", "-h"], environment)
    assert together == alone
    assert {name: text.split()[1] for name, text in printed.items()} == {
        "10_first": "none",
        "20_on_gpu": "0",
        "30_last": "none",
    }
    assert len({text.split()[3] for text in printed.values()} - {"none"}) == 3, "each notebook is a job of its own"
    assert left == ""
