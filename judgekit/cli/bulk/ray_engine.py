"""Judging a file on the workers of a Ray cluster, or of one that is started on this machine.

Ray Data hands out numbers of chunks, holds one loaded judge per worker and replaces workers that die. The requests of
each chunk lie in a folder beside the output, which every worker must see; replies come back through Ray and are put in
the verdict store by the one process that was started. What is there is finished, whoever was killed.
"""

import json
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from judgekit.cli.bulk.source import PairSource
from judgekit.cli.messages import BAD_INPUT, UNEXPECTED, Stop, reason
from judgekit.data.progress import progress_bar, skip
from judgekit.judges import ASKED, Judge, Request, load_judge
from judgekit.models.batching import few_kernels
from judgekit.records import Reply
from judgekit.scoring.running import plan, replies_of
from judgekit.scoring.store import VerdictStore, dump_reply, load_reply

CHUNK = 512  # rows: what a killed worker loses at most
_MOST_BLOCKS = 2_000  # tasks that Ray is given; each is one or more chunks


@dataclass(frozen=True)
class Task:
    """What a worker needs to know, in plain values: how to load the judge, and the folder of requests."""

    judge: str
    settings: dict[str, str]
    label: str | None
    folder: str


class Worker:
    """One loaded judge, in a process of Ray's; called with the numbers of chunks."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.folder = Path(task["folder"])
        few_kernels()
        self.judge = load_judge(task["judge"], label=task["label"], settings=task["settings"] or None)
        if hasattr(self.judge, "load"):
            self.judge.load()

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Judge chunks; their replies by key, as JSON."""
        return {"chunk": batch["chunk"], "replies": [self.judged(int(number)) for number in batch["chunk"]]}

    def judged(self, number: int) -> str:
        """The replies to the requests of a chunk."""
        waiting = json.loads(_chunk_path(self.folder, number).read_text(encoding="utf-8"))
        keys = [key for key, _ in waiting]
        replies: dict[str, str] = {}
        for some in replies_of(self.judge, [Request(**request) for _, request in waiting]):
            replies |= {keys[place]: dump_reply(reply) for place, reply in some.items()}
        return json.dumps(replies)


def _chunk_path(folder: str | Path, number: int) -> Path:
    return Path(folder, f"{number:08d}.json")


def check_ray(out: str) -> None:
    """Refuse, before any work and without loading Ray, what cannot be done by it."""
    if out == "-":
        raise Stop(BAD_INPUT, "--engine ray keeps its work beside the output file: --out must name one")
    found = find_spec("ray")
    if found is None or found.origin is None:  # a folder of that name, such as the one that Ray itself leaves in /tmp
        raise Stop(
            BAD_INPUT,
            "--engine ray needs the package ray, which is not installed: pip install 'judgekit-notebooks[ray]' "
            "(docs/scaling.md)",
        )


@dataclass
class RayRun:
    """The requests of a checked file, put to a judge by Ray; one worker per GPU or processor without ``workers``."""

    source: PairSource
    task: Task
    judge: Judge  # as it was found here, for what its replies depend on; every worker loads its own
    orders: tuple[str, ...]
    workers: int | None = None
    progress: bool = True

    def ask(self, store: VerdictStore) -> dict[str, Reply]:
        """Put all replies that the store lacks into it; those that failed, by key. Stop if Ray gives up."""
        folder = Path(self.task.folder)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        failed: dict[str, Reply] = {}
        try:
            chunks, n_waiting = self.stage(store)
            with progress_bar(self.source.n_rows * len(self.orders), self.judge.name, "verdict", self.progress) as bar:
                skip(bar, self.source.n_rows * len(self.orders) - n_waiting)
                if chunks:
                    with _cluster(self.workers) as ray:
                        for row in self._dataset(ray, chunks).iter_rows():
                            failed |= self.keep(row["replies"], store)
                            bar.update(len(json.loads(row["replies"])))
        except RuntimeError as gave_up:  # Ray's own errors are of this class
            raise Stop(UNEXPECTED, f"Ray gave up ({reason(gave_up)}); what was judged is in {store.path}") from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return failed

    def stage(self, store: VerdictStore) -> tuple[list[int], int]:
        """Put the requests that wait where workers find them; the numbers of their chunks, and how many they are."""
        chunks, n_waiting = [], 0
        for number, rows in enumerate(self.source.chunks(size=CHUNK)):
            waiting = plan(self.judge, [row.pair for row in rows], store, self.orders).waiting
            if waiting:
                requests = [[key, asdict(request)] for key, request in waiting]
                _chunk_path(self.task.folder, number).write_text(json.dumps(requests), encoding="utf-8")
                chunks.append(number)
                n_waiting += len(waiting)
        return chunks, n_waiting

    def keep(self, replies: str, store: VerdictStore) -> dict[str, Reply]:
        """Put a chunk's replies into the store; those that failed."""
        loaded = {key: load_reply(text) for key, text in json.loads(replies).items()}
        store.put(self.judge.fingerprint, self.judge.decoding, loaded)
        return {key: reply for key, reply in loaded.items() if reply.status == "error"}

    def _dataset(self, ray: Any, chunks: list[int]) -> Any:
        """The Ray dataset that judges chunks as it is read."""
        ray.data.DataContext.get_current().enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        resources = ray.cluster_resources()
        gpus = resources.get("GPU", 0) if self.task.judge.partition("/")[0] in ASKED else 0
        workers = self.workers or int(gpus or resources.get("CPU", 1))
        numbers = ray.data.from_items(
            [{"chunk": number} for number in chunks], override_num_blocks=min(len(chunks), _MOST_BLOCKS)
        )
        return numbers.map_batches(
            Worker,
            fn_constructor_args=(asdict(self.task),),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=min(workers, len(chunks))),
            num_cpus=1,
            num_gpus=gpus / workers if gpus else None,
        )


@contextmanager
def _cluster(workers: int | None) -> Iterator[Any]:
    """Ray, connected to the cluster that ``RAY_ADDRESS`` names or started here on the loopback address; the module."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    import ray
    import ray.data

    ours = not ray.is_initialized()
    if ours:
        try:
            ray.init(
                logging_level="ERROR", log_to_driver=False, **({} if os.environ.get("RAY_ADDRESS") else _here(workers))
            )
        except Exception as failed:  # Ray raises this very class where its processes were too slow to start
            raise RuntimeError(f"it could not be started: {failed}") from failed
    try:
        yield ray
    finally:
        if ours:
            ray.shutdown()


def _here(workers: int | None) -> dict[str, Any]:
    """Options of `ray.init` for a cluster of this machine alone, which asks nothing of the network."""
    cpus = max(os.cpu_count() or 1, workers or 1)
    address = {"address": "local", "_node_ip_address": "127.0.0.1", "include_dashboard": False}
    return {**address, "num_cpus": cpus, "object_store_memory": 100 * 2**20}
