"""The authored sample: its labels are recomputed from the texts, by code that shares nothing with the generators."""

import hashlib
import json
import re
from collections import Counter, defaultdict
from datetime import date, datetime, timedelta

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
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
FACTORS = {
    ("kilometres", "metres"): 1000,
    ("kilograms", "grams"): 1000,
    ("litres", "millilitres"): 1000,
    ("hours", "minutes"): 60,
    ("weeks", "days"): 7,
    ("days", "hours"): 24,
}
ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}
OPPOSITE = {"younger": "older", "shorter": "taller", "farther south": "farther north", "after": "before"}


def all_pairs():
    return [pair for name in SAMPLE_SETS for pair in load_sample(name)]


def numbers(text):
    return [int(number) for number in re.findall(r"-?\d+", text.replace("−", " "))]


def last_number_is(value):
    return lambda text: numbers(text)[-1:] == [value]


def last_of(names, value):
    """Whether the name mentioned last is the right one."""
    pattern = "|".join(map(re.escape, names))
    return lambda text: re.findall(pattern, text)[-1:] == [value]


def states(value):
    """Whether the last quoted text, or without quotes the whole response, is the value."""
    return lambda text: (re.findall(r'"([^"]*)"', text) or [text])[-1] == value


def has_line(value):
    return lambda text: value in text.split("\n")


def list_is(items):
    """Whether the last comma-separated run of the question's items is the right list."""
    either = "|".join(sorted(map(str, set(items)), key=len, reverse=True))

    def checker(right):
        return lambda text: (re.findall(rf"\b(?:{either})(?:, (?:{either}))+\b", text) or [""])[-1] == right

    return checker


def solve_arithmetic(template, question):
    n = numbers(question)
    if template == "change":
        note, count, price = n if "after buying" in question else (n[2], n[0], n[1])
        return last_number_is(note - count * price)
    if template == "first_and_left":
        return lambda text: numbers(text)[-2:] == [n[0] * n[1], n[0] * n[1] - n[2]]
    if template == "constant_speed":
        distance, hours = (n[1], n[0]) if question.startswith("In") else (n[0], n[1])
        return last_number_is(distance // hours * n[2])
    if template == "discount":
        return last_number_is(n[0] * (100 - n[1]) // 100)
    return last_number_is(n[0] * n[1] if "area" in question else 2 * (n[0] + n[1]))


def solve_dates(template, question):
    n = numbers(question)
    if template == "weekday" and "星期" in question:
        start = "一二三四五六日".index(re.search("星期(.)，", question)[1])
        return last_of([f"星期{day}" for day in "一二三四五六日"], f"星期{'一二三四五六日'[(start + n[0]) % 7]}")
    if template == "weekday":
        start = DAYS.index(re.search("|".join(DAYS), question)[0])
        return last_of(DAYS, DAYS[(start + n[0]) % 7])
    if template == "end_time":
        start = datetime.strptime(re.search(r"\d\d:\d\d", question)[0], "%H:%M")
        end = start + timedelta(minutes=int(re.search(r"(\d+) minutes", question)[1]))
        return lambda text: re.findall(r"\d\d:\d\d", text)[-1:] == [end.strftime("%H:%M")]
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    def dates(text):
        found = re.findall(r"(\d+) ([A-Z][a-z]+) (\d{4})", text)
        return [date(int(year), months.index(month[:3]) + 1, int(day)) for day, month, year in found]

    days = int(re.search(r"(\d+) days", question)[1])
    return lambda text: dates(text)[-1:] == [dates(question)[0] + timedelta(days)]


def solve_units(template, question):
    n = numbers(question)
    if template == "fahrenheit":
        return last_number_is(n[0] * 9 // 5 + 32)
    if template == "mixed_minutes":
        return last_number_is(n[0] * 60 + n[1])
    factor = next(
        f for (a, b), f in FACTORS.items() if re.search(rf"\b{a}\b", question) and re.search(rf"\b{b}\b", question)
    )
    return last_number_is(n[0] * factor)


def solve_strings(template, question):
    text = re.search(r'"([^"]*)"', question)[1]
    if template == "nth_word":
        return states(text.split()[next(n for name, n in ORDINALS.items() if f"{name} word" in question) - 1])
    if template == "letter_count":
        return last_number_is(text.count(re.search(r"letter (\w)\b", question)[1]))
    if "vowels" in question:
        return states(re.sub("[aeiou]", "", text))
    if "twice" in question or "Double" in question:
        return states(re.sub("(.)", r"\1\1", text))
    return states("".join(reversed(text)) if "backwards" in question or "reverse" in question else text.upper())


def solve_lists(template, question):
    rule, items = question.rsplit(": ", 1)
    items = items.split(", ")
    if template == "sort_numbers":
        right = sorted(items, key=int, reverse="descending" in rule)
    elif template == "sort_words":
        right = sorted(items)
    elif template == "drop_repeats":
        right = [item for i, item in enumerate(items) if item not in items[:i]]
    elif "greater than" in rule:
        right = [item for item in items if int(item) > numbers(rule)[0]]
    else:
        right = [item for item in items if int(item) % 2 == ("odd" in rule)]
    return list_is(items)(", ".join(right))


def solve_characters(template, question):
    rule, text = question.split("\n")
    if template == "count_characters":
        return last_number_is(len(text))
    if template == "pick_piece":
        return has_line(text.split(" | ")[next(n for name, n in ORDINALS.items() if name in rule) - 1])
    if template == "wrap_text":
        return has_line(re.search(r"inside (.*) and change", rule)[1].replace("...", text))
    return (lambda reply: reply == text) if "nothing else" in rule else has_line(text)


def solve_reading(template, question):
    rows = re.findall(r"(\w+) from (\w+) \w+ (\d+) \w+\.", question) or re.findall(
        r"\| (\w+) \| (\w+) \| (\d+) \|", question
    )
    rows = [(name, city, int(number)) for name, city, number in rows]
    assert len(rows) == 5
    names = [row[0] for row in rows]
    asked = re.sub(r"\|.*\||\w+ from \w+ \w+ \d+ \w+\.", "", question)
    if template == "extreme_row":
        return last_of(names, (max if "most" in asked else min)(rows, key=lambda row: row[2])[0])
    if template == "rows_above":
        above = {row[0] for row in rows if row[2] > numbers(asked)[0]}
        return lambda text: set(re.findall("|".join(names), text)) == above
    if template == "value_of":
        return last_number_is(next(row[2] for row in rows if row[0] in asked))
    return last_number_is(sum(row[2] for row in rows if row[1] in asked))


def solve_ordering(_template, question):
    above = {}
    for first, relation, second in re.findall(
        r"([A-Z][a-z]+) ((?:is|lives|finished) [a-z ]+?)(?: than)? ([A-Z][a-z]+)\.", question
    ):
        flipped = any(word in relation for word in OPPOSITE)
        above[second if flipped else first] = first if flipped else second
    top = next(name for name in above if name not in above.values())
    bottom = next(name for name in above.values() if name not in above)
    high = any(word in question.split(". ")[-1] for word in ("oldest", "tallest", "north", "first"))
    return last_of({*above, *above.values()}, top if high else bottom)


def solve_constraints(template, question):
    quoted = (re.findall(r'"([^"]*)"', question) or [""])[0]
    if template == "json_keys":
        name, age, city = re.match(r"(\w+) is (\d+) years old and lives in (\w+)\.", question).groups()

        def is_json(text):
            try:
                return json.loads(text) == {"name": name, "age": int(age), "city": city}
            except json.JSONDecodeError:
                return False

        return is_json
    if template == "item_count":
        mark, n = re.search(r"\((.)\)", question)[1], numbers(question)[0]

        def is_list(text):
            lines = text.split("\n")
            return len(lines) == n == len(set(lines)) and all(line.startswith(f"{mark} ") for line in lines)

        return is_list
    topic = re.search(r"(?:about|Comment on) (\w+)", question)[1]
    tests = [lambda text: topic in text.lower()]
    if template == "word_limit":
        tests.append(lambda text: len(text.split()) == numbers(question)[0])
    if "lower case" in question:
        tests.append(lambda text: text == text.lower())
    if "capital letters" in question:
        tests.append(lambda text: text == text.upper())
    if template == "without_letter":
        tests.append(lambda text: quoted not in text.lower())
    if template == "with_word":
        tests.append(lambda text: quoted in re.findall(r"\w+", text.lower()))
    if template == "with_ending":
        tests.append(lambda text: text.endswith(quoted))
    return lambda text: all(test(text) for test in tests)


def solve_format(template, question):
    a, sign, b = re.search(r"(\d+) ([+×−]) (\d+)", question).groups()
    value = {"+": int(a) + int(b), "×": int(a) * int(b), "−": int(a) - int(b)}[sign]
    if template == "number_only":
        return lambda text: text == str(value)
    if template == "yes_or_no":
        return lambda text: text == ("yes" if value > int(re.search(r"than (\d+)", question)[1]) else "no")
    if template == "json_total":
        return lambda text: re.sub(r"\s", "", text) == f'{{"total":{value}}}'
    left, right = re.search(r"as (\S+)\.\.\.(\S+)\.$", question).groups()
    return lambda text: f"{left}{value}{right}" in text


SOLVERS = {name: globals()[f"solve_{name}"] for name in FAMILIES}


@pytest.mark.parametrize("name", SAMPLE_SETS)
def test_labels_recomputed_from_the_texts(name):
    for pair in load_sample(name):
        family, template = pair.item_id.split("-")[:2]
        is_right = SOLVERS[family](template, pair.question)
        a, b = is_right(pair.response_a), is_right(pair.response_b)
        assert pair.label == {(1, 0): "A", (0, 1): "B"}.get((a, b), "tie"), to_rows([pair])


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


def test_distractors_are_even_and_named():
    pairs = load_sample("sample_adversarial")
    assert Counter(pair.subset for pair in pairs) == dict.fromkeys(DISTRACTORS, 20)
    assert all(pair.item_id.endswith(f"-{pair.subset}") for pair in pairs)


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


def test_the_panel_has_readers_and_others():
    kinds = Counter(annotator.kind for annotator in annotators())
    assert kinds == {"reader": 5, "length": 1, "position": 1, "spammer": 1}


def test_golden():
    rows = json.dumps(to_rows(all_pairs()), sort_keys=True)
    assert hashlib.sha256(rows.encode()).hexdigest() == GOLDEN


def test_unknown_set_is_named():
    with pytest.raises(ValueError, match="sample_tets"):
        load_sample("sample_tets")
