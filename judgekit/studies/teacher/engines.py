"""Models that complete messages, by name; each is imported when it is wanted."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from judgekit.models import Unavailable

if TYPE_CHECKING:
    from judgekit.studies.teacher.local import LocalEngine
    from judgekit.studies.teacher.remote import ServerEngine


def load_engine(name: str, settings: Mapping[str, Any] | None = None) -> "ServerEngine | LocalEngine":
    """The model of a name.

    ``name``: ``openai/<model>`` (server and key come from ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``) or
    ``hf/<model>``.
    ``settings``: fields of `judgekit.judges.server.ServerSettings` or `judgekit.judges.hf.Settings`, values possibly as
    text. Temperature is 0, and the longest completion 1,024 tokens, where nothing else is said.

    Unavailable where there is no such model, the environment lacks something, or a setting is wrong;
    ModuleNotFoundError where the package for ``openai/`` is not installed.
    """
    provider, _, model = name.partition("/")
    if provider == "openai" and model:
        from judgekit.studies.teacher.remote import ServerEngine

        return ServerEngine(model, settings or {})
    if provider == "hf" and model:
        from judgekit.studies.teacher.local import LocalEngine

        return LocalEngine(model, settings or {})
    raise Unavailable(f"{name!r} is neither openai/<model> nor hf/<model>")


def engine_of(
    model: "str | ServerEngine | LocalEngine", settings: Mapping[str, Any] | None
) -> "ServerEngine | LocalEngine":
    """The engine of a name; an engine stays what it is.

    ValueError where settings are given with an engine, which has its own.
    """
    if isinstance(model, str):
        return load_engine(model, settings)
    if settings:
        raise ValueError("an engine that has been loaded has its settings")
    return model
