"""Attacks on judges: what success means, a suite that runs against any judge, a black-box search, and defences."""

from judgekit.attacks.defences import Abstaining, Escaped, LengthMatched, Screened, margin_for, suspicious
from judgekit.attacks.pairs import attackable, worse_side
from judgekit.attacks.running import AttackReport, attack, report_of
from judgekit.attacks.search import SearchBudget
from judgekit.attacks.success import clean_accuracy, clean_cost, mean_success, success_of, success_reduction
from judgekit.attacks.suite import Suite

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
