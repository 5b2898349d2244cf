"""Pairs whose better response is known by construction: what misleads surface features, and broken responses.

Each kind is a set of its own, which a mixture can weigh and validation can show: a function of the bank, a question's
index and a random generator that gives (index of the question, better response, worse one[, the question reworded]).
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from judgekit.judges.surface import NUMBERED, STOP_WORDS, words_of
from judgekit.records import PreferencePair
from judgekit.training.bank import AnswerBank, share_of

_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")
_Made = list[tuple[Any, ...]]
_LONGER = 1.15  # a misleading response has at least this many times the characters of the right one


def _chosen(texts: Any, rng: np.random.Generator) -> Any:
    return texts[rng.integers(len(texts))]


def _neighbours(bank: AnswerBank, i: int, rng: np.random.Generator) -> _Made:
    """The wrong response is longer and answers a question that is almost the same, as in LLMBar's Neighbor set."""
    own = _chosen(bank.responses[i], rng)
    longer = [text for j in bank.close(i) for text in bank.responses[j] if len(text) > _LONGER * len(own)]
    return [(i, own, _chosen(longer, rng))] if longer else []


def _exchanged(bank: AnswerBank, i: int, rng: np.random.Generator) -> _Made:
    """Two questions almost alike, each response right for one and wrong for the other, so that style says nothing."""
    if not len(bank.close(i)):
        return []
    other = int(_chosen(bank.close(i), rng))
    first, second = _chosen(bank.responses[i], rng), _chosen(bank.responses[other], rng)
    return [(i, first, second), (other, second, first)]


def _eloquent(bank: AnswerBank, i: int, rng: np.random.Generator) -> _Made:
    """The wrong response is the longest of many that were written for other subjects."""
    own, close = _chosen(bank.responses[i], rng), {i, *map(int, bank.near[i])}
    drawn = [int(j) for j in rng.integers(len(bank.questions), size=40) if int(j) not in close]
    worse = max((_chosen(bank.responses[j], rng) for j in drawn), key=len, default="")
    return [(i, own, worse)] if len(worse) > _LONGER * len(own) else []


def _truncated(bank: AnswerBank, i: int, rng: np.random.Generator) -> _Made:
    """The wrong response is the right one, cut in the middle of a sentence."""
    own = _chosen(bank.responses[i], rng)
    words = own.split(" ")
    keep = int(len(words) * rng.uniform(0.25, 0.75))
    return [(i, own, " ".join(words[:keep]))] if keep >= 5 else []


def _repeated(bank: AnswerBank, i: int, rng: np.random.Generator) -> _Made:
    """The wrong response says its first part again and again, and is longer."""
    own = _chosen(bank.responses[i], rng)
    parts = _SENTENCE.split(own)
    start = " ".join(parts[: max(1, len(parts) // 3)])
    times = int(_LONGER * len(own) / max(len(start), 1)) + 2
    return [(i, own, " ".join([start] * times))] if len(own.split()) >= 5 and times <= 40 else []


def _echoed(bank: AnswerBank, i: int, rng: np.random.Generator) -> _Made:
    """The wrong response gives the question back, as long as the right response is."""
    own, question = _chosen(bank.responses[i], rng), bank.questions[i]
    frames = ("{}", "You asked: {}", "That is an interesting question: {}", "The question is this. {}")
    times = max(1, min(20, round(len(own) / len(question))))
    return [(i, own, "\n".join(_chosen(frames, rng).replace("{}", question) for _ in range(times)))]


def _shuffled(bank: AnswerBank, i: int, rng: np.random.Generator) -> _Made:
    """The wrong response has a third of its words in places where they do not belong."""
    own = _chosen(bank.responses[i], rng)
    words = own.split(" ")
    if len(words) < 12:
        return []
    moved, worse = np.sort(rng.choice(len(words), size=len(words) // 3, replace=False)), np.array(words, object)
    worse[moved] = worse[rng.permutation(moved)]
    return [(i, own, " ".join(worse))] if worse.tolist() != words else []


def demands_between(first: str, second: str, rng: np.random.Generator) -> list[str]:
    """Demands that the first text meets and the second does not, of opposite kinds: no property is good in itself."""
    demands = []
    n_first, n_second = len(words_of(first)), len(words_of(second))
    if min(n_first, n_second) > 0 and not 0.8 < n_first / n_second < 1.25:
        limit = round((n_first + n_second) / 2)
        demands.append(f"Use at most {limit} words." if n_first < n_second else f"Use more than {limit} words.")
    lists = [bool(NUMBERED.search(text)) for text in (first, second)]
    if lists[0] != lists[1]:
        demands.append("Answer with a numbered list." if lists[0] else "Do not answer with a list.")
    digits = [any(map(str.isdigit, text)) for text in (first, second)]
    if digits[1] and not digits[0]:
        demands.append("Do not use any digits.")
    kinds = [{word for word in words_of(text) if len(word) > 4} - STOP_WORDS for text in (first, second)]
    if only := sorted(kinds[0] - kinds[1]):
        demands.append(f'Use the word "{_chosen(only, rng)}".')
    if only := sorted(kinds[1] - kinds[0]):
        demands.append(f'Do not use the word "{_chosen(only, rng)}".')
    return demands


def _demanding(bank: AnswerBank, i: int, rng: np.random.Generator) -> _Made:
    """Two responses to the question; a demand is added to it that one of them happens to meet."""
    if len(bank.responses[i]) < 2:
        return []
    first, second = (bank.responses[i][j] for j in rng.choice(len(bank.responses[i]), size=2, replace=False))
    demands = demands_between(first, second, rng)
    return [(i, first, second, f"{bank.questions[i]}\n\n{_chosen(demands, rng)}")] if demands else []


OFF_TOPIC = {"neighbours": _neighbours, "exchanged": _exchanged}  # what the gate is fitted on; what misleads a judge
BROKEN = {"truncated": _truncated, "repeated": _repeated, "echoed": _echoed, "shuffled": _shuffled}
KINDS = OFF_TOPIC | {"eloquent": _eloquent} | BROKEN | {"demanding": _demanding}


def constructed_pairs(
    kind: str,
    bank: AnswerBank,
    usable: np.ndarray | Sequence[int],
    seed: int | Sequence[int],
    per_question: int = 1,
    limit: int | None = None,
    per_source: int | None = None,
) -> list[PreferencePair]:
    """Pairs of one of `KINDS` about the ``usable`` questions, in either order with equal chances.

    Misleading responses come from all of the bank, those of ``exchanged`` pairs from the usable questions.
    ``per_question``: draws, some of which may give nothing. ``limit``, ``per_source``: questions at most.
    """
    rng, usable = np.random.default_rng(seed), np.asarray(usable, int)
    if kind == "exchanged":
        allowed = set(usable.tolist())
        near = [row[[int(j) in allowed for j in row]] if i in allowed else row for i, row in enumerate(bank.near)]
        bank = replace(bank, near=near)
    fitting = [i for i in usable.tolist() if kind not in OFF_TOPIC or len(bank.close(i))]
    order = np.random.default_rng(0).permutation(np.array(fitting, int))
    sources = pd.Series([bank.sources[i] for i in order], dtype=object)
    first = sources.groupby(sources).cumcount().to_numpy() < (per_source or len(order))
    pairs = []
    for i in sorted(order[first][:limit].tolist()):
        for number in range(per_question):
            for about, better, worse, *reworded in KINDS[kind](bank, i, rng):
                asked, source = bank.questions[about], bank.sources[about]
                item = f"{kind}/{source}/{share_of(asked):.8f}/{i}.{number}"
                fixed: Any = {"subset": source, "cluster_id": asked, "source": kind}
                question = reworded[0] if reworded else asked
                pair = PreferencePair(item, kind, question, better, worse, label="A", label_kind="objective", **fixed)
                pairs.append(pair if rng.integers(2) else pair.swapped())
    return pairs
