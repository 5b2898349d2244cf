"""``replay/...``: judges whose verdicts were published; replaying them costs nothing."""

from collections.abc import Sequence

from judgekit.data.benchmarks import outputs
from judgekit.judges import Request, UnknownJudge
from judgekit.judges.base import reply_again
from judgekit.judges.baseline import RuleJudge
from judgekit.records import Reply, Verdict, fingerprint_of


class ReplayJudge(RuleJudge):
    """A judge that repeats stored verdicts, at most one per item and order; status ``error`` where there is none."""

    sees_item = True

    def __init__(self, name: str, verdicts: Sequence[Verdict]) -> None:
        self.name, self._rule = name, self._stored
        self.stored = {(verdict.item_id, verdict.order): verdict for verdict in verdicts}
        if len(self.stored) != len(verdicts):
            raise ValueError(f"{name}: {len(verdicts)} verdicts for {len(self.stored)} (item, order) cells")
        rows = sorted([v.item_id, v.order, v.verdict or "", v.raw or "", v.score_a, v.score_b] for v in verdicts)
        self.fingerprint = fingerprint_of("replay", 2, name, rows)
        self.orders = tuple(sorted({verdict.order for verdict in verdicts}))

    def _stored(self, request: Request) -> Reply:
        if stored := self.stored.get((request.item_id, request.order)):
            return reply_again(stored)
        why = f"no stored verdict for {request.item_id} in order {request.order}"
        return Reply(None, status="error", raw=why)


def load_replay(name: str) -> ReplayJudge:
    """The replay judge of a name, with its verdicts read from the published outputs; UnknownJudge without any."""
    model = name.partition("/")[2]
    if model not in outputs.PUBLISHED:
        known = ", ".join(f"replay/{one}" for one in outputs.PUBLISHED)
        raise UnknownJudge(f"no published verdicts are called {name!r}; there are {known}")
    return ReplayJudge(name, outputs.published_verdicts(model))


def replays_on(name: str) -> list[str]:
    """Names of the replay judges with stored verdicts on a set, whatever kind of set it is.

    >>> replays_on("autoj"), replays_on("alpaca_eval")
    (['replay/auto-j-13b'], [])
    """
    return [f"replay/{model}" for model in outputs.published_on(name)]
