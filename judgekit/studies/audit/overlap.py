"""Questions that stand in two sets: training against test, and test against test."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from judgekit.data.cleaning.texts import N_PERMUTATIONS, minhash, normalise, similarity
from judgekit.data.progress import progress_bar
from judgekit.records import PreferencePair
from judgekit.stats import Number
from judgekit.studies.audit.findings import Finding

MIN_JACCARD = 0.7  # of 3-word shingles, as in `judgekit.data.cleaning.contamination`
MIN_WORDS = 5  # shorter questions are the same by chance ("write a poem")


def questions_of(pairs: Sequence[PreferencePair]) -> dict[str, list[str]]:
    """Normalised questions, earlier turns' too, to the ids of the items that ask them."""
    found, forms = defaultdict(list), {}
    for pair in pairs:
        for question in (*(turn.question for turn in pair.turns), pair.question):
            if question not in forms:  # Sets differ in whether "Input:" marks an instruction's input.
                forms[question] = " ".join(word for word in normalise(question).split() if word != "input")
            found[forms[question]].append(pair.item_id)
    return {text: items for text, items in found.items() if text}


def near_groups(texts: Sequence[str], min_jaccard: float = MIN_JACCARD) -> dict[str, list[str]]:
    """For each text that has any the others that nearly equal it.

    MinHash (Broder 1997) proposes, the exact share of common shingles decides. ``texts``: normalised, each once.
    """
    from datasketch import MinHashLSH

    index, found = MinHashLSH(threshold=min_jaccard, num_perm=N_PERMUTATIONS), defaultdict(list)
    with progress_bar(len(texts), "near questions", "question", shown=len(texts) > 2000) as bar:
        for text in texts:
            bar.update(1)
            if len(text.split()) < MIN_WORDS:
                continue
            signature = minhash(text)
            for other in index.query(signature):
                if similarity(text, other) >= min_jaccard:
                    found[text].append(other)
                    found[other].append(text)
            index.insert(text, signature, check_duplication=False)
    return dict(found)


def overlap_table(sets: Mapping[str, Sequence[PreferencePair]]) -> pd.DataFrame:
    """How many questions of each set also stand in each other one.

    Columns set, other, questions (distinct ones of the set), exact, near (beyond the exact ones), items (of the set,
    whose question is among either), examples (ids); two rows for every two sets, also where nothing is shared.
    """
    asked = {name: questions_of(pairs) for name, pairs in sets.items()}
    texts = dict.fromkeys(text for own in asked.values() for text in own)
    near, rows = near_groups(list(texts)), []
    for name, own in asked.items():
        for other, theirs in asked.items():
            if name == other:
                continue
            exact = [text for text in own if text in theirs]
            close = [text for text in own if text not in theirs and any(one in theirs for one in near.get(text, ()))]
            items = list(dict.fromkeys(item for text in (*exact, *close) for item in own[text]))
            rows.append((name, other, len(own), len(exact), len(close), len(items), items))
    return pd.DataFrame(rows, columns=["set", "other", "questions", "exact", "near", "items", "examples"])


def overlap_findings(table: Any, tests: Collection[str], sizes: Mapping[str, int]) -> list[Finding]:
    """Findings about what test sets share, one for every test set and other set that share a question.

    ``table``: as `overlap_table`; ``sizes``: items of each set. Two test sets are named once.
    """
    found = []
    for row in table.itertuples():
        if row.set not in tests or not row.items or (row.other in tests and row.other < row.set):
            continue
        kind = "test" if row.other in tests else "training"
        what = f"question also in {row.other} ({kind}): {row.exact} exact, {row.near} near"
        found.append(
            Finding(row.set, "overlap", f"in_{row.other}", what, row.items, sizes[row.set], examples=row.examples)
        )
    return found


def overlap_numbers(table: Any, tests: Collection[str]) -> dict[str, Number]:
    """Numbers of what each test set shares: questions word for word and nearly, and items.

    ``audit.<set>.shared_with.<other>.exact``, ``.near``, ``.items``; pairs of sets that share nothing are left out.
    """
    numbers: dict[str, Number] = {}
    for row in table[table["items"] > 0].itertuples():
        if row.set in tests:
            key = f"audit.{row.set}.shared_with.{row.other}"
            counts = {"exact": row.exact, "near": row.near, "items": row.items}
            numbers |= {f"{key}.{name}": Number(int(count), n=row.questions) for name, count in counts.items()}
    return numbers
