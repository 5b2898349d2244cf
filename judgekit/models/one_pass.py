"""Replies weighed instead of generated: which of a few texts would the model write?

All candidates are tokenised. What they begin with alike is put into the model's mouth (``[[``), and the log-
probabilities of the tokens that follow are added up. A candidate is followed until no other begins alike: in ``[[A]]``
that is the ``A``. Where one is the beginning of another (``[[1`` and ``[[10``), all are followed to their end, so that
the token that closes the shorter one counts.
"""

import math
from dataclasses import dataclass
from functools import cached_property

from judgekit.models.batching import shared_start


@dataclass(frozen=True)
class Plan:
    """How candidates are weighed.

    Attributes
    ----------
    names : tuple
        What the candidates say, e.g. ``"first"`` or a mark.
    texts : tuple of str
    forced : tuple of int
        Token ids that all candidates begin with.
    paths : tuple of tuple of int
        Token ids after those, up to where a candidate is told apart; none is the beginning of another.
    """

    names: tuple
    texts: tuple
    forced: tuple
    paths: tuple

    @cached_property
    def branches(self):
        """Token ids that must be read, beyond the forced ones, to know every path's probability.

        None is the beginning of another; empty where the first token decides.
        """
        inner = sorted({path[:-1] for path in self.paths if len(path) > 1})
        return tuple(a for a in inner if not any(b != a and b[: len(a)] == a for b in inner))

    @cached_property
    def nodes(self):
        """Where the model's next token is looked at: token ids read so far, to the ids of interest there."""
        found = {}
        for path in self.paths:
            for place, token in enumerate(path):
                found.setdefault(path[:place], set()).add(token)
        return {read: tuple(sorted(tokens)) for read, tokens in sorted(found.items())}

    def weights(self, logprobs):
        """Probability of each candidate, conditional on the reply being one of them.

        Parameters
        ----------
        logprobs : sequence of float, shape (n_candidates,)
            Summed over the tokens of each path.

        Returns
        -------
        dict from name to float
            They sum to one.

        Raises
        ------
        ValueError
            If a log-probability is NaN, or none is finite.
        """
        highest = max(logprobs)
        if any(map(math.isnan, logprobs)) or not math.isfinite(highest):
            raise ValueError(f"log-probabilities that are no numbers ({list(logprobs)}): damaged weights?")
        mass = [math.exp(value - highest) for value in logprobs]
        return {name: value / sum(mass) for name, value in zip(self.names, mass, strict=True)}

    def likeliest(self, weights):
        """The text of the most probable candidate."""
        return self.texts[max(range(len(self.names)), key=lambda place: weights[self.names[place]])]


def plan_of(candidates, tokenise):
    """The plan for some candidates.

    Parameters
    ----------
    candidates : dict from name to str
        At least two, all different.
    tokenise : callable
        From a text to token ids and, for each, where it ends in the text.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        If there are fewer than two candidates, or two that the tokenizer cannot tell apart.
    """
    names, texts = tuple(candidates), tuple(candidates.values())
    tokenised = [tokenise(text) for text in texts]
    if len(texts) < 2 or len({tuple(ids) for ids, _ in tokenised}) < len(texts):
        raise ValueError(f"replies to weigh must be two or more that differ in tokens: {list(texts)}")
    if not nested(texts):
        counts = [told_apart(text, ends, texts) for text, (_, ends) in zip(texts, tokenised, strict=True)]
        tokenised = [(ids[:count], None) for count, (ids, _) in zip(counts, tokenised, strict=True)]
    paths = [tuple(ids) for ids, _ in tokenised]
    forced = shared_start(paths)
    return Plan(names, texts, tuple(forced), tuple(path[len(forced) :] for path in paths))


def nested(texts):
    """Whether a text, without the ending that all have alike, is the beginning of another.

    Examples
    --------
    >>> nested(["[[1]]", "[[10]]"]), nested(["[[A]]", "[[B]]"])
    (True, False)
    """
    ending = len(shared_start([text[::-1] for text in texts]))
    stems = [text[: len(text) - ending] for text in texts]
    return any(a is not b and b.startswith(a) for a in stems for b in stems)


def told_apart(text, ends, texts):
    """How many tokens of a text it takes until no other text begins alike."""
    for count, end in enumerate(ends, 1):
        if not any(other != text and other.startswith(text[:end]) for other in texts):
            return count
    return len(ends)
