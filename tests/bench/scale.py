"""How time and memory of bulk judging grow with the rows, and what Ray and a second writer of a store cost.

Parts (``--parts``): ``longer`` and ``encoder`` judge files of authored pairs of growing length, each in a process of
its own; ``ray`` judges one with Ray and kills a worker on the way; ``store`` lets two processes write into one verdict
store. What was measured is kept in ``outputs/<run>/data/scale.csv.gz``, so that parts may be measured one by one;
numbers and the picture are made from all of it.

What Ray costs is told by a judge that costs nothing: wall time from the first finished chunk to the output, a worker
killed and replaced in it; its memory is that of the process that hands out the work.

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
import psutil
from authored_pairs import write_authored

from judgekit.data.paths import run_folder
from judgekit.report import save_data, save_figure, save_results
from judgekit.stats import Number

JUDGES = {"longer": "baseline/longer", "encoder": "encoder/minilm"}
SIZES = {"longer": (1_000, 10_000, 100_000, 1_000_000), "encoder": (1_000, 3_000, 10_000, 30_000)}


# ---------------------------------------------------------------- in a process of its own


def judge_file(pairs, out, name):
    """Judge a file by the command line; what it took."""
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


def write_store(path, writer, count):
    """Put replies into a store in batches; seconds it took."""
    from judgekit.records import Reply
    from judgekit.scoring.store import VerdictStore

    started, reply = time.perf_counter(), Reply("first", score_first=1.0, score_second=0.0)
    with VerdictStore(path) as store:
        for start in range(0, int(count), 64):
            store.put("bench", "{}", {f"{writer}-{number:064d}": reply for number in range(start, start + 64)})
    return {"seconds": time.perf_counter() - started}


WORK = {"judge_file": judge_file, "model_memory": model_memory, "write_store": write_store}


def started_apart(work, *arguments):
    """A process that does one piece of ``WORK``."""
    command = [sys.executable, __file__, "--work", json.dumps([work, *map(str, arguments)])]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def ended(process):
    """What such a process found."""
    said, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{process.args} failed with {process.returncode}")
    return json.loads(said.splitlines()[-1])


# ---------------------------------------------------------------- the parts


def measure_growth(part, sizes, folder):
    """Rows of the table for one judge: one per size."""
    name = JUDGES[part]
    model = ended(started_apart("model_memory", name))["model_mb"] if part != "longer" else 0.0
    for size in sizes:
        pairs, out = folder / "pairs.jsonl", folder / "verdicts.jsonl"
        write_authored(pairs, size)
        took = ended(started_apart("judge_file", pairs, out, name))
        with open(out, encoding="utf-8") as verdicts:
            exact = took.pop("code") == 0 and [json.loads(line)["id"] for line in verdicts] == list(range(size))
        if not exact:
            raise SystemExit(f"{part}: the verdicts are not those of {size} rows in order")
        yield {"part": part, "rows": size, "model_mb": model, **took}
        print(part, size, took, flush=True)


def measure_store(folder, count=6_400):
    """Verdicts a second into one store: by one process, then by two at once, each with as many."""
    for writers in (1, 2):
        path = folder / f"store_{writers}.sqlite"
        started = time.perf_counter()
        processes = [started_apart("write_store", path, writer, count) for writer in range(writers)]
        longest = max(ended(process)["seconds"] for process in processes)
        from judgekit.scoring.store import VerdictStore

        with VerdictStore(path) as store:
            stored = store.count()
        yield {"part": f"store_{writers}", "rows": stored, "lost": writers * count - stored, "seconds": longest}
        print("store", writers, stored, longest, time.perf_counter() - started, flush=True)


# ---------------------------------------------------------------- numbers and picture


def exponent(rows, values):
    """Slope of values against rows on logarithmic axes."""
    return float(np.polyfit(np.log(rows), np.log(values), 1)[0])


def growth_numbers(table):
    """Exponents and sizes of the judges that were measured."""
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


def store_numbers(table):
    """Verdicts a second with one and with two writers."""
    numbers = {}
    for part, name in (("store_1", "one_writer"), ("store_2", "two_writers")):
        for row in table[table["part"] == part].itertuples():
            numbers[f"bench.store.{name}.verdicts_per_second"] = Number(
                row.rows / row.seconds, n=int(row.rows), spec=",.0f"
            )
            numbers[f"bench.store.{name}.lost"] = Number(int(row.lost), n=int(row.rows))
    return numbers


def ray_numbers(table):
    """The run by Ray in which a worker was killed."""
    return {
        f"scale.ray.{name}": Number(kind(getattr(row, name)), n=int(row.rows), spec=spec)
        for row in table[table["part"] == "ray"].itertuples()
        for name, kind, spec in (
            ("rows", int, ",d"),
            ("lost", int, ",d"),
            ("doubled", int, ",d"),
            ("overhead_us_per_row", float, ",.0f"),
            ("peak_mb", float, ",.0f"),
        )
    }


def measure_ray(folder, count):
    """One run by Ray, in which a worker is killed as soon as a chunk is finished."""
    pairs, out = folder / "pairs.jsonl", folder / "verdicts.jsonl"
    write_authored(pairs, count)
    command = [sys.executable, "-c", "import sys; from judgekit.cli import main; sys.exit(main(sys.argv[1:]))", "judge"]
    command += [str(pairs), "--out", str(out), "--judge", JUDGES["longer"], "--engine", "ray", "--quiet"]
    command += ["--store", str(folder / "s.sqlite")]
    process, first, killed, peak = subprocess.Popen(command), None, False, 0.0
    while process.poll() is None:
        peak = max(peak, held_mb(process.pid))
        if first is None and stored(folder / "s.sqlite"):
            first = time.perf_counter()
        if first and not killed and (workers := ray_workers()):
            workers[0].kill()
            killed = True
        time.sleep(0.02)
    took = time.perf_counter() - first
    if process.returncode or not killed:
        raise SystemExit(f"ray: ended with {process.returncode}, worker killed: {killed}")
    with open(out, encoding="utf-8") as verdicts:
        ids = [json.loads(line)["id"] for line in verdicts]
    found = {"lost": count - len(set(ids)), "doubled": len(ids) - len(set(ids))}
    yield {"part": "ray", "rows": count, **found, "overhead_us_per_row": 1e6 * took / count, "peak_mb": peak}
    print("ray", count, found, took, peak, flush=True)


def stored(path):
    """Verdicts in a store."""
    from judgekit.scoring.store import VerdictStore

    if not path.is_file():
        return 0
    with VerdictStore(path) as store:
        return store.count()


def ray_workers():
    """Processes of this machine that hold a judge for Ray."""
    return [each for each in psutil.process_iter(["cmdline"]) if "ray::Worker" in " ".join(each.info["cmdline"] or ())]


def held_mb(pid):
    """Resident MiB of a process."""
    try:
        return psutil.Process(pid).memory_info().rss / 2**20
    except psutil.Error:  # it has just ended
        return 0.0


def main():
    """Measure the parts, and save what is known of all."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--run", default="laptop")
    arguments.add_argument("--parts", default="longer,encoder,store")
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
            if part in JUDGES:
                rows = measure_growth(part, [size for size in SIZES[part] if size <= chosen.largest], folder)
            else:
                rows = measure_store(folder) if part == "store" else measure_ray(folder, min(20_000, chosen.largest))
            rows = pd.DataFrame(list(rows))
        table = pd.concat([table[~table["part"].isin(rows["part"])], rows], ignore_index=True)
        save_data(chosen.run, "scale", table)
    numbers = growth_numbers(table) | store_numbers(table) | ray_numbers(table)
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
