"""Calls of a function that goes on as before: what is noted of each, and an end at one of them."""


class Interrupted(Exception):
    """Stands for the end of a process."""


def watched(monkeypatch, owner, name, note=lambda *args, **kwargs: args, end_at=None, end=Interrupted):
    """A list of what is noted of each call of a class's, an object's or a module's function.

    The call of number ``end_at`` (from 1) is noted, and ends with an exception instead.
    """
    given, noted = getattr(owner, name), []

    def call(*args, **kwargs):
        noted.append(note(*args, **kwargs))
        if len(noted) == end_at:
            raise end
        return given(*args, **kwargs)

    monkeypatch.setattr(owner, name, call)
    return noted
