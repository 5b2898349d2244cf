"""What a judge costs: seconds, tokens and memory, measured in a process of its own."""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from judgekit.catalogue import load_set
from judgekit.judges import load_judge, request_of
from judgekit.results import Number


def measure(name, folder, benchmark, n_items):
    """Judge the first items of a set, in the given order, and say what it took.

    Parameters
    ----------
    name, folder
        See `judgekit.judges.load_judge`.
    benchmark : str
    n_items : int

    Returns
    -------
    dict
        ``seconds_per_item`` (loading the judge left out), ``tokens_per_item`` (0 for judges that read no tokens),
        ``peak_mb`` (peak resident memory of the process, loading included), ``n``.
    """
    judge = load_judge(name, folder, label="A")
    requests = [request_of(pair, "ab") for pair in load_set(benchmark)[:n_items]]
    judge.judge(requests[:1])
    started = time.perf_counter()
    replies = [
        reply
        for start in range(0, len(requests), judge.batch_size)
        for reply in judge.judge(requests[start : start + judge.batch_size])
    ]
    seconds = time.perf_counter() - started
    tokens = sum((reply.tokens_in or 0) + (reply.tokens_out or 0) for reply in replies)
    n = len(requests)
    return {"seconds_per_item": seconds / n, "tokens_per_item": tokens / n, "peak_mb": peak_mb(), "n": n}


def peak_mb():
    """Peak resident memory of this process in MiB.

    Linux's own counter comes first: ``getrusage`` there starts from the peak of the process that forked this one.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024**2 if sys.platform == "darwin" else 1024)


def resources_of(name, folder=None, benchmark="sample_natural", n_items=100):
    """`measure` in a fresh process, so that one judge's memory is not another's.

    Returns
    -------
    dict of str to Number
        Keys ``seconds_per_item``, ``tokens_per_item``, ``peak_mb``. Timings differ between machines and runs: they
        are for orientation, ratios belong to the benchmarks.

    Raises
    ------
    RuntimeError
        If the process fails; the message ends with its last words.
    """
    task = json.dumps([name, None if folder is None else str(folder), benchmark, n_items])
    done = subprocess.run([sys.executable, "-m", "judgekit.resources", task], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"measuring {name} failed: {done.stderr.strip().splitlines()[-1]}")
    found = json.loads(done.stdout.strip().splitlines()[-1])
    specs = {"seconds_per_item": ".2g", "tokens_per_item": ".0f", "peak_mb": ",.0f"}
    return {key: Number(found[key], n=found["n"], spec=spec) for key, spec in specs.items()}


if __name__ == "__main__":
    print(json.dumps(measure(*json.loads(sys.argv[1]))))
