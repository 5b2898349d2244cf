"""Surface features of a response (what a judge can see without reading), and the judge that looks at nothing else.

Counts, shapes and word overlaps that take microseconds: the honest baseline of this project, and one part of the
encoder judge. Patterns are written so that no text, however hostile, makes them take more than linear time.
"""

import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from judgekit.judges.base import Judge, Request
from judgekit.records import Reply, fingerprint_of
from judgekit.stats import Array, Floats, outcome_probabilities

CLIP = 4.0  # standard deviations; one freak response must not decide by its freakishness
_ROUNDING = 1e-5  # probabilities this close are equal: single-precision sums differ by less from row to row of a batch
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
SENTENCE_END = re.compile(r"[.!?。！？](?=\s|$)")  # the last mark of a run, so that a long run costs no more
NUMBERED = re.compile(r"(?m)^[ \t]*\(?\d{1,3}[.)、][ \t]")
BULLET = re.compile(r"(?m)^[ \t]*[-*•–][ \t]")
HEADING = re.compile(r"(?m)^[ \t]*#{1,6}[ \t]")
BOLD = re.compile(r"\*\*[^*\n]+\*\*")
BLANK_LINE = re.compile(r"\n[ \t]*\n")
LINK = re.compile(r"https?://|www\.")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
OPENER = re.compile(r"^\s*(?:sure|certainly|of course|absolutely|great question|yes|here (?:is|are))\b", re.I)
REFUSAL = re.compile(
    r"\b(?:i(?:'|’)?m sorry|i am sorry|i apologi[sz]e|as an ai|i can(?:no|')t|i am (?:not able|unable))\b", re.I
)
_WORD_LISTS = {
    "stop_word": "a an and are as at be been but by can could did do does for from had has have he her his i if in "
    "into is it its me my no not of on one or our she should so some than that the their them then there these they "
    "this those to up us was we were what when which who will with would you your",
    "hedge": "may might perhaps possibly probably maybe seem seems likely usually generally often could",
    "connective": "however therefore because although moreover furthermore additionally finally first second third "
    "also thus while instead overall example",
    "first_person": "i me my mine we our us",
    "second_person": "you your yours",
}
WORDS = {kind: frozenset(words.split()) for kind, words in _WORD_LISTS.items()}
STOP_WORDS, HEDGES = WORDS["stop_word"], WORDS["hedge"]


def words_of(text: str) -> list[str]:
    """Lower-case words of a text."""
    return WORD.findall(text.lower())


def _share(count: float, total: float) -> float:
    """A share in [0, 1], 0 of nothing."""
    return count / total if total else 0.0


def _distinct_share(words: Sequence[str], size: int) -> float:
    """Share of distinct n-grams among all n-grams; 1 when there are none."""
    grams = [tuple(words[i : i + size]) for i in range(len(words) - size + 1)]
    return len(set(grams)) / len(grams) if grams else 1.0


def _response_features(response: str) -> dict[str, float]:
    words = words_of(response)
    n, chars = len(words), len(response)
    kinds = Counter(words)
    lines = [line.strip() for line in response.splitlines() if line.strip()]
    sentences = max(len(SENTENCE_END.findall(response)), 1 if n else 0)
    encoded = response.encode("utf-8", "replace")
    # No character is both a letter or digit and white space, so the two may be counted apart.
    punctuation = chars - sum(map(str.isalnum, response)) - sum(map(str.isspace, response))
    patterns = {"numbered": NUMBERED, "bullets": BULLET, "headings": HEADING, "bold": BOLD}
    marks = {"code_fences": "```", "table_bars": "|"}
    log = math.log1p
    return {
        "log_chars": log(chars),
        "log_words": log(n),
        "words_to_50": min(n, 50) / 50,
        "words_to_300": min(n, 300) / 300,
        "log_sentences": log(sentences),
        "log_lines": log(len(lines)),
        "log_paragraphs": log(len(BLANK_LINE.findall(response))),
        "word_length": _share(sum(map(len, words)), n),
        "log_sentence_words": log(_share(n, sentences)),
        "type_token_ratio": _share(len(kinds), n),
        "root_type_token_ratio": len(kinds) / math.sqrt(n) if n else 0.0,
        "distinct_bigrams": _distinct_share(words, 2),
        "distinct_trigrams": _distinct_share(words, 3),
        "compressibility": min(len(zlib.compress(encoded, 1)) / len(encoded), 1.5) if encoded else 1.0,
        "top_line_share": _share(max(Counter(lines).values(), default=0), len(lines)),
        **{
            f"{kind}_share": _share(sum(kinds[word] for word in group if word in kinds), n)
            for kind, group in WORDS.items()
        },
        "digit_share": _share(sum(map(str.isdigit, response)), chars),
        "upper_share": _share(sum(map(str.isupper, response)), chars),
        "punctuation_share": _share(punctuation, chars),
        "non_ascii_share": _share(chars - sum(map(str.isascii, response)), chars),
        **{f"log_{name}": log(len(pattern.findall(response))) for name, pattern in patterns.items()},
        **{f"log_{name}": log(response.count(mark)) for name, mark in marks.items()},
        "log_links": log(len(LINK.findall(response))),
        "log_exclamations": log(response.count("!")),
        "log_question_marks": log(response.count("?")),
        "log_quotes": log(response.count('"') + response.count("“")),
        "log_parentheses": log(response.count("(")),
        "opens_politely": float(bool(OPENER.match(response))),
        "refuses": float(bool(REFUSAL.search(response))),
        "ends_finished": float(response.rstrip()[-1:] in set('.!?。！？`"”)|]}')),
        "is_empty": float(not response.strip()),
    }


def _question_features(question: str, response: str) -> dict[str, float]:
    """Features of the response against its question."""
    asked, answered = ([word for word in words_of(text) if word not in STOP_WORDS] for text in (question, response))
    asked_kinds = set(asked)
    numbers = set(NUMBER.findall(question))
    return {
        "question_covered": _share(len(asked_kinds & set(answered)), len(asked_kinds)),
        "copied_from_question": _share(sum(word in asked_kinds for word in answered), len(answered)),
        "numbers_covered": _share(len(numbers & set(NUMBER.findall(response))), len(numbers)),
        "repeats_question": float(len(question) > 20 and question.strip()[:80].lower() in response.lower()),
        "log_length_ratio": math.log1p(len(answered)) - math.log1p(len(asked)),
    }


FEATURES = (*_response_features(""), *_question_features("", ""))  # names, in the order of the values
PAIR_FEATURES = tuple(
    "log_length_gap log_shorter_words word_jaccard word_jaccard_squared word_containment equal_feature_share "
    "identical".split()
)


@lru_cache(maxsize=512)  # a response is shown again in the other order, and beside other ones
def surface_features(question: str, response: str) -> Floats:
    """`FEATURES` of a response to a question: logs of counts, shares in [0, 1] and flags, finite for any text.

    >>> row = dict(zip(FEATURES, surface_features("Name two colours.", "1. red\\n2. blue")))
    >>> float(row["is_empty"]), round(float(row["log_numbered"]), 3)
    (0.0, 1.099)
    """
    values = np.array([*_response_features(response).values(), *_question_features(question, response).values()])
    values.setflags(write=False)
    return values


def pair_features(response_a: str, response_b: str, features_a: Array, features_b: Array) -> Floats:
    """`PAIR_FEATURES` of two responses with their surface features, for the chance of a tie; equal when swapped."""
    words_a, words_b = set(words_of(response_a)), set(words_of(response_b))
    common, either = len(words_a & words_b), len(words_a | words_b)
    jaccard = common / either if either else 1.0
    log_words = FEATURES.index("log_words")
    smaller = min(len(words_a), len(words_b))
    largest = np.maximum(np.abs(features_a), np.abs(features_b))  # np.isclose would look at one side only
    return np.array(
        [
            abs(features_a[log_words] - features_b[log_words]),
            min(features_a[log_words], features_b[log_words]),
            jaccard,
            jaccard**2,
            common / smaller if smaller else 1.0,
            float((np.abs(features_a - features_b) <= 1e-8 + 1e-5 * largest).mean()),
            float(response_a.strip() == response_b.strip()),
        ]
    )


def standardise(values: Array, mean: Array, scale: Array) -> Floats:
    """Features in standard deviations from the training mean, clipped at `CLIP` on either side."""
    return np.clip((values - mean) / scale, -CLIP, CLIP)


def scores_of(parts: Mapping[str, Array], first: Array, second: Array, pair: Array) -> tuple[Any, Any, Any]:
    """Scores of the first and the second responses, and log tie parameters; ``parts`` as `fit_features` fits them."""
    one, other = (standardise(side, parts["mean"], parts["scale"]) @ parts["weight"] for side in (first, second))
    log_nu = standardise(pair, parts["pair_mean"], parts["pair_scale"]) @ parts["tie_weight"] + parts["tie_bias"]
    return one, other, log_nu


def reply_of(outcomes: Array, score_first: float | None = None, score_second: float | None = None) -> Reply:
    """The reply that probabilities of first, second and tie give; ValueError where one is not a number."""
    if not np.isfinite(outcomes).all():
        raise ValueError(f"probabilities that are no numbers ({outcomes}): damaged weights?")
    first, second, tie = map(float, np.asarray(outcomes))
    verdict = "first" if first > second else "second"
    if tie >= max(first, second) or abs(first - second) <= _ROUNDING:
        verdict = "tie"
    return Reply(verdict, first, second, tie, score_first, score_second)


class SurfaceModel:
    """A fitted preference model over surface features; ValueError where it was made for other features than these."""

    def __init__(self, model: Mapping[str, Any], path: str | Path) -> None:
        if model.get("features") != list(FEATURES) or model.get("pair_features") != list(PAIR_FEATURES):
            raise ValueError(f"{path}: trained on other features than this version computes; train it again")
        self.parts = {key: np.array(value) for key, value in model["parts"].items()}

    def sides(self, request: Request) -> list[Floats]:
        """Surface features of the two responses shown."""
        return [surface_features(request.asked, text) for text in (request.first, request.second)]

    def compare(self, request: Request, sides: Sequence[Array]) -> tuple[float, float, float]:
        """Scores of the two responses shown, and the log tie parameter."""
        first, second = sides
        pair = pair_features(request.first, request.second, first, second)
        one, other, log_nu = scores_of(self.parts, first, second, pair)
        return float(one), float(other), float(log_nu)


class FeaturesJudge(Judge):
    """``baseline/features``: linear score of surface features, ties by Davidson's model, from ``features.json``."""

    batch_size = 512
    name = "baseline/features"

    def __init__(self, folder: str | Path) -> None:
        path = Path(folder) / "features.json"
        model = json.loads(path.read_text(encoding="utf-8"))
        self.model = SurfaceModel(model, path)
        self.fingerprint = fingerprint_of("features", 2, model["parts"])

    def judge(self, requests: Sequence[Request]) -> list[Reply]:
        """Score each response alone, then compare."""
        scored = [self.model.compare(request, self.model.sides(request)) for request in requests]
        return [reply_of(outcome_probabilities(one - other, log_nu), one, other) for one, other, log_nu in scored]
