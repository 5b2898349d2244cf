"""Aspects that a single response is scored by: definition, a described scale, and the prompts that ask for a score."""

from judgekit.inside.aspects.aspect import Aspect, AspectError, Example, load_aspects, preset_names
from judgekit.inside.aspects.layouts import LAYOUTS, aspect_prompt, harmless, prompt_version

__all__ = [
    "LAYOUTS",
    "Aspect",
    "AspectError",
    "Example",
    "aspect_prompt",
    "harmless",
    "load_aspects",
    "preset_names",
    "prompt_version",
]
