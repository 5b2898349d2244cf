"""Replies held to a choice by the server, where it really does so.

Some servers take a parameter that they do not know and answer 200, as if it had worked. So a server is tried once:
asked for one word while only others are allowed.
"""

import json

ALLOWED = ["pear", "plum"]
TRIAL = ({"role": "user", "content": "Reply with the single word apple."},)


def choice_parameter(choices):
    """vLLM's parameter: the reply is one of some texts."""
    return {"structured_outputs": {"choice": list(choices)}}


def schema_parameter(choices):
    """The parameter of the OpenAI protocol: the reply is a JSON object with one of some texts in it."""
    schema = {
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": list(choices)}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "v", "strict": True, "schema": schema}}}


def plain(text):
    """A reply that is the choice itself."""
    return text.strip()


def unwrapped(text):
    """The choice inside a JSON object; a text that is none stays as it is."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):  # no JSON, or brackets without end
        return text
    said = fields.get("verdict") if isinstance(fields, dict) else None
    return said if isinstance(said, str) else text


FORMS = {"choice": (choice_parameter, plain), "schema": (schema_parameter, unwrapped)}


async def supported_form(ask):
    """The first form that a server really obeys, a key of `FORMS`; None where it obeys none.

    Parameters
    ----------
    ask : callable
        ``await ask(messages, **parameters)`` gives the text of a completion, or None where the server refused.
    """
    for name, (parameter, read) in FORMS.items():
        text = await ask(TRIAL, **parameter(ALLOWED))
        if text is not None and read(text) in ALLOWED:
            return name
    return None
