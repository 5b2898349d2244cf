"""Settings of judges that are asked by a strategy: read from a name and from ``NAME=VALUE`` texts."""

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from judgekit.models.errors import Unavailable

DEFAULT = "pairwise"  # the assignment's prompt
Settings = TypeVar("Settings")


def read_settings(kind: type[Settings], given: Mapping[str, object]) -> Settings:
    """Settings of a dataclass from names and values, values possibly as text (from a command line).

    Unavailable where a name is unknown or a value is not what the field's annotation says.
    """
    names = [item.name for item in fields(kind)]  # type: ignore[arg-type]
    if unknown := sorted(set(given) - set(names)):
        raise Unavailable(f"no setting is called {unknown[0]!r}; there are {', '.join(names)}")
    try:
        return TypeAdapter(kind).validate_python(dict(given))
    except ValidationError as wrong:
        raise Unavailable(_sentence(wrong.errors()[0])) from None


def _sentence(error: Mapping[str, Any]) -> str:
    """What is wrong with a setting, from pydantic's report."""
    context, value = error.get("ctx", {}), error["input"]
    if "error" in context:  # a check of the settings' own, with a sentence of its own
        return str(context["error"])
    name = error["loc"][0]
    if "expected" in context:
        choices = re.findall("'([^']*)'", context["expected"])
        return f"{name}={value!r} is not one of {', '.join(choices)}"
    if "gt" in context:
        return f"{name}={type(context['gt'])(value)} must be above {context['gt']:g}"
    if "ge" in context:
        return f"{name}={type(context['ge'])(value)} must be {context['ge']:g} or above"
    kind = {"string": "str", "finite": "finite number"}.get(word := error["type"].split("_")[0], word)
    return f"{name}={value!r} is not of type {kind}"


def named_settings(name: str, settings: Mapping[str, object] | None = None) -> tuple[str, dict[str, object]]:
    """A model and its settings from a judge's name without the provider: after ``#`` a strategy and ``-strict``.

    Unavailable where a setting contradicts the name.

    >>> named_settings("gpt-4o#cot-strict")
    ('gpt-4o', {'strategy': 'cot', 'policy': 'strict'})
    """
    model, marked, asked = name.partition("#")
    named = {"strategy": asked.removesuffix("-strict")} if marked else {}
    if asked.endswith("-strict"):
        named["policy"] = "strict"
    given = dict(settings or {})
    if clash := [name for name in named if name in given and given[name] != named[name]]:
        raise Unavailable(f"the judge's name says {clash[0]} {named[clash[0]]!r}, the settings another")
    return model, given | named
