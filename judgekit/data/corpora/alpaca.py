"""AlpacaEval: 805 instructions with models' responses, each compared with a baseline's by GPT-4 annotators.

And pairs of two models on one instruction, derived from both comparisons with the baseline. Nobody compared the two:
the soft label joins what the annotator said of each response here with how often each model won on other instructions.
"""

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from judgekit.data.loading import Loaded, Rows, turned_pair
from judgekit.data.sources.rows import Row
from judgekit.records import PreferencePair, label_of_gap

# Parts of AlpacaEval whose prompts are test prompts (Self-Instruct: PandaLM; Vicuna: FairEval). They make no pairs of
# two models, and what was said of models on them does not count towards win rates.
TEST_PARTS = ("selfinstruct", "vicuna")
# Declared, not fitted: one hard win against one hard loss weighs about as much as win rates of 0.9 against 0.1.
ITEM_WEIGHT = 0.35  # of the difference of log-odds on this instruction
MODEL_WEIGHT = 0.5  # of the difference of log-odds of the two win rates
ITEM_CLIP = 0.05  # a hard preference counts as this far from certain
RATE_CLIP = 0.02  # keeps the log-odds of models that always win or lose finite


def alpaca_eval(row: Row) -> Iterator[PreferencePair | str]:
    """The baseline's response (A in the file) against a model's; a graded preference is kept as ``soft_label``.

    The subset is the annotator that the row itself names (in three files it is not the one of the folder).
    """
    if row.get("preference") is None:  # the annotator failed
        yield "skipped_no_preference"
        return
    model, folder = row.file.split("/")[1:3]
    annotator, probability = row.text("annotator"), _baseline_better(row)
    if annotator != folder:
        yield "annotator_not_of_folder"
    texts = (row.text(field) for field in ("instruction", "output_1", "output_2"))
    fields = {"item_id": f"{model}/{folder}/{row.number}", "subset": annotator, "label_kind": "gpt-4"}
    fields |= {"model_a": row.text("generator_1"), "model_b": row.text("generator_2")}
    soft_label = probability if annotator.startswith("weighted") else None
    label = label_of_gap(probability - 0.5)
    yield turned_pair(row, "alpaca_eval", *texts, **fields, label=label, soft_label=soft_label)


def _baseline_better(row: Row) -> float:
    """Probability that the baseline is better, of a preference from 1 to 2 (draws: 1.5, in older files 0)."""
    preference = row.number_of("preference") or 1.5
    if not 1 <= preference <= 2:
        raise row.error("preference", f"is {preference}, neither in [1, 2] nor 0")
    return 2 - preference


class Entry(NamedTuple):
    """A model's response to an instruction, and an annotator's probability that it beats the baseline's."""

    row: Row
    entrant: str
    preference: float


def alpaca_cross(rows: Rows, per_prompt: int = 25) -> Loaded:
    """Pairs of two models on one instruction, at most ``per_prompt`` of each."""
    report = {"skipped_no_preference": 0, "skipped_test_parts": 0}
    prompts, rates = defaultdict(list), defaultdict(list)
    for row in rows:
        if row.text("dataset") in TEST_PARTS:
            report["skipped_test_parts"] += 1
        elif row.get("preference") is None:
            report["skipped_no_preference"] += 1
        else:
            entry = Entry(row, row.file.removesuffix("/annotations.json"), 1 - _baseline_better(row))
            prompts[row.text("instruction")].append(entry)
            rates[entry.entrant].append(entry.preference)
    sums = {entrant: (sum(values), len(values)) for entrant, values in rates.items()}
    pairs = [
        _cross_pair(first, second, soft_label(first, second, sums))
        for entries in prompts.values()
        for first, second in choose(entries, per_prompt)
    ]
    return pairs, {"responses": sum(map(len, prompts.values())), **report}


def choose(entries: Sequence[Entry], per_prompt: int) -> list[tuple[Entry, Entry]]:
    """At most ``per_prompt`` pairs of one instruction by hash, each model in about as many, by annotator."""
    groups = defaultdict(list)
    for entry in entries:
        groups[entry.row.text("annotator"), entry.row.text("generator_1")].append(entry)
    pairs = [
        (first, second)
        for group in groups.values()
        for first, second in combinations(sorted(group, key=lambda entry: entry.entrant), 2)
        if first.row.text("output_2") != second.row.text("output_2")
    ]
    most = math.ceil(2 * per_prompt / max(1, len(entries)))
    used: Counter[str] = Counter()
    chosen: list[tuple[Entry, Entry]] = []
    for first, second in sorted(pairs, key=_pair_order):
        if len(chosen) < per_prompt and max(used[first.entrant], used[second.entrant]) < most:
            chosen.append((first, second))
            used.update((first.entrant, second.entrant))
    return chosen


def _pair_order(pair: tuple[Entry, Entry]) -> str:
    """A pseudo-random key that depends on the instruction and the two entrants alone."""
    text = "\x1f".join((pair[0].row.text("instruction"), *(entry.entrant for entry in pair)))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def soft_label(first: Entry, second: Entry, sums: dict[str, tuple[float, int]]) -> float:
    r"""Probability in (0, 1) that the first response is the better one.

    ``sums``: entrant to the sum and number of its preferences, those of this instruction among them: they are taken
    off. :math:`\sigma(a(\operatorname{logit} p_1 - \operatorname{logit} p_2)
    + b(\operatorname{logit} w_1 - \operatorname{logit} w_2))` with :math:`p` the preference on this instruction,
    :math:`w` the win rate on the others, :math:`a` `ITEM_WEIGHT` and :math:`b` `MODEL_WEIGHT`.
    """
    item, model = 0.0, 0.0
    for entry, sign in ((first, 1), (second, -1)):
        total, n = sums[entry.entrant]
        elsewhere = (total - entry.preference) / (n - 1) if n > 1 else 0.5
        item += sign * log_odds(entry.preference, ITEM_CLIP)
        model += sign * log_odds(elsewhere, RATE_CLIP)
    return 1 / (1 + math.exp(-(ITEM_WEIGHT * item + MODEL_WEIGHT * model)))


def log_odds(probability: float, clip: float) -> float:
    """Log-odds of a probability that is first moved to [clip, 1 - clip]."""
    probability = min(max(probability, clip), 1 - clip)
    return math.log(probability / (1 - probability))


def _cross_pair(first: Entry, second: Entry, soft: float) -> PreferencePair:
    row, other = first.row, second.row
    names = [entry.entrant.removeprefix("alpaca_eval/") for entry in (first, second)]
    fields = {"item_id": f"{row.number}:{names[0]}:{names[1]}", "subset": row.text("annotator"), "label_kind": "gpt-4"}
    fields |= {"model_a": row.text("generator_2"), "model_b": other.text("generator_2")}
    texts = (row.text("instruction"), row.text("output_2"), other.text("output_2"))
    return turned_pair(row, "alpaca_cross", *texts, **fields, label=label_of_gap(soft - 0.5), soft_label=soft)
