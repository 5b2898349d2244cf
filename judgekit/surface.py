"""Surface features of a response: what a judge can see without reading.

Counts, shapes and word overlaps that take microseconds. They are the honest baseline of this project, and one part of
the encoder judge. Nothing here understands a sentence. Patterns
are written so that no text, however hostile, makes them take more than linear time.
"""

import math
import re
import zlib
from collections import Counter

import numpy as np

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
STOP_WORDS = frozenset(
    "a an and are as at be been but by can could did do does for from had has have he her his i if in into is it its "
    "me my no not of on one or our she should so some than that the their them then there these they this those to up "
    "us was we were what when which who will with would you your".split()
)
HEDGES = frozenset("may might perhaps possibly probably maybe seem seems likely usually generally often could".split())
CONNECTIVES = frozenset(
    "however therefore because although moreover furthermore additionally finally first second third also thus while "
    "instead overall example".split()
)
FIRST_PERSON = frozenset("i me my mine we our us".split())
SECOND_PERSON = frozenset("you your yours".split())

RESPONSE_FEATURES = (
    "log_chars",
    "log_words",
    "words_to_50",
    "words_to_300",
    "log_sentences",
    "log_lines",
    "log_paragraphs",
    "word_length",
    "log_sentence_words",
    "type_token_ratio",
    "root_type_token_ratio",
    "distinct_bigrams",
    "distinct_trigrams",
    "compressibility",
    "top_line_share",
    "stop_word_share",
    "hedge_share",
    "connective_share",
    "first_person_share",
    "second_person_share",
    "digit_share",
    "upper_share",
    "punctuation_share",
    "non_ascii_share",
    "log_numbered",
    "log_bullets",
    "log_headings",
    "log_bold",
    "log_code_fences",
    "log_table_bars",
    "log_links",
    "log_exclamations",
    "log_question_marks",
    "log_quotes",
    "log_parentheses",
    "opens_politely",
    "refuses",
    "ends_finished",
    "is_empty",
)
QUESTION_FEATURES = (
    "question_covered",
    "copied_from_question",
    "numbers_covered",
    "repeats_question",
    "log_length_ratio",
)
FEATURES = RESPONSE_FEATURES + QUESTION_FEATURES
PAIR_FEATURES = (
    "log_length_gap",
    "log_shorter_words",
    "word_jaccard",
    "word_jaccard_squared",
    "word_containment",
    "equal_feature_share",
    "identical",
)


def words_of(text):
    """Lower-case words of a text."""
    return WORD.findall(text.lower())


def share(count, total):
    """A share in [0, 1], 0 of nothing."""
    return count / total if total else 0.0


def distinct_share(words, size):
    """Share of distinct n-grams among all n-grams; 1 when there are none."""
    grams = [tuple(words[i : i + size]) for i in range(len(words) - size + 1)]
    return len(set(grams)) / len(grams) if grams else 1.0


def response_features(response):
    """Features of the response alone, in the order of `RESPONSE_FEATURES`."""
    words = words_of(response)
    n, chars = len(words), len(response)
    kinds = Counter(words)
    lines = [line.strip() for line in response.splitlines() if line.strip()]
    sentences = max(len(SENTENCE_END.findall(response)), 1 if n else 0)
    log_count = math.log1p
    in_words = {
        name: share(sum(kinds[word] for word in group if word in kinds), n)
        for name, group in (
            ("stop", STOP_WORDS),
            ("hedge", HEDGES),
            ("connective", CONNECTIVES),
            ("first", FIRST_PERSON),
            ("second", SECOND_PERSON),
        )
    }
    encoded = response.encode("utf-8", "replace")
    return [
        log_count(chars),
        log_count(n),
        min(n, 50) / 50,
        min(n, 300) / 300,
        log_count(sentences),
        log_count(len(lines)),
        log_count(len(BLANK_LINE.findall(response))),
        share(sum(map(len, words)), n),
        log_count(share(n, sentences)),
        share(len(kinds), n),
        len(kinds) / math.sqrt(n) if n else 0.0,
        distinct_share(words, 2),
        distinct_share(words, 3),
        min(len(zlib.compress(encoded, 1)) / len(encoded), 1.5) if encoded else 1.0,
        share(max(Counter(lines).values(), default=0), len(lines)),
        in_words["stop"],
        in_words["hedge"],
        in_words["connective"],
        in_words["first"],
        in_words["second"],
        share(sum(map(str.isdigit, response)), chars),
        share(sum(map(str.isupper, response)), chars),
        # No character is both a letter or digit and white space, so the two may be counted apart.
        share(chars - sum(map(str.isalnum, response)) - sum(map(str.isspace, response)), chars),
        share(chars - sum(map(str.isascii, response)), chars),
        log_count(len(NUMBERED.findall(response))),
        log_count(len(BULLET.findall(response))),
        log_count(len(HEADING.findall(response))),
        log_count(len(BOLD.findall(response))),
        log_count(response.count("```")),
        log_count(response.count("|")),
        log_count(len(LINK.findall(response))),
        log_count(response.count("!")),
        log_count(response.count("?")),
        log_count(response.count('"') + response.count("“")),
        log_count(response.count("(")),
        float(bool(OPENER.match(response))),
        float(bool(REFUSAL.search(response))),
        float(response.rstrip()[-1:] in set('.!?。！？`"”)|]}')),
        float(not response.strip()),
    ]


def question_features(question, response):
    """Features of the response against its question, in the order of `QUESTION_FEATURES`."""
    asked = [word for word in words_of(question) if word not in STOP_WORDS]
    said = [word for word in words_of(response) if word not in STOP_WORDS]
    asked_kinds, said_kinds = set(asked), set(said)
    numbers = set(NUMBER.findall(question))
    return [
        share(len(asked_kinds & said_kinds), len(asked_kinds)),
        share(sum(word in asked_kinds for word in said), len(said)),
        share(len(numbers & set(NUMBER.findall(response))), len(numbers)),
        float(len(question) > 20 and question.strip()[:80].lower() in response.lower()),
        math.log1p(len(said)) - math.log1p(len(asked)),
    ]


def surface_features(question, response):
    """All features of a response to a question.

    Parameters
    ----------
    question, response : str

    Returns
    -------
    array of float, shape (len(FEATURES),)
        Logs of counts, shares in [0, 1] and flags; finite for any text.

    Examples
    --------
    >>> row = dict(zip(FEATURES, surface_features("Name two colours.", "1. red\\n2. blue")))
    >>> float(row["is_empty"]), round(float(row["log_numbered"]), 3)
    (0.0, 1.099)
    """
    return np.array(response_features(response) + question_features(question, response))


def pair_features(response_a, response_b, features_a, features_b):
    """Symmetric features of two responses, for the chance of a tie.

    Parameters
    ----------
    response_a, response_b : str
    features_a, features_b : array, shape (len(FEATURES),)
        Their surface features.

    Returns
    -------
    array of float, shape (len(PAIR_FEATURES),)
        Equal for (a, b) and (b, a).
    """
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
