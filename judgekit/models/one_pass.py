"""Replies weighed instead of generated: which of a few texts would the model write?

What all candidates begin with is put into the model's mouth (``[[``), and the log-probabilities of the tokens that
follow are added up, until no other candidate begins alike: in ``[[A]]`` that is the ``A``. Where one is the beginning
of another (``[[1`` and ``[[10``), all are followed to their end, so that the token that closes the shorter one counts.
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from judgekit.models import Unavailable

Tokens = tuple[int, ...]


def shared_start(sequences: Sequence[Any]) -> Any:
    """What all of some sequences (texts, or tuples) begin with."""
    return os.path.commonprefix(list(sequences))  # noqa: RUF071 - it takes any sequences, not paths alone


@dataclass(frozen=True)
class Plan:
    """How candidates are weighed: what each says (a name), its text, and its tokens after those that all share."""

    names: tuple[Any, ...]
    texts: tuple[str, ...]
    forced: Tokens  # that all candidates begin with
    paths: tuple[Tokens, ...]  # up to where a candidate is told apart; none is the beginning of another

    @cached_property
    def branches(self) -> tuple[Tokens, ...]:
        """Tokens to read beyond the forced ones so that every path's probability is known; none begins another."""
        inner = sorted({path[:-1] for path in self.paths if len(path) > 1})
        return tuple(a for a in inner if not any(b != a and b[: len(a)] == a for b in inner))

    @cached_property
    def nodes(self) -> dict[Tokens, Tokens]:
        """Where the model's next token is looked at: tokens read so far, to the tokens of interest there."""
        nodes: dict[Tokens, set[int]] = {}
        for path in self.paths:
            for n, token in enumerate(path):
                nodes.setdefault(path[:n], set()).add(token)
        return {start: tuple(sorted(nodes[start])) for start in sorted(nodes)}

    def weights(self, logprobs: Sequence[float]) -> dict[Any, float]:
        """Probability of each candidate given that the reply is one of them, from summed log-probabilities.

        ValueError where one is NaN or none is finite.
        """
        highest = max(logprobs)
        if any(map(math.isnan, logprobs)) or not math.isfinite(highest):
            raise ValueError(f"log-probabilities that are no numbers ({list(logprobs)}): damaged weights?")
        mass = [math.exp(value - highest) for value in logprobs]
        return {name: value / sum(mass) for name, value in zip(self.names, mass, strict=True)}

    def likeliest(self, weights: Mapping[Any, float]) -> str:
        """The text of the most probable candidate."""
        return max(zip(self.names, self.texts, strict=True), key=lambda candidate: weights[candidate[0]])[1]


def plan_of(candidates: Mapping[Any, str], tokenise: Callable[[str], tuple[list[int], list[int]]]) -> Plan:
    """The plan for candidates by name; ``tokenise`` gives token ids, and where each ends in the text.

    Unavailable where there are fewer than two, or two that the tokenizer cannot tell apart.
    """
    texts = tuple(candidates.values())
    tokenised = [tokenise(text) for text in texts]
    paths = [tuple(ids) for ids, _ in tokenised]
    if len(texts) < 2 or len(set(paths)) < len(texts):
        raise Unavailable(f"replies to weigh must be two or more that differ in tokens: {list(texts)}")
    ending = len(shared_start([text[::-1] for text in texts]))
    stems = [text[: len(text) - ending] for text in texts]
    if not any(a is not b and b.startswith(a) for a in stems for b in stems):
        for row, (text, (_, ends)) in enumerate(zip(texts, tokenised, strict=True)):
            others = [other for other in texts if other != text]
            shared = sum(1 for end in ends if any(other.startswith(text[:end]) for other in others))
            paths[row] = paths[row][: shared + 1]
    forced = shared_start(paths)
    return Plan(tuple(candidates), texts, forced, tuple(path[len(forced) :] for path in paths))
