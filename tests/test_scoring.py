"""judgekit.scoring: published numbers come out again, and no interruption changes a score."""

from dataclasses import replace
from functools import cache

import pandas as pd
import pytest

from judgekit.data.catalogue import load_set
from judgekit.data.sample import load_sample
from judgekit.judges import load_judge
from judgekit.judges.baseline import RuleJudge
from judgekit.records import PreferencePair, Verdict
from judgekit.scoring import Protocol, forest_table, hold_contest, pick, primary_protocol, run_judge, score
from judgekit.scoring.contests import contest_scores, with_constant
from judgekit.scoring.protocols import forced_verdict, majority_class
from judgekit.scoring.running import JudgeFailure
from judgekit.scoring.store import VerdictStore

QUICK = {"n_boot": 50}
BOTH = ("ab", "ba")
LLMBAR = ("natural", "neighbor", "gptinst", "gptout", "manual")


def store():
    return VerdictStore(":memory:")


def values(scores, *names):
    return [scores[name].value for name in names]


def percent(scores, *names):
    return [round(100 * value, 2) for value in values(scores, *names)]


def pair(item_id, label, cluster="", **fields):
    given = {"question": "Q?", "response_a": "a", "response_b": "b", "cluster_id": cluster}
    return PreferencePair(item_id, "authored", label=label, **given | fields)


def say(item_id, order, label, p=None, status="ok"):
    return Verdict(item_id, "x/judge", order, label, *(p or ()), status=status)


def both_orders(*labels):
    """Verdicts of items 0, 1, ...: two letters each, the given order first ('t' is a tie, '-' none)."""
    words = {"A": "A", "B": "B", "t": "tie", "-": None}
    return [
        say(str(n), order, words[said], status="ok" if words[said] else "unparsed")
        for n, spoken in enumerate(labels)
        for order, said in zip(BOTH, spoken, strict=False)
    ]


@cache
def real_scores(set_name, judge_name):
    pairs = load_set(set_name)
    label = majority_class(pairs, primary_protocol(set_name))
    judge = load_judge(judge_name, label=label)
    verdicts = run_judge(judge, pairs, store(), getattr(judge, "orders", BOTH), progress=False)
    return score(verdicts, pairs, set_name, **QUICK)


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("judge", "published"),
    [("replay/pandalm-7b", [66.77, 57.38, 57.50, 57.43]), ("replay/gpt-3.5-turbo", [71.07, 58.79, 57.36, 57.55])],
)
def test_pandalm_as_published(judge, published):
    scores = real_scores("pandalm", judge)
    assert percent(scores, "accuracy", "precision", "recall", "macro_f1") == published
    assert scores["accuracy"].n == 999
    assert "agreement" not in scores  # one order was published


@pytest.mark.realdata
def test_autoj_as_published():
    scores = real_scores("autoj", "replay/auto-j-13b")
    assert percent(scores, "accuracy", "agreement", "consistency") == [54.96, 54.96, 83.41]
    forward = Protocol("given order")
    pairs = load_set("autoj")
    verdicts = run_judge(load_judge("replay/auto-j-13b"), pairs, store(), progress=False)
    assert percent(score(verdicts, pairs, "autoj", forward, **QUICK), "accuracy") == [59.99]


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("subset", "right", "shown"), list(zip(LLMBAR, (187, 172, 141, 72, 69), (200, 268, 184, 94, 92), strict=True))
)
def test_llmbar_gpt_4_as_published(subset, right, shown):
    scores = real_scores(f"llmbar_{subset}", "replay/gpt-4-vanilla-norules")
    assert scores["accuracy"].n * 2 == shown
    assert scores["accuracy"].value * shown == pytest.approx(right)


def test_consistency_reads_ties_as_accuracy_does():
    pairs = [pair("0", "A"), pair("1", "A")]
    tied = Protocol("p", rule="mean_of_orders", labels=("A", "B"), unparsed="wrong", forced=True)
    scores = score(both_orders("tt", "AA"), pairs, "x", tied, **QUICK)
    assert scores["accuracy"].value == 0.75, "a tie is read as the response shown first, in either order"
    assert scores["consistency"].value == 0.5


def test_votes_on_a_response_that_is_not_there_are_left_out():
    pairs = [replace(pair(str(n), "A"), votes={"x": "A"}) for n in range(2)]
    pairs[1] = replace(pairs[1], label_kind="missing")
    assert score(both_orders("AA", "BB"), pairs, "mtbench", **QUICK)["accuracy"].n == 1


def test_forward_counts_the_given_order():
    pairs = [pair(str(n), label) for n, label in enumerate(["A", "B", "tie", "tie"])]
    scores = score(both_orders("AB", "AB", "tt", "-t"), pairs, "x", Protocol("p"), **QUICK)
    assert scores["accuracy"].value == pytest.approx(3 / 4)  # what could not be parsed counts as a tie
    assert scores["coverage"].value == pytest.approx(7 / 8)
    assert scores["agreement"].value == pytest.approx(2 / 4)
    assert (scores["consistency"].value, scores["consistency"].n) == (pytest.approx(1 / 3), 3)  # of those read in both
    assert scores["first_rate"].value == pytest.approx(4 / 4)  # A then B: always the response shown first


def test_mean_of_orders_counts_each_and_missing_is_wrong():
    pairs = [pair(str(n), "A") for n in range(5)]
    protocol = primary_protocol("llmbar_natural")
    scores = score(both_orders("AA", "AB", "BB", "-A", "--"), pairs, "x", protocol, **QUICK)
    assert scores["accuracy"].value == pytest.approx((1 + 0.5 + 0 + 0.5 + 0) / 5)
    assert scores["coverage"].value == pytest.approx(7 / 10)
    assert scores["recall"].value == pytest.approx(0.5 * 4 / 10)  # of label A; label B never occurs


@pytest.mark.parametrize(
    ("verdict", "forced"),
    [
        (say("0", "ab", "B"), "B"),
        (say("0", "ab", "tie", (0.3, 0.2, 0.5)), "A"),
        (say("0", "ba", "tie", (0.2, 0.3, 0.5)), "B"),
        (say("0", "ab", "tie", (0.25, 0.25, 0.5, 2.0, 3.0)), "B"),
        (say("0", "ab", "tie", (0.25, 0.25, 0.5)), "A"),
        (say("0", "ba", "tie"), "B"),
    ],
)
def test_a_forced_choice_reads_probabilities_then_scores_then_position(verdict, forced):
    assert forced_verdict(verdict) == forced


def test_probabilities_are_averaged_over_the_orders():
    pairs = [pair("0", "A")]
    verdicts = [say("0", "ab", "A", (0.9, 0.1, 0.0)), say("0", "ba", "B", (0.3, 0.5, 0.2))]
    scores = score(verdicts, pairs, "x", Protocol("p"), **QUICK)
    assert scores["brier"].value == pytest.approx(0.4**2 + 0.3**2 + 0.1**2)
    assert scores["ece"].value == pytest.approx(0.4)
    two_way = score(verdicts, pairs, "x", primary_protocol("llmbar_natural"), **QUICK)
    assert two_way["ece"].value == pytest.approx(1 / 3)  # 0.6 against 0.3: the tie's mass is shared out


def test_items_without_a_label_are_left_out():
    pairs = [pair("0", "A"), pair("1", None)]
    scores = score(both_orders("AA", "BB"), pairs, "x", Protocol("p"), **QUICK)
    assert (scores["accuracy"].value, scores["accuracy"].n) == (1, 1)
    with pytest.raises(ValueError, match="no item has a reference label"):
        score(both_orders("AA"), [pair("0", None)], "x", Protocol("p"), **QUICK)


def test_missing_doubled_and_half_verdicts_are_refused():
    pairs = [pair("0", "A"), pair("1", "B")]
    verdicts = both_orders("AA", "BB")
    with pytest.raises(ValueError, match="authored/1: no verdict"):
        score(verdicts[:2], pairs, "x", Protocol("p"), **QUICK)
    with pytest.raises(ValueError, match="two verdicts for 0 in order ab"):
        score([*verdicts, say("0", "ab", "B")], pairs, "x", Protocol("p"), **QUICK)
    with pytest.raises(ValueError, match="one order only"):
        score(verdicts[:3], pairs, "x", Protocol("p"), **QUICK)


def test_an_unknown_set_has_no_protocol():
    with pytest.raises(KeyError, match="pandalm"):
        primary_protocol("pandalm2")


class Recorder(RuleJudge):
    """``longer``, with a note of every request it was asked."""

    batch_size = 8

    def __init__(self, stumbles_at=()):
        super().__init__("longer")
        self.name, self.fingerprint = "test/recorder", "recorder"
        self.stumbles_at, self.asked = stumbles_at, []

    def judge(self, requests):
        self.asked += [request.item_id for request in requests]
        if any(request.item_id in self.stumbles_at for request in requests):
            raise RuntimeError("stumbled")
        return super().judge(requests)


def test_verdicts_come_in_the_order_of_pairs_and_orders():
    pairs = load_sample("sample_natural")[:20]
    verdicts = run_judge(Recorder(), pairs, store(), progress=False)
    assert [(v.item_id, v.order) for v in verdicts] == [(p.item_id, order) for p in pairs for order in BOTH]
    expected = {p.item_id: "tie" if len(p.response_a) == len(p.response_b) else None for p in pairs}
    for one, verdict in zip([p for p in pairs for _ in BOTH], verdicts, strict=True):
        longer = "A" if len(one.response_a) > len(one.response_b) else "B"
        assert verdict.verdict == (expected[one.item_id] or longer)


def test_nothing_is_asked_twice():
    pairs, judge, kept = load_sample("sample_natural")[:30], Recorder(), store()
    first = run_judge(judge, pairs[:10], kept, progress=False)
    asked = len(judge.asked)
    assert run_judge(judge, pairs[:10], kept, progress=False) == first
    assert len(judge.asked) == asked
    run_judge(judge, pairs, kept, progress=False)
    assert len(judge.asked) == len({(p.question, p.response_a, p.response_b) for p in pairs}) * 2


def test_an_item_that_fails_costs_one_item():
    pairs, kept = load_sample("sample_natural")[:24], store()
    bad = pairs[5].item_id
    verdicts = run_judge(Recorder({bad}), pairs, kept, progress=False)
    failed = [verdict for verdict in verdicts if verdict.status == "error"]
    assert {verdict.item_id for verdict in failed} == {bad}
    assert [verdict.raw for verdict in failed] == ["RuntimeError: stumbled"] * 2
    mended = Recorder()
    again = run_judge(mended, pairs, kept, progress=False)
    assert set(mended.asked) == {bad} and len(mended.asked) == 2
    assert all(verdict.status == "ok" for verdict in again)


def test_a_judge_that_loses_replies_is_stopped():
    class Lossy(Recorder):
        def judge(self, requests):
            return super().judge(requests)[1:]

    with pytest.raises(JudgeFailure, match="7 replies to 8 requests"):
        run_judge(Lossy(), load_sample("sample_natural")[:20], store(), progress=False)


def test_an_interrupt_keeps_the_batches_before_it():
    class Interrupted(Recorder):
        def judge(self, requests):
            if len(self.asked) >= 16:
                raise KeyboardInterrupt
            return super().judge(requests)

    kept = store()
    with pytest.raises(KeyboardInterrupt):
        run_judge(Interrupted(), load_sample("sample_natural")[:20], kept, progress=False)
    assert kept.count() == 16


@pytest.fixture(scope="module")
def table():
    tables = []
    for name, more in {"sample_natural": {"x": Replay()}, "sample_adversarial": {}}.items():
        contest = hold_contest(name, load_sample(name), {"longer": load_judge("baseline/longer")} | more, store())
        tables.append(contest_scores(with_constant(contest), **QUICK))
    return pd.concat(tables, ignore_index=True)


class Replay(RuleJudge):
    """Verdicts on one set, in one order."""

    orders = ("ab",)

    def __init__(self):
        super().__init__("first")
        self.name, self.fingerprint = "replay/x", "x"


def test_scores_have_a_row_per_set_judge_and_metric(table):
    assert not table.duplicated(["set", "judge", "metric"]).any()
    assert set(table["judge"]) == {"longer", "majority_class", "x"}
    assert set(table.loc[table["judge"] == "x", "set"]) == {"sample_natural"}
    assert not ((table["judge"] == "x") & (table["metric"] == "consistency")).any()
    constant = table[(table["judge"] == "majority_class") & (table["metric"] == "accuracy")].set_index("set")["number"]
    labels = [one.label for one in load_sample("sample_natural")]
    assert constant["sample_natural"].value == pytest.approx(max(map(labels.count, labels)) / len(labels))


def test_picked_cells_and_figures_hold_the_tables_numbers(table):
    rows = pick(table, {"sample_natural": ["accuracy"], "sample_adversarial": ["accuracy"]})
    numbers = {(row.set, row.judge): row.number for row in table[table["metric"] == "accuracy"].itertuples()}
    cells = {judge: cells for judge, *cells in (row.values() for row in rows)}
    assert set(cells) == {"longer", "majority_class", "x"}
    assert cells["longer"] == [numbers["sample_natural", "longer"], numbers["sample_adversarial", "longer"]]
    assert cells["x"] == [numbers["sample_natural", "x"], None]
    assert "x" not in [next(iter(row.values())) for row in pick(table, {"sample_adversarial": ["accuracy"]})]
    forest = forest_table(table)
    assert sorted(forest["value"]) == sorted(number.value for number in numbers.values())
    assert forest.loc[forest["judge"] == "x", "value"].tolist() == [numbers["sample_natural", "x"].value]
