"""judgekit.studies.prompting: effects are paired differences, and calls are what was stored."""

import pandas as pd
import pytest

from judgekit.data.benchmarks.outputs import published_on
from judgekit.data.catalogue import load_set
from judgekit.judges import load_judge
from judgekit.scoring import compare, run_judge, score
from judgekit.scoring.store import VerdictStore
from judgekit.studies.prompting import (
    Evaluator,
    call_table,
    effect_table,
    mean_effect_table,
    outcome_table,
    stored_evaluators,
)
from judgekit.studies.prompting.calls import cost_of, set_of

MODELS = ["gpt-4", "palm2", "chatgpt", "chatgpt-0301", "llama2", "falcon"]
RULES = [Evaluator("rules", rule, f"baseline/{rule}") for rule in ("random", "longer", "shorter")]


def outcomes_of(evaluators, *names):
    judges = {one.judge: load_judge(one.judge) for one in evaluators}
    return outcome_table(evaluators, judges, {name: load_set(name) for name in names}, VerdictStore(":memory:"))


def invented(credits):
    """Outcomes on four items of four prompts, from (model, method) to credits."""
    rows = [
        ("set", model, method, str(i), str(i), credit, 1.0, 0.0)
        for (model, method), values in credits.items()
        for i, credit in enumerate(values)
    ]
    return pd.DataFrame(rows, columns=["set", "model", "method", "item_id", "cluster", "credit", "same", "unread"])


def test_every_stored_evaluator_belongs_to_one_model():
    found = stored_evaluators(MODELS)
    assert len(found) == len({one.judge for one in found}) == 65
    assert {one.judge.removeprefix("replay/") for one in found} == set(published_on("llmbar_natural"))
    assert len({(one.model, one.method) for one in found}) == 65
    assert not any(one.method.startswith("0301") for one in found)


def test_a_model_without_outputs_is_an_error():
    with pytest.raises(KeyError, match="gpt-9"):
        stored_evaluators(["gpt-9"])


def test_no_models_are_no_evaluators():
    assert stored_evaluators([]) == []


def test_outcomes_score_as_the_protocol_does():
    outcomes = outcomes_of(RULES, "sample_adversarial")
    pairs = load_set("sample_adversarial")
    for one in RULES:
        verdicts = run_judge(load_judge(one.judge), pairs, VerdictStore(":memory:"), progress=False)
        scores = score(verdicts, pairs, "sample_adversarial", n_boot=10)
        own = outcomes[outcomes["method"] == one.method]
        assert own["credit"].mean() == pytest.approx(scores["accuracy"].value)
        assert own["same"].mean() == pytest.approx(scores["consistency"].value)


def test_differences_are_those_of_a_paired_comparison():
    effects = effect_table(outcomes_of(RULES, "sample_adversarial"), "random", n_boot=200).set_index("method")
    pairs, store = load_set("sample_adversarial"), VerdictStore(":memory:")
    said = {rule: run_judge(load_judge(f"baseline/{rule}"), pairs, store) for rule in ("random", "longer")}
    expected = compare(said["longer"], said["random"], pairs, "sample_adversarial", n_boot=200)
    found = effects.loc["longer", "difference"]
    for part in ("value", "low", "high"):
        assert getattr(found, part) == pytest.approx(getattr(expected.difference, part))
    assert effects.loc["longer", "p_value"] == pytest.approx(expected.p_value)
    assert effects.loc["random", "difference"] is None


def test_interaction_is_the_effect_less_the_others():
    table = invented(
        {
            ("a", "base"): [0, 0, 0, 0],
            ("a", "x"): [1, 1, 1, 0],
            ("b", "base"): [1, 1, 0, 0],
            ("b", "x"): [1, 1, 1, 0],
            ("b", "y"): [1, 1, 1, 1],
        }
    )
    effects = effect_table(table, "base", n_boot=50).set_index(["model", "method"])
    assert effects.loc[("a", "x"), "difference"].value == pytest.approx(0.75)
    assert effects.loc[("b", "x"), "difference"].value == pytest.approx(0.25)
    assert effects.loc[("a", "x"), "interaction"].value == pytest.approx(0.5)
    assert effects.loc[("b", "x"), "interaction"].value == pytest.approx(-0.5)
    assert effects.loc[("b", "y"), "interaction"] is None, "no other model has the method"
    (row,) = mean_effect_table(table, "base", n_boot=50).itertuples()
    assert (row.method, row.models, row.difference.value) == ("x", 2, pytest.approx(0.5))


def test_the_order_of_rows_plays_no_part():
    table = invented({("a", "base"): [0, 1, 0, 1], ("a", "x"): [1, 1, 0, 0.5]})
    mixed = table.sample(frac=1, random_state=3)
    one, other = (effect_table(t, "base", n_boot=50).set_index("method") for t in (table, mixed))
    assert one.loc["x", "difference"] == other.loc["x", "difference"]


def test_a_model_without_the_base_method_is_an_error():
    with pytest.raises(ValueError, match="a has no method 'plain'"):
        effect_table(invented({("a", "x"): [1, 0, 1, 0]}), "plain")


def test_one_model_has_no_mean_over_models():
    assert mean_effect_table(outcomes_of(RULES, "sample_adversarial"), "random", n_boot=20).empty


@pytest.mark.parametrize(
    ("steps", "calls"),
    [
        ([{"swap = False": {"completion": ["a", ""]}, "swap = True": {"completion": ["b", ""]}}], (2, 2)),
        ([["metrics", "stop"], ["ref", "stop"], {"swap = False": {}, "swap = True": {}}], (4, 10)),
        ([{"swap = False": {"completion": None}, "swap = True": {"completion": [None, ""]}}] * 2, (4, 0)),
    ],
)
def test_calls_of_an_item(steps, calls):
    assert cost_of(steps) == calls


def test_set_of_a_file():
    assert set_of("llmbar/LLMBar/Natural/evaluators/GPT-4/CoT/result.json") == "llmbar_natural"


def test_rules_have_no_stored_calls():
    assert call_table(RULES).empty


@pytest.mark.realdata
def test_calls_per_verdict_of_stored_outputs():
    wanted = {"vanilla": 1, "metrics": 1.5, "metrics_reference": 2, "rating": 1}
    evaluators = [one for one in stored_evaluators(["gpt-4"]) if one.method in (*wanted, "swap")]
    calls = call_table(evaluators).set_index(["set", "method"])["calls"]
    for method, expected in wanted.items():
        assert calls["llmbar_neighbor", method] == expected
    assert calls["llmbar_neighbor", "swap"] == pytest.approx(1 + 14 / 134)
    sizes = {"llmbar_neighbor": 134, "llmbar_gptinst": 92, "llmbar_gptout": 47, "llmbar_manual": 46}
    union = sum(n * calls[name, "swap"] for name, n in sizes.items()) / 319
    assert calls["llmbar_adversarial", "swap"] == pytest.approx(union)


@pytest.mark.realdata
def test_accuracies_of_stored_outputs_are_the_owners():
    evaluators = [one for one in stored_evaluators(["gpt-4"]) if one.method in ("vanilla", "vanilla_norules")]
    effects = effect_table(outcomes_of(evaluators, "llmbar_neighbor"), "vanilla_norules", n_boot=100)
    accuracy = effects.set_index("method")["accuracy"]
    assert [str(accuracy[method]) for method in ("vanilla_norules", "vanilla")] == ["64.2", "78.7"]
