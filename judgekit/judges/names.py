"""The names of judges in result keys, tables and pictures."""

import re
from collections.abc import Iterable, Mapping

from judgekit.data.paths import NAME


def slug(judge: str) -> str:
    """The name of a judge in result keys: the last part without revision and adapter, other characters as ``_``.

    >>> slug("hf/Qwen/Qwen3-4B@main"), slug("replay/pandalm-7b"), slug("openai/gpt-3.5")
    ('qwen3_4b', 'pandalm_7b', 'gpt_3_5')
    """
    last = re.split("[@+]", judge)[0].rstrip("/").split("/")[-1]
    name = re.sub("[^a-z0-9]+", "_", last.lower()).strip("_")
    if not name:
        raise ValueError(f"judge {judge!r} has no slug: declare one")
    return name


def unique_slugs(names: Iterable[str], declared: Mapping[str, str] | None = None) -> dict[str, str]:
    """One slug for each judge, in the order of ``names``; ``declared`` gives some of them.

    ValueError if two judges share a slug, or a declared one is none, of no judge, or hides a ``..._repro``.
    """
    names, declared = list(dict.fromkeys(names)), dict(declared or {})
    if unknown := sorted(set(declared) - set(names)):
        raise ValueError(f"slugs are declared for judges that do not take part: {', '.join(unknown)}")
    owner: dict[str, str] = {}
    slugs: dict[str, str] = {}
    for name in names:
        slugs[name] = declared.get(name) or slug(name)
        if slug(name).endswith("_repro") and not slugs[name].endswith("_repro"):
            raise ValueError(f"slug {slugs[name]!r} of {name}: keep '_repro', which says that it must not be scored")
        if not NAME.fullmatch(slugs[name]):
            raise ValueError(f"slug {slugs[name]!r} of {name}: use lower-case letters, digits and '_'")
        if slugs[name] in owner:
            raise ValueError(
                f"{owner[slugs[name]]} and {name} share the slug {slugs[name]!r}: declare one of their own"
            )
        owner[slugs[name]] = name
    return slugs
