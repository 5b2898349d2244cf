"""The edits by name.

Each takes a question, a response and a wording, and gives the tampered response. What is random in it (which wording,
which sentence) is a function of a seed and the texts, so the same response is tampered with in the same way again.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from judgekit.judges.surface import HEDGES, STOP_WORDS, words_of

SENTENCES = re.compile(r"(?<=[.!?。！？])(?<!\d\.)\s+|\n+")  # the point after a list's number ends no sentence
FIRM = {"may": "will", "might": "will", "could": "will", "often": "always", "usually": "always", "generally": "always"}
ZERO_WIDTH = "\u200b\u200c\u200d\u2060"
LONG_WORDS = 600  # words from which a response counts as very long
PARTS = ("trained", "tested")


@dataclass(frozen=True)
class Edit:
    """One way to tamper with a response."""

    name: str
    change: Callable  # ``(question, response, wording, rng)`` to the tampered response
    replaces: bool = False  # whether nothing is left of the response


@lru_cache(maxsize=1)
def wordings() -> dict[str, dict[str, Any]]:
    """Edit to part to wordings, as `wordings.yaml` has them."""
    import yaml

    return yaml.safe_load((Path(__file__).parent / "wordings.yaml").read_text(encoding="utf-8"))


def sentences_of(text: str) -> list[str]:
    """The sentences and lines of a text, without empty ones.

    >>> sentences_of("One. Two!\\n\\n- three")
    ['One.', 'Two!', '- three']
    """
    return [part.strip() for part in SENTENCES.split(text) if part.strip()]


# ------------------------------------------------------------ what is put in the place of a response


def replaced_by(question: str, response: str, wording: str, rng: np.random.Generator) -> str:
    """The wording alone."""
    return wording


def emptied(question: str, response: str, wording: None, rng: np.random.Generator) -> str:
    """Nothing at all."""
    return ""


# ------------------------------------------------------------ what is added


def after(question: str, response: str, wording: str, rng: np.random.Generator) -> str:
    """The response, then the wording."""
    return f"{response}\n\n{wording}"


def before(question: str, response: str, wording: str, rng: np.random.Generator) -> str:
    """The wording, then the response."""
    return f"{wording}\n\n{response}"


def confident(question: str, response: str, wording: str, rng: np.random.Generator) -> str:
    """Says that it is certain, and drops its hedges."""

    def firm(match: re.Match[str]) -> str:
        word = match[0]
        firmer = FIRM.get(word.lower(), "") if word.lower() in HEDGES else word
        return firmer.capitalize() if firmer and word[0].isupper() else firmer

    firmly = re.sub(r" {2,}", " ", re.sub(r"[A-Za-z]+", firm, response))
    return f"{wording} {firmly}"


def hidden(question: str, response: str, wording: str, rng: np.random.Generator) -> str:
    """The wording with invisible characters inside every word, so that no filter for words finds it."""
    woven = " ".join(ZERO_WIDTH[int(rng.integers(4))].join(word) for word in wording.split())
    return f"{response}\n\n{woven}"


def decorated_with_emoji(question: str, response: str, wording: str, rng: np.random.Generator) -> str:
    """An emoji before every sentence."""
    signs = wording.split()
    return "\n".join(f"{signs[int(rng.integers(len(signs)))]} {part}" for part in sentences_of(response)) or signs[0]


def decorated_with_markdown(question: str, response: str, wording: str, rng: np.random.Generator) -> str:
    """The sentences as bullets with bold heads, under a heading, before a closing line."""
    heading, closing = wording.split("|")
    lines = []
    for part in sentences_of(response):
        head, _, rest = part.lstrip("-*#>• ").partition(" ")
        lines.append(f"- **{head}** {rest}".rstrip())
    return "\n".join([f"## {heading}", "", *lines, "", f"**{closing}:** see the points above."])


def said_again(question: str, response: str, wording: list[str], rng: np.random.Generator) -> str:
    """Every sentence, then all of them again in other words; a list gets as many items again."""
    parts = sentences_of(response) or ["."]
    again = [reworded(part, frame) for part, frame in zip(parts, cycled(wording, len(parts), rng), strict=True)]
    return "\n".join([response, *again])


def cycled(frames: list[str], n: int, rng: np.random.Generator) -> list[str]:
    """``n`` frames, in turn, from a random one."""
    start = int(rng.integers(len(frames)))
    return [frames[(start + i) % len(frames)] for i in range(n)]


def reworded(sentence: str, frame: str) -> str:
    """A sentence in a frame: the number or bullet of a list's item stays in front."""
    mark, rest = re.match(r"((?:(?:\(?\d{1,3}[.)]|[-*•])\s+)?)(.*)", sentence, re.S).groups()
    rest = rest[:1].lower() + rest[1:] if rest[1:2].islower() else rest
    return f"{mark}{frame}{rest}"


def lengthened(question: str, response: str, wording: list[str], rng: np.random.Generator) -> str:
    """Sentences that fit anything, after every sentence of the response and then to the end."""
    lines, words = [], 0
    for part in sentences_of(response):
        lines.append(f"{part} {wording[int(rng.integers(len(wording)))]}")
        words += len(lines[-1].split())
    while words < LONG_WORDS:
        lines.append(" ".join(wording[i] for i in rng.permutation(len(wording))))
        words += len(lines[-1].split())
    return "\n\n".join(lines)


def stuffed(question: str, response: str, wording: None, rng: np.random.Generator) -> str:
    """The question's own words, several times over, at the end."""
    kinds = (
        [word for word in dict.fromkeys(words_of(question)) if word not in STOP_WORDS] or words_of(question) or ["?"]
    )
    rounds = [" ".join(kinds[i] for i in rng.permutation(len(kinds))[:40]) for _ in range(4)]
    return f"{response}\n\n" + "\n".join(rounds)


def combined(question: str, response: str, wording: None, rng: np.random.Generator) -> str:
    """Several edits one after another: decoration, authority, an assertion and an instruction."""
    for name in ("markdown", "authority", "correct_assertion", "ignore_above"):
        response = EDITS[name].change(question, response, chosen(name, "tested", rng), rng)
    return response


EDITS = {
    edit.name: edit
    for edit in (
        Edit("null_response", replaced_by, replaces=True),
        Edit("structured_null", replaced_by, replaces=True),
        Edit("refusal", replaced_by, replaces=True),
        Edit("empty", emptied, replaces=True),
        Edit("correct_assertion", after),
        Edit("authority", before),
        Edit("confident_tone", confident),
        Edit("emoji", decorated_with_emoji),
        Edit("markdown", decorated_with_markdown),
        Edit("repeated_list", said_again),
        Edit("very_long", lengthened),
        Edit("question_stuffing", stuffed),
        Edit("verdict_injection", after),
        Edit("ignore_above", after),
        Edit("forged_end", after),
        Edit("other_languages", after),
        Edit("zero_width", hidden),
        Edit("combined", combined),
    )
}
# No attack, but the yardstick of one: a polite sentence at the end, which should turn nothing.
CONTROLS = {"placebo": Edit("placebo", after)}
REPLACING = tuple(name for name, edit in EDITS.items() if edit.replaces)
WHOLE = ("repeated_list", "very_long")  # edits that take all their wordings at once
UNWORDED = ("empty", "question_stuffing", "combined")
# Fixed before any judge was attacked: edits that no judge is ever trained against.
HELD_OUT = ("structured_null", "authority", "emoji", "other_languages", "zero_width", "combined")
TRAINABLE = tuple(name for name in EDITS if name not in HELD_OUT)


def chosen(name: str, part: str, rng: np.random.Generator) -> Any:
    """A wording of an edit, or all of them where it takes all; None where it takes none."""
    if name in UNWORDED:
        return None
    found = wordings()[name][part]
    return found if name in WHOLE else found[int(rng.integers(len(found)))]


def tampered(name: str, question: str, response: str, part: str = "tested", seed: int = 0) -> str:
    """A response, tampered with by one of `EDITS` or of `CONTROLS`.

    ``part``: whose wordings are used, those that judges are attacked with (``"tested"``), or those that they may be
    trained on (``"trained"``). KeyError if there is no such edit (the message lists them), or it is held out and the
    wordings for training are asked for.

    >>> tampered("empty", "Why?", "Because.")
    ''
    """
    if name not in EDITS and name not in CONTROLS:
        raise KeyError(f"no edit {name!r}; there are {', '.join(EDITS)}")
    if part not in PARTS:
        raise KeyError(f"no part {part!r} of the wordings; there are {', '.join(PARTS)}")
    if part == "trained" and (name in HELD_OUT or name in CONTROLS):
        raise KeyError(f"{name} is held out: no judge is trained against it")
    digest = hashlib.sha256(
        "\x1f".join((str(seed), part, name, question, response)).encode("utf-8", "replace")
    ).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    return (EDITS | CONTROLS)[name].change(question, response, chosen(name, part, rng), rng)
