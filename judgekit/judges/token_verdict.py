"""Probabilities of the verdicts, from those of the token that tells them apart."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from judgekit.prompts.parsing import BRACKETS, LETTER, OUTPUT

LETTERS = {
    "brackets": {"first": "A", "second": "B", "tie": "C"},
    "letter": {"first": "A", "second": "B", "tie": "C"},
    "llmbar": {"first": "a", "second": "b"},
}
LAST = {"brackets": BRACKETS, "letter": LETTER, "llmbar": OUTPUT}


def token_probabilities(name: str, text: str, tokens: Sequence[Any], labels: Sequence[str]) -> dict[str, float] | None:
    """Probability of each label at the token that holds the deciding letter; they sum to one.

    ``tokens`` as an OpenAI-compatible server gives them: ``token`` and ``top_logprobs``, a list of ``token`` and
    ``logprob`` (natural). A label that is not among the tokens listed has probability 0; the mass of tokens that are no
    label is left out, so these are conditional on the reply being one. None where the tokens do not spell the text or
    hold no verdict, and where a label has no letter of its own in this format (a tie in ``llmbar``).
    """
    letters = LETTERS.get(name, {})
    if not tokens or not set(labels) <= set(letters):
        return None
    position = _letter_position(name, text)
    deciding = None if position is None else _token_at(tokens, text, position)
    if deciding is None:
        return None
    token, offset = deciding
    given = [entry for entry in token.get("top_logprobs") or () if _is_entry(entry)]
    mass = {}
    for label in labels:
        wanted = token["token"][:offset] + letters[label] + token["token"][offset + 1 :]
        mass[label] = sum(math.exp(e["logprob"]) for e in given if e["token"].strip() == wanted.strip())
    total = sum(mass.values())
    return {label: value / total for label, value in mass.items()} if total > 0 else None


def compared_marks(
    first: Mapping[float, float], second: Mapping[float, float], labels: Sequence[str]
) -> dict[str, float]:
    """Probability of each label, from the probabilities of the marks that each response gets by itself.

    Where ties are not accepted, equal marks are left out; if they are certainly equal, both labels have a half.

    >>> compared_marks({1: 0.5, 10: 0.5}, {1: 1.0}, ("first", "second", "tie"))
    {'first': 0.5, 'second': 0.0, 'tie': 0.5}
    """
    mass = dict.fromkeys(("first", "second", "tie"), 0.0)
    for mark, weight in first.items():
        for other, also in second.items():
            mass["tie" if mark == other else "first" if mark > other else "second"] += weight * also
    total = sum(mass[label] for label in labels)
    return {label: mass[label] / total if total else 1 / len(labels) for label in labels}


def _letter_position(name: str, text: str) -> int | None:
    """Where the letter stands that decides a reply; None where none does."""
    if name == "letter":  # the last line, and nothing else on it
        start = len(text.rstrip().rpartition("\n")[0])
        line = text[start:].lstrip("\n")
        match = LETTER.match(line)
        return len(text) - len(line) + match.start(1) if match else None
    positions = [match.start(1) for match in LAST[name].finditer(text) if match[1]]
    return positions[-1] if positions else None


def _token_at(tokens: Sequence[Any], text: str, position: int) -> tuple[dict[str, Any], int] | None:
    """The token that covers a position of the text, and where in the token that is; None where they do not match."""
    start = 0
    for token in tokens:
        piece = token.get("token") if isinstance(token, dict) else None
        if not isinstance(piece, str) or text[start : start + len(piece)] != piece:
            return None
        if start <= position < start + len(piece):
            return token, position - start
        start += len(piece)
    return None


def _is_entry(entry: object) -> bool:
    """Whether an entry of a server's list is a token with a log-probability; servers round a little above 0."""
    if not isinstance(entry, dict) or not isinstance(entry.get("token"), str):
        return False
    value = entry.get("logprob")
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value < 0.01
