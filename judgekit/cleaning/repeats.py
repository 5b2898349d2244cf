"""Items that stand in the data more than once: word for word, nearly, or with contradicting labels."""

import hashlib
from collections import defaultdict

from judgekit.cleaning.dropping import drop, responses_of
from judgekit.cleaning.texts import N_PERMUTATIONS, minhash, normalise, similarity


def texts_of(item):
    """Normalised question with its earlier turns, and the responses in an order that orientation does not change."""
    asked = " ".join([*(turn.question for turn in item.turns), item.question])
    return [normalise(asked), *sorted(map(normalise, responses_of(item)))]


def content_key(item):
    """Key of an item's content whatever its orientation."""
    return hashlib.sha256("\x1f".join(texts_of(item)).encode("utf-8", "replace")).hexdigest()


def oriented_label(item):
    """The label of a pair with its responses in alphabetical order; None for a single response."""
    responses = responses_of(item)
    if len(responses) == 1:
        return None
    straight = normalise(responses[0]) <= normalise(responses[1])
    return item.label if straight else item.swapped().label


def drop_repeats(items):
    """Drop exact repeats, and every copy of a pair that was labelled both ways.

    Two annotators may see the same pair: equal labels keep the first copy, unequal decided labels drop all copies
    ("label conflict"), since nothing says which is right.

    Parameters
    ----------
    items : list of PreferencePair or of Response
    """
    groups = defaultdict(list)
    for item in items:
        groups[content_key(item)].append(item)
    kept, dropped = [], []
    for group in groups.values():
        first = group[0]
        if {"A", "B"} <= {oriented_label(item) for item in group}:
            dropped += [drop(item, "label conflict", first.item_id) for item in group]
            continue
        kept.append(first)
        dropped += [drop(item, "exact repeat", first.item_id) for item in group[1:]]
    return kept, dropped


def drop_near_repeats(items, min_jaccard=0.9):
    """Drop items whose question and responses all nearly repeat an earlier item.

    MinHash (Broder 1997) over all texts of an item proposes, and the exact similarity of each single text decides:
    two pairs that share a long response and differ in a short one are no repeats.

    Parameters
    ----------
    items : list of PreferencePair or of Response
    min_jaccard : float
        Jaccard similarity of 3-word shingles, in [0, 1], that each text must reach.
    """
    from datasketch import MinHashLSH

    kept, dropped = [], []
    near = MinHashLSH(threshold=min_jaccard, num_perm=N_PERMUTATIONS)
    seen = []
    for item in items:
        texts = texts_of(item)
        signature = minhash(" ".join(texts))
        earlier = next((n for n in sorted(near.query(signature)) if all_near(texts, seen[n][1], min_jaccard)), None)
        if earlier is not None:
            dropped.append(drop(item, "near repeat", seen[earlier][0]))
            continue
        near.insert(len(seen), signature, check_duplication=False)
        seen.append((f"{item.benchmark}/{item.item_id}", texts))
        kept.append(item)
    return kept, dropped


def all_near(texts, others, min_jaccard):
    """Whether each text is near the one in its place."""
    return len(texts) == len(others) and all(
        similarity(text, other) >= min_jaccard for text, other in zip(texts, others, strict=True)
    )
