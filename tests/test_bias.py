"""Biases by hand: position, length, self-preference, kinds of tasks, families of models; and planted judges."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from notebook_functions import functions_of
from scipy.special import betaln, logit, logsumexp
from test_protocols import items_of

from judgekit.bias.judged import judged, judged_table
from judgekit.bias.kinds import cells_of, design_effect, shrunken_rates
from judgekit.bias.length import Separated, length_effects, readable
from judgekit.bias.planted import PlantedBias, PlantedJudge, Population, planted_table
from judgekit.bias.position import log_odds, position_numbers
from judgekit.bias.self_preference import family_of, lifts
from judgekit.data.benchmarks import BENCHMARKS, UNLABELLED
from judgekit.data.benchmarks.outputs import PUBLISHED
from judgekit.data.catalogue import load_answer_set_with_report, load_set
from judgekit.data.corpora import ANSWERS, CORPORA
from judgekit.data.paths import project_root
from judgekit.data.sample import ASSISTANTS, load_sample
from judgekit.judges import load_judge
from judgekit.judges.replay import ReplayJudge
from judgekit.judges.surface import words_of
from judgekit.records import PreferencePair, Verdict
from judgekit.scoring import run_judge, score
from judgekit.scoring.store import VerdictStore
from judgekit.scoring.tables import verdict_table

nan = np.nan
VERBOSITY = functions_of("41_verbosity_bias")


def table_of(*credits, prompts=None):
    """A judged table of (ab, ba) credits, each of its own prompt unless told."""
    names = [str(k) for k in range(len(credits))]
    ab, ba = zip(*credits, strict=True)
    return pd.DataFrame({"item": names, "prompt": prompts or names, "ab": ab, "ba": ba})


def pair(number, label="A", **fields):
    given = {"benchmark": "made", "question": "Why?", "response_a": "one two three", "response_b": "one"}
    return PreferencePair(str(number), label=label, **(given | {"cluster_id": str(number)} | fields))


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


def test_a_verdict_that_rounding_decided_is_a_tie():
    pairs = [pair(0), pair(1)]
    stated = [(0.4, 0.4, 0.2), (0.5, 0.3, 0.2)]
    given = [Verdict(str(k), "j", order, "A", *p) for k, p in enumerate(stated) for order in ("ab", "ba")]
    assert judged_table(pairs, given)[["ab", "ba"]].to_numpy().tolist() == [[0.5, 0.5], [1, 1]]
    sample, coin = load_sample("sample_natural"), load_judge("baseline/random")
    thrown = judged(verdict_table([("s", "random", sample, run_judge(coin, sample, VerdictStore(":memory:")))]))
    assert set(thrown["ab"]) == set(thrown["ba"]) == {0, 1} and 0.3 < (thrown["ab"] == thrown["ba"]).mean() < 0.7


def test_directions_are_corrected_together():
    tables = {"first": table_of(*[(1, 0)] * 12), "none": table_of((1, 0), (0, 1)), "never": table_of((1, 1))}
    tables["second"] = table_of(*[(0, 1)] * 12)
    judged = pd.concat(part.assign(set="s", judge=name) for name, part in tables.items())
    found = functions_of("40_position_bias").directions(judged, 4000, 0).loc["s"]
    assert found["direction"].to_dict() == {"first": "first", "none": "none", "never": "none", "second": "second"}
    assert (found["p_holm"] >= found["p_value"]).all() and found.loc["never", "p_value"] == 1
    few = table_of(*[(1, 0)] * 5).assign(set="s", judge="few")
    unread = table_of(*[(1, 0)] * 5, *[(1, nan)] * 40).assign(set="s", judge="few")  # which are no prompts it rests on
    p_values = [functions_of("40_position_bias").directions(one, 4000, 0)["p_value"].item() for one in (few, unread)]
    assert p_values[0] == p_values[1] > 0.005


def repaired(benchmark, labels, *said):
    """Credits of verdicts (ab, ba) on pairs of these labels, asked once and joined."""
    verdicts, pairs = items_of(*said, labels=labels)
    notebook = functions_of("40_position_bias", catalogue=SimpleNamespace(load_set=lambda name: pairs))
    table = verdict_table([("", "", pairs, verdicts)])
    return notebook.repair_credits(table, benchmark).drop(columns="prompt").T.values.tolist()


def test_joining_orders_gains_where_ties_are_labels_and_nothing_where_they_are_not():
    found = repaired("autoj", "tAAB", "AB", "AA", "AB", "AA")
    assert found == [[0, 1, 0.5, 0], [1, 1, 0, 0], [0, 1, 0, 1]]
    found = repaired("llmbar_natural", "AAAA", "AB", "AA", "BA", "BB")
    assert found == [[0.5, 1, 0.5, 0], [0.5, 1, 0.5, 0], [0, 1, 0, 1]]


def test_a_replay_counts_where_both_orders_are_stored_though_one_failed():
    pairs = [pair(k, benchmark="autoj") for k in range(3)]
    given = [Verdict("0", "replay/x", "ab", "A"), Verdict("0", "replay/x", "ba", None, status="error")]
    given += [Verdict("1", "replay/x", "ab", "A")]
    asked = [*given, Verdict("1", "replay/x", "ba", None, status="error")]
    frame = verdict_table([("", "x", pairs, asked)])
    scoring = SimpleNamespace(verdicts=lambda judges, sets, run, progress: frame)

    def in_both_orders(stored):
        loaded = {"load_replay": lambda name: ReplayJudge(name, stored), "replays_on": lambda name: ["replay/x"]}
        notebook = functions_of("40_position_bias", scoring=scoring, replay=SimpleNamespace(**loaded))
        return notebook.in_both_orders(["replay/x"], "autoj")

    assert in_both_orders(given)["item"].tolist() == ["0", "0"]
    with pytest.raises(AssertionError, match="replay/x: no pair was judged in both orders"):
        in_both_orders(given[1:])


LIST = "Colours:\n1. Red\n2. Green\n3. Blue\nThat is all."
PROSE = "It is so. And more is to come. See 3.5 there."


def listed(number):
    return pair(number, question=f"Which {number}?", response_a=LIST, response_b=PROSE)


def judged_by(pairs, judge):
    return run_judge(judge, pairs, VerdictStore(":memory:"), progress=False)


@pytest.mark.parametrize(
    ("edit", "text", "expected"),
    [
        ("padded", PROSE, PROSE),
        ("padded", "- one\n- two", "- one\n- two"),
        ("unmarked", "# Head\n* a **b** `c`\n```py\nx = 1\n```", "Head\na b c\nx = 1\n"),
        ("bold", PROSE, "**It** is so. **And** more is to come. **See** 3.5 there."),
        ("bold", "a **b** c", "a **b** c"),
        ("heading", PROSE, f"## Answer\n\n{PROSE}"),
        ("heading", "", ""),
    ],
)
def test_edits(edit, text, expected):
    assert VERBOSITY.EDITS[edit](text) == expected


def test_padding_repeats_every_item_and_adds_no_word_of_content():
    padded = VERBOSITY.padded(LIST)
    assert set(words_of(padded)) - set(words_of(LIST)) <= set(words_of(" ".join(VERBOSITY.REFRAMED)))
    assert padded.count("ed\n") == 2 and padded.endswith(LIST.partition("\n")[2])
    again = "1. In other words, red\n2. That is to say, green\n3. Put differently, blue\n"
    assert VERBOSITY.padded("1. Red\n2. Green\n3. Blue") == f"{again}1. Red\n2. Green\n3. Blue"


def test_twins_are_a_response_against_itself_and_stand_once():
    pairs = [listed(n) for n in range(40)]
    made = functions_of("41_verbosity_bias", per_edit=None).twins_of([*pairs, listed(0)], "heading")
    assert len(made) == 80 and {twin.label for twin in made} == {None}
    assert 0.2 < np.mean([twin.model_a == "edited" for twin in made]) < 0.8
    assert functions_of("41_verbosity_bias", per_edit=5).twins_of(pairs, "heading") == made[:5]
    for twin in made:
        edited, original = twin.responses if twin.model_a == "edited" else twin.responses[::-1]
        assert edited == VERBOSITY.EDITS["heading"](original) != original


def test_effects_on_real_texts_tell_what_was_planted():
    named_by_set = functions_of("43_attacks").named_by_set
    pairs = [named_by_set(one) for name in ("sample_natural", "sample_validation") for one in load_sample(name)]
    judges = (PlantedJudge(pairs, PlantedBias(length=taste)) for taste in (0.0, 1.0))
    (plain, _), (found, p_value) = (length_effects(judged_table(pairs, judged_by(pairs, one))) for one in judges)
    assert found["excess"].low > 0 and p_value < 0.01 and found["given_people"].low > 0.3
    assert abs(plain["given_people"].value) < 0.3 < found["given_people"].value


def test_what_lengths_cannot_tell_is_an_error():
    table = planted_table(PlantedBias(), Population(), 0)
    rule = (table["words_a"] > table["words_b"]).astype(float)
    for changed, error, words in (
        ({"ab": rule, "ba": rule}, Separated, "infinite"),  # length decides every verdict
        ({"ab": nan, "ba": nan}, ValueError, "no pair has both"),
        ({"words_a": 9, "words_b": 9}, Separated, "same lengths"),
        ({"prompt": "p"}, Separated, "one prompt"),
    ):
        with pytest.raises(error, match=words):
            length_effects(table.assign(**changed))
    assert VERBOSITY.error_gap(readable(table.assign(people=rule)), 20) is None  # people always prefer the longer


def annotated(number, label="A", model_a="m", model_b="base", **fields):
    texts = {"response_a": "one two three four", "response_b": "one two"}
    return pair(number, label, model_a=model_a, model_b=model_b, **texts | fields)


def test_annotations_are_of_the_model_whatever_its_side():
    pairs = [annotated(0), annotated(1, "B", "base", "m").swapped(), annotated(2, "tie", "base", "n")]
    pairs += [annotated(3, "B", soft_label=0.3), annotated(0)]
    table = VERBOSITY.annotation_table(pairs)
    assert table["model"].tolist() == ["m", "m", "n", "m"]
    assert table["credit"].tolist() == [1.0, 1.0, 0.5, 0.3]
    assert table["doublings"].tolist() == [1.0, -1.0, -1.0, 1.0]
    bounded = VERBOSITY.saturating(table)
    assert bounded["doublings"].abs().max() < 1 and bounded["length"].equals(table["doublings"])
    with pytest.raises(AssertionError, match="not one baseline"):
        VERBOSITY.annotation_table([annotated(0), annotated(1, model_b="other", model_a="k")])


PREFERENCE = functions_of("42_self_preference")
compared, others_opinion, with_target = PREFERENCE.compared, PREFERENCE.others_opinion, PREFERENCE.with_target
AUTHORS = ["gpt-4", "vicuna-13b", "claude-v1", "phi-2"]


def judged_rows(*rows):
    """A judged table of (authors, people, ab, ba), one prompt each."""
    table = pd.DataFrame(rows, columns=["model_a", "model_b", "people", "ab", "ba"])
    names = table.index.astype(str)
    return table.assign(item=names, prompt=names)


def test_both_orders_count_or_none_and_authors_must_differ():
    table = judged_rows(
        ("m", "n", 1.0, 1.0, 0.0),
        ("m", "n", 1.0, 1.0, np.nan),
        ("m", "m", 1.0, 1.0, 1.0),
        ("m", None, 1.0, 1.0, 1.0),
        ("m", "n", np.nan, 1.0, 1.0),
    )
    rows = compared(table)
    assert rows[["item", "judged", "reference"]].to_numpy().tolist() == [["0", 0.5, 1.0]]
    one_order = compared(table.assign(ba=np.nan))
    assert one_order["item"].tolist() == ["0", "1"] and one_order["judged"].tolist() == [1.0, 1.0]
    with pytest.raises(AssertionError, match="no item has two known authors"):
        compared(table[3:4])


def test_a_lift_worked_by_hand_whatever_the_sides():
    """The target wins 1, 0.5, 1 by the judge and 0.5, 0.5, 0 by people: 1.5 of three."""
    table = judged_rows(
        ("own", "x", 0.5, 1.0, np.nan),
        ("y", "own", 0.5, 0.5, np.nan),
        ("own", "y", 0.0, 1.0, np.nan),
        ("x", "y", 0.2, 0.2, np.nan),
    )
    found = lifts(with_target(compared(table), ["own"], ["x", "y"]), 50)["value"]
    assert (found["lift"].value, found["lift"].n, found["sharpness"].n) == (0.5, 3, 1)
    turned = table.assign(model_a=table["model_b"], model_b=table["model_a"], people=1 - table["people"])
    turned = lifts(with_target(compared(turned.assign(ab=1 - table["ab"])), ["own"], ["x", "y"]), 2)["value"]
    for way in ("lift", "calibrated", "sharpness"):
        assert found[way].value == pytest.approx(turned[way].value, abs=1e-6)


def test_a_lift_rests_on_the_prompts_that_hold_the_target():
    """At 411ce18a prompts of the others alone narrowed its interval, and draws without the target said: no lift."""
    meetings = [("own", "x", 0.0, 1.0, 0.0), *[("x", "y", n % 2, 1.0, 0.0) for n in range(40)]]
    table = judged_rows(*meetings)
    found = lifts(with_target(compared(table), ["own"], ["x", "y"]), 200)
    assert found["value"]["lift"].low is None and found["p_value"]["lift"] == 1
    assert found["value"]["sharpness"].low is not None  # learnt where the others meet


def test_sharpness_does_not_hear_what_the_judge_says_of_its_own_family():
    """At abce81f6 it did: a taste for one of one's kin over another passed for sharpness, and hid the taste."""
    meetings = [(a, b, s, 1.0, s) for a, b in (("k1", "x"), ("k2", "y"), ("x", "y")) for s in (0.0, 1.0, 1.0)]
    fair, biased = ([*meetings, *[("k1", "k2", n % 2, taste, taste) for n in range(30)]] for taste in (0.5, 1.0))
    fair, biased = (
        lifts(with_target(compared(judged_rows(*one)), ["k1", "k2"], ["x", "y"]), 50)["value"] for one in (fair, biased)
    )
    assert fair["sharpness"].value == biased["sharpness"].value and fair["sharpness"].n == 3
    assert fair["calibrated"].value == biased["calibrated"].value


def test_items_among_the_others_count_and_the_family_is_left_out():
    table = judged_rows(*[(a, b, 0.5, 1.0, 0.0) for a in AUTHORS for b in AUTHORS if a < b])
    rows = with_target(compared(table), ["gpt-4"], ["vicuna-13b", "phi-2"])
    assert len(rows) == 3 and sorted(rows["side"].abs()) == [0, 1, 1]
    assert "claude-v1" not in {*rows["author_a"], *rows["author_b"]}
    with pytest.raises(AssertionError, match="target and other at once"):
        with_target(compared(table), ["phi-2"], ["phi-2", "gpt-4"])
    with pytest.raises(AssertionError, match="stranger never meets phi-2"):
        with_target(compared(table), ["stranger"], ["phi-2"])
    # who is as sharp as people is learnt where two others meet
    assert lifts(with_target(compared(table), ["gpt-4"], ["phi-2"]), 2).index.tolist() == ["lift"]


def test_every_other_family_has_one_voice():
    credits = {"one": 1.0, "q1": 0.0, "q2": 0.0, "g": 1.0, "kin": 0.0}
    tables = {name: judged_rows(("m", "n", 0.5, credit, credit)) for name, credit in credits.items()}
    families = {"one": "llama", "kin": "llama", "q1": "qwen", "q2": "qwen", "g": "gemma"}
    assert others_opinion(tables, families, "one").tolist() == [0.5]
    assert others_opinion(tables, dict.fromkeys(tables, "none"), "one").tolist() == [0.25]
    with pytest.raises(AssertionError, match="no judge of another family than one's"):
        others_opinion({"one": tables["one"], "kin": tables["kin"]}, families, "one")


DOMAINS = functions_of("44_domains")


def test_counts_are_the_scores_own(monkeypatch):
    verdicts, pairs = items_of(*"AA BA AB BB AA BB tt AB BA tt AB BB".split(), labels="AB" * 6)
    elsewhere = [Verdict("99", "j", order, "A") for order in ("ab", "ba")]  # on no pair of these
    monkeypatch.setitem(DOMAINS.GROUPINGS, "made", (["judgebench"], lambda pair: "Some kind", "", False))
    items = DOMAINS.counted_items([*verdicts, *elsewhere], pairs, "made")
    accuracy = score(verdicts, pairs, "judgebench", n_boot=10)["accuracy"]
    assert items["hits"].sum() / items["size"].sum() == pytest.approx(accuracy.value)
    assert len(items) == accuracy.n and set(items["category"]) == {"some_kind"}


def test_subjects_of_judgebench():
    names = ("gpt-4o/livebench-math", "gpt-4o/mmlu-pro-math", "claude-3.5-sonnet/livecodebench")
    kind = DOMAINS.GROUPINGS["judgebench"][1]
    assert [kind(pair(0, subset=name)) for name in names] == ["math", "knowledge", "coding"]


def rows(*items):
    return pd.DataFrame(items, columns=["category", "prompt", "hits", "size"])


@pytest.mark.parametrize("right", [1.0, 0.0])
def test_rates_of_nothing_but_hits_or_misses_are_left_alone(right):
    """Eight kinds at exactly 100 % gave 96.2, and the interval of a mean left out the mean of its own categories."""
    table = rows(*[(c, f"{c}{k}", right, 1) for c in "abcdefgh" for k in range(10)])
    found = shrunken_rates(table)
    assert found["value"].tolist() == pytest.approx([right] * 8) and DOMAINS.mean_of_kinds(table, 100, 0).value == right
    assert (found["high"] - found["low"] > 0.01).all()
    uneven = rows(*[(c, f"{c}{k}", float(k < 2), 1) for c, n in (("a", 4), ("b", 10), ("c", 20)) for k in range(n)])
    assert DOMAINS.mean_of_kinds(uneven, 100, 0).value == pytest.approx((1 / 2 + 1 / 5 + 1 / 10) / 3)


def test_shrunken_rates_are_those_of_populations_drawn_at_random():
    """The grid against a million draws from the prior, weighed by how likely they make the counts."""
    rng, hits, n = np.random.default_rng(0), np.array([5, 16, 29]), np.array([12, 20, 40])
    table = rows(*[(c, f"{c}{k}", float(k < h), 1) for c, h, m in zip("abc", hits, n, strict=True) for k in range(m)])
    mean, spread = rng.uniform(size=10**6), np.sqrt(rng.uniform(0.0, 0.94**2, size=10**6))
    k = 1 / spread**2 - 1
    a, b = mean * k, (1 - mean) * k
    likely = sum(betaln(a + h, b + m - h) - betaln(a, b) for h, m in zip(hits, n, strict=True))
    drawn = rng.choice(10**6, 40_000, p=np.exp(likely - logsumexp(likely)))
    found, worth = shrunken_rates(table), n / design_effect(cells_of(table))
    assert worth == pytest.approx(n, rel=0.1)
    for row, h, m in zip(found.itertuples(), hits, n, strict=True):
        rates = rng.beta(a[drawn] + h, b[drawn] + m - h)
        assert (row.low, row.high) == pytest.approx(np.quantile(rates, [0.025, 0.975]), abs=0.012)
        assert row.value == pytest.approx(rates.mean(), abs=0.01) and row.raw == h / m


def test_the_design_effect_of_known_designs():
    alone = rows(*[(c, f"{c}{k}", float(k % 3 > 0), 1) for c in "abc" for k in range(30)])
    assert design_effect(cells_of(alone)) == pytest.approx(1.0)
    # Four copies of every item under one prompt are worth one item.
    assert design_effect(cells_of(pd.concat([alone] * 4, ignore_index=True))) == pytest.approx(4.0, rel=0.05)
    # A mean of two independent halves has half the variance.
    halves = rows(*[(c, f"{c}{k}", (k % 2 + k // 2 % 2) / 2, 1) for c in "abc" for k in range(40)])
    assert design_effect(cells_of(halves)) == pytest.approx(0.5, rel=0.05)


def test_what_cannot_be_estimated_is_refused():
    good = rows(*[(c, f"{c}{k}", 1.0, 1) for c in "abc" for k in range(3)])
    for table, words in (
        (good.assign(hits=2.0), "between 0 and a positive size"),
        (good[good["category"] != "c"], "2 categories are no population"),
        (good.assign(prompt="one"), "100% of the prompts stand in several categories"),
    ):
        with pytest.raises(ValueError, match=words):
            shrunken_rates(table)


MISTAKEN = {
    "openai": "gpt-4 gpt35_turbo_instruct text_davinci_003 replay/gpt-4o-mini-repro weighted_alpaca_eval_gpt4_turbo",
    "cerebras": "cerebras-gpt-6.7B",
    "anthropic": "claude-v1 claude-3-5-sonnet-20240620",
    "llama": "claude2-alpaca-13b vicuna-13b:20230322-clean-lang Llama-3.1-8B-Instruct replay/pandalm-7b "
    "llama7B_freelb_lr5e-5_AdvLr0_InitAdvMax10_AdvStep1_Projl2_MaxNorm0_yuxinRun replay/skywork-llama-3.1-8b",
    "gemma": "replay/skywork-gemma-2-27b replay/gemma-4-12b-repro",
    "google": "gemini-pro",
    "mistral": "EEVE-Korean-Instruct-10.8B",
    "qwen": "replay/judgelrm-3b replay/qwen2.5-32b-repro",
    "exaone": "EXAONE-3.5-7.8B-Instruct",
    "other": "Ein-70B-v0.1",
    "none": "baseline/longer",
}


@pytest.mark.parametrize("family", MISTAKEN)
def test_names_that_are_easily_mistaken(family):
    names = MISTAKEN[family].split()
    assert {name: family_of(name) for name in names} == dict.fromkeys(names, family)


def test_every_judge_with_stored_verdicts_and_every_simulated_writer_has_a_family_and_the_unknown_is_an_error():
    known = {"openai", "llama", "gemma", "qwen", "internlm", "exaone", "mistral", "google", "falcon"}
    assert {family_of(name) for name in PUBLISHED} <= known
    assert len({family_of(name) for name in ASSISTANTS}) == len(ASSISTANTS)
    with pytest.raises(KeyError, match=r"'newcomer-7b'.*families\.yaml"):
        family_of("newcomer-7b")


@pytest.mark.realdata
def test_every_author_of_the_loaded_sets_has_a_family():
    sets = [load_set(name) for name in [*BENCHMARKS, *UNLABELLED]] + [load_set(name) for name in CORPORA]
    authors = {author for pairs in sets for pair in pairs for author in (pair.model_a, pair.model_b)}
    authors |= {response.model for name in ANSWERS for response in load_answer_set_with_report(name)[0]}
    authors |= {pair.subset for pair in load_set("alpaca_eval")}
    assert len(authors - {None}) > 90
    families = {author: family_of(author) for author in authors - {None}}
    used = set(families.values())
    assert {"openai", "anthropic", "google", "llama", "mistral", "qwen", "gemma", "exaone", "phi"} <= used
    assert sum(family == "other" for family in families.values()) <= 8


def test_what_was_planted_is_there():
    """The rest is what the estimators of tests/test_planted_bias.py find again."""
    many, plain = Population(prompts=40_000, per_prompt=2, richer=0.0), PlantedBias(skill=0.0, opinion=0.0)
    planted = {"position": 0.7}, {"own": 0.8}, {"log_nu": 0.0}
    leaning, own, tied = (planted_table(replace(plain, **bias), many, 0) for bias in planted)
    assert [logit(leaning[f"p_{order}"].mean()) for order in ("ab", "ba")] == pytest.approx([0.7, -0.7])
    of_a, of_b = (own[f"model_{side}"].str.startswith("amber") for side in "ab")
    assert logit(own["ab"][of_a & ~of_b].mean()) == pytest.approx(0.8, abs=0.05)
    assert (tied["ab"] == 0.5).mean() == pytest.approx(1 / 3, abs=0.01)
    richer = planted_table(PlantedBias(), Population(prompts=5000, richer=0.8), 1)
    for follows in (np.log2(richer["words_a"] / richer["words_b"]), richer["people"]):
        assert follows.corr(richer["quality"]) > 0.4


def test_a_planted_judge_judges_pairs_as_it_was_told():
    pairs = [pair(k, "A" if k % 2 else "B", cluster_id="p") for k in range(2000)]
    first = PlantedJudge(pairs, PlantedBias(skill=0.0, opinion=0.0, position=1.0))
    table = judged_table(pairs, judged_by(pairs, first))
    assert [logit(table[order].mean()) for order in ("ab", "ba")] == pytest.approx([1.0, -1.0], abs=0.2)
    skilled = judged_table(pairs, judged_by(pairs, PlantedJudge(pairs, PlantedBias(opinion=0.0))))
    right = (skilled["ab"] == skilled["people"]).groupby(skilled["people"]).mean()
    assert [logit(share) for share in right] == pytest.approx([1.0, 1.0], abs=0.2), "as often for B as for A"
    opinionated = PlantedJudge(pairs, PlantedBias(skill=0.0, opinion=20.0))
    table = judged_table(pairs, judged_by(pairs, opinionated))
    assert (table["ab"] == table["ba"]).mean() > 0.9


def test_a_judged_table_holds_votes_verdicts_and_words():
    voted = pair(0, None, votes={"x": "A", "y": "tie"}, model_a="m", model_b="n")
    verdicts = [
        Verdict("0", "j", "ab", "A", 0.6, 0.2, 0.2),
        Verdict("0", "j", "ba", None, status="unparsed"),
        Verdict("1", "j", "ab", "tie"),
        Verdict("2", "j", "ab", "B"),
    ]
    table = judged_table([voted, pair(1, "B"), pair(2, None)], verdicts).set_index("item")
    columns = ["people", "n_votes", "ab", "p_ab", "words_a", "model_b"]
    assert table.loc["0", columns].tolist() == [0.75, 2, 1, 0.7, 3, "n"]
    assert np.isnan(table.loc["0", "ba"]) and np.isnan(table.loc["0", "p_ba"])
    assert table.loc["1", ["people", "ab"]].tolist() == [0.0, 0.5] and np.isnan(table.loc["2", "people"])
    with pytest.raises(ValueError, match="no pair of these"):
        judged_table([pair(1)], verdicts)
    with pytest.raises(ValueError, match="duplicate"):
        judged_table([pair(1)], [verdicts[2], verdicts[2]])
