"""Pairs of two models on one AlpacaEval instruction, derived from GPT-4's comparisons of each with a baseline.

Nobody compared the two: the soft label joins what the annotator said of each response on this instruction with how
often each model won on other instructions. So the label kind is ``gpt-4``, and the label is an inference from
GPT-4's labels, weaker than one of its own. Unlike the corpus `alpaca_eval`, neither side is always the baseline.
"""

import hashlib
import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations

from judgekit.data.corpora import alpaca_eval
from judgekit.data.corpora.sides import place
from judgekit.data.sources import Row, read_rows, text_key
from judgekit.records import PreferencePair, label_of_gap

# Parts of AlpacaEval whose prompts are test prompts (Self-Instruct: PandaLM; Vicuna: FairEval). They make no pairs,
# and what was said of models on them does not count towards win rates.
TEST_PARTS = ("selfinstruct", "vicuna")
ITEM_WEIGHT = 0.35  # of the difference of log-odds on this instruction
MODEL_WEIGHT = 0.5  # of the difference of log-odds of the two win rates
ITEM_CLIP = 0.05  # a hard preference counts as this far from certain
RATE_CLIP = 0.02  # keeps the log-odds of models that always win or lose finite
PER_PROMPT = 25


@dataclass(frozen=True, slots=True)
class Entry:
    """A model's response to an instruction, and an annotator's probability that it beats the baseline's."""

    row: Row
    entrant: str
    preference: float


def files():
    """Names of the annotation files, those of `alpaca_eval`."""
    return alpaca_eval.files()


def load(per_prompt=PER_PROMPT, item_weight=ITEM_WEIGHT, model_weight=MODEL_WEIGHT):
    """The pairs, and a report.

    Parameters
    ----------
    per_prompt : int
        Most pairs of one instruction.
    item_weight, model_weight : float
        See `soft_label`.
    """
    return pairs_from_rows({file: read_rows(file) for file in files()}, per_prompt, item_weight, model_weight)


def pairs_from_rows(rows_by_file, per_prompt=PER_PROMPT, item_weight=ITEM_WEIGHT, model_weight=MODEL_WEIGHT):
    """Pairs and report of the rows of the annotation files.

    Parameters
    ----------
    rows_by_file : dict of str to list of Row
        File name ``alpaca_eval/<model>/<annotator>/annotations.json`` to its rows.
    per_prompt, item_weight, model_weight
        See `load`.

    Raises
    ------
    DataError
        If a field is missing or of another type, or a preference is neither in [1, 2] nor a draw.
    """
    report = {"skipped_no_preference": 0, "skipped_test_parts": 0}
    prompts, rates = defaultdict(list), defaultdict(list)
    for file, rows in rows_by_file.items():
        for row in rows:
            if row.text("dataset") in TEST_PARTS:
                report["skipped_test_parts"] += 1
            elif row.get("preference") is None:
                report["skipped_no_preference"] += 1
            else:
                entry = Entry(row, file.removesuffix("/annotations.json"), 1 - alpaca_eval.labels(row)[1])
                prompts[row.text("instruction")].append(entry)
                rates[entry.entrant].append(entry.preference)
    sums = {entrant: (sum(values), len(values)) for entrant, values in rates.items()}
    pairs = [
        place(pair_of(first, second, soft_label(first, second, sums, item_weight, model_weight)))
        for entries in prompts.values()
        for first, second in choose(entries, per_prompt)
    ]
    return pairs, {"responses": sum(map(len, prompts.values())), **report}


def choose(entries, per_prompt):
    """At most `per_prompt` pairs of one instruction, by hash, with each model in about as many.

    Only responses that the same annotator compared with the same baseline make a pair.
    """
    groups = defaultdict(list)
    for entry in entries:
        groups[entry.row.text("annotator"), entry.row.text("generator_1")].append(entry)
    pairs = [
        pair
        for group in groups.values()
        for pair in combinations(sorted(group, key=lambda entry: entry.entrant), 2)
        if pair[0].row.text("output_2") != pair[1].row.text("output_2")
    ]
    most = math.ceil(2 * per_prompt / max(1, len(entries)))
    used, chosen = Counter(), []
    for first, second in sorted(pairs, key=pair_order):
        if len(chosen) < per_prompt and max(used[first.entrant], used[second.entrant]) < most:
            chosen.append((first, second))
            used.update((first.entrant, second.entrant))
    return chosen


def pair_order(pair):
    """A pseudo-random key that depends on the instruction and the two entrants alone."""
    first, second = pair
    text = "\x1f".join((first.row.text("instruction"), first.entrant, second.entrant))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def soft_label(first, second, sums, item_weight=ITEM_WEIGHT, model_weight=MODEL_WEIGHT):
    r"""Probability in (0, 1) that the first response is the better one.

    Parameters
    ----------
    first, second : Entry
    sums : dict of str to (float, int)
        Entrant to the sum and number of its preferences, those of this instruction among them: they are taken off.
    item_weight, model_weight : float
        :math:`a` and :math:`b` in the notes.

    Notes
    -----
    :math:`\sigma(a(\operatorname{logit} p_1 - \operatorname{logit} p_2)
    + b(\operatorname{logit} w_1 - \operatorname{logit} w_2))` with :math:`p` the preference on this instruction and
    :math:`w` the win rate on the others. The weights are a declared choice, not a fit: they make one hard win
    against one hard loss weigh about as much as win rates of nine tenths against one tenth.
    """
    item = log_odds(first.preference, ITEM_CLIP) - log_odds(second.preference, ITEM_CLIP)
    rates = [win_rate_elsewhere(entry, sums) for entry in (first, second)]
    model = log_odds(rates[0], RATE_CLIP) - log_odds(rates[1], RATE_CLIP)
    return 1 / (1 + math.exp(-(item_weight * item + model_weight * model)))


def win_rate_elsewhere(entry, sums):
    """Mean preference for an entrant on the other instructions, in [0, 1]; one half when there are none."""
    total, n = sums[entry.entrant]
    return (total - entry.preference) / (n - 1) if n > 1 else 0.5


def log_odds(probability, clip):
    """Log-odds of a probability that is first moved to [clip, 1 - clip]."""
    probability = min(max(probability, clip), 1 - clip)
    return math.log(probability / (1 - probability))


def pair_of(first, second, soft):
    """One pair, the first response as A."""
    instruction = first.row.text("instruction")
    names = [entry.entrant.removeprefix("alpaca_eval/") for entry in (first, second)]
    return PreferencePair(
        item_id=f"{first.row.number}:{names[0]}:{names[1]}",
        benchmark="alpaca_cross",
        question=instruction,
        response_a=first.row.text("output_2"),
        response_b=second.row.text("output_2"),
        subset=first.row.text("annotator"),
        cluster_id=text_key(instruction),
        model_a=first.row.text("generator_2"),
        model_b=second.row.text("generator_2"),
        label=label_of_gap(soft - 0.5),
        soft_label=soft,
        label_kind="gpt-4",
        source=first.row.where,
    )
