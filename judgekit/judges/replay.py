"""``replay/...``: judges whose verdicts were published, or are tracked by a run; replaying them costs nothing."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from judgekit.data.benchmarks import outputs
from judgekit.data.files import replaced, sha256_of
from judgekit.data.paths import known_names
from judgekit.judges import UnknownJudge
from judgekit.judges.base import Judge, Request, reply_again, request_key, request_of
from judgekit.judges.baseline import RuleJudge
from judgekit.records import PreferencePair, Reply, Verdict, fingerprint_of

ABOUT = b"judgekit"  # metadata of the file: the judge's name, fingerprint and decoding, and what it ran on
_KEPT = ("order", "verdict", "p_a", "p_b", "p_tie", "status")  # of a `Verdict`
COLUMNS = ("set", "item", "order", "input", *_KEPT[1:])


class ReplayJudge(RuleJudge):
    """A judge that repeats stored verdicts, at most one per item and order; status ``error`` where there is none."""

    sees_item = True

    def __init__(self, name: str, verdicts: Sequence[Verdict]) -> None:
        self.name = name
        self.stored = {(verdict.item_id, verdict.order): verdict for verdict in verdicts}
        if len(self.stored) != len(verdicts):
            raise ValueError(f"{name}: {len(verdicts)} verdicts for {len(self.stored)} (item, order) cells")
        rows = sorted([v.item_id, v.order, v.verdict or "", v.raw or "", v.score_a, v.score_b] for v in verdicts)
        self.fingerprint = fingerprint_of("replay", 2, name, rows)
        self.orders = tuple(sorted({verdict.order for verdict in verdicts}))  # those that a contest asks it for

    def _rule(self, request: Request) -> Reply:
        if stored := self.stored.get((request.item_id, request.order)):
            return reply_again(stored)
        return Reply(None, status="error", raw=f"no stored verdict for {request.item_id} in order {request.order}")


def load_replay(name: str) -> ReplayJudge:
    """The replay judge of a name, with its verdicts read from the published outputs; UnknownJudge without any."""
    model = name.partition("/")[2]
    if model not in outputs.PUBLISHED:
        known = (f"replay/{one}" for one in outputs.PUBLISHED)
        raise UnknownJudge(f"no published verdicts are called {name!r}; {known_names(name, known)}")
    return ReplayJudge(name, outputs.published_verdicts(model))


def replays_on(name: str) -> list[str]:
    """Names of the replay judges with stored verdicts on a set, whatever kind of set it is.

    >>> replays_on("autoj"), replays_on("alpaca_eval")
    (['replay/auto-j-13b'], [])
    """
    return [f"replay/{model}" for model in outputs.published_on(name)]


class TrackedJudge(RuleJudge):
    """A judge that repeats what a file of `track_verdicts` holds, found by what was shown; status ``error`` without.

    Name and fingerprint are those of the judge that was asked. ValueError where the file is not of this form.
    """

    def __init__(self, path: str | Path) -> None:
        rows, about = _rows_of(path)
        self.path, self.about = Path(path), about
        self.name, self.fingerprint = about["judge"], about["fingerprint"]
        # Of its own: what a store holds of the model, perhaps from another machine, must not stand for what is tracked.
        self.decoding = json.dumps({"tracked": sha256_of(self.path)})
        # By content key: what a store takes, so that a set of which a part is tracked is judged on. Pairs that several
        # sets share stand once, in the order in which the first of them shows them.
        self.replies = {
            row["input"]: reply_again(Verdict(row["item"], self.name, **{field: row[field] for field in _KEPT}))
            for row in rows
        }

    def holds(self, pairs: Sequence[PreferencePair], orders: Sequence[str]) -> bool:
        """Whether every pair was judged in every order."""
        return all(request_key(self, request_of(pair, order)) in self.replies for pair in pairs for order in orders)

    def _rule(self, request: Request) -> Reply:
        none = Reply(None, status="error", raw=f"{self.path.name} holds no verdict on {request.item_id}")
        return self.replies.get(request_key(self, request), none)


def _rows_of(path: str | Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The rows of a file of tracked verdicts, and what it says of itself; ValueError where it is none."""
    from pyarrow.parquet import read_table

    table = read_table(path)
    about = json.loads((table.schema.metadata or {}).get(ABOUT, b"{}"))
    if tuple(table.column_names) != COLUMNS or not {"judge", "fingerprint", "decoding"} <= set(about):
        raise ValueError(f"{path}: no file of tracked verdicts (columns {', '.join(table.column_names)})")
    return table.to_pylist(), about


def is_of(about: Mapping[str, Any], judge: Judge) -> bool:
    """Whether what a file says of itself is said of a judge and its settings; ``dtype`` may be another machine's."""
    kept, asked = (json.loads(text) | {"dtype": None} for text in (about["decoding"], judge.decoding))
    return about["fingerprint"] == judge.fingerprint and kept == asked


def track_verdicts(
    path: str | Path,
    judge: Judge,
    judged: Mapping[str, tuple[Sequence[PreferencePair], Sequence[Verdict]]],
    about: Mapping[str, Any],
) -> None:
    """Write the verdicts of one judge on sets (pairs and verdicts, by set) to a file that `TrackedJudge` reads.

    No text is written. What the file holds of other sets by this judge stays. ``about``: what else it says of itself.
    """
    import pandas as pd  # half a second that a judge does without
    import pyarrow as pa
    from pyarrow.parquet import write_table

    rows: dict[str, tuple[Any, ...]] = {}
    for name, (pairs, verdicts) in judged.items():
        by_id = {pair.item_id: pair for pair in pairs}
        for one in verdicts:
            key = request_key(judge, request_of(by_id[one.item_id], one.order))
            given = (one.verdict, one.p_a, one.p_b, one.p_tie, one.status)
            if one.status != "error":
                rows.setdefault(key, (name, one.item_id, one.order, key, *given))
    held, said = _rows_of(path) if Path(path).is_file() else ([], {})
    if said and is_of(said, judge):
        others = {row["input"]: tuple(row.values()) for row in held if row["set"] not in judged}
        rows = others | rows | others  # a pair that is shared stays with the set that it stands under
    table = pa.Table.from_pandas(pd.DataFrame(list(rows.values()), columns=list(COLUMNS)), preserve_index=False)
    said = {"judge": judge.name, "fingerprint": judge.fingerprint, "decoding": judge.decoding, **about}
    with replaced(Path(path)) as temporary:
        metadata = {ABOUT: json.dumps(said, sort_keys=True).encode()}
        write_table(table.replace_schema_metadata(metadata), temporary, compression="zstd")
