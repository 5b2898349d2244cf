"""The names of judges: slugs in result keys, display names in tables and pictures."""

import re
from collections.abc import Iterable, Mapping

from judgekit.data.paths import NAME

NAMES = {
    "arena_gpt_3_5_turbo": "GPT-3.5 (arena)",
    "arena_gpt_4_turbo": "GPT-4 Turbo (arena)",
    "arena_mistral_7b_instruct": "Mistral-7B (arena)",
    "auto_j_13b": "Auto-J-13B",
    "chatgpt": "ChatGPT",
    "chatgpt_0301": "ChatGPT-0301",
    "exaone_32b": "EXAONE-32B",
    "falcon": "Falcon",
    "features": "surface features",
    "first": "always first",
    "gemini_flash": "Gemini Flash",
    "gemini_pro": "Gemini Pro",
    "gemma_3_270m": "Gemma-3-270M",
    "gemma_4_12b": "Gemma-4-12B",
    "gpt_3_5": "GPT-3.5",
    "gpt_4": "GPT-4",
    "gpt_4_pair": "GPT-4 (pair)",
    "gpt_4o": "GPT-4o",
    "gpt_4o_mini": "GPT-4o mini",
    "grm_gemma_2b": "GRM-Gemma-2B",
    "internlm2_20b_reward": "InternLM2-20B reward",
    "internlm2_7b_reward": "InternLM2-7B reward",
    "judgelrm_3b": "JudgeLRM-3B",
    "judgelrm_7b": "JudgeLRM-7B",
    "llama2": "Llama-2",
    "llama_31": "Llama-3.1",
    "longer": "longer response",
    "majority_class": "most frequent label",
    "minilm": "MiniLM (ours)",
    "minilm_defended": "MiniLM, defended",
    "mistral_v03": "Mistral v0.3",
    "palm2": "PaLM 2",
    "pandalm_7b": "PandaLM-7B",
    "people": "people",
    "probe_pairs": "pairwise probe",
    "qwen2_5_14b": "Qwen2.5-14B",
    "qwen2_5_32b": "Qwen2.5-32B",
    "qwen2_5_7b": "Qwen2.5-7B",
    "qwen2_5_coder_0_5b": "Qwen2.5-Coder-0.5B",
    "qwen2_5_coder_1_5b": "Qwen2.5-Coder-1.5B",
    "random": "random",
    "second": "always second",
    "shorter": "shorter response",
    "skywork_gemma_2_27b": "Skywork-Gemma-2-27B",
    "skywork_llama_3_1_8b": "Skywork-Llama-3.1-8B",
    "smollm2_135m": "SmolLM2-135M",
}
VARIANTS = {
    "0_02": "0.02",
    "1shot": "1 shot",
    "2shot": "2 shots",
    "cot": "CoT",
    "norules": "no rules",
    "repro": "",
    "swap_cot": "swap, CoT",
}


def slug(judge: str) -> str:
    """The name of a judge in result keys: the last part, lower case, other characters as ``_``.

    Revision and adapter are left out: where two judges then share a slug, ``unique_slugs`` wants one declared.

    >>> slug("hf/Qwen/Qwen3-4B@main"), slug("replay/pandalm-7b"), slug("openai/gpt-3.5")
    ('qwen3_4b', 'pandalm_7b', 'gpt_3_5')
    """
    last = re.split("[@+]", judge)[0].rstrip("/").split("/")[-1]
    name = re.sub("[^a-z0-9]+", "_", last.lower()).strip("_")
    if not name:
        raise ValueError(f"judge {judge!r} has no slug: declare one")
    return name


def unique_slugs(names: Iterable[str], declared: Mapping[str, str] | None = None) -> dict[str, str]:
    """One slug for each judge (``provider/model``), in the order of ``names``; ``declared`` gives some of them.

    ValueError if two judges share a slug, a declared slug is not one, a declared judge is not among ``names``, or a
    declared slug hides that the judge's is ``..._repro``.
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
    if judge in NAMES:
        return NAMES[judge]
    known = [name for name in NAMES if judge.startswith(f"{name}_")]
    model = max(known, key=len, default="")
    words = judge.removeprefix(f"{model}_") if model else judge
    for variant, printed in VARIANTS.items():
        words = re.sub(f"(?<![a-z0-9]){variant}(?![a-z0-9])", printed, words)
    words = words.replace("_", " ").strip()
    return ", ".join(part for part in (NAMES.get(model, ""), words) if part)
