"""What notebook 41 needs beside `judgekit.bias.length`: form, responses against themselves edited, leaderboards.

Effects of form are regressions on pairs as they are, where form goes with content, so they are read beside people's.
Twins are a response against itself with its form changed: a preference is the form's doing.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from judgekit.bias.judged import judged, judged_table, with_slugs
from judgekit.bias.length import beside_people, coefficient, contrast, doublings_of, fit_log_odds, readable
from judgekit.data.catalogue import load_set
from judgekit.data.paths import run_folder, verdict_store_path
from judgekit.data.sources import heads, text_key
from judgekit.judges import Judge, load_judge
from judgekit.judges.names import slug as slug_of
from judgekit.judges.names import unique_slugs
from judgekit.judges.surface import BOLD, BULLET, HEADING, NUMBERED
from judgekit.records import ORDERS, PreferencePair, Verdict, named_by_set
from judgekit.scoring import run_judge, verdicts
from judgekit.scoring.store import VerdictStore
from judgekit.stats import Number, interval, prompt_folds, share_of

EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf\u2b50\u2b55]")
CODE = re.compile(r"```|`[^`\n]+`")
ITEM = re.compile(r"(?m)^[ \t]*(?:\(?\d{1,3}[.)、]|[-*•–])[ \t]+(?=\S)")
SENTENCE = re.compile(r"(?<=[.!?])(?<!\d\.)[ \t]+(?=[A-Z])|\n+")
FIRST_WORD = re.compile(r"(?:^|(?<=[.!?])(?<!\d\.)[ \t]+(?=[A-Z])|(?<=\n))([A-Za-z]+)")
FORMS: dict[str, Callable[[str], int]] = {
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

# ---------------------------------------------------------------- verdicts


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


Asked: TypeAlias = Callable[[Sequence[PreferencePair]], list[Verdict]]  # pairs to a judge's verdicts


def judges_to_lead(names: Sequence[str], causal: str, slugs: Mapping[str, str], run: str) -> dict[str, Asked]:
    """Judges that edited responses are put to, by slug; symmetric ones are asked in one order, a causal one in both."""
    by_slug = unique_slugs(names, {name: slug for name, slug in slugs.items() if name in names})
    judges: dict[str, Any] = {by_slug[name]: (load_judge(name, run=run), ORDERS[:1]) for name in names}
    if causal:
        options = {"strategy": "letter", "policy": "strict", "mode": "one_pass"}
        judges["tiny_causal"] = (load_judge(f"hf/{run_folder(run, 'models', causal)}", settings=options), ORDERS)
    store = VerdictStore(verdict_store_path())
    return {slug: partial(_asked, judge, orders, store) for slug, (judge, orders) in judges.items()}


def _asked(judge: Judge, orders: Any, store: VerdictStore, pairs: Sequence[PreferencePair]) -> list[Verdict]:
    return run_judge(judge, pairs, store, orders, progress=False)


def pairs_of(sets: Sequence[str]) -> list[PreferencePair]:
    return [pair for name in sets for pair in load_set(name)]


# ---------------------------------------------------------------- length alone


def length_baselines(table: pd.DataFrame, n_folds: int = 5, n_boot: int = 10_000, seed: int = 0) -> dict[str, Number]:
    """How far length alone goes: agreement with people, of the pairs on which they have a preference.

    ``longer``: of the rule that prefers the longer response (equal is half right). ``threshold``: of one that prefers
    it unless it is longer by more than some doublings, learnt on other prompts. ``gain``: the second less the first.
    """
    table = table[table["people"].notna() & (table["people"] != 0.5)]
    towards = np.where(table["people"] > 0.5, 1, -1) * doublings_of(table).to_numpy()  # how much longer people's is
    longer = (1 + np.sign(towards)) / 2
    folds = prompt_folds(table["prompt"], n_folds, seed)
    grid = np.append(np.quantile(np.abs(towards), np.linspace(0.05, 0.95, 19)), np.inf)
    right = np.where(np.abs(towards)[:, None] <= grid, longer[:, None], 1 - longer[:, None])
    # Of equals the widest: nothing learnt is the rule that prefers the longer response.
    best = [len(grid) - 1 - right[folds != fold].mean(0)[::-1].argmax() for fold in range(n_folds)]
    learnt = right[np.arange(len(right)), np.array(best)[folds]]
    rules = {"longer": longer, "threshold": learnt, "gain": learnt - longer}
    prompts: Any = table["prompt"]
    return {k: interval(share_of, prompts, x, spec=".1%", n_boot=n_boot, seed=seed) for k, x in rules.items()}


# ---------------------------------------------------------------- form on pairs as they are


def form_differences(pairs: Sequence[PreferencePair]) -> pd.DataFrame:
    """By how many doublings (of one more than the count) A has more of each form than B: a table indexed by item."""
    counts = {
        pair.item_id: [
            np.log2(1 + form(pair.response_a)) - np.log2(1 + form(pair.response_b)) for form in FORMS.values()
        ]
        for pair in pairs
    }
    return pd.DataFrame.from_dict(counts, orient="index", columns=list(FORMS))


def form_effects(table: pd.DataFrame, differences: pd.DataFrame) -> pd.DataFrame:
    """Log odds per doubling of each form, with length and the other forms held fixed: a row per form.

    Columns form, judge (people's preference is a covariate as well), people, and difference: the judge's less people's,
    both without that covariate. A form in which fewer than 30 pairs differ is left out. `Separated` where forms decide
    every verdict.
    """
    table = readable(table)
    forms = differences.loc[table["item"]]
    forms = forms.loc[:, (forms != 0).sum() >= MIN_DIFFERENT]
    design = np.column_stack([np.ones(len(table)), table["doublings"], forms])
    given = fit_log_odds(table["credit"], np.column_stack([design, table["people"]]), table["prompt"])
    both, width = beside_people(table, design), design.shape[1]
    rows = []
    for place, form in enumerate(forms.columns, 2):
        n, weights = int((forms[form] != 0).sum()), np.zeros(2 * width)
        weights[[place, width + place]] = 1, -1
        effects = coefficient(given, place, n), coefficient(both, width + place, n), contrast(both, weights, n)[0]
        rows.append((form, *effects))
    return pd.DataFrame(rows, columns=["form", "judge", "people", "difference"])


# ---------------------------------------------------------------- edits: text in, text out


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


def unmarked(text: str) -> str:
    """A text without the marks of Markdown; fenced code keeps its lines."""
    text = re.sub(r"(?m)^[ \t]*#{1,6}[ \t]+|^[ \t]*[-*•][ \t]+|^```[^\n]*\n?", "", text)
    return re.sub(r"`([^`\n]+)`", r"\1", re.sub(r"\*\*([^*\n]+)\*\*", r"\1", text))


def _bulleted(text: str) -> str:
    parts = [part.strip() for part in SENTENCE.split(text) if part.strip()]
    plain = len(parts) > 1 and not CODE.search(text) and not any(map(ITEM.match, text.splitlines()))
    return "\n".join(f"- {part}" for part in parts) if plain else text


def _emboldened(text: str) -> str:
    """The first word of every sentence in bold, where nothing is and there is no code."""
    if BOLD.search(text) or CODE.search(text) or not text.strip():
        return text
    return FIRST_WORD.sub(lambda match: match[0].replace(match[1], f"**{match[1]}**"), text)


def _headed(text: str) -> str:
    return text if HEADING.search(text) or not text.strip() else f"## Answer\n\n{text}"


def _smiling(text: str) -> str:
    return text if EMOJI.search(text) or not text.strip() else re.sub(r"(?<=\S)(?=\n\n|\s*\Z)", " 😊", text.rstrip())


def _exclaiming(text: str) -> str:
    return text if CODE.search(text) else re.sub(r"(?<=[A-Za-z)])\.(?=\s|$)", "!", text)


EDITS: dict[str, Callable[[str], str]] = {
    "padded": padded,
    "unmarked": unmarked,
    "bulleted": _bulleted,
    "bold": _emboldened,
    "heading": _headed,
    "emoji": _smiling,
    "exclamations": _exclaiming,
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
                twin = replace(
                    twin, cluster_id=f"{pair.benchmark}/{pair.cluster}", model_a="edited", model_b="original"
                )
                made[key] = twin if heads(key) else twin.swapped()
    return [made[key] for key in sorted(made)[:most]]


def edited_preferred(
    twin_pairs: Sequence[PreferencePair], given: Sequence[Verdict], n_boot: int = 10_000, seed: int = 0
) -> dict[str, Number]:
    """How often a judge prefers the edited twin: ``share`` (a tie counts half) and ``both_orders`` (in every order)."""
    table = judged_table(twin_pairs, given)
    edited = (table["model_a"] == "edited").to_numpy()[:, None]
    credits = np.where(edited, table[["ab", "ba"]], 1 - table[["ab", "ba"]])
    read: Any = np.isfinite(credits).any(1)
    credits, prompts = credits[read], table["prompt"][read]
    shares = {"share": np.nanmean(credits, 1), "both_orders": (np.nan_to_num(credits, nan=1) == 1).all(1)}
    return {k: interval(share_of, prompts, x, spec=".1%", n_boot=n_boot, seed=seed) for k, x in shares.items()}


def padded_losers(
    pairs: Sequence[PreferencePair], most: int | None = None
) -> tuple[list[PreferencePair], list[PreferencePair]]:
    """Pairs of which people like a response with a list less: the pairs, and the same with that list padded.

    At most ``most``, drawn by a hash of the items' names, which carry that of the set.
    """
    clean, attacked = [], []
    for pair in sorted(map(named_by_set, pairs), key=lambda pair: text_key(pair.item_id)):
        side = {"A": "response_b", "B": "response_a"}.get(str(pair.label))
        if side and (longer := padded(getattr(pair, side))) != getattr(pair, side):
            changed: Any = {side: longer}
            clean.append(pair)
            attacked.append(replace(pair, **changed))
    return clean[:most], attacked[:most]


def overturned(
    clean: Sequence[PreferencePair],
    before: Sequence[Verdict],
    after: Sequence[Verdict],
    n_boot: int = 10_000,
    seed: int = 0,
) -> dict[str, Number]:
    """What an attack on the less preferred responses does to a judge: ``failure`` and ``lost``.

    ``failure``: of the pairs that the judge had right in every order, the share in which the attacked response wins in
    every order. ``lost``: accuracy lost, a tie being half right, over all pairs with verdicts on both.
    """
    tables = [judged_table(clean, given) for given in (before, after)]
    labels = {pair.item_id: pair.label for pair in clean}
    for_a = (tables[0]["item"].map(labels) == "A").to_numpy()[:, None]
    right: list[Any] = [np.where(for_a, table[["ab", "ba"]], 1 - table[["ab", "ba"]]) for table in tables]
    read: Any = np.logical_and(*(np.isfinite(x).any(1) for x in right))
    right, prompts = [x[read] for x in right], tables[0]["prompt"][read]
    all_right = (np.nan_to_num(right[0], nan=1) == 1).all(1)
    fell = all_right & (np.nan_to_num(right[1], nan=0) == 0).all(1)
    failure = np.column_stack([fell, all_right])
    lost = np.nanmean(right[0], 1) - np.nanmean(right[1], 1)
    options: Any = {"spec": ".1%", "n_boot": n_boot, "seed": seed}
    return {
        "failure": interval(share_of, prompts, failure, n=int(all_right.sum()), **options),
        "lost": interval(share_of, prompts, lost, **options),
    }
