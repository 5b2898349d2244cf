"""The parsers, one per verdict format, by name; verdicts from pairs of scores; JSON objects inside free text."""

import json
import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

LABELS = ("first", "second", "tie")
MOST_STARTS = 64  # braces tried, from the end: a text of braces costs no more than a reply
POSITIONS = {"a": "first", "b": "second", "c": "tie", "1": "first", "2": "second", "tie": "tie"}
NUMBER = r"[0-9]{1,3}(?:\.[0-9]{1,4})?"
# A judge that repeats its instructions ('"[[C]]" for a tie', 'for example: "Rating: [[5]]"') has not judged.
ECHO = re.compile(r'"\[\[[ABC]\]\]"\s+(?:if|for)\b')
BRACKETS = re.compile(r"\[\[\s*([ABC])\s*\]\]")
RATING = re.compile(rf"""(?<!for example: "Rating: )\[\[\s*({NUMBER})\s*\]\]""")
PROMETHEUS = re.compile(rf"\[RESULT\][\s:(]*({NUMBER}|[AB])(?![\w.])")
DECISION = re.compile(r"final decision is\s*:?\s*(?:that\s+)?(response\s+1|response\s+2|tie|a tie)\b", re.IGNORECASE)
# A verdict is a sentence that begins with one of its wordings; 'therefore' and mark-up may stand before it.
OUTPUT = re.compile(
    r"(?:^|[.!?:,]\s+|\b(?:therefore|thus|so|hence|overall|conclude that|believe that|verdict(?: is)?),?\s+)"
    r"[\s*_#>\"'`(]*"
    r"(?:output \(?([ab])\)(?: is (?:the )?better\b|[\s*_\"'`.]*$)|(it is a tie\b|both are equally good\b))",
    re.IGNORECASE,
)
SENTENCE = re.compile(r"output \(?([ab])\)? is (?:the )?better\b|it is a tie\b", re.IGNORECASE)
LETTER = re.compile(r"[\s*_\"'`(\[]*([ABC])[\s*_\"'`)\].,:]*$")


Scale = tuple[float, float]


class Parsed(NamedTuple):
    """A reading of a completion.

    ``verdict`` is first, second or tie; None unless ``status`` is ``ok`` (others: ``unparsed``, ``ambiguous``), and for
    a single score. ``scores``: marks of the first and the second response, or the one mark of a single response.
    """

    verdict: str | None
    status: str
    scores: tuple[float, ...] | None


UNPARSED = Parsed(None, "unparsed", None)
AMBIGUOUS = Parsed(None, "ambiguous", None)


def verdict_of_scores(first: float, second: float, margin: float = 0.0) -> str:
    """The verdict that two single scores imply; scores that differ by no more than ``margin`` are a tie.

    ValueError for NaN, or a negative margin.

    >>> verdict_of_scores(7, 5), verdict_of_scores(7, 6.5, margin=0.5)
    ('first', 'tie')
    """
    if math.isnan(first) or math.isnan(second) or margin < 0:
        raise ValueError(f"scores {first}, {second}, margin {margin}: no verdict from these")
    if abs(first - second) <= margin:
        return "tie"
    return "first" if first > second else "second"


def _decided(matches: list[tuple[int, Any]]) -> Any:
    """What the last line with a match says; `UNPARSED` without any, `AMBIGUOUS` where that line says two things."""
    if not matches:
        return UNPARSED
    values = {value for line, value in matches if line == matches[-1][0]}
    return values.pop() if len(values) == 1 else AMBIGUOUS


def _by_line(pattern: re.Pattern[str], text: str, value: Callable[[re.Match[str]], Any]) -> list[tuple[int, Any]]:
    """Matches of a pattern as (line number, value)."""
    return [(n, value(match)) for n, line in enumerate(text.splitlines()) for match in pattern.finditer(line)]


def _verdict_from(matches: list[tuple[int, Any]]) -> Parsed:
    """`_decided`, as a verdict without scores."""
    verdict = _decided(matches)
    return verdict if isinstance(verdict, Parsed) else Parsed(verdict, "ok", None)


def _parse_brackets(text: str) -> Parsed:
    """``[[A]]``, ``[[B]]``, ``[[C]]``: the assignment's pairwise and reference-guided prompts."""
    return _verdict_from(_by_line(BRACKETS, ECHO.sub("", text), lambda match: POSITIONS[match[1].lower()]))


def _parse_rating(text: str, scale: Scale = (1, 10)) -> Parsed:
    """``Rating: [[n]]``: one score; outside the scale it is unparsed."""
    return _score_from(_by_line(RATING, text, lambda match: float(match[1])), scale)


def _score_from(matches: list[tuple[int, Any]], scale: Scale) -> Parsed:
    """`_decided`, as one score on a scale."""
    score = _decided(matches)
    if isinstance(score, Parsed):
        return score
    return Parsed(None, "ok", (score,)) if scale[0] <= score <= scale[1] else UNPARSED


def _first_line(text: str) -> str:
    """The first line that is not blank, without blanks around it."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _parse_pandalm(text: str) -> Parsed:
    """PandaLM: the first line is ``1``, ``2`` or ``Tie``; the reason follows it."""
    words = _first_line(text).rstrip(".").lower().split()
    said = {POSITIONS[word] for word in words if word in ("1", "2", "tie")}
    if not said or len(words) > 2:
        return UNPARSED
    return AMBIGUOUS if len(said) > 1 else Parsed(said.pop(), "ok", None) if len(words) == 1 else UNPARSED


def _parse_judgelm(text: str, scale: Scale = (0, 10)) -> Parsed:
    """JudgeLM: the first line holds the two scores; more than two is ambiguous."""
    parts = _first_line(text).replace(",", " ").split()
    if len(parts) < 2 or not all(re.fullmatch(NUMBER, part) for part in parts):
        return UNPARSED
    if len(parts) > 2:
        return AMBIGUOUS
    scores = tuple(map(float, parts))
    if not all(scale[0] <= score <= scale[1] for score in scores):
        return UNPARSED
    return Parsed(verdict_of_scores(*scores), "ok", scores)


def _parse_autoj(text: str) -> Parsed:
    """Auto-J on pairs: the last "final decision is Response 1 / Response 2 / Tie"."""
    return _verdict_from(_by_line(DECISION, text, lambda match: POSITIONS[match[1].lower().split()[-1]]))


def _parse_prometheus(text: str, scale: Scale = (1, 5)) -> Parsed:
    """Prometheus: ``[RESULT] n`` rates one response, ``[RESULT] A`` prefers one of two."""
    said = _decided(_by_line(PROMETHEUS, text, lambda match: match[1]))
    if isinstance(said, Parsed):
        return said
    return Parsed(POSITIONS[said.lower()], "ok", None) if said in ("A", "B") else _score_from([(0, float(said))], scale)


def _parse_llmbar(text: str) -> Parsed:
    """LLMBar: "Output (a) is better.", as a sentence of its own; with ties, "It is a tie.".

    A second such sentence on the deciding line, whatever stands before it, makes the reply ambiguous.
    """
    if not re.search("output|tie|equally", text, re.IGNORECASE):
        return UNPARSED
    strict = _by_line(OUTPUT, text, lambda match: POSITIONS[(match[1] or "tie").lower()])
    loose = _by_line(SENTENCE, text, lambda match: POSITIONS[(match[1] or "tie").lower()])
    return _verdict_from(strict + [(line, verdict) for line, verdict in loose if strict and line == strict[-1][0]])


def _parse_letter(text: str) -> Parsed:
    """One letter, and nothing else, on the last line that is not blank."""
    lines = [line for line in text.splitlines() if line.strip()]
    match = LETTER.match(lines[-1]) if lines else None
    return Parsed(POSITIONS[match[1].lower()], "ok", None) if match else UNPARSED


def _parse_json(text: str, scale: Scale = (0, 100)) -> Parsed:
    """The last JSON object with a verdict; marks by response are averaged over aspects.

    ``verdict`` (or ``winner``) is A, B or tie; ``score_a`` and ``score_b``, or objects ``marks_a`` and ``marks_b``,
    are kept as scores. An object without a verdict that holds both scores is read as the verdict they imply. An
    object that holds the same key twice with different values is ambiguous, as are two such objects on one line.
    """
    objects = [(line, _object_verdict(fields, scale)) for line, fields in read_objects(text)]
    return _decided([(line, parsed) for line, parsed in objects if parsed])


def _object_verdict(fields: dict[str, Any] | None, scale: Scale) -> Parsed | None:
    """Reading of one JSON object; None for an object that is about something else."""
    if fields is None:
        return AMBIGUOUS
    first, second = (_mean_mark(fields, side, scale) for side in "ab")
    scores = None if first is None or second is None else (first, second)
    for name in ("verdict", "winner"):
        if name in fields:
            said = fields[name]
            verdict = POSITIONS.get(str(said).strip().lower()) if isinstance(said, (str, int)) else None
            return Parsed(verdict, "ok", scores) if verdict else UNPARSED
    return Parsed(verdict_of_scores(*scores), "ok", scores) if scores else None


def _mean_mark(fields: dict[str, Any], side: str, scale: Scale) -> float | None:
    """Score of one side, the mean of its marks where there are several; None where one is missing or off the scale."""
    given = fields.get(f"score_{side}", fields.get(f"marks_{side}"))
    marks = list(given.values()) if isinstance(given, dict) else [given]
    numbers = [mark for mark in marks if isinstance(mark, (int, float)) and not isinstance(mark, bool)]
    if not marks or len(numbers) < len(marks) or not all(scale[0] <= mark <= scale[1] for mark in numbers):
        return None
    return float(sum(numbers) / len(numbers))


class _Contradiction(ValueError):
    """A JSON object holds a key twice with different values."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object's pairs as a dictionary; the same key twice must have the same value."""
    fields: dict[str, Any] = {}
    for key, value in pairs:
        if key in fields and fields[key] != value:
            raise _Contradiction(key)
        fields[key] = value
    return fields


def read_objects(text: str) -> list[tuple[int, dict[str, Any] | None]]:
    """Outermost JSON objects of a text, each after the number of the line it ends on.

    None stands for one that contradicts itself.

    >>> read_objects('Marks: {"a": 1}, then {"b": [2]}')
    [(0, {'a': 1}), (0, {'b': [2]})]
    """
    starts = [start for start, character in enumerate(text) if character == "{"][-MOST_STARTS:]
    decoder, plain, end = json.JSONDecoder(object_pairs_hook=_once), json.JSONDecoder(), 0
    objects: list[tuple[int, dict[str, Any] | None]] = []
    for start in starts:
        if start < end:
            continue
        fields: dict[str, Any] | None
        try:
            try:
                fields, end = decoder.raw_decode(text, start)
            except _Contradiction:
                fields, end = None, plain.raw_decode(text, start)[1]
        except (ValueError, RecursionError):  # no object here, or one nested beyond all reason
            continue
        objects.append((text.count("\n", 0, end), fields))
    return objects


FORMATS: dict[str, Callable[..., Parsed]] = {
    "brackets": _parse_brackets,
    "rating": _parse_rating,
    "pandalm": _parse_pandalm,
    "judgelm": _parse_judgelm,
    "autoj": _parse_autoj,
    "prometheus": _parse_prometheus,
    "llmbar": _parse_llmbar,
    "letter": _parse_letter,
    "json": _parse_json,
}
