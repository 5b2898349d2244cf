"""The parsers, one per verdict format, by name."""

import re

from judgekit.parsing.objects import read_objects
from judgekit.parsing.outcome import AMBIGUOUS, UNPARSED, Parsed, verdict_of_scores

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


def decided(found):
    """The verdict of the last line that holds any.

    Parameters
    ----------
    found : list of (int, object)
        Line number and what stands there, in the order of the text.

    Returns
    -------
    object or Parsed
        What the last line says; `UNPARSED` without any, `AMBIGUOUS` where that line says two things.
    """
    if not found:
        return UNPARSED
    said = {value for line, value in found if line == found[-1][0]}
    return said.pop() if len(said) == 1 else AMBIGUOUS


def by_line(pattern, text, value):
    """Matches of a pattern as (line number, value)."""
    return [(n, value(match)) for n, line in enumerate(text.splitlines()) for match in pattern.finditer(line)]


def verdict_from(found):
    """`decided`, as a verdict without scores."""
    said = decided(found)
    return said if isinstance(said, Parsed) else Parsed(said, "ok", None)


def parse_brackets(text):
    """``[[A]]``, ``[[B]]``, ``[[C]]``: the assignment's pairwise and reference-guided prompts."""
    return verdict_from(by_line(BRACKETS, ECHO.sub("", text), lambda match: POSITIONS[match[1].lower()]))


def parse_rating(text, scale=(1, 10)):
    """``Rating: [[n]]``: one score; outside the scale it is unparsed."""
    return score_from(by_line(RATING, text, lambda match: float(match[1])), scale)


def score_from(found, scale):
    """`decided`, as one score on a scale."""
    said = decided(found)
    if isinstance(said, Parsed):
        return said
    return Parsed(None, "ok", (said,)) if scale[0] <= said <= scale[1] else UNPARSED


def first_line(text):
    """The first line that is not blank, without blanks around it."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def parse_pandalm(text):
    """PandaLM: the first line is ``1``, ``2`` or ``Tie``; the reason follows it."""
    words = first_line(text).rstrip(".").lower().split()
    said = {POSITIONS[word] for word in words if word in ("1", "2", "tie")}
    if not said or len(words) > 2:
        return UNPARSED
    return AMBIGUOUS if len(said) > 1 else Parsed(said.pop(), "ok", None) if len(words) == 1 else UNPARSED


def parse_judgelm(text, scale=(0, 10)):
    """JudgeLM: the first line holds the two scores; more than two is ambiguous."""
    parts = first_line(text).replace(",", " ").split()
    if len(parts) < 2 or not all(re.fullmatch(NUMBER, part) for part in parts):
        return UNPARSED
    if len(parts) > 2:
        return AMBIGUOUS
    scores = tuple(map(float, parts))
    if not all(scale[0] <= score <= scale[1] for score in scores):
        return UNPARSED
    return Parsed(verdict_of_scores(*scores), "ok", scores)


def parse_autoj(text):
    """Auto-J on pairs: the last "final decision is Response 1 / Response 2 / Tie"."""
    return verdict_from(by_line(DECISION, text, lambda match: POSITIONS[match[1].lower().split()[-1]]))


def parse_prometheus(text, scale=(1, 5)):
    """Prometheus: ``[RESULT] n`` rates one response, ``[RESULT] A`` prefers one of two."""
    said = decided(by_line(PROMETHEUS, text, lambda match: match[1]))
    if isinstance(said, Parsed):
        return said
    return Parsed(POSITIONS[said.lower()], "ok", None) if said in ("A", "B") else score_from([(0, float(said))], scale)


def parse_llmbar(text):
    """LLMBar: "Output (a) is better.", as a sentence of its own; with ties, "It is a tie.".

    A second such sentence on the deciding line, whatever stands before it, makes the reply ambiguous.
    """
    if not re.search("output|tie|equally", text, re.IGNORECASE):
        return UNPARSED
    found = by_line(OUTPUT, text, lambda match: POSITIONS[(match[1] or "tie").lower()])
    loose = by_line(SENTENCE, text, lambda match: POSITIONS[(match[1] or "tie").lower()])
    return verdict_from(found + [(line, said) for line, said in loose if found and line == found[-1][0]])


def parse_letter(text):
    """One letter, and nothing else, on the last line that is not blank."""
    lines = [line for line in text.splitlines() if line.strip()]
    match = LETTER.match(lines[-1]) if lines else None
    return Parsed(POSITIONS[match[1].lower()], "ok", None) if match else UNPARSED


def parse_json(text, scale=(0, 100)):
    """The last JSON object with a verdict; marks by response are averaged over aspects.

    ``verdict`` (or ``winner``) is A, B or tie; ``score_a`` and ``score_b``, or objects ``marks_a`` and ``marks_b``,
    are kept as scores. An object without a verdict that holds both scores is read as the verdict they imply. An
    object that holds the same key twice with different values is ambiguous, as are two such objects on one line.
    """
    return decided([(line, said) for line, fields in read_objects(text) if (said := object_verdict(fields, scale))])


def object_verdict(fields, scale):
    """Reading of one JSON object; None for an object that is about something else."""
    if fields is None:
        return AMBIGUOUS
    scores = tuple(mean_mark(fields, side, scale) for side in "ab")
    scores = None if None in scores else scores
    for name in ("verdict", "winner"):
        if name in fields:
            said = fields[name]
            verdict = POSITIONS.get(str(said).strip().lower()) if isinstance(said, (str, int)) else None
            return Parsed(verdict, "ok", scores) if verdict else UNPARSED
    return Parsed(verdict_of_scores(*scores), "ok", scores) if scores else None


def mean_mark(fields, side, scale):
    """Score of one side, the mean of its marks where there are several; None where one is missing or off the scale."""
    given = fields.get(f"score_{side}", fields.get(f"marks_{side}"))
    marks = list(given.values()) if isinstance(given, dict) else [given]
    numbers = [mark for mark in marks if isinstance(mark, (int, float)) and not isinstance(mark, bool)]
    if not marks or len(numbers) < len(marks) or not all(scale[0] <= mark <= scale[1] for mark in numbers):
        return None
    return float(sum(numbers) / len(numbers))


FORMATS = {
    "brackets": parse_brackets,
    "rating": parse_rating,
    "pandalm": parse_pandalm,
    "judgelm": parse_judgelm,
    "autoj": parse_autoj,
    "prometheus": parse_prometheus,
    "llmbar": parse_llmbar,
    "letter": parse_letter,
    "json": parse_json,
}
