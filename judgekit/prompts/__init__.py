"""Prompts: strategies as text files, and their filling with texts that cannot be trusted."""

from judgekit.prompts.demonstrations import Demonstration, draw_demonstrations
from judgekit.prompts.files import PromptError
from judgekit.prompts.strategy import POLICIES, Strategy, load_strategy, strategy_names
from judgekit.prompts.texts import Prompt, PromptTooLong

__all__ = [
    "POLICIES",
    "Demonstration",
    "Prompt",
    "PromptError",
    "PromptTooLong",
    "Strategy",
    "draw_demonstrations",
    "load_strategy",
    "strategy_names",
]
