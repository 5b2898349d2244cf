"""Position bias by hand: every measure on a few pairs, repair, and where verdicts come from."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from notebook_functions import functions_of

from judgekit.bias.judged import judged_table
from judgekit.bias.planted import PlantedBias, PlantedJudge
from judgekit.bias.position import directions, log_odds, position_numbers
from judgekit.data.benchmarks import outputs
from judgekit.data.paths import project_root
from judgekit.judges import load_judge
from judgekit.judges.replay import ReplayJudge
from judgekit.records import PreferencePair, Verdict
from judgekit.scoring import run_judge, score
from judgekit.scoring.store import VerdictStore
from judgekit.scoring.tables import verdict_table

nan = np.nan


def table_of(*credits, prompts=None):
    """A judged table of (ab, ba) credits, each of its own prompt unless told."""
    names = [str(k) for k in range(len(credits))]
    ab, ba = zip(*credits, strict=True)
    return pd.DataFrame({"item": names, "prompt": prompts or names, "ab": ab, "ba": ba})


def pair(number, label="A", benchmark="autoj"):
    return PreferencePair(str(number), benchmark, "Why?", "one two three", "one", cluster_id=str(number), label=label)


def values(numbers):
    return {name: round(number.value, 4) for name, number in numbers.items()}


def test_measures_by_hand():
    found = position_numbers(table_of((1, 1), (0, 0), (1, 0), (1, 0.5), (0, 1), (0.5, 0.5), (1, nan)), 50)
    assert values(found) == {
        "consistency": round(3 / 6, 4),  # a reply that cannot be read contradicts nothing
        "toward_first": round(2 / 6, 4),
        "toward_second": round(1 / 6, 4),
        "first_rate": 0.6,  # first: 1+1, of ab; ba=0 of two
        "delta": round(0.5 / 6, 4),
    }
    assert found["consistency"].n == 6 and found["first_rate"].n == 10 and found["delta"].n == 6
    with pytest.raises(ValueError, match="no pair has a verdict in both orders"):
        position_numbers(table_of((1, nan)), 50)


def test_log_odds_are_the_printed_formula_whatever_ties_there_are():
    assert log_odds([30, 10]) == pytest.approx(np.log(30.5 / 10.5) / 2) and log_odds([0, 0]) == 0
    assert "log_odds" not in position_numbers(table_of(*[(1, 0)] * 12), 50)  # not finite
    assert "log_odds" not in position_numbers(table_of(*[(1, 0)] * 8, (0, 1), *[(1, 0.5)] * 9), 50)  # too few
    found = position_numbers(table_of(*[(1, 0)] * 11, (0, 1), (1, 1), *[(0.5, 0)] * 20), 50)["log_odds"]
    assert found.n == 12 and found.value == pytest.approx(np.log(11.5 / 1.5) / 2)
    section = (project_root() / "report" / "sections" / "position.tex").read_text(encoding="utf-8")
    assert r"\hat\beta = \tfrac12 \log\frac{n_1 + \frac12}{n_2 + \frac12}" in section


def test_measures_of_rules_are_known_and_agree_with_the_scores():
    pairs, store = [pair(k, "AB"[k % 2]) for k in range(300)], VerdictStore(":memory:")
    for rule, delta, consistency in (("first", 1, 0), ("second", -1, 0), ("longer", 0, 1)):
        found = position_numbers(judged_table(pairs, run_judge(load_judge(f"baseline/{rule}"), pairs, store)), 50)
        assert (found["delta"].value, found["consistency"].value) == (delta, consistency)
    verdicts = run_judge(PlantedJudge(pairs, PlantedBias(position=0.8, log_nu=-1.0)), pairs, store)
    unread = {"verdict": None, "status": "unparsed", "p_a": None, "p_b": None, "p_tie": None}
    verdicts = [replace(one, **unread) if int(one.item_id) % 9 == 0 else one for one in verdicts]
    ours, theirs = position_numbers(judged_table(pairs, verdicts), 50), score(verdicts, pairs, "autoj", n_boot=50)
    for name in ("consistency", "first_rate"):
        assert ours[name].value == pytest.approx(theirs[name].value)
    assert ours["consistency"].n == theirs["consistency"].n < 300


def test_directions_are_corrected_together():
    tables = {"first": table_of(*[(1, 0)] * 12), "none": table_of((1, 0), (0, 1)), "never": table_of((1, 1))}
    tables["second"] = table_of(*[(0, 1)] * 12)
    found = directions(pd.concat(part.assign(set="s", judge=name) for name, part in tables.items()), 400).loc["s"]
    assert found["direction"].to_dict() == {"first": "first", "none": "none", "never": "none", "second": "second"}
    assert (found["p_holm"] >= found["p_value"]).all() and found.loc["never", "p_value"] == 1


# ---------------------------------------------------------------- repair


def repaired(benchmark, labels, *verdicts):
    """Credits of verdicts (ab, ba) on pairs of these labels, asked once and joined."""
    pairs = [pair(k, label, benchmark) for k, label in enumerate(labels)]
    given = [
        Verdict(str(k), "j", order, label)
        for k, both in enumerate(verdicts)
        for order, label in zip(("ab", "ba"), both, strict=True)
    ]
    notebook = functions_of("40_position_bias", load_set=lambda name: pairs)
    table = verdict_table([("", "", pairs, given)])
    return notebook.repair_credits(table, benchmark).drop(columns="prompt").T.values.tolist()


def test_joining_orders_gains_where_ties_are_labels_and_nothing_where_they_are_not():
    found = repaired("autoj", ["tie", "A", "A", "B"], "AB", "AA", "AB", "AA")
    assert found == [[0, 1, 0.5, 0], [1, 1, 0, 0], [0, 1, 0, 1]]
    found = repaired("llmbar_natural", "AAAA", "AB", "AA", "BA", "BB")
    assert found == [[0.5, 1, 0.5, 0], [0.5, 1, 0.5, 0], [0, 1, 0, 1]]


# ---------------------------------------------------------------- where verdicts come from


def test_a_replay_counts_where_both_orders_are_stored_though_one_failed():
    pairs = [pair(k) for k in range(3)]
    given = [Verdict("0", "replay/x", "ab", "A"), Verdict("0", "replay/x", "ba", None, status="error")]
    given += [Verdict("1", "replay/x", "ab", "A")]
    asked = [*given, Verdict("1", "replay/x", "ba", None, status="error")]
    frame = verdict_table([("", "x", pairs, asked)])
    replaced = {"verdicts": lambda judges, sets, run, progress: frame, "PUBLISHED": {"x"}}
    notebook = functions_of("40_position_bias", load_replay=lambda name: ReplayJudge(name, given), **replaced)
    assert notebook.in_both_orders(["replay/x"], "autoj")["item"].tolist() == ["0", "0"]
    notebook = functions_of("40_position_bias", load_replay=lambda name: ReplayJudge(name, given[1:]), **replaced)
    with pytest.raises(AssertionError, match="replay/x: no pair was judged in both orders"):
        notebook.in_both_orders(["replay/x"], "autoj")


@pytest.mark.realdata
@pytest.mark.parametrize("model", ["chatgpt-rating", "skywork-gemma-2-27b", "skywork-llama-3.1-8b", "grm-gemma-2b"])
def test_judges_of_single_responses_contradict_themselves_exactly_where_scores_are_equal(model):
    by_item = {}
    for verdict in outputs.published_verdicts(model):
        by_item.setdefault(verdict.item_id, []).append(verdict)
    assert len(by_item) in (350, 419)
    for one, other in by_item.values():
        assert (one.verdict != other.verdict) == (one.score_a == one.score_b)
