"""Batches under a budget of tokens, what their shapes leave in memory, and what sequences begin with alike."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

LEAST_SHARED = 8  # tokens at the start of several prompts that are worth reading in advance


def token_batches(keys: Iterable[Any], lengths: Mapping[Any, int], budget: int) -> Iterator[list[Any]]:
    """Consecutive batches of at most ``budget`` tokens, padding included (at least one key each); sort keys by length.

    >>> list(token_batches("abc", {"a": 6, "b": 5, "c": 4}, 12))
    [['a', 'b'], ['c']]
    """
    batch: list[Any] = []
    longest = 0
    for key in keys:
        longest = max(longest, lengths[key])
        if batch and longest * (len(batch) + 1) > budget:
            yield batch
            batch, longest = [], lengths[key]
        batch.append(key)
    if batch:
        yield batch


def shared_start(sequences: Sequence[Any]) -> Any:
    """What all of some sequences (texts, or tuples) begin with.

    >>> shared_start(["[[A]]", "[[B]]"]), shared_start([(1, 2, 3), (1, 2)])
    ('[[', (1, 2))
    """
    return os.path.commonprefix(list(sequences))  # noqa: RUF071 - it takes any sequences, not paths alone


def few_kernels() -> None:
    """Let PyTorch keep few kernels on a processor, unless the environment says how many.

    By default it keeps those of a thousand shapes of batches, about a megabyte each, and a long file has as many.
    """
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(name, "16")
