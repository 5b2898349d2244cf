"""judgekit.scoring.verdicts: the one table of verdicts holds what judging the sets directly gives."""

import json

import pandas as pd
import pytest

from judgekit.data import paths
from judgekit.data.catalogue import load_set
from judgekit.judges import load_judge
from judgekit.scoring import pivot_orders, run_judge, verdicts
from judgekit.scoring.store import VerdictStore

SETS = ["sample_natural", "sample_adversarial"]
COLUMNS = "set item prompt judge order verdict p_a p_b p_tie status label votes".split()


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A checkout of its own: its outputs and its verdict store."""
    monkeypatch.setattr(paths, "project_root", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def store():
    with VerdictStore(":memory:") as one:
        yield one


def expected_rows(judge, slug, name, store):
    pairs = load_set(name)
    by_id = {pair.item_id: pair for pair in pairs}
    return [
        {
            **{"set": name, "item": one.item_id, "prompt": by_id[one.item_id].cluster, "judge": slug},
            **{key: getattr(one, key) for key in ("order", "verdict", "p_a", "p_b", "p_tie", "status")},
            **{"label": by_id[one.item_id].label, "votes": by_id[one.item_id].votes},
        }
        for one in run_judge(judge, pairs, store, progress=False)
    ]


def test_the_table_holds_what_judges_say_of_sets(project, store):
    judges, slugs = (
        ["baseline/longer", "baseline/random", "encoder/minilm"],
        {"baseline/random": "dice", "of/none": "x"},
    )
    table = verdicts(judges, SETS, "sample", slugs, store=store, progress=False)
    assert list(table.columns) == COLUMNS
    loaded = {"longer": "baseline/longer", "dice": "baseline/random", "minilm": "encoder/minilm"}
    loaded = {slug: load_judge(name) for slug, name in loaded.items()}
    rows = [row for name in SETS for slug, judge in loaded.items() for row in expected_rows(judge, slug, name, store)]
    expected = pd.DataFrame(rows, columns=COLUMNS, dtype=object).astype({"p_a": float, "p_b": float, "p_tie": float})
    pd.testing.assert_frame_equal(table, expected, check_exact=True)
    assert table.loc[table["judge"] == "minilm", "p_a"].notna().all()
    assert table.loc[table["judge"] == "longer", "p_a"].isna().all()


def test_a_model_that_is_missing_from_the_declared_folder_never_judges(project, store):
    declared = project / "params" / "sample" / "judges.yaml"
    declared.parent.mkdir(parents=True)
    declared.write_text(f"mine: {{name: encoder/minilm, folder: {project / 'absent'}}}\n")
    with pytest.raises(ValueError, match=r"no judge\.json"):
        verdicts(["mine"], SETS, "sample", store=store)
    broken = project / "outputs" / "sample" / "models" / "minilm"
    broken.mkdir(parents=True)
    with pytest.raises(ValueError, match=r"no judge\.json"):
        verdicts(["encoder/minilm"], SETS, "sample", store=store)


@pytest.mark.parametrize(
    ("slugs", "words"),
    [({"baseline/shorter": "longer"}, "share the slug 'longer'"), ({"baseline/longer": "No slug"}, "use lower-case")],
)
def test_judges_that_cannot_be_told_apart_are_refused(slugs, words, project, store):
    with pytest.raises(ValueError, match=words):
        verdicts(["baseline/longer", "baseline/shorter"], SETS, "sample", slugs, store=store)


def test_orders_side_by_side(project, store):
    table = verdicts(["baseline/first", "baseline/longer"], SETS, "sample", store=store, progress=False)
    pairs = pivot_orders(table)
    assert len(pairs) == len(table) / 2
    first, longer = (pairs[pairs["judge"] == judge] for judge in ("first", "longer"))
    assert set(first["ab"]) == {"A"} and set(first["ba"]) == {"B"}
    assert (longer["ab"] == longer["ba"]).all()
    assert pairs.attrs == table.attrs
    one = pivot_orders(table[table["order"] == "ab"])
    assert set(one["ba"]) == {None} and one["ab"].tolist() == pairs["ab"].tolist()


def test_pairs_of_ones_own_are_a_set(project, store):
    rows = [{"question": f"Q{n}?", "response_a": "a" * n, "response_b": "bb", "label": "AB"[n % 2]} for n in range(5)]
    path = project / "My pairs.v2.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    judges = ["baseline/longer", "baseline/majority_class"]
    table = verdicts(judges, [SETS[0], f"file:{path}"], "sample", store=store, progress=False)
    own = table[table["set"] == f"file:{path}"]
    assert set(table["set"]) == {SETS[0], f"file:{path}"} and len(own) == 5 * 2 * 2
    longer = own[(own["judge"] == "longer") & (own["order"] == "ab")]
    assert longer["verdict"].tolist() == ["B", "B", "tie", "A", "A"] and longer["label"].tolist() == list("ABABA")
    assert set(own.loc[own["judge"] == "majority_class", "verdict"]) == {"A"}
