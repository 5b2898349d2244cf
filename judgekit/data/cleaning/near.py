"""Texts that are nearly the same: MinHash (Broder 1997) proposes, and the exact similarity decides."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from zlib import crc32

from judgekit.data.cleaning.texts import MIN_BLOCK, folded, normalise, variants

GRAM = 8  # words per n-gram of the contamination check
_LINES = 200  # of a question that are looked at for a test question at its end: each is tried as its first
MAX_OVERLAP = 0.3  # largest share of a question's n-grams that may occur in test questions
SHINGLE = 3  # words per shingle of the near-duplicate checks
N_PERMUTATIONS = 128
MIN_JACCARD = 0.7  # estimated similarity of shingles from which two questions are near duplicates
# Share of words in common from which two are near; of shingles, each of two changes in twenty words breaks three.
MIN_WORDS_SHARED = 0.8
CANDIDATE = 0.6  # where MinHash begins to look: below the limit, since the exact share decides

Reason = tuple[str, str] | None  # why an item goes, and what it clashed with


def grams(text: str, size: int) -> set[str]:
    """Set of word n-grams of a normalised text; the whole text when it is shorter."""
    words = text.split()
    if len(words) < size:
        return {text} if text else set()
    return {" ".join(words[i : i + size]) for i in range(len(words) - size + 1)}


@lru_cache(maxsize=1)
def _empty_signature() -> Any:
    """The signature of nothing; drawing its permutations takes longer than most texts do, so it is made once."""
    from datasketch import MinHash

    # CRC-32 instead of SHA-1: the permutations do the mixing, and hashing is the rest of the time.
    return MinHash(num_perm=N_PERMUTATIONS, seed=1, hashfunc=crc32)


def minhash(text: str, size: int = SHINGLE) -> Any:
    """MinHash signature of a normalised text over shingles of ``size`` words."""
    signature = _empty_signature().copy()
    signature.update_batch([gram.encode("utf-8", "replace") for gram in grams(text, size)])
    return signature


def similarity(text: str, other: str, size: int = SHINGLE) -> float:
    """Jaccard similarity in [0, 1] of the shingles of two normalised texts; 1 for two empty ones."""
    ours, theirs = grams(text, size), grams(other, size)
    return len(ours & theirs) / len(ours | theirs) if ours or theirs else 1.0


class NearTexts:
    """Texts by number, where nearly equal texts share one; a text is compared once however many items hold it.

    ``min_jaccard``: Jaccard similarity of 3-word shingles, in [0, 1], from which two texts are nearly equal.
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
            signature, new = minhash(text), len(self.texts)
            near = sorted(self.near.query(signature))
            self.numbers[text] = next((n for n in near if similarity(text, self.texts[n]) >= self.min_jaccard), new)
            if self.numbers[text] == new:
                self.near.insert(new, signature, check_duplication=False)
                self.texts.append(text)
        return self.numbers[text]


class QuestionIndex:
    """Test questions, each after where it stands: answers whether another question is one of them or near one."""

    def __init__(self, questions: Iterable[tuple[str, str]]) -> None:
        from datasketch import MinHashLSH

        self.places: dict[str, str] = {}
        self.grams: set[str] = set()
        self.known: dict[str, Reason] = {}
        self.near = MinHashLSH(threshold=MIN_JACCARD, num_perm=N_PERMUTATIONS)
        self.near_words = MinHashLSH(threshold=CANDIDATE, num_perm=N_PERMUTATIONS)
        for place, question in questions:
            for form in sorted(variants(question) - self.places.keys()):
                self.places[form] = place
                self.near.insert(form, minhash(form))
                self.near_words.insert(form, minhash(form, 1))
                if len(form.split()) >= GRAM:
                    self.grams |= grams(form, GRAM)

    def match(self, question: str) -> Reason:
        """Reason and detail for one question, None when it is clean; each question is looked up once."""
        if question not in self.known:
            self.known[question] = self._find(sorted(variants(question))) or self._find_last(question)
        return self.known[question]

    def _find_last(self, question: str) -> Reason:
        """A test question of six words or more in the last lines, below others, such as a system prompt."""
        lines = [words for line in question.splitlines()[-_LINES:] if (words := normalise(folded(line)))]
        ends = (" ".join(lines[start:]) for start in range(1, len(lines)))
        found = (self.places[end] for end in ends if end in self.places and len(end.split()) >= MIN_BLOCK)
        return next((("test question", place) for place in found), None)

    def _find(self, forms: list[str]) -> Reason:
        """The first that applies: the same text, a large share of n-grams in common, a near duplicate."""
        for form in forms:
            if form in self.places:
                return "test question", self.places[form]
        for own in (grams(form, GRAM) for form in forms if len(form.split()) >= GRAM):
            overlap = len(own & self.grams) / len(own)
            if overlap > MAX_OVERLAP:
                return "test n-grams", f"{overlap:.2f} of its {GRAM}-grams"
        for form in forms:
            hits = self.near.query(minhash(form))
            if len(form.split()) >= MIN_BLOCK:  # long enough for words in common to mean anything
                likely = self.near_words.query(minhash(form, 1))
                hits += [hit for hit in likely if similarity(form, hit, 1) >= MIN_WORDS_SHARED]
            if hits:
                return "near a test question", self.places[min(hits)]
        return None
