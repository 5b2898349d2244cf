"""judgekit.studies.prompt_strategies: stored evaluators, what they earned and what they cost."""

import json
import shutil

import numpy as np
import pytest
from chat_server import ANSWER, KEY, good_reply
from judged_file import python_in
from notebook_functions import functions_of
from tiny_causal import save_tiny

from judgekit.data.benchmarks.outputs import published_on
from judgekit.data.catalogue import load_set, questions_of_tests
from judgekit.data.paths import project_root
from judgekit.judges import load_judge
from judgekit.scoring import run_judge, score
from judgekit.scoring.store import VerdictStore
from judgekit.studies.prompt_strategies import Evaluator, call_table, cost_of, live_judges, stored_evaluators

MODELS = ["gpt-4", "palm2", "chatgpt", "chatgpt-0301", "llama2", "falcon"]
SET = "sample_adversarial"
NOTEBOOK = functions_of("32_prompt_strategies")
live_call_table, outcome_table = NOTEBOOK.live_call_table, NOTEBOOK.outcome_table
live_evaluators = NOTEBOOK.live_evaluators
RULES = [Evaluator("rules", rule, f"baseline/{rule}") for rule in ("random", "longer", "shorter")]


def test_every_stored_evaluator_belongs_to_one_model():
    found = stored_evaluators(MODELS)
    assert len(found) == len({one.judge for one in found}) == 65
    assert {one.judge.removeprefix("replay/") for one in found} == set(published_on("llmbar_natural"))
    assert not any(one.method.startswith("0301") for one in found)
    with pytest.raises(KeyError, match="gpt-9"):
        stored_evaluators(["gpt-9"])


def test_outcomes_score_as_the_protocol_does():
    judges, pairs = {one.judge: load_judge(one.judge) for one in RULES}, load_set(SET)
    outcomes = outcome_table(RULES, judges, {SET: pairs}, VerdictStore(":memory:"))
    assert call_table(RULES).empty
    for one in RULES:
        verdicts = run_judge(judges[one.judge], pairs, VerdictStore(":memory:"), progress=False)
        scores = score(verdicts, pairs, SET, n_boot=10)
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


QUICK = {"backoff": 0.005, "attempts": 2}


def by_length(body, text):
    """The rules strategy prefers the longer output, others the first shown."""
    sizes = {(one or other).lower(): len(answer) for one, other, answer in ANSWER.findall(text)}
    longer = "b" if "Keep to these rules" in body["messages"][0]["content"] and sizes["b"] > sizes["a"] else "a"
    return good_reply(body, f"Output ({longer}) is better.")


@pytest.fixture
def server(serve):
    return serve(respond=by_length)


def share_right(pairs):
    """Accuracy of 'the longer, else the first shown' over both orders."""
    shown = [one for pair in pairs for one in (pair, pair.swapped())]
    return np.mean([(pair.label == "A") == (len(pair.response_b) <= len(pair.response_a)) for pair in shown])


@pytest.mark.parametrize(
    ("model", "methods"),
    [("m", {}), ("", {"a": "cot"}), ("m", {"a": "cot", "b": "cot"}), ("m", {"a b": "cot", "a_b": "rules"})],
)
def test_half_a_choice_is_refused(model, methods):
    with pytest.raises(ValueError, match="live"):
        live_evaluators(model, methods)
    assert live_evaluators("", {}) == [], "nobody is asked where no model is named"


def test_live_rows_stand_in_the_tables(server):
    evaluators = live_evaluators("tiny", {"plain": "vanilla-strict", "rules": "rules-strict"})
    judges, pairs, store = live_judges(evaluators, QUICK), {SET: load_set(SET)[:12]}, VerdictStore(":memory:")
    outcomes = outcome_table(evaluators, judges, pairs, store)
    credit = outcomes.groupby("method")["credit"].mean()
    assert credit["plain"] == 0.5 and credit["rules"] == pytest.approx(share_right(pairs[SET]))
    assert sum(server.asked.values()) == 48
    calls = live_call_table(evaluators, judges, pairs, store)
    assert set(calls["calls"]) == {1.0} and set(calls["characters"]) == {len("Output (a) is better.")}
    assert sum(server.asked.values()) == 48, "everything else reads the store"


def test_failed_calls_are_no_wrong_verdicts(server):
    server.plan = lambda text, attempt: "500"
    evaluators = live_evaluators("tiny", {"plain": "vanilla-strict"})
    with pytest.raises(RuntimeError, match=r"4 of 4 verdicts .* failed .*run again"):
        outcome_table(evaluators, live_judges(evaluators, QUICK), {SET: load_set(SET)[:2]}, VerdictStore(":memory:"))


@pytest.mark.parametrize("asked", ["demonstrations", "demonstrations-strict"])
def test_demonstrations_are_drawn_from_training_data(server, asked):
    (judge,) = live_judges(live_evaluators("tiny", {"shown": asked}), QUICK | {"shots": 3}).values()
    shown = judge.strategy.demonstrations
    assert len(shown) == 3 and all(one.item_id.startswith("sample_train/") for one in shown)
    assert not {one.question for one in shown} & {question for _, question in questions_of_tests(sample=True)}
    assert judge.strategy.policy == ("strict" if asked.endswith("strict") else "permissive")
    assert asked == "demonstrations" or "tie" not in {one.verdict for one in shown}


def test_number_and_order_of_demonstrations_are_studied_side_by_side(server):
    ways = {"none": "rules", "two": "demonstrations?shots=2", "four": "demonstrations"}
    ways["four_back"] = "demonstrations?shots=4&shots_order=reversed"
    evaluators = live_evaluators("tiny", ways)
    judges = live_judges(evaluators, QUICK)
    two, four, back = ([one.item_id for one in judges[e.judge].strategy.demonstrations] for e in evaluators[1:])
    assert (len(two), len(four)) == (2, 4) and back == four[::-1] and set(two) < set(four)
    pairs, store = {SET: load_set(SET)[:3]}, VerdictStore(":memory:")
    outcomes = outcome_table(evaluators, judges, pairs, store)
    assert set(outcomes["method"]) == set(ways)
    assert sum(server.asked.values()) == 4 * 3 * 2, "each way is asked about every pair in both orders"


def test_a_model_that_runs_here_is_asked_as_a_server_is(tmp_path):
    ways = {"plain": "vanilla-strict", "two": "demonstrations-strict?shots=2"}
    evaluators = live_evaluators(f"hf/{save_tiny(tmp_path / 'tiny')}", ways)
    assert all(one.live and one.model == "live_tiny" for one in evaluators)
    judges = live_judges(evaluators, {"mode": "one_pass"})
    assert [len(judges[one.judge].strategy.demonstrations) for one in evaluators] == [0, 2]
    assert len({judge.fingerprint for judge in judges.values()}) == 2, "what is shown is a part of who judges"
    pairs, store = {SET: load_set(SET)[:3]}, VerdictStore(":memory:")
    outcomes = outcome_table(evaluators, judges, pairs, store)
    assert outcomes["read"].eq(1).all() and set(outcomes["method"]) == set(ways)
    assert live_call_table(evaluators, judges, pairs, store)["calls"].eq(1).all()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("demonstrations?many=2", "many is none of shots"),
        ("demonstrations?shots=two", "invalid literal"),
        ("demonstrations?shots", "bad query field"),
        ("rules?shots=2", "only the strategy 'demonstrations'"),
    ],
)
def test_wrong_demonstration_settings_name_the_method(server, asked, message):
    with pytest.raises(ValueError, match=rf"method 'mine'.*{message}"):
        live_judges(live_evaluators("tiny", {"mine": asked}), QUICK)


@pytest.mark.slow
def test_the_notebook_asks_a_live_model(server, tmp_path):
    """The notebook in a checkout of its own, so that no real store or result is touched."""
    for part in ("judgekit", "notebooks", "params"):
        shutil.copytree(project_root() / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    parameters = {
        "run": "live",
        "sets": [SET],
        "order": ["plain", "rules"],
        "n_boot": 100,
        "live_model": "org/tiny-1",
        "live_methods": {"plain": "vanilla-strict", "rules": "rules-strict"},
        "live_settings": QUICK | {"price_in": 1.0, "price_out": 2.0, "max_cost": 1.0},
    }
    (tmp_path / "live.yaml").write_text(json.dumps(parameters))
    command = "-m papermill notebooks/32_prompt_strategies.ipynb out.ipynb -f live.yaml -k python3".split()
    python_in(tmp_path, *command, "--no-progress-bar", timeout=300)
    numbers = json.loads((tmp_path / "outputs/live/results/32_prompt_strategies.json").read_text())["numbers"]
    pairs = load_set(SET)
    assert sum(server.asked.values()) == 4 * len(pairs)
    for key in (f"prompts.live_tiny_1.rules.{SET}.accuracy", f"scores.{SET}.live_tiny_1_rules.accuracy"):
        assert numbers[key]["value"] == pytest.approx(share_right(pairs))
    assert numbers[f"scores.{SET}.live_tiny_1_plain.accuracy"]["value"] == pytest.approx(0.5)
    assert numbers[f"prompts.live_tiny_1.rules.{SET}.calls"]["value"] == 1
    assert all("live_tiny_1" in key or key.startswith("prompts.interaction") for key in numbers)
    costs = (tmp_path / "outputs/live/tables").glob("prompt_costs*")
    assert all("rules" in file.read_text() for file in costs)
    assert KEY.encode() not in b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
