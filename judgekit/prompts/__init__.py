"""Prompts: strategies as text files, and their filling with texts that cannot be trusted."""

from judgekit.prompts.demonstrations import draw_demonstrations
from judgekit.prompts.files import PromptError
from judgekit.prompts.strategy import Strategy, load_strategy, strategy_names
from judgekit.prompts.texts import PromptTooLong

__all__ = ["PromptError", "PromptTooLong", "Strategy", "draw_demonstrations", "load_strategy", "strategy_names"]
