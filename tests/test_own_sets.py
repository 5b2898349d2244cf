"""Pairs of one's own in notebooks: a set is `file:PATH` there, or one sentence says what its pairs lack."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from notebook_functions import code_of, functions_of, run_cells

from judgekit.data import paths
from judgekit.data.catalogue import load_set
from judgekit.data.paths import project_root
from judgekit.judges import load_judge
from judgekit.judges.names import slug
from judgekit.scoring import run_judge
from judgekit.scoring.store import VerdictStore
from judgekit.scoring.tables import verdict_table
from judgekit.studies.data_mixture import read_cleaned
from judgekit.training.mixture import source_weights


def write_own(path, pairs, said):
    fields = ("question", "response_a", "response_b", said)
    rows = [{"id": n} | {field: getattr(pair, field) for field in fields} for n, pair in enumerate(pairs)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def own(tmp_path):
    write_own(tmp_path / "own.pairs.jsonl", load_set("sample_natural")[:12], "votes")
    return f"file:{tmp_path / 'own.pairs.jsonl'}"


def test_votes_on_pairs_of_ones_own_are_read_with_ties_or_without(own):
    voted_set = functions_of("60_human_consensus").voted_set
    whole, decided = voted_set(own), voted_set(f"{own}:decided")
    assert (whole.key, decided.key, whole.name) == ("own", "own_decided", own)
    assert len(whole.votes.items) == 12 and len(decided.votes.classes) == 2
    assert voted_set("sample_natural:decided").key == "sample_natural_decided"


def test_of_two_votes_on_each_item_one_is_predicted_without_crowdlab(tmp_path, monkeypatch, capsys):
    """Before, notebook 60 ended with an error of cleanlab's: with one vote hidden, nobody meets anybody."""
    pairs = [pair for pair in load_set("sample_natural")[:40] if len(pair.votes) > 1]
    pairs = [replace(pair, votes=dict(list(pair.votes.items())[:2])) for pair in pairs]
    write_own(tmp_path / "two.pairs.jsonl", pairs, "votes")
    monkeypatch.setattr(paths, "project_root", lambda: tmp_path)
    name, stating = f"file:{tmp_path / 'two.pairs.jsonl'}", ["baseline/features"] * 2
    space = run_cells("60_human_consensus", 8, voted=[name], stating=stating, judges={}, known=[], draws=1)
    scored = {key.split(".")[2] for key in space["numbers"] if "hidden_accuracy" in key}
    assert scored == {"majority", "dawid_skene", "dawid_skene_one_coin", "glad", "mace"}
    assert "no item keeps two votes when one is hidden" in capsys.readouterr().out


def test_a_set_without_kinds_is_named(own):
    with pytest.raises(AssertionError, match="no grouping is called so; say in GROUPINGS how the pairs"):
        run_cells("44_domains", 3, groupings=[own])


def test_a_set_whose_pairs_name_no_models_is_named(own, tmp_path):
    def verdicts(judges, sets, *_, **__):
        with VerdictStore(tmp_path / "store.sqlite") as store:
            parts = [
                (n, slug(j), load_set(n), run_judge(load_judge(j), load_set(n), store)) for n in sets for j in judges
            ]
            return verdict_table(parts)

    given = {"against_people": {own: ["baseline/longer"]}, "against_judges": {}, "families": {}, "verdicts": verdicts}
    with pytest.raises(AssertionError, match=r"own\.pairs\.jsonl: a set whose pairs do not say which model wrote"):
        run_cells("42_self_preference", 3, **given)


def test_a_set_that_was_not_scored_is_named(own):
    with pytest.raises(AssertionError, match="not scored by 30_score_benchmarks"):
        run_cells("71_accuracy_by_size", 3, run="laptop", metrics={own: "accuracy"})


def test_two_files_of_ones_own_are_cleaned_and_trained_on_as_two_sets(tmp_path, monkeypatch):
    """At 7ea38f3e pairs of any file were of one set, ``pairs``: none had a share, and equal ids were one pair."""
    monkeypatch.chdir(tmp_path)
    shares, known = {"file:one.jsonl": 2.0, "file:two.jsonl": 1.0}, load_set("sample_train")
    for name, pairs in zip(shares, (known[:30], known[30:60]), strict=True):
        write_own(Path(name.removeprefix("file:")), pairs, "label")
    tables = {}
    given = {"corpora": [*shares], "held_out": [], "answers": [*shares], "validation_share": 0.2}
    given["save_data"] = lambda run, name, frame: tables.update({name: frame})
    run_cells("10_clean_preferences", 9, **given)
    split, answers = tables["training_split"], tables["training_answers"]
    cleaned = read_cleaned(split, answers, shares, [*shares], None, None)
    assert {pair.benchmark for pair in cleaned.train} == set(cleaned.validation) == set(shares)
    question_of = {([*shares][n // 30], str(n % 30)): p.question for n, p in enumerate(known[:60])}
    for item in [*cleaned.train, *cleaned.answers, *cleaned.held_out_answers]:
        assert item.question == question_of[item.benchmark, item.item_id]
    assert cleaned.answers and len(source_weights(cleaned.train, shares)) == len(cleaned.train)
    assert set(cleaned.hashes) == set(shares)
    first = load_set("file:one.jsonl")[0]
    assert first.where == "file:one.jsonl/0 (one.jsonl, line 1)", "messages name file and line"


def test_votes_that_are_too_few_are_counted(own):
    space = functions_of("62_replace_annotators")
    cells = code_of(project_root() / "notebooks/62_replace_annotators.ipynb")
    (text,) = [text for text, _ in cells if "refused = {}, {}" in text]
    found = vars(space) | {"people": {}, "labels": {}, "scales": {}}
    with pytest.raises(AssertionError, match="no judge can be held against people"):
        exec(compile(text, "62", "exec"), found)
