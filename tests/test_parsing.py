"""judgekit.prompts.parsing: the completion only, the last match, and a status where nobody can say."""

import random
import time
from collections import Counter

import pytest
from torture import authored

from judgekit.data.benchmarks.outputs import published_on, published_verdicts
from judgekit.prompts import load_strategy, strategy_names
from judgekit.prompts.parsing import FORMATS, LABELS, parse
from judgekit.prompts.texts import marks_pattern, neutralised

FIRST, SECOND, TIE = ("first", "ok"), ("second", "ok"), ("tie", "ok")
UNPARSED, AMBIGUOUS = (None, "unparsed"), (None, "ambiguous")
N_FUZZ = 20_000
PLAIN = [name for name in strategy_names() if name != "demonstrations"]

CASES = [
    ("brackets", "Both are fine, but A is right.\n\n[[A]]", FIRST),
    ("brackets", "A claims [[A]] for itself.\nMy verdict: [[B]]", SECOND),
    ("brackets", "final verdict: [[ C ]].", TIE),
    ("brackets", "[[A]] or [[B]]", AMBIGUOUS),
    ("brackets", "[[A]]\nbut then\n[[B]] and [[C]]", AMBIGUOUS),
    ("brackets", '"[[A]]" if assistant A is better, "[[B]]" if assistant B is better', UNPARSED),
    ("brackets", "[[B]], yes, [[B]]", SECOND),
    ("brackets", "[A]", UNPARSED),
    ("brackets", "[[D]] [[a]]", UNPARSED),
    ("brackets", "［［A］］", UNPARSED),
    ("brackets", "<think>[[A]]</think>[[B]]", SECOND),
    ("brackets", "<think>[[A]], surely", UNPARSED),
    ("brackets", "", UNPARSED),
    ("brackets", None, UNPARSED),
    ("llmbar", "Output (a) is better.", FIRST),
    ("llmbar", "**Output (b)**", SECOND),
    ("llmbar", "Output (b) looks good.\nTherefore, Output (a) is better.", FIRST),
    ("llmbar", "It is a tie.", TIE),
    ("llmbar", "Output (a) is better. Output (b) is better.", AMBIGUOUS),
    ("llmbar", "I cannot say that Output (a) is better.", UNPARSED),
    ("llmbar", "Output (a) is not better", UNPARSED),
    # by the way, denied, told of, or said by others
    ("brackets", 'Final: [[A]]\n(Assistant B had written "[[B]]".)', AMBIGUOUS),
    ("brackets", "Final: [[A]]\nAssistant B had written `[[B]]`.", AMBIGUOUS),
    ("brackets", "My verdict is [[A]].\nHad B been shorter, I would have said [[B]].", FIRST),
    ("brackets", "I would have to say [[B]]", SECOND),
    ("brackets", "It isn't [[A]] but [[B]].", SECOND),
    ("brackets", "The response itself says [[A]], which I ignore; I cannot decide.", UNPARSED),
    ("brackets", '(Verdict: "[[A]]")', FIRST),
    ("rating", "Rating: [[3]]\nThe answer said 'Rating: [[10]]'", AMBIGUOUS),
    ("llmbar", "Some say: Output (a) is better.\nI disagree.", UNPARSED),
    ("llmbar", "It would be wrong to say: Output (a) is better.", UNPARSED),
    # denied, said to be what one might believe, or said of another case
    ("llmbar", "We cannot conclude that Output (a) is better.", UNPARSED),
    ("llmbar", "There is no reason to believe that, overall, Output (a) is better.", UNPARSED),
    ("llmbar", "I do not believe that Output (a) is better.", UNPARSED),
    ("llmbar", "I do not believe that Output (a) is better. Output (b) is better.", SECOND),
    ("llmbar", "One might believe that Output (a) is better, but it ignores the limit.", UNPARSED),
    ("llmbar", "One might believe that Output (a) is better, but overall, Output (b) is better.", SECOND),
    ("llmbar", "If only length mattered, Output (a) is better.", UNPARSED),
    ("llmbar", "I believe that Output (b) is better", SECOND),
    ("llmbar", "Output (b) does not, so I conclude that Output (a) is better.", FIRST),
    ("llmbar", "If I have to choose, Output (a) is better.", FIRST),
    ("letter", "A", FIRST),
    ("letter", "**B**.", SECOND),
    ("letter", "(C)", TIE),
    ("letter", "A or B", UNPARSED),
    ("letter", "Answer", UNPARSED),
    ("json", '{"verdict": "A"}', FIRST),
    ("json", 'Here:\n```json\n{"winner": "tie"}\n```', TIE),
    ("json", '{"score_a": 3, "score_b": 4}', SECOND),
    ("json", '{"score_a": 4, "score_b": 4}', TIE),
    ("json", '{"verdict": "A"}\n{"verdict": "B"}', SECOND),
    ("json", '{"verdict": "A"} {"verdict": "B"}', AMBIGUOUS),
    ("json", '{"verdict": "A", "verdict": "B"}', AMBIGUOUS),
    ("json", '{"verdict": ["A"]}', UNPARSED),
    ("json", '{"verdict": "A"', UNPARSED),
    ("json", '{"score_a": NaN, "score_b": 4}', UNPARSED),
    ("json", '{"marks_a": {"x": 4, "y": 5}, "marks_b": {"x": 1, "y": 2}, "verdict": "B"}', (*SECOND, (4.5, 1.5))),
    ("json", '{"marks_a": {"x": "4"}, "marks_b": {"x": 1}, "verdict": "B"}', (*SECOND, None)),
    ("rating", "Good enough. Rating: [[7]]", (None, "ok", (7.0,))),
    ("rating", "[[3]], no:\nRating: [[10]]", (None, "ok", (10.0,))),
    ("rating", "Rating: [[7.5]]", (None, "ok", (7.5,))),
    ("rating", "Rating: [[11]]", UNPARSED),
    ("rating", "Rating: [[0]]", UNPARSED),
    ("rating", "Rating: [[rating]]", UNPARSED),
    ("rating", "[[5]] or [[6]]", AMBIGUOUS),
    ("rating", "Rating: 5", UNPARSED),
]


@pytest.mark.parametrize(("name", "completion", "expected"), CASES)
def test_readings(name, completion, expected):
    assert parse(name, completion)[: len(expected)] == expected


@pytest.mark.parametrize(
    ("form", "least", "more"),
    [("brackets", 57, 1), ("rating", 58, 2), ("llmbar", 55, 3), ("letter", 55, 1), ("json", 57, 2)],
)
def test_authored_replies_are_read_as_they_were_meant(form, least, more):
    """Of 60 each, written and labelled before a parser was looked at, which then read 53, 56, 54, 53 and 57 right.

    None is read as the opposite verdict; ``more``: those read as a verdict though none was meant.
    """
    pairs = authored(form)
    assert len(pairs) == 60 and sum(said == right for said, right in pairs) >= least
    assert form == "rating" or all({said, right} != {"first", "second"} for said, right in pairs)
    none = ("unparsed", "ambiguous")
    assert sum(said != right and said not in none for said, right in pairs) <= more


def test_a_verdict_that_comes_first_is_read_from_the_first_line():
    completion = "Output (a) is better.\nIt quotes the other one:\nOutput (b) is better."
    assert parse("llmbar", completion, reads="first line")[:2] == FIRST
    assert parse("llmbar", completion)[:2] == SECOND
    assert parse("llmbar", "Well.\nOutput (a) is better.", reads="first line")[:2] == UNPARSED


@pytest.mark.parametrize("name", ["brackets", "llmbar", "letter", "json"])
def test_what_a_strategy_asks_for_is_what_its_parser_reads(name):
    strategy = next(s for s in map(load_strategy, PLAIN) if s.format == name)
    for verdict in LABELS:
        assert parse(name, strategy.said[verdict])[:2] == (verdict, "ok")


@pytest.mark.parametrize("name", PLAIN)
def test_a_prompt_itself_is_never_read_as_a_verdict(name):
    """A model that echoes its instructions has said nothing."""
    strategy = load_strategy(name)
    for call in strategy.calls:
        assert parse(strategy.format, call.system).status != "ok"
        assert parse(strategy.format, call.user).status != "ok"


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("model", "least"), [("gpt-4-", 0.999), ("chatgpt-", 0.99), ("falcon-", 0.99), ("llama2-", 0.98), ("palm2-", 0.97)]
)
def test_what_llmbar_evaluators_wrote_is_read_as_their_owner_read_it(model, least):
    """Where we differ, the owner took any line that begins with "Output (a)" for a verdict."""
    names = [name for name in published_on("llmbar_natural") if name.startswith(model) and "rating" not in name]
    counted = Counter()
    for verdict in (verdict for name in names for verdict in published_verdicts(name) if verdict.raw is not None):
        said = parse("llmbar", verdict.raw, labels=("first", "second")).verdict
        first = "A" if verdict.order == "ab" else "B"
        owner = None if verdict.verdict is None else "first" if verdict.verdict == first else "second"
        counted["same" if said == owner else "opposite" if said and owner else "unread"] += 1
    assert counted["same"] >= least * counted.total() > 3000, counted
    assert counted["unread"] <= 0.01 * counted.total(), counted
    assert model != "gpt-4-" or not counted["opposite"]


PIECES = [
    *("[[A]]", "[[B]]", "[[C]]", "[[", "]]", "[", "]", "A", "B", "C", "a", "b", "1", "2", "10", "7.5", "-1", "1e999"),
    *("Tie", "tie", "[RESULT]", "Rating:", "Output (a) is better.", "Output (b)", "It is a tie.", "not", "Therefore,"),
    *("final decision is ", "Response 1", "response 2", "{", "}", '{"verdict":', '"A"', '"tie"}', '"score_a":', ","),
    *('"marks_b":{"x":', "NaN", "null", "\\", '"', "\\u0000", "</think>", "<think>", "\n", "\r", "\u2028", "\x00", " "),
    *("\ud800", "\U0001f600", "é", "［［A］］", "٣", "²", "\u200b", "{{", "%s", "9" * 500, "[" * 500, "{" * 100),
]


def fuzzed(chance):
    pieces = chance.choices(PIECES, k=chance.randint(0, 25))
    if chance.random() < 0.5:  # a real reply with something done to it
        reply = chance.choice(CASES)[1] or ""
        place, cut = chance.randint(0, len(reply)), chance.choice([0, 0, 1, 5])
        pieces = [reply[:place], *pieces[: chance.randint(0, 2)], reply[place + cut :]]
    if chance.random() < 0.3:
        pieces = list("".join(pieces)[:400])
        chance.shuffle(pieces)
    return "".join(pieces)


def test_no_text_breaks_a_parser():
    chance, counted, started = random.Random(20240531), {}, time.monotonic()
    for case in range(N_FUZZ):
        text = fuzzed(chance)
        for name in FORMATS:
            verdict, status, scores = parse(name, text, reads="first line" if case % 5 == 0 else "all")
            assert status in ("ok", "unparsed", "ambiguous")
            assert verdict in (None, *LABELS)
            assert (verdict is None and scores is None) or status == "ok"
            assert status != "ok" or verdict is not None or scores is not None
            assert scores is None or all(0 <= score <= 100 for score in scores)
            counted[name, status] = counted.get((name, status), 0) + 1
    assert time.monotonic() - started < 120
    for name in FORMATS:  # the cases reach the parsers' insides
        assert min(counted.get((name, status), 0) for status in ("ok", "unparsed")) > 20, counted
    assert sum(n for (_, status), n in counted.items() if status == "ambiguous") > 200


@pytest.mark.parametrize("name", ["brackets", "rating"])
def test_what_a_prompt_neutralised_no_parser_takes_for_a_verdict(name):
    chance, marks = random.Random(7), marks_pattern([], name)
    for _ in range(3000):
        text = fuzzed(chance).replace("</think>", "").replace("<think>", "")
        assert parse(name, neutralised(text, marks)).status == "unparsed"


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_long_completions_are_read_quickly(name):
    started = time.process_time()
    for piece in ("[[A] ", "{", '{"a":', "Output (a) ", "the final decision is ", "so ", " " * 50, "9"):
        parse(name, piece * 40_000)
    assert time.process_time() - started < 5
