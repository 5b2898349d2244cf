"""judgekit.judges.replay: what a judge said is repeated from a file without its model and without texts."""

import pandas as pd
import pytest
from notebook_functions import functions_of

from judgekit.data.catalogue import load_set
from judgekit.judges import load_judge, request_key, request_of
from judgekit.judges.replay import COLUMNS, TrackedJudge, track_verdicts
from judgekit.records import ORDERS, Reply
from judgekit.scoring import run_judge, waiting_requests
from judgekit.scoring.store import VerdictStore

NAME = "baseline/features"  # states probabilities, and does not see the item


@pytest.fixture(scope="module")
def pairs():
    return load_set("sample_natural")[:12]


@pytest.fixture(scope="module")
def verdicts(pairs):
    return run_judge(load_judge(NAME), pairs, VerdictStore(":memory:"), progress=False)


@pytest.fixture
def file(tmp_path, pairs, verdicts):
    track_verdicts(tmp_path / "asked_x.parquet", load_judge(NAME), {"natural": (pairs, verdicts)}, {"torch": "2"})
    return tmp_path / "asked_x.parquet"


def essence(verdicts):
    return [(v.item_id, v.order, v.verdict, v.p_a, v.p_b, v.p_tie, v.status) for v in verdicts]


def test_both_orders_are_repeated_as_they_were_said_whatever_a_store_holds_of_the_model(file, pairs, verdicts):
    store, model, judge = VerdictStore(":memory:"), load_judge(NAME), TrackedJudge(file)
    assert judge.fingerprint == model.fingerprint and judge.about["torch"] == "2"
    keys = [request_key(model, request_of(pair, order)) for pair in pairs for order in ORDERS]
    store.put(model.fingerprint, model.decoding, dict.fromkeys(keys, Reply("first", 0.9, 0.1, 0.0)))
    assert essence(run_judge(judge, pairs, store, progress=False)) == essence(verdicts)


def test_a_pair_is_found_by_what_it_shows_not_by_its_name_or_side(file, pairs, verdicts):
    turned = [pair.swapped() for pair in pairs]
    again = run_judge(TrackedJudge(file), turned, VerdictStore(":memory:"), progress=False)
    sides = {"A": "B", "B": "A", "tie": "tie"}
    before = {(v.item_id, v.order): sides[v.verdict] for v in verdicts}
    assert [v.verdict for v in again] == [before[v.item_id, "ba" if v.order == "ab" else "ab"] for v in again]


def test_a_pair_that_was_not_asked_about_is_an_error_and_no_verdict(file, pairs):
    judge, other = TrackedJudge(file), load_set("sample_natural")[12:14]
    assert judge.holds(pairs, ORDERS) and not judge.holds(other, ORDERS)
    given = run_judge(judge, other, VerdictStore(":memory:"), progress=False)
    assert {v.status for v in given} == {"error"} and {v.verdict for v in given} == {None}


def test_a_set_that_is_tracked_is_not_asked_again_where_another_one_is_added(file, pairs, verdicts):
    known = {"natural": pairs, "more": load_set("sample_natural")[12:14]}
    model = load_judge(NAME)
    known["whole"], store = known["natural"] + known["more"], VerdictStore(":memory:")
    given = {"pairs": known, "files": {"x": file}, "models_asked": {"x": model}, "store": store, "on": {"x": known}}
    judges_of = functions_of("36_ask_language_models", **given).judges_of
    asked = judges_of("x")
    assert isinstance(asked["natural"], TrackedJudge) and asked["more"] is model
    # Of a set that is tracked in part, the rest is asked; and what the file holds of other sets stays.
    assert asked["whole"] is model and len(waiting_requests(model, known["whole"], store)) == 4
    judged = run_judge(model, known["more"], store, progress=False)
    track_verdicts(file, model, {"more": (known["more"], judged)}, {})
    assert TrackedJudge(file).holds(known["whole"], ORDERS) and isinstance(judges_of("x")["whole"], TrackedJudge)
    model.decoding = '{"dtype": "float32"}'
    assert isinstance(judges_of("x")["whole"], TrackedJudge), "on whatever machine it was asked"
    for name, other in {"decoding": '{"temperature": 1.5}', "fingerprint": "another model"}.items():
        setattr(model, name, other)
        assert judges_of("x")["natural"] is model
        track_verdicts(file, model, {"more": (known["more"], judged)}, {})
        assert not TrackedJudge(file).holds(pairs, ORDERS), "verdicts of two models, or settings, do not mix"
        track_verdicts(file, model, {"natural": (pairs, verdicts)}, {})
        assert TrackedJudge(file).holds(known["whole"], ORDERS)


def test_a_pair_that_sets_share_stays_for_the_one_that_keeps_it(file, pairs, verdicts):
    shared = [verdict for verdict in verdicts if verdict.item_id == pairs[0].item_id]
    for given in ((pairs[:1], shared), ([], [])):
        track_verdicts(file, load_judge(NAME), {"more": given}, {})
        assert TrackedJudge(file).holds(pairs, ORDERS)


def test_no_text_is_kept(file, pairs):
    table = pd.read_parquet(file)
    assert tuple(table.columns) == COLUMNS and len(table) == 2 * len(pairs)
    kept = file.read_bytes()
    for pair in pairs:
        assert not any(text.encode() in kept for text in (pair.question, *pair.responses) if len(text) > 20)
    assert table["input"].str.fullmatch("[0-9a-f]{64}").all()


def test_another_file_is_refused_by_name(tmp_path):
    path = tmp_path / "asked_x.parquet"
    pd.DataFrame({"set": ["natural"], "verdict": ["A"]}).to_parquet(path)
    with pytest.raises(ValueError, match=r"asked_x\.parquet: no file of tracked verdicts"):
        TrackedJudge(path)


def test_a_run_gives_its_tracked_verdicts_by_their_slug(file, tmp_path, monkeypatch):
    monkeypatch.setattr("judgekit.data.paths.run_folder", lambda *parts: tmp_path)
    assert isinstance(load_judge("replay/x", run="laptop"), TrackedJudge)
    with pytest.raises(ValueError, match="no published verdicts are called 'replay/y'"):
        load_judge("replay/y", run="laptop")
