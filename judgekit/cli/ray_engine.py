"""A judge whose requests are answered on the workers of a Ray cluster, or of one that is started on this machine.

Every worker holds a judge of its own. Replies come back piece by piece to the one process that was started, and it puts
them in the verdict store: what is there is finished, whoever was killed.
"""

import os
from collections.abc import Iterator
from typing import Any

from judgekit.cli.files import ROWS
from judgekit.cli.messages import UNEXPECTED, Stop, shortened
from judgekit.judges import ASKED, Judge, Request, load_judge
from judgekit.models import few_kernels
from judgekit.records import Reply
from judgekit.scoring.running import replies_of

PIECE = 512  # requests: what a killed worker loses at most
_RESTARTS, _RETRIES = 100, 4  # of a worker that dies, and of a piece whose worker dies


class Worker:
    """One loaded judge, in a process of Ray's; ``arguments`` are those of `load_judge`, ``key`` that of its replies."""

    def __init__(self, arguments: dict[str, Any], key: tuple[str, str]) -> None:
        few_kernels()
        self.judge = load_judge(**arguments)
        if (found := (self.judge.fingerprint, self.judge.decoding)) != key:
            raise ValueError(f"a worker's {self.judge.name} computes {found[1]}, not {key[1]}: --set dtype names one")
        if hasattr(self.judge, "load"):
            self.judge.load()

    def replies(self, start: int, requests: list[Request], wanted: list[int]) -> dict[int, Reply]:
        """Replies to those wanted of a piece, whose first request has the number ``start``, by number."""
        stream = replies_of(self.judge, requests, wanted)
        return {start + number: reply for replies in stream for number, reply in replies.items()}


class RayJudge:
    """A judge as it was found here, for what its replies depend on, whose requests are answered by workers.

    One worker per GPU (of a language model, where there are any) or processor without ``workers``.
    """

    batch_size = PIECE
    chunk_rows = 32 * ROWS  # of a file, handed out at a time

    def __init__(self, judge: Judge, arguments: dict[str, Any], workers: int | None) -> None:
        self.name, self.fingerprint, self.decoding = judge.name, judge.fingerprint, judge.decoding
        self.sees_item = judge.sees_item
        self._arguments, self._workers = arguments, workers
        self._pool: Any = None

    def judge_stream(self, requests: list[Request], wanted: list[int]) -> Iterator[dict[int, Reply]]:
        """Replies by the number of their request, as workers finish pieces; Stop if Ray gives up."""
        pieces: dict[int, list[int]] = {}  # what is wanted of each, by the number that it begins with
        for number in wanted:
            pieces.setdefault(number // PIECE * PIECE, []).append(number % PIECE)
        if not pieces:
            return
        try:
            self._pool = self._pool or self._started()
            yield from self._pool.map_unordered(
                lambda worker, piece: worker.replies.remote(piece[0], requests[piece[0] :][:PIECE], piece[1]),
                pieces.items(),
            )
        except Exception as gave_up:  # of any class; the last line of a worker's traceback says why
            why = shortened(str(gave_up).strip().rpartition("\n")[2])
            raise Stop(UNEXPECTED, f"Ray gave up ({why}); what was judged is kept") from None

    def _started(self) -> Any:
        """The workers, on the cluster that RAY_ADDRESS names, or else on this machine alone."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray
        from ray.util import ActorPool

        if not ray.is_initialized():
            cpus = max(os.cpu_count() or 1, self._workers or 1)
            # A cluster of this machine alone asks nothing of the network.
            here = {"address": "local", "_node_ip_address": "127.0.0.1", "include_dashboard": False, "num_cpus": cpus}
            try:
                ray.init(logging_level="ERROR", log_to_driver=False, **({} if os.environ.get("RAY_ADDRESS") else here))
            except Exception as failed:  # of any class where its processes were too slow to start
                raise RuntimeError(f"it could not be started: {failed}") from failed
        resources = ray.cluster_resources()
        on_gpu = (*ASKED, "blend", "probe")
        gpus = int(resources.get("GPU", 0)) if self.name.partition("/")[0] in on_gpu else 0
        workers = self._workers or int(gpus or resources.get("CPU", 1))
        each = {"num_cpus": 1, "num_gpus": gpus // workers or (gpus and 1 / -(-workers // gpus))}  # so that all start
        remote = ray.remote(max_restarts=_RESTARTS, max_task_retries=_RETRIES, **each)(Worker)
        return ActorPool([remote.remote(self._arguments, (self.fingerprint, self.decoding)) for _ in range(workers)])
