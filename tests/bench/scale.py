"""How time and memory of bulk judging grow with the rows.

Parts (``--parts``): ``longer`` and ``encoder`` judge files of authored pairs of growing length, each in a process of
its own. What was measured is kept in ``outputs/<run>/data/scale.csv.gz``, so that parts may be measured one by one;
numbers and the picture are made from all of it.

Time is processor time, which other work on the machine disturbs least. Memory beyond the model is the peak of the
process, its libraries and its work, less what loading the judge and a first verdict added (nothing for a rule).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from authored_pairs import write_authored

from judgekit.data.paths import run_folder
from judgekit.report import save_data, save_figure, save_results
from judgekit.stats import Number

JUDGES = {"longer": "baseline/longer", "encoder": "encoder/minilm"}
SIZES = {"longer": (1_000, 10_000, 100_000, 1_000_000), "encoder": (1_000, 3_000, 10_000, 30_000)}


def judge_file(pairs, out, name):
    from judgekit.cli import main
    from judgekit.studies.score_benchmarks import peak_mb

    started, used = time.perf_counter(), time.process_time()
    store = f"{out}.{os.getpid()}.sqlite"  # nothing is known yet
    code = main(["judge", pairs, "--out", out, "--judge", name, "--store", store, "--quiet"])
    took = {"seconds": time.perf_counter() - started, "cpu_seconds": time.process_time() - used}
    return {**took, "peak_mb": peak_mb(), "code": code}


def model_memory(name):
    """MiB that loading a judge and its first verdict add to the peak of a process that has all else."""
    import judgekit.scoring  # noqa: F401 - the libraries that are there without a model
    from judgekit.judges import Request, load_judge
    from judgekit.studies.score_benchmarks import peak_mb

    before = peak_mb()
    load_judge(name).judge([Request("Hello?", "Hello.", "Goodbye.")])
    return {"model_mb": peak_mb() - before}


WORK = {"judge_file": judge_file, "model_memory": model_memory}


def found_apart(work, *arguments):
    """What a process of its own finds by one piece of ``WORK``."""
    command = [sys.executable, __file__, "--work", json.dumps([work, *map(str, arguments)])]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[-1])


def measure_growth(part, sizes, folder):
    name = JUDGES[part]
    model = found_apart("model_memory", name)["model_mb"] if part != "longer" else 0.0
    for size in sizes:
        pairs, out = folder / "pairs.jsonl", folder / "verdicts.jsonl"
        write_authored(pairs, size)
        took = found_apart("judge_file", pairs, out, name)
        with open(out, encoding="utf-8") as verdicts:
            exact = took.pop("code") == 0 and [json.loads(line)["id"] for line in verdicts] == list(range(size))
        if not exact:
            raise SystemExit(f"{part}: the verdicts are not those of {size} rows in order")
        yield {"part": part, "rows": size, "model_mb": model, **took}
        print(part, size, took, flush=True)


def exponent(rows, values):
    """Slope of values against rows on logarithmic axes."""
    return float(np.polyfit(np.log(rows), np.log(values), 1)[0])


def growth_numbers(table):
    numbers = {}
    for part in JUDGES:
        found = table[table["part"] == part].sort_values("rows")
        if len(found) < 2:
            continue
        rows, beyond = found["rows"].to_numpy(float), (found["peak_mb"] - found["model_mb"]).to_numpy(float)
        # What starting takes is told by the two shortest files, and is no part of how time grows.
        per_row = (found["cpu_seconds"].iloc[-1] - found["cpu_seconds"].iloc[0]) / (rows[-1] - rows[0])
        start = max(found["cpu_seconds"].iloc[0] - per_row * rows[0], 0.0)
        largest, n = int(rows[-1]), len(found)
        numbers |= {
            f"scale.{part}.rows": Number(largest),
            f"scale.{part}.time_exponent": Number(exponent(rows, found["cpu_seconds"] - start), n=n),
            f"scale.{part}.memory_exponent": Number(exponent(rows, beyond), n=n),
            f"scale.{part}.beyond_model_mb": Number(float(beyond[-1]), n=largest, spec=",.0f"),
            f"scale.{part}.growth_mb": Number(float(beyond[-1] - beyond[0]), n=n, spec=",.1f"),
            f"scale.{part}.us_per_row": Number(float(per_row * 1e6), n=largest, spec=",.0f"),
            f"scale.{part}.start_seconds": Number(float(start), n=n, spec=".2f"),
        }
    if "scale.longer.rows" in numbers:
        numbers["scale.time_exponent"] = numbers["scale.longer.time_exponent"]
        numbers["scale.memory_exponent"] = numbers["scale.longer.memory_exponent"]
    return numbers


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--run", default="laptop")
    arguments.add_argument("--parts", default="longer,encoder")
    arguments.add_argument("--largest", type=int, default=1_000_000, help="no file has more rows")
    arguments.add_argument("--work", help=argparse.SUPPRESS)
    chosen = arguments.parse_args()
    if chosen.work:
        work, *given = json.loads(chosen.work)
        print(json.dumps(WORK[work](*given)))
        return
    path = run_folder(chosen.run, "data") / "scale.csv.gz"
    table = pd.read_csv(path) if path.exists() else pd.DataFrame({"part": []})
    for part in filter(None, chosen.parts.split(",")):
        with tempfile.TemporaryDirectory(dir=os.environ.get("SCALE_FOLDER")) as folder:
            folder = Path(folder)
            rows = measure_growth(part, [size for size in SIZES[part] if size <= chosen.largest], folder)
            rows = pd.DataFrame(list(rows))
        table = pd.concat([table[~table["part"].isin(rows["part"])], rows], ignore_index=True)
        save_data(chosen.run, "scale", table)
    numbers = growth_numbers(table)
    save_results(chosen.run, "scale", numbers)
    if "scale.longer.rows" in numbers:
        from judgekit.figures import curve, draw

        grown = table[table["part"].isin(JUDGES)].replace({"part": {"encoder": "minilm"}}).sort_values("rows")
        grown = grown.rename(columns={"cpu_seconds": "processor time (s)", "part": "judge"})
        grown["memory beyond the model (MiB)"] = grown["peak_mb"] - grown["model_mb"]
        shown = grown.melt(["judge", "rows"], ["processor time (s)", "memory beyond the model (MiB)"], "panel")
        figure = draw(curve, shown, "panel", x="rows", log="xy", columns=2, sharey=False, xlabel="pairs in the file")
        save_figure(figure, chosen.run, "scale")
    for key, number in numbers.items():
        print(f"{key} {number}")


if __name__ == "__main__":
    main()
