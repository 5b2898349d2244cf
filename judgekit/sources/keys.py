"""Keys derived from content: of a prompt, and of the side a response is put on."""

import hashlib


def text_key(text):
    """A short key of a text: equal for equal texts, 16 hexadecimal digits.

    Examples
    --------
    >>> text_key("How are you?") == text_key("How are you?")
    True
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def heads(item_id):
    """A fair coin that always falls the same way for the same item.

    Corpora that list the better response first are turned by it, so that no judge can learn the label from the
    position; and the same row is turned the same way in every run.
    """
    return hashlib.sha256(f"side:{item_id}".encode("utf-8", "surrogatepass")).digest()[0] % 2 == 0
