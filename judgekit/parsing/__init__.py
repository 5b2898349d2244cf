"""From what a judge wrote to a verdict, one parser per format.

A parser reads the completion only, never the prompt; it never raises and never guesses.

- The last match decides: judges quote before they conclude.
- Where the line of that last match holds another verdict too (``[[A]] or [[B]]``), nobody can say which was meant:
  status ``ambiguous``.
- No match, a mark outside the scale, or a verdict that the labelling policy does not allow: status ``unparsed``.
- What a reasoning model thought (up to the last ``</think>``) is not its reply; a thought that never ends is no reply.
"""

from judgekit.parsing.formats import FORMATS
from judgekit.parsing.outcome import LABELS, Parsed, verdict_of_scores

__all__ = ["FORMATS", "LABELS", "Parsed", "parse", "reply_part", "verdict_of_scores"]
UNPARSED = Parsed(None, "unparsed", None)


def parse(name, completion, labels=LABELS, reads="all", **options):
    """The verdict of a completion.

    Parameters
    ----------
    name : str
        A key of `FORMATS`.
    completion : str or None
        What the model wrote; None (it wrote nothing) is unparsed.
    labels : sequence of {"first", "second", "tie"}
        Verdicts the labelling policy allows.
    reads : {"all", "first line"}
        Which part of the completion holds the verdict.
    **options
        Of the parser: ``scale`` for formats with marks.

    Returns
    -------
    Parsed
        ``(verdict, status, scores)``.

    Raises
    ------
    KeyError
        If there is no such format.

    Examples
    --------
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


def reply_part(completion):
    """A completion without what a reasoning model thought before it replied.

    Examples
    --------
    >>> reply_part("<think>[[A]]?</think>[[B]]"), reply_part("<think>[[A]]? No,")
    ('[[B]]', '')
    """
    text = completion or ""
    _, ended, reply = text.rpartition("</think>")
    return reply if ended else text.partition("<think>")[0]
