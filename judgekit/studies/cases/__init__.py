"""Case studies: pairs chosen by rule from tables of verdicts, why each came out as it did, and their pages.

A rule is a function from a table to ranked candidates; nothing is picked by hand. Texts of data sets go to files that
are not tracked, ids, labels and numbers to files that are.
"""

from judgekit.studies.cases.case import Case, make_case
from judgekit.studies.cases.dissection import Dissection, dissect, surface_of
from judgekit.studies.cases.edits import attack_table, changed_words
from judgekit.studies.cases.rules import (
    against_unanimous,
    attack_successes,
    choose_cases,
    confident_errors,
    flips_under_swap,
    judges_apart,
    label_errors,
)
from judgekit.studies.cases.tables import replies_on, verdict_table
from judgekit.studies.cases.wording import reasons
from judgekit.studies.cases.writing import case_numbers, case_rows, save_cases, verdict_rows

__all__ = [
    "Case",
    "Dissection",
    "against_unanimous",
    "attack_successes",
    "attack_table",
    "case_numbers",
    "case_rows",
    "changed_words",
    "choose_cases",
    "confident_errors",
    "dissect",
    "flips_under_swap",
    "judges_apart",
    "label_errors",
    "make_case",
    "reasons",
    "replies_on",
    "save_cases",
    "surface_of",
    "verdict_rows",
    "verdict_table",
]
