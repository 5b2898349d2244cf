"""Which pairs can be attacked, and which of their responses is."""

import hashlib


def worse_side(pair):
    """The field of the response that people preferred less."""
    return {"A": "response_b", "B": "response_a"}[pair.label]


def attackable(pairs, limit=None):
    """The pairs that an attack can turn: those with a decided label, two different responses and a worse one to edit.

    Parameters
    ----------
    pairs : list of PreferencePair
    limit : int, optional
        At most this many, drawn by a hash of their ids; a prompt gives a second one only after all have given one.

    Returns
    -------
    list of PreferencePair
        In the order given.
    """
    usable = [pair for pair in pairs if pair.label in ("A", "B") and pair.response_a.strip() != pair.response_b.strip()]
    usable = [pair for pair in usable if getattr(pair, worse_side(pair)).strip()]
    if limit is None or len(usable) <= limit:
        return usable
    drawn = sorted(usable, key=lambda pair: hashlib.sha256(f"attack:{pair.item_id}".encode()).hexdigest())
    seen, ranked = {}, []
    for place, pair in enumerate(drawn):
        seen[pair.cluster] = seen.get(pair.cluster, 0) + 1
        ranked.append((seen[pair.cluster], place, pair.item_id))
    kept = {item for *_, item in sorted(ranked)[:limit]}
    return [pair for pair in usable if pair.item_id in kept]
