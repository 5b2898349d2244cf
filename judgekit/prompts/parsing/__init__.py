"""From what a judge wrote to a verdict, one parser per format.

A parser reads the completion only, never the prompt; it never raises and never guesses.

- The last match decides: judges quote before they conclude.
- Where the line of that last match holds another verdict too (``[[A]] or [[B]]``), nobody can say which was meant:
  status ``ambiguous``.
- No match, a mark outside the scale, or a verdict that the labelling policy does not allow: status ``unparsed``.
- What a reasoning model thought (up to the last ``</think>``) is not its reply; a thought that never ends is no reply.
"""

from collections.abc import Collection
from typing import Any, Literal

from judgekit.prompts.parsing.formats import FORMATS, LABELS, UNPARSED, Parsed, verdict_of_scores

__all__ = ["FORMATS", "LABELS", "Parsed", "parse", "reply_part", "verdict_of_scores"]


def parse(
    name: str,
    completion: str | None,
    labels: Collection[str] = LABELS,
    reads: Literal["all", "first line"] | str = "all",
    **options: Any,
) -> Parsed:
    """The verdict of a completion, read in one of `FORMATS`; None (the model wrote nothing) is unparsed.

    ``labels``: verdicts the labelling policy allows; ``reads``: the part of the completion that holds the verdict;
    ``options``: of the parser, ``scale`` for formats with marks. KeyError if there is no such format.

    >>> parse("brackets", "A quotes [[B]], but is right.\\n[[A]]")
    Parsed(verdict='first', status='ok', scores=None)
    >>> parse("brackets", "[[A]] or [[B]]?").status
    'ambiguous'
    >>> parse("brackets", "[[C]]", labels=("first", "second")).status
    'unparsed'
    """
    parser = FORMATS[name]
    text = reply_part(completion)
    if reads == "first line":
        text = next((line for line in text.splitlines() if line.strip()), "")
    parsed = parser(text, **options)
    return UNPARSED if parsed.status == "ok" and parsed.verdict not in (None, *labels) else parsed


def reply_part(completion: str | None) -> str:
    """A completion without what a reasoning model thought before it replied.

    >>> reply_part("<think>[[A]]?</think>[[B]]"), reply_part("<think>[[A]]? No,")
    ('[[B]]', '')
    """
    text = completion or ""
    _, ended, reply = text.rpartition("</think>")
    return reply if ended else text.partition("<think>")[0]
