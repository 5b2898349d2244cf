"""How long one waits before anything begins: ``judgekit --help``, and a ``make report`` that has nothing to do.

Medians over rounds, in seconds of this machine. Writes ``bench.startup.*`` to the run's results. The second is measured
where the sample run of this checkout is complete (``make report`` once before), and left out aloud otherwise.
"""

import argparse
import statistics
import subprocess
import sys
import time

from judgekit.data.paths import project_root, run_folder
from judgekit.report import save_results
from judgekit.report.workflow import jobs_of
from judgekit.stats import Number

ROOT = project_root()
HELP = [sys.executable, "-c", "import sys; from judgekit.cli import main; sys.exit(main(['--help']))"]


def seconds_of(command, rounds):
    """Wall-clock seconds of a command, which must succeed, as a `Number` with the fastest and the slowest round."""
    found = []
    for _ in range(rounds):
        started = time.perf_counter()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        found.append(time.perf_counter() - started)
        if done.returncode:
            raise SystemExit(f"error: {' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return Number(statistics.median(found), min(found), max(found), n=rounds, spec=".2f")


def main():
    """Measure and save."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--run", default="laptop")
    arguments.add_argument("--rounds", type=int, default=5)
    chosen = arguments.parse_args()
    numbers = {"bench.startup.help_seconds": seconds_of(HELP, chosen.rounds)}
    missing = [job for job in jobs_of("sample") if not (run_folder("sample", "executed") / f"{job}.ipynb").is_file()]
    if missing:
        print(f"a make report without work is not measured: the sample run lacks {missing[0]} (make report makes it)")
    else:
        seconds_of(["make", "report"], 1)  # whatever was still to be done
        numbers["bench.startup.report_seconds"] = seconds_of(["make", "report"], chosen.rounds)
    for key, number in numbers.items():
        print(f"{key}: {number} ({number.interval})")
    save_results(chosen.run, "bench", numbers, variant="startup")


if __name__ == "__main__":
    main()
