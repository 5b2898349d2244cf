"""The authored sample: the records that were drawn and checked once, and what they hold."""

import hashlib
import json
import re
from collections import Counter, defaultdict

import pytest

from judgekit.data.sample import ASSISTANTS, SAMPLE_SETS, annotators, load_sample
from judgekit.records import to_rows

GOLDEN = "8d0a21e740c333a0039b5a3399a0cc674d5cf5c0aaafaf15e7a4a17fb1dcc7a6"
FAMILIES = "arithmetic dates units strings lists characters reading ordering constraints format".split()
DISTRACTORS = "longer confident formatted neighbour injected repeated".split()
NAMES = (
    "Ada Ben Carla Dev Elif Farid Grace Hana Ivan Jonas Kofi Lena Mara Nia Omar Priya Rosa "
    "pencils notebooks oranges mugs candles postcards tulips batteries"
).split()
SIZES = {"sample_train": 500, "sample_validation": 150, "sample_natural": 160, "sample_adversarial": 120}


def all_pairs():
    return [pair for name in SAMPLE_SETS for pair in load_sample(name)]


@pytest.mark.parametrize("name", SAMPLE_SETS)
def test_composition(name):
    pairs = load_sample(name)
    assert len(pairs) == SIZES[name]
    assert {pair.benchmark for pair in pairs} == {name}
    assert {pair.item_id.split("-")[0] for pair in pairs} == set(FAMILIES)
    assert [pair.source for pair in pairs] == [f"judgekit.data.sample:{name}:{n}" for n in range(len(pairs))]
    labels = Counter(pair.label for pair in pairs)
    share = labels["A"] / (labels["A"] + labels["B"])
    assert 0.46 <= share <= 0.54
    ties = labels["tie"] / len(pairs)
    assert ties == 0 if name == "sample_adversarial" else 0.12 <= ties <= 0.15
    distracted = sum(pair.subset in DISTRACTORS for pair in pairs) / len(pairs)
    assert distracted == {"sample_natural": 0, "sample_adversarial": 1}.get(name, 0.2)
    sizes = Counter(Counter(pair.cluster_id for pair in pairs).values())
    assert set(sizes) == {1, 2, 3, 4}
    for pair in pairs:
        assert pair.label_kind == "authored" and pair.model_a != pair.model_b
        assert pair.response_a != pair.response_b and pair.response_a.strip() and pair.response_b.strip()
        assert pair.item_id.startswith(f"{pair.cluster_id}-")


def test_no_question_in_two_splits():
    splits_of = defaultdict(set)
    for pair in all_pairs():
        splits_of[pair.question].add(pair.benchmark)
        splits_of[pair.cluster_id].add(pair.benchmark)
        # An instance is the same whoever it is told of.
        template = pair.cluster_id.rsplit("-", 1)[0]
        if template.startswith(("arithmetic", "dates", "format")):
            told = re.sub("|".join(NAMES), "_", pair.question)
            splits_of[template, told].add(pair.benchmark)
    assert all(len(splits) == 1 for splits in splits_of.values())
    assert len({pair.cluster_id for pair in all_pairs()}) == len({pair.question for pair in all_pairs()})


def length_judge(pairs):
    decided = [p for p in pairs if p.label != "tie" and len(p.response_a) != len(p.response_b)]
    return sum((len(p.response_a) > len(p.response_b)) == (p.label == "A") for p in decided) / len(decided)


def test_length_helps_on_natural_and_misleads_on_adversarial():
    assert 0.60 <= length_judge(load_sample("sample_natural")) <= 0.68
    assert 0.10 <= length_judge(load_sample("sample_adversarial")) <= 0.25


def test_assistants_rank_as_their_accuracies():
    won, seen = Counter(), Counter()
    for pair in load_sample("sample_train"):
        for model, side in ((pair.model_a, "A"), (pair.model_b, "B")):
            seen[model] += pair.label != "tie"
            won[model] += pair.label == side
    ranked = sorted(ASSISTANTS, key=lambda assistant: assistant.accuracy)
    rates = [won[assistant.name] / seen[assistant.name] for assistant in ranked]
    assert rates[0] < rates[1] < rates[-2] < rates[-1]


@pytest.mark.parametrize("name", SAMPLE_SETS)
def test_difficult_characters(name):
    pairs = [pair for pair in load_sample(name) if pair.item_id.startswith("characters")]
    texts = "\n".join(text for pair in pairs for text in (pair.question, pair.response_a, pair.response_b))
    kinds = ("[\u4e00-\u9fff]", "[\u0590-\u06ff]", "[🙂🚀]", "[∑½≠]", r"\\[a-z]+", r"\{[{%] ", r"\[\[A\]\]", "<b>")
    assert len(pairs) >= 10
    assert [kind for kind in kinds if not re.search(kind, texts)] == []
    assert any(re.search("[\u4e00-\u9fff]{6}", pair.question) for pair in load_sample(name))


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
