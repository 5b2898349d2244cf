"""Sets by name: from a table of loaders to checked items and a report."""

from judgekit.records import with_counts


def load_named(kind, loaders, name):
    """The items of a named set and its report, as `judgekit.records.with_counts` gives them.

    Parameters
    ----------
    kind : str
        What the loaders load, for the error message.
    loaders : dict of str to function
        Name to a loader without arguments, which returns items and a report of its own.
    name : str

    Raises
    ------
    KeyError
        If there is no such set; the message lists those there are.
    ValueError
        If two items share an id.
    """
    if name not in loaders:
        raise KeyError(f"no {kind} {name!r}; there are {', '.join(loaders)}")
    return with_counts(*loaders[name]())
