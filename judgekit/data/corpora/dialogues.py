"""Dialogues: messages of two speakers to earlier turns and the last question."""

from judgekit.data.sources import Row, text_key
from judgekit.records import Turn


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


def chat_of(row, field, last):
    """The messages of a chat in a row, checked to alternate; a system message goes before the first question.

    Parameters
    ----------
    row : Row
    field : str
        Holds a list of ``{"role", "content"}``.
    last : {"user", "assistant"}
        Who must have the last word.

    Returns
    -------
    list of (str, str)
        Roles and texts, from the user's first to the last; consecutive messages of one role are joined.

    Raises
    ------
    DataError
        If the field is missing or of another type, or the roles do not alternate or end otherwise.
    """
    said = [Row(message, row.file, row.number) for message in row.checked_list(field, dict, "messages")]
    messages = [(message.text("role"), message.text("content")) for message in said]
    messages = merge_speakers(without_system(messages))
    expected = (["user", "assistant"] * len(messages))[: len(messages)]
    if not messages or [speaker for speaker, _ in messages] != expected or messages[-1][0] != last:
        raise row.error(field, f"does not alternate between user and assistant, from the user to the {last}")
    return messages


def without_system(messages):
    """The messages with a system message, where they begin with one, put before the first question.

    Examples
    --------
    >>> without_system([("system", "Be brief."), ("user", "Hi.")])
    [('user', 'Be brief.\\n\\nHi.')]
    """
    if len(messages) < 2 or messages[0][0] != "system":
        return messages
    (_, system), (speaker, question), *rest = messages
    return [(speaker, f"{system}\n\n{question}" if system.strip() else question), *rest]


def dialogue_fields(messages):
    """What a record of a dialogue asks: the fields ``turns``, ``question`` and ``cluster_id``.

    Parameters
    ----------
    messages : list of (str, str)
        As for `split_dialogue`.
    """
    turns, question = split_dialogue(messages)
    return {"turns": turns, "question": question, "cluster_id": dialogue_key(messages)}


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
