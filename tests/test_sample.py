"""The authored sample: the records that were drawn and checked once, and what they hold."""

import hashlib
import json
from collections import Counter

import pytest

from judgekit.data.sample import ASSISTANTS, SAMPLE_SETS, annotators, load_sample
from judgekit.records import to_rows

GOLDEN = "8d0a21e740c333a0039b5a3399a0cc674d5cf5c0aaafaf15e7a4a17fb1dcc7a6"


def all_pairs():
    return [pair for name in SAMPLE_SETS for pair in load_sample(name)]


def test_assistants_rank_as_their_accuracies():
    won, seen = Counter(), Counter()
    for pair in load_sample("sample_train"):
        for model, side in ((pair.model_a, "A"), (pair.model_b, "B")):
            seen[model] += pair.label != "tie"
            won[model] += pair.label == side
    ranked = sorted(ASSISTANTS, key=lambda assistant: assistant.accuracy)
    rates = [won[assistant.name] / seen[assistant.name] for assistant in ranked]
    assert rates[0] < rates[1] < rates[-2] < rates[-1]


def test_votes_err_as_stated():
    pairs = [pair for name in SAMPLE_SETS[1:] for pair in load_sample(name)]
    assert all(2 <= len(pair.votes) <= 5 for pair in pairs)
    assert not any(pair.votes for pair in load_sample("sample_train"))
    for annotator in annotators():
        votes = [(p, p.votes[annotator.name]) for p in pairs if annotator.name in p.votes]
        expected = 0
        for pair, _ in votes:
            gap = len(pair.response_a) - len(pair.response_b)
            biased = {"length": "A" if gap > 0 else "B" if gap else "tie", "position": "A"}.get(annotator.kind)
            blind = 1 / 3 if annotator.kind == "spammer" else biased == pair.label
            expected += annotator.bias * blind + (1 - annotator.bias) * annotator.accuracy
        right = sum(pair.label == vote for pair, vote in votes)
        assert len(votes) > 100
        assert abs(right - expected) / len(votes) < 3 * (0.25 / len(votes)) ** 0.5, annotator


def test_golden():
    rows = json.dumps(to_rows(all_pairs()), sort_keys=True)
    assert hashlib.sha256(rows.encode()).hexdigest() == GOLDEN


def test_unknown_set_is_named():
    with pytest.raises(ValueError, match="sample_tets"):
        load_sample("sample_tets")
