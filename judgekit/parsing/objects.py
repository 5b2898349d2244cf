"""JSON objects inside free text."""

import json

MOST_STARTS = 64  # braces tried, from the end: a text of braces costs no more than a reply


class TwiceSaid(ValueError):
    """A JSON object holds a key twice with different values."""


def once(pairs):
    """An object's pairs as a dictionary; the same key twice must have the same value."""
    fields = {}
    for key, value in pairs:
        if key in fields and fields[key] != value:
            raise TwiceSaid(key)
        fields[key] = value
    return fields


def read_objects(text):
    """Outermost JSON objects of a text.

    Returns
    -------
    list of (int, dict or None)
        Number of the line an object ends on, and its fields; None for one that contradicts itself.

    Examples
    --------
    >>> read_objects('Marks: {"a": 1}, then {"b": [2]}')
    [(0, {'a': 1}), (0, {'b': [2]})]
    """
    starts = [place for place, character in enumerate(text) if character == "{"][-MOST_STARTS:]
    decoder, plain, found, end = json.JSONDecoder(object_pairs_hook=once), json.JSONDecoder(), [], 0
    for start in starts:
        if start < end:
            continue
        try:
            try:
                fields, end = decoder.raw_decode(text, start)
            except TwiceSaid:
                fields, end = None, plain.raw_decode(text, start)[1]
        except (ValueError, RecursionError):  # no object here, or one nested beyond all reason
            continue
        found.append((text.count("\n", 0, end), fields))
    return found
