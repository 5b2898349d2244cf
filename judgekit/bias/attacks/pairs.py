"""Which pairs can be attacked, and which of their responses is."""

import hashlib
from collections.abc import Sequence

from judgekit.records import PreferencePair


def worse_side(pair: PreferencePair) -> str:
    """The field of the response that people preferred less."""
    return {"A": "response_b", "B": "response_a"}[pair.label]  # type: ignore[index]  # KeyError without a label


def attackable(pairs: Sequence[PreferencePair], limit: int | None = None) -> list[PreferencePair]:
    """The pairs that an attack can turn: those with a decided label, two different responses and a worse one to edit.

    In the order given; at most ``limit``, drawn by a hash of their ids, and a prompt gives a second one only after all
    have given one.
    """
    usable = [pair for pair in pairs if pair.label in ("A", "B") and pair.response_a.strip() != pair.response_b.strip()]
    usable = [pair for pair in usable if getattr(pair, worse_side(pair)).strip()]
    if limit is None or len(usable) <= limit:
        return usable
    drawn = sorted(usable, key=lambda pair: hashlib.sha256(f"attack:{pair.item_id}".encode()).hexdigest())
    seen, ranked = {}, []  # type: ignore[var-annotated]  # two names on one line
    for place, pair in enumerate(drawn):
        seen[pair.cluster] = seen.get(pair.cluster, 0) + 1
        ranked.append((seen[pair.cluster], place, pair.item_id))
    kept = {item for *_, item in sorted(ranked)[:limit]}
    return [pair for pair in usable if pair.item_id in kept]
