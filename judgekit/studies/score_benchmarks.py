"""What a judge costs, measured in a process of its own."""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from judgekit.data.catalogue import load_set
from judgekit.judges import load_judge, request_of
from judgekit.stats import Number


def resources_of(name: str, run: str | None = None, benchmark: str = "sample_natural") -> dict[str, Number]:
    """``seconds_per_item``, ``tokens_per_item`` and ``peak_mb`` of a judge of a run on a set's first hundred items.

    In a fresh process, so that one judge's memory is not another's. RuntimeError, with its last words, where it fails.
    """
    from accelerate.utils.memory import clear_device_cache  # here, since the process that is measured needs no PyTorch

    task = json.dumps([name, run, benchmark])
    clear_device_cache(garbage_collection=True)  # of a GPU this process keeps what its judges no longer use
    done = subprocess.run([sys.executable, "-m", __name__, task], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"measuring {name} failed: {done.stderr.strip().splitlines()[-1]}")
    measured = json.loads(done.stdout.strip().splitlines()[-1])
    specs = {"seconds_per_item": ".2g", "tokens_per_item": ".0f", "peak_mb": ",.0f"}
    return {key: Number(measured[key], n=measured["n"], spec=spec) for key, spec in specs.items()}


def _measure(name: str, run: str | None, benchmark: str) -> dict[str, float]:
    """`resources_of` in this process; loading the judge counts in ``peak_mb`` only."""
    judge = load_judge(name, label="A", run=run)
    requests = [request_of(pair, "ab") for pair in load_set(benchmark)[:100]]
    judge.judge(requests[:1])
    started, n = time.perf_counter(), len(requests)
    batches = [requests[start : start + judge.batch_size] for start in range(0, n, judge.batch_size)]
    replies = [reply for batch in batches for reply in judge.judge(batch)]
    seconds = time.perf_counter() - started
    tokens = sum((reply.tokens_in or 0) + (reply.tokens_out or 0) for reply in replies)
    return {"seconds_per_item": seconds / n, "tokens_per_item": tokens / n, "peak_mb": peak_mb(), "n": n}


def peak_mb() -> float:
    """Peak resident memory of this process in MiB.

    Linux's own counter comes first: ``getrusage`` there starts from the peak of the process that forked this one.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024**2 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    print(json.dumps(_measure(*json.loads(sys.argv[1]))))
