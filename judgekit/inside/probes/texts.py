"""The text that a probe's hidden states are read from."""


def rated_text(question, response):
    """A question and a response as one text, the same for every aspect: one forward pass serves them all.

    Parameters
    ----------
    question, response : str
        Joined as they are; nothing in them is interpreted.

    Examples
    --------
    >>> rated_text("Why?", "Because.")
    'Question:\\nWhy?\\n\\nResponse:\\nBecause.'
    """
    return "Question:\n" + question + "\n\nResponse:\n" + response
