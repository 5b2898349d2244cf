"""What judges make of form, against planted tastes: intervals hold what was planted in 930 of 1,000 simulations."""

import numpy as np
import pandas as pd
import pytest

from judgekit.bias.formats import FORMS, edited_preferred, form_effects, overturned
from judgekit.bias.judged import COLUMNS
from judgekit.records import ORDERS, PreferencePair, Verdict

SIMULATIONS, ENOUGH = 1000, 930
pytestmark = pytest.mark.slow  # a thousand simulations each
PROMPTS, PER_PROMPT = 100, 3


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def planted_forms(seed, judge=0.8, people=0.3):
    """Pairs whose judge and people have a taste for lists; headings go with lists and mean nothing to anyone."""
    rng = np.random.default_rng(seed)
    n = PROMPTS * PER_PROMPT
    cluster = np.repeat(np.arange(PROMPTS), PER_PROMPT)
    lists = rng.normal(size=n)
    forms = pd.DataFrame(0.0, index=np.arange(n).astype(str), columns=list(FORMS))
    forms["lists"], forms["headings"] = lists, 0.6 * lists + rng.normal(size=n)
    words = np.round(2.0 ** (6 + rng.normal(scale=0.7, size=(2, n)) + [[0.3], [0.0]] * lists)).astype(int)
    table = pd.DataFrame({name: np.zeros(n) for name in COLUMNS})
    table["item_id"], table["cluster"] = forms.index, cluster.astype(str)
    table["words_a"], table["words_b"] = words
    table["ab"], table["ba"] = (rng.random((2, n)) < sigmoid(judge * lists)).astype(float)
    table["people"] = (rng.random((3, n)) < sigmoid(people * lists)).mean(0)
    return table, forms


def test_effects_of_forms_hold_what_was_planted():
    hits = dict.fromkeys(["judge", "people", "difference", "headings"], 0)
    for seed in range(SIMULATIONS):
        found = form_effects(*planted_forms(seed))
        truth = {"judge": 0.8, "people": 0.3, "difference": 0.5}
        for name, planted in truth.items():
            hits[name] += found["lists"][name].low <= planted <= found["lists"][name].high
        hits["headings"] += found["headings"]["judge"].low <= 0 <= found["headings"]["judge"].high
    assert min(hits.values()) >= ENOUGH, hits


def test_a_form_that_goes_with_the_one_that_is_liked_is_not_liked():
    table, forms = planted_forms(0)
    alone = form_effects(table, forms.assign(lists=0.0))["headings"]["judge"]
    assert alone.low > 0.05  # without lists in the model, headings take their place: the count above can fail
    together = form_effects(table, forms)["headings"]["judge"]
    assert together.low < 0 < together.high


def said(pairs, credits):
    """Verdicts from credits for A, shape (2, n_pairs)."""
    names = {1.0: "A", 0.5: "tie", 0.0: "B"}
    return [
        Verdict(pair.item_id, "made", order, names[float(credit)])
        for order, own in zip(ORDERS, credits, strict=True)
        for pair, credit in zip(pairs, own, strict=True)
    ]


def pairs_of(label):
    return [
        PreferencePair(str(k), "made", "Q?", "one", "two", cluster_id=str(k // PER_PROMPT), label=label)
        for k in range(PROMPTS * PER_PROMPT)
    ]


def shared(rate, rng, spread=0.2):
    """A chance per pair that its prompt shares."""
    return np.repeat(rate + spread * rng.uniform(-1, 1, PROMPTS), PER_PROMPT)


def test_preferences_between_twins_hold_what_was_planted():
    twins = [
        PreferencePair(
            p.item_id, "made", "Q?", "one", "two", cluster_id=p.cluster_id, model_a="edited", model_b="original"
        )
        for p in pairs_of(None)
    ]
    hits = {"share": 0, "both_orders": 0}
    for seed in range(SIMULATIONS):
        rng = np.random.default_rng(seed)
        credits = (rng.random((2, len(twins))) < shared(0.6, rng)).astype(float)
        found = edited_preferred(twins, said(twins, credits), n_boot=200, seed=seed)
        truth = {"share": 0.6, "both_orders": 0.6**2 + 0.2**2 / 3}  # the square's mean over uniform chances
        for name, planted in truth.items():
            hits[name] += found[name].low <= planted <= found[name].high
    assert min(hits.values()) >= ENOUGH, hits


def test_overturned_verdicts_hold_what_was_planted():
    pairs, hits = pairs_of("A"), {"failure": 0, "lost": 0}
    for seed in range(SIMULATIONS):
        rng = np.random.default_rng(seed)
        before = np.tile((rng.random(len(pairs)) < shared(0.7, rng)).astype(float), (2, 1))
        falls = rng.random(len(pairs)) < shared(0.3, rng)
        after = np.where(falls, 0.0, before)
        found = overturned(pairs, said(pairs, before), said(pairs, after), n_boot=200, seed=seed)
        for name, planted in {"failure": 0.3, "lost": 0.7 * 0.3}.items():
            hits[name] += found[name].low <= planted <= found[name].high
    assert min(hits.values()) >= ENOUGH, hits


def test_intervals_that_ignore_prompts_fail_the_count():
    pairs, hits = pairs_of("A"), 0
    alone = [PreferencePair(p.item_id, "made", "Q?", "one", "two", label="A", cluster_id=p.item_id) for p in pairs]
    for seed in range(200):
        rng = np.random.default_rng(seed)
        falls = np.repeat(rng.random(PROMPTS) < 0.3, PER_PROMPT)  # a prompt falls or stands as a whole
        before = np.ones((2, len(pairs)))
        found = overturned(alone, said(alone, before), said(alone, np.where(falls, 0.0, before)), n_boot=200, seed=seed)
        hits += found["failure"].low <= 0.3 <= found["failure"].high
    assert hits < 0.88 * 200


def test_the_planted_truth_of_both_orders_is_the_mean_of_a_square():
    chances = 0.6 + 0.2 * np.linspace(-1, 1, 100_001)
    assert (chances**2).mean() == pytest.approx(0.6**2 + 0.2**2 / 3, abs=1e-4)
