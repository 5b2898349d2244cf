"""Planted annotators: win rates at equal length are those without a taste for length, where length is no merit."""

import numpy as np
import pandas as pd
import pytest

from judgekit.bias.length_control import annotation_table, leaderboard, saturating, win_rates
from judgekit.bias.planted import PlantedBias, Population, planted_table
from judgekit.bias.verbosity import doublings_of
from judgekit.records import PreferencePair
from judgekit.stats import coverage

ENOUGH, SIMULATIONS = 930, 1000
pytestmark = pytest.mark.slow  # a thousand simulations each
TASTE = PlantedBias(length=0.5, opinion=0.3)
NONE = PlantedBias(length=0.0, opinion=0.3)
MODELS = {"good-1": 0.8, "fair-1": 0.0, "wordy-1": -0.4, "weak-1": -1.2, "base-1": 0.0}
WORDIER = {"wordy-1": 1.5, "fair-1": -0.5, "weak-1": 0.5}


def annotations(table, baseline="base-1"):
    """A planted judge's verdicts, in one order, on the pairs of a baseline."""
    table = table[(table["model_a"] == baseline) | (table["model_b"] == baseline)]
    turned = (table["model_a"] == baseline).to_numpy()
    credit, doublings = table["ab"].to_numpy(), doublings_of(table).to_numpy()
    return pd.DataFrame(
        {
            "model": np.where(turned, table["model_b"], table["model_a"]),
            "cluster": table["cluster"].to_numpy(),
            "credit": np.where(turned, 1 - credit, credit),
            "doublings": np.where(turned, -doublings, doublings),
        }
    )


def board_of(seed, bias=TASTE, prompts=80, richer=0.0):
    """Annotations of four models, 16 pairs a prompt of which some hold the baseline."""
    shown = Population(prompts, 16, MODELS, richer=richer, wordier=WORDIER)
    return annotations(planted_table(bias, shown, seed))


def duel_of(seed, bias=TASTE, prompts=300, richer=0.0):
    """Annotations of the wordy model alone."""
    shown = Population(prompts, 1, {m: MODELS[m] for m in ("wordy-1", "base-1")}, richer=richer, wordier=WORDIER)
    return annotations(planted_table(bias, shown, seed))


def test_a_win_rate_at_equal_length_is_that_of_a_judge_without_the_taste():
    truth = duel_of(10**6, NONE, 200_000)["credit"].mean()
    raw = duel_of(10**6, TASTE, 200_000)["credit"].mean()
    held = {"raw": 0, "controlled": 0, "of_raw": 0}
    for seed in range(SIMULATIONS):
        found = win_rates(duel_of(seed))
        held["controlled"] += found["controlled"].low <= truth <= found["controlled"].high
        held["raw"] += found["raw"].low <= truth <= found["raw"].high
        held["of_raw"] += found["raw"].low <= raw <= found["raw"].high
    assert min(held["controlled"], held["of_raw"]) >= ENOUGH, held
    assert held["raw"] < 500  # the raw rate is no estimate of it


def test_length_control_takes_merit_away_where_length_is_merit():
    truth = duel_of(10**6, NONE, 100_000, richer=0.8)["credit"].mean()
    assert win_rates(duel_of(10**6, NONE, 100_000, richer=0.8))["controlled"].value < truth - 0.1
    held = coverage(lambda t: win_rates(t)["controlled"], truth, lambda k: duel_of(k, richer=0.8), 100)
    assert held < 10


def test_leaderboards_and_their_intervals():
    board, changes = leaderboard(board_of(10**6, prompts=20_000), 2)
    free, _ = leaderboard(board_of(10**6, NONE, 20_000), 2)
    truth = {row.model: row.raw.value for row in free.itertuples()}
    for row in board.itertuples():
        assert row.shared.value == pytest.approx(truth[row.model], abs=0.01)
        assert row.controlled.value == pytest.approx(truth[row.model], abs=0.02)
    assert list(board["model"])[1:3] == ["wordy-1", "fair-1"] and truth["fair-1"] > truth["wordy-1"]
    held = {}
    for seed in range(SIMULATIONS):
        drawn, found = leaderboard(board_of(seed), 50)
        for row in drawn.itertuples():
            for kind in ("controlled", "shared"):
                interval = getattr(row, kind)
                held[row.model, kind] = held.get((row.model, kind), 0) + (
                    interval.low <= truth[row.model] <= interval.high
                )
        for name, x in found.items():
            held[name] = held.get(name, 0) + (x.low <= changes[name].value <= x.high)
    assert min(held.values()) >= ENOUGH, held


def pair(number, label="A", model_a="m", model_b="base", **fields):
    texts = (f"Why {number}?", "one two three four", "one two")
    fields |= {"label": label, "model_a": model_a, "model_b": model_b, "subset": "x", "cluster_id": str(number)}
    return PreferencePair(str(number), "made", *texts, **fields)


def test_annotations_are_of_the_model_whatever_its_side():
    pairs = [pair(0), pair(1, "B", "base", "m").swapped(), pair(2, "tie", "base", "n"), pair(3, "B", soft_label=0.3)]
    table = annotation_table([*pairs, pair(0)])
    assert table["model"].tolist() == ["m", "m", "n", "m"]
    assert table["credit"].tolist() == [1.0, 1.0, 0.5, 0.3]
    assert table["doublings"].tolist() == [1.0, -1.0, -1.0, 1.0]
    with pytest.raises(ValueError, match="not one baseline"):
        annotation_table([pair(0), pair(1, model_b="other", model_a="k")])
    assert saturating(table)["doublings"].abs().max() < 1
    with pytest.raises(ValueError, match="at least 50"):
        win_rates(table)
