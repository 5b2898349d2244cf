"""Settings of judges that are asked by a strategy: read from a name and from ``NAME=VALUE`` texts."""

from dataclasses import fields

from judgekit.models.errors import Unavailable

DEFAULT = "pairwise"  # the assignment's prompt


def read_settings(kind, given):
    """Settings from names and values, values possibly as text (from a command line).

    Parameters
    ----------
    kind : dataclass
        Its fields are the settings there are.
    given : dict of str to object

    Raises
    ------
    Unavailable
        If a name is unknown or a value has the wrong type.
    """
    kinds = {item.name: item.type for item in fields(kind)}
    if unknown := sorted(set(given) - set(kinds)):
        raise Unavailable(f"no setting is called {unknown[0]!r}; there are {', '.join(kinds)}")
    values = {}
    for name, value in given.items():
        wanted = next(k for k in (bool, int, float, str) if k in getattr(kinds[name], "__args__", (kinds[name],)))
        try:
            if isinstance(value, str) and wanted is not str:
                value = {"true": True, "false": False}[value.lower()] if wanted is bool else wanted(value)
        except (KeyError, ValueError):
            raise Unavailable(f"{name}={value!r} is not of type {wanted.__name__}") from None
        values[name] = value
    return kind(**values)


def named_settings(name, settings=None):
    """A model and its settings from a judge's name without the provider: after ``#`` a strategy and ``-strict``.

    Returns
    -------
    model : str
    given : dict of str to object

    Raises
    ------
    Unavailable
        If a setting contradicts the name.

    Examples
    --------
    >>> named_settings("gpt-4o#cot-strict")
    ('gpt-4o', {'strategy': 'cot', 'policy': 'strict'})
    """
    model, marked, asked = name.partition("#")
    given = dict(settings or {})
    if marked:
        named = {"strategy": asked.removesuffix("-strict")} | (
            {"policy": "strict"} if asked.endswith("-strict") else {}
        )
        if clash := [name for name in named if name in given and given[name] != named[name]]:
            raise Unavailable(f"the judge's name says {clash[0]} {named[clash[0]]!r}, the settings another")
        given |= named
    return model, given


def judge_name(provider, model, settings):
    """Name of a judge: provider and model, and the strategy where it is not the assignment's."""
    asked = settings.strategy + ("-strict" if settings.policy == "strict" else "")
    return f"{provider}/{model}" + ("" if asked == DEFAULT else f"#{asked}")
