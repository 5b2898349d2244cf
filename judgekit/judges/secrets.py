"""A key that shows itself to nobody but the server it is for."""

import re

KEY_LIKE = re.compile(r"\b(?:sk|pk|hf|gsk|xai)[-_][A-Za-z0-9_*.-]{8,}")
HIDDEN = "[key]"
SHORTEST = 8  # characters: "EMPTY" or "x" for a server that wants no key is no secret, and stands in many texts


class Secret:
    """A text that is not printed, not pickled, and taken out of what is kept.

    Examples
    --------
    >>> key = Secret("sk-0123456789")
    >>> key, f"{key}", key.redacted("Incorrect key: sk-0123456789")
    (Secret, 'Secret', 'Incorrect key: [key]')
    """

    __slots__ = ("__text",)

    def __init__(self, text):
        self.__text = text

    def reveal(self):
        """The text itself, for the header of a request and nothing else."""
        return self.__text

    def redacted(self, text, alike=True):
        """A text without the key; and, with ``alike``, without what looks like one that a server echoed in part."""
        without = text.replace(self.__text, HIDDEN) if len(self.__text) >= SHORTEST else text
        return KEY_LIKE.sub(HIDDEN, without) if alike else without

    def __repr__(self):
        return "Secret"

    __str__ = __repr__

    def __format__(self, spec):
        return repr(self)

    def __reduce__(self):
        raise TypeError("a secret is not written down")
