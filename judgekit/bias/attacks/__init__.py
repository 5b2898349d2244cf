"""Attacks on judges: what success means, a suite that runs against any judge, a black-box search, and defences."""

from judgekit.bias.attacks.defences import Abstaining, Escaped, LengthMatched, Screened, margin_for, suspicious
from judgekit.bias.attacks.pairs import attackable, worse_side
from judgekit.bias.attacks.running import AttackReport, attack, report_of
from judgekit.bias.attacks.search import SearchBudget
from judgekit.bias.attacks.success import clean_accuracy, clean_cost, mean_success, success_of, success_reduction
from judgekit.bias.attacks.suite import Suite

__all__ = [
    "Abstaining",
    "AttackReport",
    "Escaped",
    "LengthMatched",
    "Screened",
    "SearchBudget",
    "Suite",
    "attack",
    "attackable",
    "clean_accuracy",
    "clean_cost",
    "margin_for",
    "mean_success",
    "report_of",
    "success_of",
    "success_reduction",
    "suspicious",
    "worse_side",
]
