"""Judging a file on the workers of a Ray cluster, or of one that is started on this machine.

Ray Data hands out numbers of chunks, holds one loaded judge per worker and replaces workers that die. The chunks lie in
a folder beside the output, which every worker must see: texts as they go in, verdicts as they come out, each file
renamed into place when it is whole. What is there is finished, whoever was killed; a chunk that two workers judge is
one file all the same. Nothing but numbers goes through Ray's own memory.
"""

import json
import logging
import os
import shutil
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path

from judgekit.bulk.local import LocalRun
from judgekit.bulk.tally import LISTED, Tally
from judgekit.bulk.writing import replacing, write_batches
from judgekit.judges import ASKED, load_judge
from judgekit.models.batching import few_kernels
from judgekit.pairfile import PairRow
from judgekit.pairfile.places import Place
from judgekit.progress import progress_bar, skip
from judgekit.records import PreferencePair, Turn

CHUNK = 512  # rows: what a killed worker loses at most
MOST_BLOCKS = 2_000  # tasks that Ray is given; each is one or more chunks


class NoRay(RuntimeError):
    """Ray is not installed; the message says what to do."""


@dataclass(frozen=True)
class Task:
    """What a worker needs to know, in plain values.

    Attributes
    ----------
    judge : str
        Name, as for `judgekit.judges.load_judge`.
    settings : dict
    label : str or None
        For ``baseline/majority_class``.
    orders : tuple of {"ab", "ba"}
    folder : str
        Holds ``rows`` and ``verdicts``.
    """

    judge: str
    settings: dict
    label: str | None
    orders: tuple
    folder: str


class Worker:
    """One loaded judge, in a process of Ray's; called with the numbers of chunks."""

    def __init__(self, task):
        self.folder = Path(task["folder"])
        few_kernels()
        self.judge = load_judge(task["judge"], label=task["label"], settings=task["settings"] or None)
        if hasattr(self.judge, "load"):
            self.judge.load()
        self.orders = tuple(task["orders"])

    def __call__(self, batch):
        """Judge chunks; their numbers, rows and failed rows."""
        failed = [self.finish(int(number)) for number in batch["chunk"]]
        return {"chunk": batch["chunk"], "rows": [rows for rows, _ in failed], "failed": [count for _, count in failed]}

    def finish(self, number):
        """Judge what is not finished in a chunk, and put its verdicts in place; rows and failed rows."""
        rows = [row_of(line) for line in read_json_lines(chunk_path(self.folder, "rows", number))]
        target = chunk_path(self.folder, "verdicts", number)
        results = read_json_lines(target) if target.exists() else [None] * len(rows)
        waiting = [place for place, result in enumerate(results) if result is None or result["status"] == "error"]
        run = LocalRun(None, self.judge, self.orders, None)
        for place, result in zip(waiting, run.judged([rows[place] for place in waiting]), strict=True):
            reason = run.reasons.get(result["id"])
            results[place] = result if reason is None else result | {"reason": reason}
        if waiting:
            write_json_lines(target, results)
        return len(rows), sum(result["status"] == "error" for result in results)


def line_of(row):
    """A `PairRow` as plain values: what a judge may be shown, and where it stands."""
    pair = row.pair
    texts = [pair.item_id, pair.question, pair.response_a, pair.response_b, pair.reference]
    return [row.id, row.place.line, texts, [asdict(turn) for turn in pair.turns]]


def row_of(line):
    """The inverse of `line_of`."""
    given, number, (item_id, question, response_a, response_b, reference), turns = line
    earlier = tuple(Turn(**turn) for turn in turns)
    pair = PreferencePair(item_id, "pairs", question, response_a, response_b, reference=reference, turns=earlier)
    return PairRow(given, pair, Place(Path("rows"), number), "responses")


def chunk_path(folder, kind, number):
    """Where a chunk's rows or verdicts are."""
    return Path(folder, kind, f"{number:08d}.jsonl")


def read_json_lines(path):
    """Values of a file, one a line."""
    with open(path, encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def write_json_lines(path, values):
    """Values into a file, one a line; it is there whole and durable, or not at all."""
    with replacing(path) as part, open(part, "x", encoding="utf-8") as stream:
        stream.writelines(json.dumps(value) + "\n" for value in values)


def need_ray():
    """Look for Ray, without loading it.

    Raises
    ------
    NoRay
        If it is not installed.
    """
    found = find_spec("ray")
    if found is None or found.origin is None:  # a folder of that name, such as the one that Ray itself leaves in /tmp
        raise NoRay(
            "--engine ray needs the package ray, which is not installed: pip install 'judgekit-notebooks[ray]' "
            "(docs/scaling.md)"
        )


@contextmanager
def cluster(workers):
    """Ray, connected to the cluster that ``RAY_ADDRESS`` names or started here on the loopback address; the module."""
    need_ray()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    import ray
    import ray.data

    ours = not ray.is_initialized()
    if ours:
        try:
            ray.init(
                logging_level="ERROR", log_to_driver=False, **({} if os.environ.get("RAY_ADDRESS") else here(workers))
            )
        except Exception as failed:  # Ray raises this very class where its processes were too slow to start
            raise RuntimeError(f"it could not be started: {failed}") from failed
    try:
        yield ray
    finally:
        if ours:
            ray.shutdown()


def here(workers):
    """Options of `ray.init` for a cluster of this machine alone, which asks nothing of the network."""
    cpus = max(os.cpu_count() or 1, workers or 1)
    address = {"address": "local", "_node_ip_address": "127.0.0.1", "include_dashboard": False}
    return {**address, "num_cpus": cpus, "object_store_memory": 100 * 2**20}


@dataclass
class RayRun:
    """One run of a judge over a checked file, by Ray.

    Parameters
    ----------
    source : judgekit.bulk.source.PairSource
    task : Task
    workers : int, optional
        Loaded judges; one per GPU for judges that are language models where there are GPUs, else one per processor.
    progress : bool

    Attributes
    ----------
    reasons : dict
        Why rows failed, by id, of the first that did.
    """

    source: object
    task: Task
    workers: int | None = None
    progress: bool = True
    reasons: dict = field(default_factory=dict)

    @property
    def folder(self):
        """The work folder."""
        return Path(self.task.folder)

    def chunks(self):
        """The file's rows by chunk, with the number of the chunk."""
        return enumerate(self.source.chunks(size=CHUNK))

    def work(self):
        """Judge every chunk that is not finished."""
        for kind in ("rows", "verdicts"):
            (self.folder / kind).mkdir(parents=True, exist_ok=True)
        waiting, rows_done = self.stage()
        with progress_bar(self.source.n_rows, self.task.judge, "row", shown=self.progress) as bar:
            skip(bar, rows_done)
            if waiting:
                with cluster(self.workers) as ray:
                    for found in self.dataset(ray, waiting).iter_rows():
                        bar.update(int(found["rows"]))

    def stage(self):
        """Put the rows of every chunk that is not finished where workers find them.

        Returns
        -------
        waiting : list of int
            Numbers of these chunks.
        rows_done : int
            Rows of the others.
        """
        waiting, rows_done = [], 0
        for number, rows in self.chunks():
            target = chunk_path(self.folder, "verdicts", number)
            if target.exists() and all(result["status"] != "error" for result in read_json_lines(target)):
                rows_done += len(rows)
                continue
            waiting.append(number)
            staged = chunk_path(self.folder, "rows", number)
            if not staged.exists():
                write_json_lines(staged, map(line_of, rows))
        return waiting, rows_done

    def dataset(self, ray, waiting):
        """The Ray dataset that judges chunks as it is read."""
        ray.data.DataContext.get_current().enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        resources = ray.cluster_resources()
        gpus = resources.get("GPU", 0) if self.task.judge.partition("/")[0] in ASKED else 0
        workers = self.workers or int(gpus or resources.get("CPU", 1))
        numbers = ray.data.from_items(
            [{"chunk": number} for number in waiting], override_num_blocks=min(len(waiting), MOST_BLOCKS)
        )
        return numbers.map_batches(
            Worker,
            fn_constructor_args=(asdict(self.task),),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=min(workers, len(waiting))),
            num_cpus=1,
            num_gpus=gpus / workers if gpus else None,
        )

    def results(self, tally):
        """The finished rows in the order of the file, in lists; they are counted as they go by."""
        for number, rows in self.chunks():
            results = read_json_lines(chunk_path(self.folder, "verdicts", number))
            for result in results:
                reason = result.pop("reason", None)
                if reason is not None and len(self.reasons) < LISTED:
                    self.reasons[result["id"]] = reason
            if [row.id for row in rows] != [result["id"] for result in results]:
                raise ValueError(f"{chunk_path(self.folder, 'verdicts', number)} holds other rows than were given")
            tally.add(rows, results)
            yield results

    def write(self, out):
        """Write the verdicts of all rows to the output; the `Tally`. Without failed rows the work folder goes."""
        tally = Tally()
        write_batches(self.results(tally), out, self.source.whole_ids)
        if not tally.n_failed:
            self.remove()
        return tally

    def finished(self):
        """Number of finished chunks."""
        return sum(1 for path in (self.folder / "verdicts").glob("*.jsonl"))

    def remove(self):
        """Delete the work folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
