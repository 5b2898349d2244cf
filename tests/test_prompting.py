"""judgekit.studies.prompt_strategies: stored evaluators, what they earned and what they cost."""

import pytest

from judgekit.data.benchmarks.outputs import published_on
from judgekit.data.catalogue import load_set
from judgekit.judges import load_judge
from judgekit.scoring import run_judge, score
from judgekit.scoring.store import VerdictStore
from judgekit.studies.prompt_strategies import Evaluator, call_table, cost_of, outcome_table, set_of, stored_evaluators

MODELS = ["gpt-4", "palm2", "chatgpt", "chatgpt-0301", "llama2", "falcon"]
RULES = [Evaluator("rules", rule, f"baseline/{rule}") for rule in ("random", "longer", "shorter")]


def outcomes_of(evaluators, *names):
    judges = {one.judge: load_judge(one.judge) for one in evaluators}
    return outcome_table(evaluators, judges, {name: load_set(name) for name in names}, VerdictStore(":memory:"))


def test_every_stored_evaluator_belongs_to_one_model():
    found = stored_evaluators(MODELS)
    assert len(found) == len({one.judge for one in found}) == 65
    assert {one.judge.removeprefix("replay/") for one in found} == set(published_on("llmbar_natural"))
    assert not any(one.method.startswith("0301") for one in found)
    with pytest.raises(KeyError, match="gpt-9"):
        stored_evaluators(["gpt-9"])


def test_outcomes_score_as_the_protocol_does():
    outcomes = outcomes_of(RULES, "sample_adversarial")
    pairs = load_set("sample_adversarial")
    for one in RULES:
        verdicts = run_judge(load_judge(one.judge), pairs, VerdictStore(":memory:"), progress=False)
        scores = score(verdicts, pairs, "sample_adversarial", n_boot=10)
        own = outcomes[outcomes["method"] == one.method]
        assert own["credit"].mean() == pytest.approx(scores["accuracy"].value)
        assert own["same"].sum() / own["read"].sum() == pytest.approx(scores["consistency"].value)


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


def test_set_of_a_file_and_rules_without_calls():
    assert set_of("llmbar/LLMBar/Natural/evaluators/GPT-4/CoT/result.json") == "llmbar_natural"
    assert call_table(RULES).empty


@pytest.mark.realdata
def test_calls_per_verdict_of_stored_outputs():
    wanted = {"vanilla": 1, "metrics": 1.5, "metrics_reference": 2, "rating": 1}
    evaluators = [one for one in stored_evaluators(["gpt-4"]) if one.method in (*wanted, "swap")]
    calls = call_table(evaluators).set_index(["set", "method"])["calls"]
    assert {method: calls["llmbar_neighbor", method] for method in wanted} == wanted
    assert calls["llmbar_neighbor", "swap"] == pytest.approx(1 + 14 / 134)
    sizes = {"llmbar_neighbor": 134, "llmbar_gptinst": 92, "llmbar_gptout": 47, "llmbar_manual": 46}
    union = sum(n * calls[name, "swap"] for name, n in sizes.items()) / 319
    assert calls["llmbar_adversarial", "swap"] == pytest.approx(union)


@pytest.mark.realdata
def test_accuracies_of_stored_outputs_are_the_owners():
    evaluators = [one for one in stored_evaluators(["gpt-4"]) if one.method in ("vanilla", "vanilla_norules")]
    accuracy = outcomes_of(evaluators, "llmbar_neighbor").groupby("method")["credit"].mean()
    assert (round(accuracy["vanilla_norules"], 3), round(accuracy["vanilla"], 3)) == (0.642, 0.787)
