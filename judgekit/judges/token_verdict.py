"""Probabilities of the verdicts, from those of the token that tells them apart."""

import math

from judgekit.parsing.formats import BRACKETS, LETTER, OUTPUT

LETTERS = {
    "brackets": {"first": "A", "second": "B", "tie": "C"},
    "letter": {"first": "A", "second": "B", "tie": "C"},
    "llmbar": {"first": "a", "second": "b"},
}
LAST = {"brackets": BRACKETS, "letter": LETTER, "llmbar": OUTPUT}


def letter_place(name, text):
    """Where the letter stands that decides a reply; None where none does."""
    if name == "letter":
        start = len(text.rstrip().rpartition("\n")[0])
        found = [LETTER.match(text[start:].lstrip("\n"))]
        start += len(text[start:]) - len(text[start:].lstrip("\n"))
        return start + found[0].start(1) if found[0] else None
    places = [match.start(1) for match in LAST[name].finditer(text) if match[1]]
    return places[-1] if places else None


def token_probabilities(name, text, tokens, labels):
    """Probabilities of the verdicts at the token that holds the deciding letter.

    Parameters
    ----------
    name : str
        Format of the reply. Where a verdict has no letter of its own there (a tie in ``llmbar``), nothing can be read.
    text : str
        The completion.
    tokens : sequence of dict
        ``token`` and ``top_logprobs``, a list of ``token`` and ``logprob`` (natural), as an OpenAI-compatible server
        gives them.
    labels : sequence of {"first", "second", "tie"}
        Verdicts that the policy allows.

    Returns
    -------
    dict of str to float, or None
        Verdict to probability; they sum to one. A verdict that is not among the tokens listed has probability 0. None
        where the tokens do not spell the text, or hold no verdict.

    Notes
    -----
    The mass of tokens that are no verdict is left out, so these are conditional on the reply being one.
    """
    letters = LETTERS.get(name, {})
    if not tokens or not set(labels) <= set(letters):
        return None
    place = letter_place(name, text)
    found = None if place is None else token_at(tokens, text, place)
    if found is None:
        return None
    token, offset = found
    mass = {}
    for label in labels:
        wanted = token["token"][:offset] + letters[label] + token["token"][offset + 1 :]
        given = (entry for entry in token.get("top_logprobs") or () if is_entry(entry))
        mass[label] = sum(math.exp(e["logprob"]) for e in given if e["token"].strip() == wanted.strip())
    total = sum(mass.values())
    return {label: value / total for label, value in mass.items()} if total > 0 else None


def compared_marks(first, second, labels):
    """Probabilities of the verdicts, from those of the marks that each response gets by itself.

    Parameters
    ----------
    first, second : dict of float to float
        Mark to probability; each sums to one.
    labels : sequence of {"first", "second", "tie"}
        Verdicts that the policy allows; without a tie, equal marks are left out.

    Returns
    -------
    dict of str to float
        They sum to one. Where ties are not accepted and the marks are certainly equal, both have a half.

    Examples
    --------
    >>> compared_marks({1: 0.5, 10: 0.5}, {1: 1.0}, ("first", "second", "tie"))
    {'first': 0.5, 'second': 0.0, 'tie': 0.5}
    """
    mass = dict.fromkeys(("first", "second", "tie"), 0.0)
    for mark, weight in first.items():
        for other, also in second.items():
            mass["tie" if mark == other else "first" if mark > other else "second"] += weight * also
    total = sum(mass[label] for label in labels)
    return {label: mass[label] / total if total else 1 / len(labels) for label in labels}


def is_entry(entry):
    """Whether an entry of a server's list is a token with a log-probability."""
    return isinstance(entry, dict) and isinstance(entry.get("token"), str) and is_logprob(entry.get("logprob"))


def is_logprob(value):
    """Whether a value can be a log-probability; servers round a little above 0."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value < 0.01


def token_at(tokens, text, place):
    """The token that covers a place of the text, and where in the token that is; None where they do not match."""
    start = 0
    for token in tokens:
        piece = token.get("token") if isinstance(token, dict) else None
        if not isinstance(piece, str) or text[start : start + len(piece)] != piece:
            return None
        if start <= place < start + len(piece):
            return token, place - start
        start += len(piece)
    return None
