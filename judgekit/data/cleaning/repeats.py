"""Items that stand in the data more than once: word for word, nearly, or with contradicting labels."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence

from judgekit.data.cleaning.filters import Dropped, Item, Reason, Sifted, drop, sift
from judgekit.data.cleaning.texts import FORMS, N_PERMUTATIONS, minhash, normalise, similarity


def texts_of(item: Item, form: str = "words") -> list[str]:
    """Question with its earlier turns in one of `FORMS`, and the responses in an order that orientation keeps."""
    asked = " ".join([*(turn.question for turn in item.turns), item.question])
    return [FORMS[form](asked), *sorted(map(FORMS[form], item.responses))]


def content_key(item: Item, form: str = "words") -> str:
    """Key of an item's content whatever its orientation; ``form``: one of `FORMS`, by which texts are the same."""
    return hashlib.sha256("\x1f".join(texts_of(item, form)).encode("utf-8", "replace")).hexdigest()


def n_repeats(items: Iterable[Item], form: str = "exact") -> int:
    """How many items repeat an earlier one, by one of `FORMS`."""
    keys = [content_key(item, form) for item in items]
    return len(keys) - len(set(keys))


def n_shared_questions(items: Iterable[Item], others: Iterable[Item], form: str = "exact") -> int:
    """How many different questions also stand among others, by one of `FORMS`."""
    asked, known = ({FORMS[form](item.question) for item in group} for group in (items, others))
    return len(asked & known)


def oriented_label(item: Item) -> str | None:
    """The label of a pair with its responses in alphabetical order; None for a single response."""
    responses = item.responses
    if len(responses) == 1:
        return None
    straight = normalise(responses[0]) <= normalise(responses[1])
    return item.label if straight else item.swapped().label


def drop_repeats(items: Iterable[Item]) -> Sifted:
    """Drop exact repeats, and every copy of a pair that was labelled both ways.

    Two annotators may see the same pair: equal labels keep the first copy, unequal decided labels drop all copies
    ("label conflict"), since nothing says which is right.
    """
    groups = defaultdict(list)
    for item in items:
        groups[content_key(item)].append(item)
    kept: list[Item] = []
    dropped: list[Dropped] = []
    for group in groups.values():
        first = group[0]
        if {"A", "B"} <= {oriented_label(item) for item in group}:
            dropped += [drop(item, "label conflict", first.item_id) for item in group]
            continue
        kept.append(first)
        dropped += [drop(item, "exact repeat", first.item_id) for item in group[1:]]
    return kept, dropped


class NearTexts:
    """Texts by number, where nearly equal texts share one.

    MinHash (Broder 1997) proposes and the exact similarity decides. A text is compared once however many items hold
    it. ``min_jaccard``: Jaccard similarity of 3-word shingles, in [0, 1], from which two texts are nearly equal.
    """

    def __init__(self, min_jaccard: float) -> None:
        from datasketch import MinHashLSH

        self.min_jaccard = min_jaccard
        self.numbers: dict[str, int] = {}
        self.texts: list[str] = []
        self.near = MinHashLSH(threshold=min_jaccard, num_perm=N_PERMUTATIONS)

    def number(self, text: str) -> int:
        """The number of the first text that this normalised one nearly equals; a new one where there is none."""
        if text not in self.numbers:
            self.numbers[text] = self._find(text)
        return self.numbers[text]

    def _find(self, text: str) -> int:
        signature = minhash(text)
        for number in sorted(self.near.query(signature)):
            if similarity(text, self.texts[number]) >= self.min_jaccard:
                return number
        self.near.insert(len(self.texts), signature, check_duplication=False)
        self.texts.append(text)
        return len(self.texts) - 1


def drop_near_repeats(items: Sequence[Item], min_jaccard: float = 0.9) -> Sifted:
    """Drop items whose question and responses each nearly repeat those of an earlier item (`NearTexts`)."""
    near, first = NearTexts(min_jaccard), dict[tuple[int, ...], Item]()

    def repeats(item: Item) -> Reason:
        question, *responses = map(near.number, texts_of(item))
        earlier: Item = first.setdefault((question, *sorted(responses)), item)
        return None if earlier is item else ("near repeat", f"{earlier.benchmark}/{earlier.item_id}")

    return sift(items, repeats)
