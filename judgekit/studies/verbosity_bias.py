"""What notebook 41 needs beside `judgekit.bias.length`: verdicts on parts of sets, and responses edited in form.

Twins are a response against itself with its form changed: a preference is the form's doing.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from judgekit.bias.judged import judged, with_slugs
from judgekit.data.catalogue import load_set
from judgekit.data.sources import heads, text_key
from judgekit.judges.names import slug as slug_of
from judgekit.judges.surface import BOLD, HEADING
from judgekit.records import PreferencePair
from judgekit.scoring import verdicts

CODE = re.compile(r"```|`[^`\n]+`")
ITEM = re.compile(r"(?m)^[ \t]*(?:\(?\d{1,3}[.)、]|[-*•–])[ \t]+(?=\S)")
FIRST_WORD = re.compile(r"(?:^|(?<=[.!?])(?<!\d\.)[ \t]+(?=[A-Z])|(?<=\n))([A-Za-z]+)")
MIN_ITEMS = 3  # lines that make a list
REFRAMED = ("In other words, ", "That is to say, ", "Put differently, ", "To say it another way, ", "Once more: ")


def judged_sets(
    sets: Mapping[str, Sequence[str]], parts: Mapping[str, Sequence[str]], slugs: Mapping[str, str], run: str
) -> pd.DataFrame:
    """`judged` of every judge on every set, with words; ValueError where a judge lacks a verdict.

    ``parts``: a part of a set to the set, and the replay judges that have verdicts on just that part.
    """
    tables = []
    for name, judges in sets.items():
        whole, *covering = parts.get(name, [name])
        table = verdicts(with_slugs(judges, slugs), [whole], run, progress=False)
        stored = {slugs.get(f"replay/{model}") or slug_of(model) for model in covering}
        there = table[table["judge"].isin(stored) & (table["order"] == "ab") & (table["status"] != "error")]
        covered = there["item"].value_counts()
        if covering:
            table = table[table["item"].isin(covered.index[covered == len(covering)])]
        if len(lacking := table[table["status"] == "error"]):
            raise ValueError(f"{name}: {lacking['judge'].iloc[0]} has no verdict in {len(lacking)} cases")
        tables.append(judged(table.assign(set=name), {name: load_set(whole)}))
    return pd.concat(tables, ignore_index=True)


def padded(text: str) -> str:
    """A list with every item said again in other words before it: longer, and nothing more in it.

    The attack of Zheng et al. (2023), arXiv:2306.05685, section 3.3, whose rewording was GPT-4's. A text without a list
    of three items stays as it is.

    >>> print(padded("1. Red\\n2. Green\\n3. Blue"))
    1. In other words, red
    2. That is to say, green
    3. Put differently, blue
    1. Red
    2. Green
    3. Blue
    """
    lines = text.splitlines()
    marks = {place: match[0] for place, line in enumerate(lines) if (match := ITEM.match(line))}
    if len(marks) < MIN_ITEMS:
        return text
    again = []
    for number, (place, mark) in enumerate(marks.items()):
        item = lines[place][len(mark) :]
        item = item[0].lower() + item[1:] if item[1:2].islower() else item
        again.append(f"{mark}{REFRAMED[number % len(REFRAMED)]}{item}")
    return "\n".join([*lines[: next(iter(marks))], *again, *lines[next(iter(marks)) :]])


def _unmarked(text: str) -> str:
    """A text without the marks of Markdown; fenced code keeps its lines."""
    text = re.sub(r"(?m)^[ \t]*#{1,6}[ \t]+|^[ \t]*[-*•][ \t]+|^```[^\n]*\n?", "", text)
    return re.sub(r"`([^`\n]+)`", r"\1", re.sub(r"\*\*([^*\n]+)\*\*", r"\1", text))


def _emboldened(text: str) -> str:
    """The first word of every sentence in bold, where nothing is and there is no code."""
    if BOLD.search(text) or CODE.search(text) or not text.strip():
        return text
    return FIRST_WORD.sub(lambda match: match[0].replace(match[1], f"**{match[1]}**"), text)


def _headed(text: str) -> str:
    return text if HEADING.search(text) or not text.strip() else f"## Answer\n\n{text}"


EDITS: dict[str, Callable[[str], str]] = {
    "padded": padded,
    "unmarked": _unmarked,
    "bold": _emboldened,
    "heading": _headed,
}


def twins(pairs: Sequence[PreferencePair], edit: str, most: int | None = None) -> list[PreferencePair]:
    """Each distinct response that an edit (a key of `EDITS`) changes, against itself unedited; without label.

    ``model_a`` and ``model_b`` are ``edited`` and ``original``; sides and drawing are by a hash of the texts.
    """
    made = {}
    for pair in pairs:
        for text in pair.responses:
            if (changed := EDITS[edit](text)) != text:
                key = text_key(f"{edit}\n{pair.question}\n{text}")
                twin = PreferencePair(f"{edit}/{key}", pair.benchmark, pair.asked, changed, text)
                cluster = f"{pair.benchmark}/{pair.cluster}"
                twin = replace(twin, cluster_id=cluster, model_a="edited", model_b="original")
                made[key] = twin if heads(key) else twin.swapped()
    return [made[key] for key in sorted(made)[:most]]
