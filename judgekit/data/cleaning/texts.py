"""What "the same text" means to the filters: normal forms, n-grams, signatures, similarity."""

import re
from functools import lru_cache
from typing import Any
from zlib import crc32

GRAM = 8  # words per n-gram of the contamination check
SHINGLE = 3  # words per shingle of the near-duplicate checks
N_PERMUTATIONS = 128
MIN_BLOCK = 6  # words from which the first block of a question names its task

# Kana and Han: written without spaces, so each character counts as a word.
UNSPACED = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"


def normalise(text: str) -> str:
    """Lower case, words only: what "the same question" means to the filters.

    >>> normalise("What's  the capital?\\n")
    'what s the capital'
    >>> normalise("首都 is?")
    '首 都 is'
    """
    return " ".join(re.findall(r"\w+", re.sub(f"([{UNSPACED}])", r" \1 ", text.lower())))


def variants(question: str) -> set[str]:
    """Normalised forms under which a question may turn up elsewhere: whole, and its first block.

    Sets differ in whether an instruction's input is part of the question, and whether it is marked by ``Input:`` or
    by a blank line. So the mark does not count, and the first block does when it is long enough to identify the task
    (six words; a Chinese word has about two characters).
    """
    whole = normalise(re.sub(r"(?im)^input:", "", question))
    first = normalise(re.split(r"\n\s*\n|\n(?=input:)", question.strip(), maxsplit=1, flags=re.I)[0])
    length = len(re.findall(r"\S+", first)) - len(re.findall(f"[{UNSPACED}]", first)) / 2
    return ({whole, first} if length >= MIN_BLOCK else {whole}) - {""}


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
    """MinHash signature of a normalised text over shingles of ``size`` words (Broder 1997)."""
    signature = _empty_signature().copy()
    signature.update_batch([gram.encode("utf-8", "replace") for gram in grams(text, size)])
    return signature


def similarity(text: str, other: str, size: int = SHINGLE) -> float:
    """Jaccard similarity in [0, 1] of the shingles of two normalised texts; 1 for two empty ones.

    >>> similarity("a b c d", "a b c e")
    0.3333333333333333
    """
    ours, theirs = grams(text, size), grams(other, size)
    return len(ours & theirs) / len(ours | theirs) if ours or theirs else 1.0
