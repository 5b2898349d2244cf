"""Dialogues: messages of two speakers to earlier turns and the last question."""

from judgekit.records import Turn
from judgekit.sources import text_key


def merge_speakers(messages):
    """Messages with consecutive ones of one speaker joined by a blank line.

    Examples
    --------
    >>> merge_speakers([("human", "Hi."), ("human", "Well?"), ("model", "Hello.")])
    [('human', 'Hi.\\n\\nWell?'), ('model', 'Hello.')]
    """
    merged = []
    for speaker, text in messages:
        if merged and merged[-1][0] == speaker:
            text = f"{merged.pop()[1]}\n\n{text}"
        merged.append((speaker, text))
    return merged


def split_dialogue(messages):
    """Earlier turns and last question of messages that begin and end with the person's.

    Parameters
    ----------
    messages : list of (str, str)
        Speaker and text; speakers alternate, and the first message's speaker is the person.

    Returns
    -------
    turns : tuple of Turn
        Both sides share the dialogue up to the last question, so both responses of a turn are the same.
    question : str
    """
    texts = [text for _, text in messages]
    turns = zip(texts[:-1:2], texts[1::2], strict=True)
    return tuple(Turn(question, answer, answer) for question, answer in turns), texts[-1]


def dialogue_key(messages):
    """The cluster of a dialogue: the whole of it, since what is asked depends on what was said."""
    return text_key("\n".join(text for _, text in messages))
