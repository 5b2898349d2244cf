"""The names of judges: slugs in result keys, display names in tables and pictures, and the Chinese of these."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from judgekit.data.files import load_plain
from judgekit.data.paths import NAME


def slug(judge: str) -> str:
    """The name of a judge in result keys: model and strategy without folders, revision and adapter, in ``[a-z0-9_]``.

    >>> slug("hf/Qwen/Qwen3-4B@main"), slug("replay/pandalm-7b"), slug("openai/gpt-3.5")
    ('qwen3_4b', 'pandalm_7b', 'gpt_3_5')
    """
    named = re.sub("[@+][^#]*", "", judge).rstrip("/")
    name = re.sub("[^a-z0-9]+", "_", re.sub("[^#]*/", "", named).lower()).strip("_")
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


def display_name(judge: str) -> str:
    """A judge's name in tables and pictures, by its slug; a prompt or a variant of it stands behind a comma.

    >>> display_name("gpt_4_vanilla_norules"), display_name("minilm"), display_name("own_rule"), display_name("LLMBar")
    ('GPT-4, vanilla no rules', 'MiniLM (ours)', 'own rule', 'LLMBar')
    """
    names = printed_names()["models"]
    if judge in names:
        return names[judge]
    known = [name for name in names if judge.startswith(f"{name}_")]
    model = max(known, key=len, default="")
    words = judge.removeprefix(f"{model}_") if model else judge
    for variant, printed in printed_names()["variants"].items():
        words = re.sub(f"(?<![a-z0-9]){variant}(?![a-z0-9])", printed, words)
    words = words.replace("_", " ").strip()
    return ", ".join(part for part in (names.get(model, ""), words) if part)


def set_title(name: str) -> str:
    """A set's name in tables and pictures.

    >>> set_title("autoj"), set_title("my_own"), set_title("file:my_own.jsonl")
    ('Auto-J', 'my own', 'file:my_own.jsonl')
    """
    return printed_names()["sets"].get(name) or (name.replace("_", " ") if NAME.fullmatch(name) else name)


def in_chinese(text: str) -> str:
    """A text of a figure in Chinese, whole or between its commas and colons; what has no Chinese name stays.

    >>> in_chinese("PandaLM: told by length"), in_chinese("MiniLM (ours)"), in_chinese("GPT-4"), in_chinese("10M")
    ('PandaLM：凭长度可猜', 'MiniLM（我们的）', 'GPT-4', '10M')
    """
    words, chinese = " ".join(text.split()), printed_names()["chinese"]  # a title may be wrapped
    parts = [words] if words in chinese else re.split("(: |, )", words)
    return "".join(chinese.get(part, part) for part in parts)


@cache
def printed_names() -> dict[str, dict[str, str]]:
    """Display names of models, variants and sets, and the Chinese ones, from ``names.yaml``."""
    return load_plain(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
