"""Long inputs: the longest response is cut in its middle, visibly, until the prompt fits."""

LEAST_KEPT = 200  # characters of a response that are always left


class PromptTooLong(ValueError):
    """Even with every response cut to the least, the prompt is longer than the judge may be sent."""


def cut_middle(text, keep):
    """A text without its middle, and how many characters were left out.

    Parameters
    ----------
    text : str
    keep : int
        Characters that stay: half of them from the front (one more where it is odd), half from the end.

    Returns
    -------
    text : str
        With a mark in place of what was left out.
    dropped : int

    Examples
    --------
    >>> cut_middle("abcdefghij", 4)
    ('ab\\n[... 6 characters left out ...]\\nij', 6)
    """
    if len(text) <= keep:
        return text, 0
    tail = keep // 2
    dropped = len(text) - keep
    return f"{text[: keep - tail]}\n[... {dropped:,} characters left out ...]\n{text[len(text) - tail :]}", dropped


def fit(responses, build, measure, limit):
    """Cut responses until what is built from them is short enough.

    Parameters
    ----------
    responses : dict of str to str
        What may be cut.
    build : callable
        From responses to what is measured, e.g. messages.
    measure : callable
        From what was built to its size: characters, or the tokens of a model.
    limit : int or None
        Largest size allowed; None for no limit.

    Returns
    -------
    built : object
    dropped : int
        Characters left out of all responses.

    Raises
    ------
    PromptTooLong
        If `LEAST_KEPT` characters of each response are still too much.

    Notes
    -----
    The longest response is cut to the length of the second longest, then both, and so on: in the end all responses
    that were cut keep the same number of characters. The rule looks at lengths only, so it treats both positions
    alike. Questions and references are never cut.
    """
    built = build(responses)
    if limit is None or measure(built) <= limit:
        return built, 0
    low, high = LEAST_KEPT, max(map(len, responses.values()), default=0)
    best = cut_all(responses, low)
    if measure(build(best[0])) > limit:
        raise PromptTooLong(
            f"the prompt has {measure(build(best[0])):,} units with every response cut to {low} characters; "
            f"{limit:,} are allowed"
        )
    while high - low > 1:
        middle = (low + high) // 2
        tried = cut_all(responses, middle)
        if measure(build(tried[0])) <= limit:
            low, best = middle, tried
        else:
            high = middle
    return build(best[0]), best[1]


def cut_all(responses, keep):
    """Every response cut to at most ``keep`` characters, and how many were left out."""
    cut = {name: cut_middle(text, keep) for name, text in responses.items()}
    return {name: text for name, (text, _) in cut.items()}, sum(dropped for _, dropped in cut.values())
