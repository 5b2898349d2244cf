"""What "the same text" and "its language" mean to the filters."""

import re
import unicodedata
from pathlib import Path

from judgekit.data.files import load_plain

MIN_BLOCK = 6  # words from which the first block of a question names its task

# Kana and Han: written without spaces, so each character counts as a word.
UNSPACED = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"


def normalise(text: str) -> str:
    """Lower case, words only: what "the same question" means to the filters.

    >>> normalise("What's  the capital?\\n")
    'what s the capital'
    >>> normalise("首都 is?")
    '首 都 is'
    """
    text = unicodedata.normalize("NFC", text).lower()  # a letter and its accent are one, however they are written
    return " ".join(re.findall(r"\w+", re.sub(f"([{UNSPACED}])", r" \1 ", text)))


def folded(text: str) -> str:
    """A text with one form for each letter: full width, ligatures and what nobody sees make no other text."""
    seen = (char for char in unicodedata.normalize("NFKC", text) if unicodedata.category(char) != "Cf")
    return "".join(seen).casefold().replace("\u02bc", "'")  # an apostrophe, and to Unicode a letter


def wordings(text: str) -> set[str]:
    """Normalised forms of a whole text: two that share one are the same. What has no words is itself."""
    return {normalise(text), normalise(folded(text))} - {""} or {text.strip()} - {""}


def variants(question: str) -> set[str]:
    """Normalised forms under which a question may turn up elsewhere: whole, and its first block.

    Sets differ in whether an instruction's input is part of the question, and how it is marked. So ``Input:`` does not
    count, and the first block does when it names the task (six words; a Chinese word has about two characters).
    """
    found = set()
    for text in (question, folded(question)):
        whole = normalise(re.sub(r"(?im)^input:", "", text))
        first = normalise(re.split(r"\n\s*\n|\n(?=input:)", text.strip(), maxsplit=1, flags=re.I)[0])
        length = len(first.split()) - len(re.findall(f"[{UNSPACED}]", first)) / 2
        found |= {whole, first} if length >= MIN_BLOCK else {whole}
    return found - {""} or {question.strip()} - {""}  # what has no words is itself


# --- languages: English, Chinese and others are told apart by script and by the commonest words; others not reliably

SCRIPTS = {
    "zh": re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]"),
    "ja": re.compile(r"[\u3040-\u30ff]"),
    "ko": re.compile(r"[\uac00-\ud7af]"),
    "latin": re.compile(r"[A-Za-z\u00c0-\u024f]"),
}
LETTER = re.compile(r"[^\W\d_]")
WORD = re.compile(r"[^\W\d_]+")

_TABLE = Path(__file__).with_name("function_words.yaml").read_text(encoding="utf-8")
WORDS = {language: frozenset(words.split()) for language, words in load_plain(_TABLE).items()}
MIN_WORDS = 8  # fewer words say too little about a language: Latin script then counts as English
MIN_SHARE = 0.08  # of the words must be function words of another language than English


def language_of(text: str) -> str:
    """The language of a text's first two thousand characters, empty when there are no letters.

    ``en``, ``zh``, ``ja``, ``ko``; another language of Latin script (``de``, ``fr``, ...); ``other`` for other scripts.
    A Chinese text may be full of English names and code: a fifth of its letters is enough. Text of Latin script without
    function words (code, names, formulas) counts as English.

    >>> language_of("What is the capital of France?"), language_of("法国的首都是哪里？")
    ('en', 'zh')
    >>> language_of("Quelle est la capitale de la France, et que faut-il y voir pour une visite ?")
    'fr'
    """
    text = text[:2000]
    n_letters = len(LETTER.findall(text))
    if not n_letters:
        return ""
    share = {script: len(pattern.findall(text)) / n_letters for script, pattern in SCRIPTS.items()}
    if share["ja"] > 0.1:
        return "ja"
    for script in ("zh", "ko"):
        if share[script] > 0.2:
            return script
    return _latin_language(WORD.findall(text.lower())) if share["latin"] > 0.5 else "other"


def _latin_language(words: list[str]) -> str:
    """The language whose function words are the most frequent; English when there are none, or few words."""
    if len(words) < MIN_WORDS:
        return "en"
    counts = {language: sum(word in known for word in words) for language, known in WORDS.items()}
    best = max(counts, key=counts.__getitem__)
    # English wins ties and near-ties: names and quotations bring foreign words into English texts.
    return best if counts[best] > max(1.2 * counts["en"] + 1, MIN_SHARE * len(words)) else "en"
