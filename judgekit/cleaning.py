"""Filters for preference data: each returns what it keeps and says what it drops, and why.

A filter takes pairs and returns ``(kept, dropped)``; `clean` chains them. Test questions are read here to keep them
out of training, and nowhere else before scoring.
"""

import hashlib
import re
from collections import defaultdict
from dataclasses import dataclass

from judgekit.records import PreferencePair

GRAM = 8  # words per n-gram of the contamination check
SHINGLE = 3  # words per shingle of the near-duplicate checks
N_PERMUTATIONS = 128


@dataclass(frozen=True, slots=True)
class Dropped:
    """One pair that a filter dropped: which, why, and what it clashed with."""

    item_id: str
    benchmark: str
    reason: str
    detail: str = ""


def normalise(text):
    """Lower case, words only: what "the same question" means to the filters.

    Examples
    --------
    >>> normalise("What's  the capital?\\n")
    'what s the capital'
    """
    return " ".join(re.findall(r"\w+", text.lower()))


def variants(question):
    """Normalised forms under which a question may turn up elsewhere: whole, and its first block.

    Sets differ in whether an instruction's input is part of the question, so the first block counts when it is long
    enough (six words) to identify the task.
    """
    whole = normalise(question)
    blocks = [normalise(block) for block in re.split(r"\n\s*\n", question.strip())[:1]]
    return {whole, *(block for block in blocks if len(block.split()) >= 6)} - {""}


def grams(text, size):
    """Set of word n-grams of a normalised text; the whole text when it is shorter."""
    words = text.split()
    if len(words) < size:
        return {text} if text else set()
    return {" ".join(words[i : i + size]) for i in range(len(words) - size + 1)}


def minhash(text):
    """MinHash signature of a normalised text over word shingles (Broder 1997)."""
    from datasketch import MinHash

    signature = MinHash(num_perm=N_PERMUTATIONS, seed=1)
    signature.update_batch([gram.encode("utf-8", "replace") for gram in grams(text, SHINGLE)])
    return signature


def drop_degenerate(pairs):
    """Drop pairs that carry no information: no question, both responses empty, or identical responses."""
    kept, dropped = [], []
    for pair in pairs:
        reason = degenerate_reason(pair)
        if reason:
            dropped.append(Dropped(pair.item_id, pair.benchmark, reason))
        else:
            kept.append(pair)
    return kept, dropped


def degenerate_reason(pair):
    """Why a pair says nothing, or None."""
    if not pair.question.strip() and not pair.turns:
        return "empty question"
    if not pair.response_a.strip() and not pair.response_b.strip():
        return "both responses empty"
    if pair.response_a.strip() == pair.response_b.strip():
        return "identical responses"
    if pair.label is None and pair.soft_label is None:
        return "no label"
    return None


def drop_long(pairs, max_chars=20_000):
    """Drop pairs of which a text is longer than ``max_chars`` characters."""
    kept, dropped = [], []
    for pair in pairs:
        longest = max(len(pair.question), len(pair.response_a), len(pair.response_b))
        if longest > max_chars:
            dropped.append(Dropped(pair.item_id, pair.benchmark, "too long", f"{longest} characters"))
        else:
            kept.append(pair)
    return kept, dropped


def content_key(pair):
    """Key of a pair's content whatever its orientation, and which orientation that is."""
    context = " ".join(turn.question for turn in pair.turns)
    texts = sorted([normalise(pair.response_a), normalise(pair.response_b)])
    key = hashlib.sha256("\x1f".join([normalise(context + " " + pair.question), *texts]).encode()).hexdigest()
    return key, texts[0] == normalise(pair.response_a)


def oriented_label(pair, straight):
    """The label in the orientation of `content_key`."""
    return pair.label if straight else pair.swapped().label


def drop_repeats(pairs):
    """Drop exact repeats, and every copy of a pair that was labelled both ways.

    Two annotators may see the same pair: equal labels keep the first copy, unequal decided labels drop all copies
    ("label conflict"), since nothing says which is right.
    """
    groups = defaultdict(list)
    for pair in pairs:
        key, straight = content_key(pair)
        groups[key].append((pair, oriented_label(pair, straight)))
    kept, dropped = [], []
    for group in groups.values():
        labels = {label for _, label in group}
        first = group[0][0]
        if {"A", "B"} <= labels:
            dropped += [Dropped(pair.item_id, pair.benchmark, "label conflict", first.item_id) for pair, _ in group]
            continue
        kept.append(first)
        dropped += [Dropped(pair.item_id, pair.benchmark, "exact repeat", first.item_id) for pair, _ in group[1:]]
    return kept, dropped


def drop_contaminated(pairs, test_questions, max_overlap=0.3, min_jaccard=0.7):
    """Drop training pairs whose question is, or nearly is, a test question.

    Parameters
    ----------
    pairs : list of PreferencePair
        Training pairs.
    test_questions : list of (str, str)
        Where a test question stands, and its text, for every test set.
    max_overlap : float
        Largest share in [0, 1] of a question's 8-grams that may occur in test questions.
    min_jaccard : float
        Estimated Jaccard similarity of 3-word shingles from which two questions count as near duplicates.

    Returns
    -------
    kept, dropped
        Reasons are "test question", "test n-grams" and "near a test question", in that order of precedence.
    """
    from datasketch import MinHashLSH

    exact, test_grams = {}, set()
    near = MinHashLSH(threshold=min_jaccard, num_perm=N_PERMUTATIONS)
    for where, question in test_questions:
        for form in variants(question):
            if form in exact:
                continue
            exact[form] = where
            near.insert(form, minhash(form))
            if len(form.split()) >= GRAM:
                test_grams |= grams(form, GRAM)
    verdict = {}
    kept, dropped = [], []
    for pair in pairs:
        questions = (pair.question, *(turn.question for turn in pair.turns))
        reason = detail = None
        for question in questions:
            if question not in verdict:
                verdict[question] = contamination(question, exact, test_grams, near, max_overlap)
            reason, detail = verdict[question]
            if reason:
                break
        if reason:
            dropped.append(Dropped(pair.item_id, pair.benchmark, reason, detail))
        else:
            kept.append(pair)
    return kept, dropped


def contamination(question, exact, test_grams, near, max_overlap):
    """Reason and detail for one question, (None, None) when it is clean."""
    forms = variants(question)
    for form in forms:
        if form in exact:
            return "test question", exact[form]
    for form in forms:
        if len(form.split()) >= GRAM:
            own = grams(form, GRAM)
            overlap = len(own & test_grams) / len(own)
            if overlap > max_overlap:
                return "test n-grams", f"{overlap:.2f} of its {GRAM}-grams"
    for form in forms:
        if hits := near.query(minhash(form)):
            return "near a test question", exact[sorted(hits)[0]]
    return None, None


def drop_near_repeats(pairs, min_jaccard=0.9):
    """Drop pairs whose question and responses all nearly repeat an earlier pair of the same set.

    Works on one signature of question and both responses, so different responses to one question stay.
    """
    from datasketch import MinHashLSH

    kept, dropped = [], []
    near = MinHashLSH(threshold=min_jaccard, num_perm=N_PERMUTATIONS)
    for pair in pairs:
        texts = sorted([normalise(pair.response_a), normalise(pair.response_b)])
        signature = minhash(" ".join([normalise(pair.question), *texts]))
        hits = near.query(signature)
        if hits:
            dropped.append(Dropped(pair.item_id, pair.benchmark, "near repeat", sorted(hits)[0]))
            continue
        near.insert(f"{pair.benchmark}/{pair.item_id}", signature, check_duplication=False)
        kept.append(pair)
    return kept, dropped


def drop_questions(pairs, questions, reason="validation question"):
    """Drop pairs that ask one of the given questions (a set that is held out whole)."""
    held_out = {normalise(question) for question in questions}
    kept, dropped = [], []
    for pair in pairs:
        if normalise(pair.question) in held_out:
            dropped.append(Dropped(pair.item_id, pair.benchmark, reason))
        else:
            kept.append(pair)
    return kept, dropped


def stable_order(pair, seed=0):
    """A pseudo-random number in [0, 1) that depends on the pair and the seed alone."""
    digest = hashlib.sha256(f"{seed}:{pair.benchmark}:{pair.item_id}".encode()).hexdigest()
    return int(digest[:12], 16) / 16**12


def drop_over_cap(pairs, limit, seed=0):
    """Keep at most ``limit`` pairs of each prompt and source, chosen pseudo-randomly.

    A few prompts with a hundred responses each would otherwise teach those prompts.
    """
    groups = defaultdict(list)
    for pair in pairs:
        groups[pair.benchmark, pair.cluster_id].append(pair)
    chosen = set()
    for group in groups.values():
        chosen |= {(p.benchmark, p.item_id) for p in sorted(group, key=lambda p: stable_order(p, seed))[:limit]}
    kept = [pair for pair in pairs if (pair.benchmark, pair.item_id) in chosen]
    rest = [pair for pair in pairs if (pair.benchmark, pair.item_id) not in chosen]
    return kept, [Dropped(pair.item_id, pair.benchmark, "over the cap per prompt") for pair in rest]


def clean(pairs, test_questions, validation_questions=(), max_per_prompt=25, max_chars=20_000, seed=0):
    """All filters in turn.

    Parameters
    ----------
    pairs : list of PreferencePair
        From one corpus or several; repeats across corpora are found.
    test_questions : list of (str, str)
        See `drop_contaminated`.
    validation_questions : collection of str
        Questions of sets that are held out whole.
    max_per_prompt, max_chars, seed : int

    Returns
    -------
    kept : list of PreferencePair
    dropped : list of Dropped
        Together as many as came in.
    """
    kept, dropped = list(pairs), []
    steps = (
        drop_degenerate,
        lambda items: drop_long(items, max_chars),
        drop_repeats,
        lambda items: drop_contaminated(items, test_questions),
        lambda items: drop_questions(items, validation_questions),
        lambda items: drop_over_cap(items, max_per_prompt, seed),
    )
    for step in steps:
        kept, out = step(kept)
        dropped += out
    if len(kept) + len(dropped) != len(pairs):
        raise AssertionError(f"{len(pairs)} pairs in, {len(kept)} kept and {len(dropped)} dropped")
    return kept, dropped


def split_by_prompt(pairs, validation_share=0.12, seed=0):
    """Split pairs into training and validation by prompt: no question stands in both.

    Parameters
    ----------
    pairs : list of PreferencePair
    validation_share : float
        Expected share of prompts in validation, in [0, 1].
    seed : int

    Returns
    -------
    train, validation : list of PreferencePair
    """

    def held_out(pair: PreferencePair):
        text = f"{seed}:{normalise(pair.turns[0].question if pair.turns else pair.question)}"
        return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 16**8 < validation_share

    validation = [pair for pair in pairs if held_out(pair)]
    return [pair for pair in pairs if not held_out(pair)], validation


def split_table(parts):
    """Which pair is in which part: a table of benchmark, item_id and split, in stable order.

    Parameters
    ----------
    parts : dict of str to list of PreferencePair
        Part name (``train``, ``validation``) to its pairs.
    """
    import pandas as pd

    rows = [(pair.benchmark, pair.item_id, name) for name, pairs in parts.items() for pair in pairs]
    return pd.DataFrame(sorted(rows), columns=["benchmark", "item_id", "split"])


def cleaning_counts(pairs, kept, dropped):
    """How many pairs each corpus brought, lost to each reason, and kept.

    Returns
    -------
    pandas.DataFrame
        Columns corpus, step, count; steps start with "read", end with "kept", and stand in the order of the
        filters between.
    """
    import pandas as pd

    corpora = list(dict.fromkeys(pair.benchmark for pair in pairs))
    reasons = list(dict.fromkeys(drop.reason for drop in dropped))
    rows = []
    for reason in ("read", *reasons, "kept"):
        found = {"read": pairs, "kept": kept}.get(reason, [drop for drop in dropped if drop.reason == reason])
        rows += [(name, reason, sum(record.benchmark == name for record in found)) for name in corpora]
    return pd.DataFrame(rows, columns=["corpus", "step", "count"])
