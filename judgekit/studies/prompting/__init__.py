"""What a way of prompting does for a model as a judge: effects on the same items, agreement, and calls.

An evaluator is a model with a method. Everything is the paired difference to the model's own base method, over one
draw of prompts for all evaluators of a set. `judgekit.studies.prompting.live` asks a model of today in the same ways.
"""

from judgekit.studies.prompting.calls import call_table
from judgekit.studies.prompting.effects import effect_table, mean_effect_table
from judgekit.studies.prompting.evaluators import Evaluator, outcome_table, stored_evaluators

__all__ = ["Evaluator", "call_table", "effect_table", "mean_effect_table", "outcome_table", "stored_evaluators"]
