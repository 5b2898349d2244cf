"""From what a judge wrote to a verdict, one parser per format, which reads the completion only and never guesses.

The last match decides, because judges quote before they conclude; where its line holds another verdict too, or it
stands by the way and another does not, the status is ``ambiguous``. No match, a mark outside the scale, or a verdict
that the policy does not allow: ``unparsed``. What a reasoning model thought (up to the last ``</think>``) is no reply.
"""

import json
import re
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

LABELS = ("first", "second", "tie")
_MOST_STARTS = 64  # braces tried, from the end: a text of braces costs no more than a reply
_POSITIONS = {"a": "first", "b": "second", "c": "tie", "1": "first", "2": "second", "tie": "tie"}
# A judge that repeats its instructions ('"[[C]]" for a tie', 'for example: "Rating: [[5]]"') has not judged.
_ECHO = re.compile(r'"\[\[[ABC]\]\]"\s+(?:if|for)\b')
# Nor has one that denies a mark ('not [[A]]'), tells of one ('it says [[A]]'), would have given it under other
# conditions, quotes a sentence with one ('"My verdict is [[A]]", it says') or says what others would say.
_DENIED = re.compile(
    r"(?:\b(?:not|never|says|said|claims|claimed|wrote|would have(?! to\b))|n['’]t)\s+(?:[a-z]+\s+){0,2}"
    r"\[\[[^\[\]\n]*\]\]"
)
_OTHERS = re.compile(
    r"\b(?:(?:some|others|many)\s+(?:(?:may|might|would|could)\s+)?(?:say|claim|argue)|wrong\s+to\s+(?:say|claim))\b[^.\n]*",
    re.IGNORECASE,
)
_QUOTED = re.compile('"[^"\n]*"|“[^”\n]*”')
# Where a mark may stand by the way; the verdict, unless another one stands outside of such places.
_ASIDE = re.compile(_QUOTED.pattern + r"|`[^`\n]*`|\([^()\n]*\)|(?<!\w)'[^'\n]*'(?!\w)")
BRACKETS = re.compile(r"\[\[\s*([ABC])\s*\]\]")
_RATING = re.compile(r"""(?<!for example: "Rating: )\[\[\s*([0-9]{1,3}(?:\.[0-9]{1,4})?)\s*\]\]""")
# A verdict is a sentence that begins with one of its wordings; 'therefore' and mark-up may stand before it.
OUTPUT = re.compile(
    r"(?:^|[.!?:,]\s+|\b(?:therefore|thus|so|hence|overall|conclude that|believe that|verdict(?: is)?),?\s+)"
    r"[\s*_#>\"'`(]*"
    r"(?:output \(?([ab])\)(?: is (?:the )?better\b(?! (?:written|worded|formatted|structured|organi[sz]ed))"
    r"|[\s*_\"'`.]*$)|(it is a tie\b|both are equally good\b))",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"output \(?([ab])\)? is (?:the )?better\b|it is a tie\b", re.IGNORECASE)
# Nor is one that is denied, that others might believe, or that is said of another case ('if only length mattered').
_SAID = r"[*_\"'`(]*(?:output|it is a tie|both are)\b[^.,;\n]*"
_UNMEANT = re.compile(
    r"(?:\b(?:not|never|no|nobody|cannot|hardly|(?:one|some|others|many|you)\s+(?:may|might|could))|n['’]t)\s+"
    r"(?:(?!(?:but|so|i|we|and)\b)[a-z]+\s+){0,3}(?:conclude|believe|say|claim|think|true)"
    rf"\s+that,?\s+(?:[a-z]+,?\s+){{0,2}}?{_SAID}"
    rf"|\bif\b(?=[^.,;:\n]{{0,80}}\b(?:only|alone|mattered|counted|were(?! to\b))\b)[^.,;:\n]{{0,80}}, +{_SAID}",
    re.IGNORECASE,
)
LETTER = re.compile(r"[\s*_\"'`(\[]*([ABC])[\s*_\"'`)\].,:]*$")


class Parsed(NamedTuple):
    """A reading of a completion."""

    verdict: str | None  # first, second or tie; None unless the status is ok, and for a single score
    status: str  # ok, unparsed or ambiguous
    scores: tuple[float, ...] | None  # of the first and the second response, or the one of a single response


_UNPARSED = Parsed(None, "unparsed", None)
_AMBIGUOUS = Parsed(None, "ambiguous", None)


def parse(name: str, completion: str | None, labels: Collection[str] = LABELS, reads: str = "all") -> Parsed:
    """The verdict of a completion, read in one of `FORMATS`; None (the model wrote nothing) is unparsed.

    ``labels``: verdicts the labelling policy allows; ``reads``: where the verdict stands, ``all`` or ``first line``.

    >>> parse("brackets", "A quotes [[B]], but is right.\\n[[A]]")
    Parsed(verdict='first', status='ok', scores=None)
    >>> parse("brackets", "[[A]] or [[B]]?").status
    'ambiguous'
    """
    text = reply_part(completion)
    if reads == "first line":
        text = next((line.strip() for line in text.splitlines() if line.strip()), "")
    parsed = FORMATS[name](text)
    return _UNPARSED if parsed.status == "ok" and parsed.verdict not in (None, *labels) else parsed


def reply_part(completion: str | None) -> str:
    """A completion without what a reasoning model thought before it replied.

    >>> reply_part("<think>[[A]]?</think>[[B]]"), reply_part("<think>[[A]]? No,")
    ('[[B]]', '')
    """
    text = completion or ""
    _, ended, reply = text.rpartition("</think>")
    return reply if ended else text.partition("<think>")[0]


def verdict_of_scores(first: float, second: float) -> str:
    """The verdict that two single scores imply; equal scores are a tie."""
    return "tie" if first == second else "first" if first > second else "second"


def _verdict(word: str) -> Parsed:
    """The verdict of a letter; a sentence without one says that both are alike."""
    return Parsed(_POSITIONS.get(word.lower(), "tie"), "ok", None)


def _readings(pattern: re.Pattern[str], text: str, read: Callable[[str], Parsed]) -> list[tuple[int, Parsed]]:
    """What the last group of each match says (or all of it, without one), after the number of its line."""
    lines = enumerate(text.splitlines())
    return [(n, read(match[match.lastindex or 0])) for n, line in lines for match in pattern.finditer(line)]


def _decided(readings: list[tuple[int, Parsed]]) -> Parsed:
    """What the last line with a match says, unless that is two things."""
    last = {parsed for line, parsed in readings if line == readings[-1][0]}
    return last.pop() if len(last) == 1 else _AMBIGUOUS if last else _UNPARSED


def _spoken(pattern: re.Pattern[str], text: str, read: Callable[[str], Parsed]) -> Parsed:
    """What a text's own marks say, unless it says something else by the way."""
    # Marks that it denies or quotes among other words are not its own: a bar for each, that no new ones are joined.
    spoken = _QUOTED.sub(lambda quote: "|" if len(re.findall(r"[^\W\d_]{2,}", quote[0])) > 1 else quote[0], text)
    own = _DENIED.sub("|", _OTHERS.sub("|", spoken))
    whole, bare = (_decided(_readings(pattern, said, read)) for said in (own, _ASIDE.sub("|", own)))
    return _AMBIGUOUS if bare.status == "ok" and bare != whole else whole


def _parse_rating(text: str) -> Parsed:
    """The assignment's prompt on single responses: ``Rating: [[n]]``, from 1 to 10."""
    parsed = _spoken(_RATING, text, lambda mark: Parsed(None, "ok", (float(mark),)))
    return parsed if all(1 <= score <= 10 for score in parsed.scores or ()) else _UNPARSED


def _parse_llmbar(text: str) -> Parsed:
    """LLMBar: "Output (a) is better.", as a sentence of its own; with ties, "It is a tie.".

    A second such sentence on the deciding line, whatever stands before it, makes the reply ambiguous.
    """
    if not re.search("output|tie|equally", text, re.IGNORECASE):
        return _UNPARSED
    text = _UNMEANT.sub("|", _OTHERS.sub("|", text))
    sentences = _readings(OUTPUT, text, _verdict)
    others = [found for found in _readings(_SENTENCE, text, _verdict) if sentences and found[0] == sentences[-1][0]]
    return _decided(sentences + others)


def _parse_letter(text: str) -> Parsed:
    """One letter, and nothing else, on the last line that is not blank."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("```")]
    match = LETTER.match(lines[-1]) if lines else None
    return _verdict(match[1]) if match else _UNPARSED


def _parse_json(text: str) -> Parsed:
    """The last JSON object with a verdict; marks by response are averaged over aspects.

    ``verdict`` (or ``winner``) is A, B or tie; ``score_a`` and ``score_b``, or objects ``marks_a`` and ``marks_b``,
    are kept as scores. An object without a verdict that holds both scores is read as the verdict they imply. An
    object that holds the same key twice with different values is ambiguous, as are two such objects on one line.
    """
    objects = [(line, _object_verdict(fields)) for line, fields in read_objects(text)]
    return _decided([(line, parsed) for line, parsed in objects if parsed])


def _object_verdict(fields: dict[str, Any] | None) -> Parsed | None:
    """Reading of one JSON object; None for an object that is about something else."""
    if fields is None:
        return _AMBIGUOUS
    first, second = (_mean_mark(fields, side) for side in "ab")
    scores = None if first is None or second is None else (first, second)
    for name in ("verdict", "winner"):
        if name in fields:
            said = fields[name]
            verdict = _POSITIONS.get(str(said).strip().lower()) if isinstance(said, (str, int)) else None
            return Parsed(verdict, "ok", scores) if verdict else _UNPARSED
    return Parsed(verdict_of_scores(*scores), "ok", scores) if scores else None


def _mean_mark(fields: dict[str, Any], side: str) -> float | None:
    """Score of one side, the mean of its marks where there are several; None where one is missing or off the scale."""
    given = fields.get(f"score_{side}", fields.get(f"marks_{side}"))
    marks: list[Any] = list(given.values()) if isinstance(given, dict) else [given]
    if not marks or not all(type(mark) in (int, float) and 0 <= mark <= 100 for mark in marks):
        return None
    return float(sum(marks) / len(marks))


def read_objects(text: str) -> list[tuple[int, dict[str, Any] | None]]:
    """Outermost JSON objects of a text, after the number of the line they end on; None where one contradicts itself.

    >>> read_objects('Marks: {"a": 1}, then {"b": [2], "b": 3}')
    [(0, {'a': 1}), (0, None)]
    """
    contradictions: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        contradictions.extend(key for key, value in pairs if fields[key] is not value and fields[key] != value)
        return fields

    decoder, end = json.JSONDecoder(object_pairs_hook=once), 0
    objects: list[tuple[int, dict[str, Any] | None]] = []
    for start in [match.start() for match in re.finditer("{", text)][-_MOST_STARTS:]:
        if start < end:
            continue
        contradictions.clear()
        try:
            fields, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):  # no object here, or one nested beyond all reason
            continue
        objects.append((text.count("\n", 0, end), None if contradictions else fields))
    return objects


FORMATS: dict[str, Callable[[str], Parsed]] = {
    "brackets": lambda text: _spoken(BRACKETS, _ECHO.sub("", text), _verdict),  # [[A]], [[B]], [[C]]: the assignment's
    "rating": _parse_rating,
    "llmbar": _parse_llmbar,
    "letter": _parse_letter,
    "json": _parse_json,
}
