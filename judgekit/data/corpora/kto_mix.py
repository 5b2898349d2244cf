"""LLaMA-Factory's KTO mixture: each prompt with a response marked good and one marked bad, which make a pair."""

from itertools import product

from judgekit.data.corpora.sides import place
from judgekit.data.sources import read_rows, text_key
from judgekit.records import PreferencePair

FILES = ("llamafactory/kto-mix-test.json",)


def load():
    """The pairs, and a report."""
    return pairs_from_rows(read_rows(FILES[0]))


def pairs_from_rows(rows):
    """Every good response to a prompt against every bad one; ``unpaired`` responses have no counterpart.

    Raises
    ------
    DataError
        If a field is missing or of another type.
    """
    prompts = {}
    for row in rows:
        good = row.code("tag", {True: True, False: False})
        prompts.setdefault(row.text("instruction"), {True: [], False: []})[good].append(row)
    pairs = [place(pair) for marked in prompts.values() for pair in map(pair_from_rows, product(*marked.values()))]
    unpaired = sum(len(marked[True]) + len(marked[False]) for marked in prompts.values() if not all(marked.values()))
    return pairs, {"responses": len(rows), "unpaired": unpaired}


def pair_from_rows(rows):
    """One pair with the good response as A."""
    good, bad = rows
    return PreferencePair(
        item_id=f"{good.number}-{bad.number}",
        benchmark="kto_mix",
        question=good.text("instruction"),
        response_a=good.text("output"),
        response_b=bad.text("output"),
        cluster_id=text_key(good.text("instruction")),
        label="A",
        label_kind="model",
        source=good.where,
    )
