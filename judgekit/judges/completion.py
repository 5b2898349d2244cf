"""A completion, whatever engine made it, and how many tokens a prompt roughly has."""

import math
from dataclasses import dataclass

BYTES_PER_TOKEN = 3  # of UTF-8: more tokens than English or Chinese text really has, so estimates err on the dear side
TOKENS_PER_MESSAGE = 8
CLOSED_TOKENS, OPEN_TOKENS = 32, 1024


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back.

    Attributes
    ----------
    text : str
        Where nothing was generated, the most probable of the replies that were weighed.
    tokens_in, tokens_out : int
        As the engine counted, or estimated where it does not count.
    logprobs : tuple of dict
        Per token ``token`` and ``top_logprobs``; empty where the engine gives none.
    seconds : float
        Of the attempt that succeeded.
    weights : dict or None
        Where replies were weighed instead of generated: probability by what the reply says (a verdict, or a mark),
        conditional on the reply being one of them; they sum to one.
    """

    text: str
    tokens_in: int
    tokens_out: int
    logprobs: tuple = ()
    seconds: float = 0.0
    weights: dict | None = None


def estimated_tokens(messages):
    """Tokens of messages, estimated from their bytes and rather too many."""
    return sum(math.ceil(len(m["content"].encode()) / BYTES_PER_TOKEN) + TOKENS_PER_MESSAGE for m in messages)


def longest_completion(strategy, call):
    """Tokens that a call's completion may have by default: few where the reply is the verdict alone."""
    closed = strategy.closed and call == strategy.calls[-1].name
    return CLOSED_TOKENS if closed else OPEN_TOKENS
