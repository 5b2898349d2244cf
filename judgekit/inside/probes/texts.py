"""The text that a probe's hidden states are read from."""


def rated_text(question: str, response: str) -> str:
    """A question and a response as one text, the same for every aspect: one forward pass serves them all.

    Joined as they are; nothing in them is interpreted.

    >>> rated_text("Why?", "Because.")
    'Question:\\nWhy?\\n\\nResponse:\\nBecause.'
    """
    return "Question:\n" + question + "\n\nResponse:\n" + response
