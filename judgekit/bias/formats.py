"""Form: lists, headings, bold, code, emoji and exclamation marks, as a judge's verdicts follow them and as it is led.

Two kinds of evidence. Effects are regressions on pairs as they are: form goes with content there, so they are read
beside people's. Twins are a response against itself with its form changed: the content is the same, so a preference is
the form's doing.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from judgekit.bias.judged import judged_table
from judgekit.bias.verbosity import fit_log_odds, number_of, rate, readable
from judgekit.data.sources import heads, text_key
from judgekit.judges.surface import BOLD, BULLET, HEADING, NUMBERED
from judgekit.records import PreferencePair, Verdict, named_by_set
from judgekit.stats import Number

EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf\u2b50\u2b55]")
CODE = re.compile(r"```|`[^`\n]+`")
ITEM = re.compile(r"(?m)^[ \t]*(?:\(?\d{1,3}[.)、]|[-*•–])[ \t]+(?=\S)")
SENTENCE = re.compile(r"(?<=[.!?])(?<!\d\.)[ \t]+(?=[A-Z])|\n+")
FORMS = {
    "lists": lambda text: len(NUMBERED.findall(text)) + len(BULLET.findall(text)),
    "headings": lambda text: len(HEADING.findall(text)),
    "bold": lambda text: len(BOLD.findall(text)),
    "code": lambda text: len(CODE.findall(text)),
    "emoji": lambda text: len(EMOJI.findall(text)),
    "exclamations": lambda text: text.count("!"),
}
MIN_DIFFERENT = 30  # pairs that must differ in a form before its effect is estimated
MIN_ITEMS = 3  # lines that make a list
REFRAMED = ("In other words, ", "That is to say, ", "Put differently, ", "To say it another way, ", "Once more: ")


# ------------------------------------------------------------ effects on pairs as they are


def form_differences(pairs: Sequence[PreferencePair]) -> pd.DataFrame:
    """By how many doublings (of one more than the count) A has more of each form than B: a table indexed by item."""
    counts = {
        pair.item_id: [
            np.log2(1 + form(pair.response_a)) - np.log2(1 + form(pair.response_b)) for form in FORMS.values()
        ]
        for pair in pairs
    }
    return pd.DataFrame.from_dict(counts, orient="index", columns=list(FORMS))


def form_effects(table: pd.DataFrame, differences: pd.DataFrame) -> dict[str, dict[str, Number]]:
    """Log odds per doubling of each form, with length and the other forms held fixed: form to three numbers.

    ``judge`` (people's preference is a covariate as well), ``people``, and ``difference``: the judge's less people's,
    both without that covariate. ``judge`` keeps a part of what form and quality share, as ``given_people`` of
    `length_effects` does for length. A form in which fewer than 30 pairs differ is left out.
    ``table`` is `judgekit.bias.judged.judged_table`'s, ``differences`` `form_differences`'.
    """
    table = readable(table)
    forms = differences.loc[table["item_id"]]
    forms = forms.loc[:, (forms != 0).sum() >= MIN_DIFFERENT]
    plain = np.column_stack([np.ones(len(table)), table["doublings"], forms])
    given = fit_log_odds(table["credit"], np.column_stack([plain, table["people"]]), table["cluster"])
    none = np.zeros_like(plain)
    stacked = np.block([[plain, none], [none, plain]])
    both = fit_log_odds(np.concatenate([table["credit"], table["people"]]), stacked, np.tile(table["cluster"], 2))
    found = {}
    for place, form in enumerate(forms.columns, 2):
        contrast = np.zeros(stacked.shape[1])
        contrast[[place, plain.shape[1] + place]] = 1, -1
        test, n = both.t_test(contrast), int((forms[form] != 0).sum())
        found[form] = {
            "judge": number_of(given, place, n),
            "people": number_of(both, plain.shape[1] + place, n),
            "difference": Number(test.effect[0], *test.conf_int()[0], n, ".2f"),  # type: ignore[call-arg]  # two ends
        }
    return found


# ------------------------------------------------------------ edits: text in, text out


def items_of(text: str) -> list[str]:
    """Lines of a text that are items of a list."""
    return [line for line in text.splitlines() if ITEM.match(line)]


def padded(text: str) -> str:
    """A list with every item said again in other words before it: longer, and nothing more in it.

    The attack of Zheng et al. (2023), arXiv:2306.05685, section 3.3, whose rewording was GPT-4's. A text without a list
    of three items or more stays as it is.

    >>> print(padded("1. Red\\n2. Green\\n3. Blue"))
    1. In other words, red
    2. That is to say, green
    3. Put differently, blue
    1. Red
    2. Green
    3. Blue
    """
    lines = text.splitlines()
    if len(places := [place for place, line in enumerate(lines) if ITEM.match(line)]) < MIN_ITEMS:
        return text
    again = []
    for number, place in enumerate(places):
        mark = ITEM.match(lines[place])[0]  # type: ignore[index]  # its lines match
        said = lines[place][len(mark) :]
        said = said[0].lower() + said[1:] if said[1:2].islower() else said
        again.append(f"{mark}{REFRAMED[number % len(REFRAMED)]}{said}")
    return "\n".join([*lines[: places[0]], *again, *lines[places[0] :]])


def unmarked(text: str) -> str:
    """A text without the marks of Markdown; fenced code keeps its lines.

    >>> unmarked("## Colours\\n- **Red** and `blue`")
    'Colours\\nRed and blue'
    """
    text = re.sub(r"(?m)^[ \t]*#{1,6}[ \t]+|^[ \t]*[-*•][ \t]+|^```[^\n]*\n?", "", text)
    return re.sub(r"`([^`\n]+)`", r"\1", re.sub(r"\*\*([^*\n]+)\*\*", r"\1", text))


def sentences_of(text: str) -> list[str]:
    """Sentences and lines that are not empty."""
    return [part.strip() for part in SENTENCE.split(text) if part.strip()]


def bulleted(text: str) -> str:
    """Every sentence as an item of a list; a text with a list or code, or of one sentence, stays as it is."""
    parts = sentences_of(text)
    return text if items_of(text) or CODE.search(text) or len(parts) < 2 else "\n".join(f"- {part}" for part in parts)


def emboldened(text: str) -> str:
    """The first word of every sentence in bold, where nothing is and there is no code."""
    if BOLD.search(text) or CODE.search(text) or not text.strip():
        return text
    return re.sub(r"(?:^|(?<=[.!?])(?<!\d\.)[ \t]+(?=[A-Z])|(?<=\n))([A-Za-z]+)", bold_of, text)


def bold_of(match: re.Match[str]) -> str:
    """A match with its word in bold."""
    return match[0].replace(match[1], f"**{match[1]}**")


def headed(text: str) -> str:
    """Under a heading, where there is none."""
    return text if HEADING.search(text) or not text.strip() else f"## Answer\n\n{text}"


def smiling(text: str) -> str:
    """An emoji after every paragraph, where there is none."""
    return text if EMOJI.search(text) or not text.strip() else re.sub(r"(?<=\S)(?=\n\n|\s*\Z)", " 😊", text.rstrip())


def exclaiming(text: str) -> str:
    """Exclamation marks for the points at the end of sentences, outside of code."""
    return text if CODE.search(text) else re.sub(r"(?<=[A-Za-z)])\.(?=\s|$)", "!", text)


EDITS = {
    "padded": padded,
    "unmarked": unmarked,
    "bulleted": bulleted,
    "bold": emboldened,
    "heading": headed,
    "emoji": smiling,
    "exclamations": exclaiming,
}


# ------------------------------------------------------------ twins: a response against itself, edited


def twins(pairs: Sequence[PreferencePair], edit: str, most: int | None = None) -> list[PreferencePair]:
    """Each distinct response that an edit (a key of `EDITS`) changes, against itself unedited; without label.

    ``model_a`` and ``model_b`` are ``edited`` and ``original``, on a side that is a hash of the texts. At most ``most``
    twins, drawn by such a hash too, so that the same are drawn again.
    """
    found = {}
    for pair in pairs:
        for text in pair.responses:
            if (changed := EDITS[edit](text)) != text:
                key = text_key(f"{edit}\n{pair.question}\n{text}")
                turns: dict[str, Any] = {
                    "cluster_id": f"{pair.benchmark}/{pair.cluster}",
                    "model_a": "edited",
                    "model_b": "original",
                }
                twin = PreferencePair(f"{edit}/{key}", pair.benchmark, pair.asked, changed, text, **turns)
                found[key] = twin if heads(key) else twin.swapped()
    chosen = sorted(found)[:most]
    return [found[key] for key in chosen]


def edited_preferred(
    twin_pairs: Sequence[PreferencePair], verdicts: Sequence[Verdict], n_boot: int = 10_000, seed: int = 0
) -> dict[str, Number]:
    """How often a judge prefers the edited twin: ``share`` and ``both_orders``.

    In ``share`` a tie counts half, so one half is no preference; ``both_orders`` is the share of twins of which the
    edited one wins whatever the order.
    """
    table = judged_table(twin_pairs, verdicts)
    edited = np.where(table["model_a"] == "edited", 1, -1)
    credits = np.where(edited[:, None] > 0, table[["ab", "ba"]], 1 - table[["ab", "ba"]])
    heard: Any = np.isfinite(credits).any(1)
    credits, clusters = credits[heard], table["cluster"][heard]
    shares = {"share": np.nanmean(credits, 1), "both_orders": (np.nan_to_num(credits, nan=1) == 1).all(1)}
    return {name: rate(x, np.ones(len(x)), clusters, n_boot, seed) for name, x in shares.items()}


def padded_losers(
    pairs: Sequence[PreferencePair], most: int | None = None
) -> tuple[list[PreferencePair], list[PreferencePair]]:
    """Pairs of which people like a response with a list less: the pairs, and the same with that list padded.

    At most ``most``, drawn by a hash of the items' names. Names and prompts carry that of the set, so that sets may be
    pooled.
    """
    clean, attacked = [], []
    for pair in sorted(map(named_by_set, pairs), key=lambda pair: text_key(pair.item_id)):
        side = {"A": "response_b", "B": "response_a"}.get(pair.label)  # type: ignore[arg-type]  # None has no side
        if side and (longer := padded(getattr(pair, side))) != getattr(pair, side):
            clean.append(pair)
            attacked.append(replace(pair, **{side: longer}))  # type: ignore[arg-type]  # a field with text
    return clean[:most], attacked[:most]


def overturned(
    clean: Sequence[PreferencePair],
    verdicts: Sequence[Verdict],
    attacked_verdicts: Sequence[Verdict],
    n_boot: int = 10_000,
    seed: int = 0,
) -> dict[str, Number]:
    """What an attack on the less preferred responses does to a judge: ``failure`` and ``lost``.

    ``failure``: of the pairs that the judge had right in every order, the share in which the attacked response wins in
    every order. ``lost``: accuracy lost, a tie being half right, over all pairs with verdicts on both. The verdicts, on
    the pairs as they are and attacked, are in the same orders.
    """
    tables = [judged_table(clean, said) for said in (verdicts, attacked_verdicts)]
    sign = np.where([pair.label == "A" for pair in clean], 1, -1)[:, None]
    right: list[Any] = [np.where(sign > 0, table[["ab", "ba"]], 1 - table[["ab", "ba"]]) for table in tables]
    heard = np.logical_and(*(np.isfinite(x).any(1) for x in right))
    right, clusters = [x[heard] for x in right], tables[0]["cluster"][heard]
    held = (np.nan_to_num(right[0], nan=1) == 1).all(1)
    fell = held & (np.nan_to_num(right[1], nan=0) == 0).all(1)
    lost = np.nanmean(right[0], 1) - np.nanmean(right[1], 1)
    return {
        "failure": rate(fell, held, clusters, n_boot, seed),
        "lost": rate(lost, np.ones(len(lost)), clusters, n_boot, seed),
    }
