"""judgekit.scoring: no interruption changes a verdict, and the tables hold what judging the sets directly gives."""

import json
import weakref
from itertools import product

import pandas as pd
import pytest

from judgekit.data import paths
from judgekit.data.catalogue import load_set
from judgekit.data.sample import load_sample
from judgekit.judges import load_judge, request_of
from judgekit.judges.baseline import RuleJudge
from judgekit.records import ORDERS, Reply, label_of_gap
from judgekit.scoring import forest_table, hold_contest, pick, pivot_orders, run_judge, verdicts
from judgekit.scoring.comparison import contest_scores, with_constant
from judgekit.scoring.running import JudgeFailure, Remembered
from judgekit.scoring.store import shared_store

SETS = ["sample_natural", "sample_adversarial"]
COLUMNS = "set item prompt judge order verdict p_a p_b p_tie status label votes".split()
NATURAL = load_sample("sample_natural")


class Recorder(RuleJudge):
    """``longer``, which counts what it was asked."""

    batch_size, asked = 8, 0

    def __init__(self):
        super().__init__("longer")

    def judge(self, requests):
        self.asked += len(requests)
        return super().judge(requests)


def test_verdicts_come_in_the_order_of_pairs_and_orders(store):
    verdicts = run_judge(Recorder(), NATURAL[:20], store, progress=False)
    cells = list(product(NATURAL[:20], ORDERS))
    assert [(v.item_id, v.order) for v in verdicts] == [(pair.item_id, order) for pair, order in cells]
    gaps = [len(pair.response_a) - len(pair.response_b) for pair, _ in cells]
    assert [verdict.verdict for verdict in verdicts] == [label_of_gap(gap) for gap in gaps]


class Lossy(Recorder):
    def judge(self, requests):
        return super().judge(requests)[1:]


class Interrupted(Recorder):
    def judge(self, requests):
        if self.asked >= 16:
            raise KeyboardInterrupt
        return super().judge(requests)


@pytest.mark.parametrize(
    ("judge", "failure", "words", "kept"),
    [(Lossy, JudgeFailure, "7 replies to 8 requests", 0), (Interrupted, KeyboardInterrupt, None, 16)],
)
def test_a_judge_that_loses_replies_or_is_interrupted_keeps_the_batches_before(judge, failure, words, kept, store):
    with pytest.raises(failure, match=words):
        run_judge(judge(), NATURAL[:20], store, progress=False)
    assert store.count() == kept


class Crammed(Recorder):
    """Has memory for one request at a time, and for none beside what another one left in it."""

    def judge(self, requests):
        if self.held is not None and self.held() is not None:
            raise RuntimeError("CUDA out of memory.")
        batch = type("Batch", (), {})()
        self.held = weakref.ref(batch)
        if len(requests) > 1:
            raise RuntimeError("CUDA out of memory.")
        return super().judge(requests)

    held = None


def test_a_batch_that_failed_leaves_the_memory_before_its_requests_are_tried_alone(store):
    assert {one.status for one in run_judge(Crammed(), NATURAL[:6], store, progress=False)} == {"ok"}


def test_what_is_no_verdict_of_a_remembered_judge_is_asked_again(store):
    """At 29757e73 a member of a blend that once gave NaN was never asked again, and stood in the store as a verdict."""
    judge = Recorder()
    told = [Reply("first", p_first=float("nan"), p_second=0.0, p_tie=0.0), Reply("first", 1.0, 0.0, 0.0)]
    judge.judge = lambda requests: [told[judge.asked]]
    remembered, requests = Remembered(judge, store), [request_of(NATURAL[0], "ab")]
    assert remembered.judge(requests)[0].status == "error"
    judge.asked = 1
    assert remembered.judge(requests) == told[1:] and store.count() == 1


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A checkout of its own: its outputs and its verdict store."""
    monkeypatch.setattr(paths, "project_root", lambda: tmp_path)
    return tmp_path


def expected_rows(judge, slug, name, store):
    pairs = {pair.item_id: pair for pair in load_set(name)}
    for one in run_judge(judge, pairs.values(), store, progress=False):
        pair = pairs[one.item_id]
        said = [getattr(one, key) for key in ("order", "verdict", "p_a", "p_b", "p_tie", "status")]
        yield [name, one.item_id, pair.cluster, slug, *said, pair.label, pair.votes]


def test_the_table_holds_what_judges_say_of_sets(project):
    names = {"longer": "baseline/longer", "dice": "baseline/random", "minilm": "encoder/minilm"}
    slugs = {"baseline/random": "dice", "of/none": "x"}
    table = verdicts(names.values(), SETS, "sample", slugs, progress=False)
    loaded = {slug: load_judge(name) for slug, name in names.items()}
    with shared_store() as store:
        rows = [
            row for name in SETS for slug, judge in loaded.items() for row in expected_rows(judge, slug, name, store)
        ]
    expected = pd.DataFrame(rows, columns=COLUMNS, dtype=object).astype({"p_a": float, "p_b": float, "p_tie": float})
    pd.testing.assert_frame_equal(table, expected, check_exact=True)
    assert table.loc[table["judge"] == "minilm", "p_a"].notna().all()
    assert table.loc[table["judge"] == "longer", "p_a"].isna().all()


def test_a_model_that_is_missing_from_the_declared_folder_never_judges(project):
    declared = project / "params" / "sample" / "judges.yaml"
    declared.parent.mkdir(parents=True)
    declared.write_text(f"mine: {{name: encoder/minilm, folder: {project / 'absent'}}}\n")
    with pytest.raises(ValueError, match=r"no judge\.json"):
        verdicts(["mine"], SETS, "sample")
    broken = project / "outputs" / "sample" / "models" / "minilm"
    broken.mkdir(parents=True)
    with pytest.raises(ValueError, match=r"no judge\.json"):
        verdicts(["encoder/minilm"], SETS, "sample")


@pytest.mark.parametrize(
    ("slugs", "words"),
    [({"baseline/shorter": "longer"}, "share the slug 'longer'"), ({"baseline/longer": "No slug"}, "use lower-case")],
)
def test_judges_that_cannot_be_told_apart_are_refused(slugs, words, project):
    with pytest.raises(ValueError, match=words):
        verdicts(["baseline/longer", "baseline/shorter"], SETS, "sample", slugs)


def test_orders_side_by_side(project):
    table = verdicts(["baseline/first", "baseline/longer"], SETS, "sample", progress=False)
    pairs = pivot_orders(table)
    assert len(pairs) == len(table) / 2
    first, longer = (pairs[pairs["judge"] == judge] for judge in ("first", "longer"))
    assert set(first["ab"]) == {"A"} and set(first["ba"]) == {"B"}
    assert (longer["ab"] == longer["ba"]).all()
    assert pairs.attrs == table.attrs
    one = pivot_orders(table[table["order"] == "ab"])
    assert set(one["ba"]) == {None} and one["ab"].tolist() == pairs["ab"].tolist()


def test_pairs_of_ones_own_are_a_set(project):
    rows = [{"question": f"Q{n}?", "response_a": "a" * n, "response_b": "bb", "label": "AB"[n % 2]} for n in range(5)]
    path = project / "My pairs.v2.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    judges = ["baseline/longer", "baseline/majority_class"]
    table = verdicts(judges, [SETS[0], f"file:{path}"], "sample", progress=False)
    own = table[table["set"] == f"file:{path}"]
    assert set(table["set"]) == {SETS[0], f"file:{path}"} and len(own) == 5 * 2 * 2
    longer = own[(own["judge"] == "longer") & (own["order"] == "ab")]
    assert longer["verdict"].tolist() == ["B", "B", "tie", "A", "A"] and longer["label"].tolist() == list("ABABA")
    assert set(own.loc[own["judge"] == "majority_class", "verdict"]) == {"A"}


class Replay(RuleJudge):
    orders = ("ab",)

    def __init__(self):
        super().__init__("first")
        self.name, self.fingerprint = "replay/x", "x"


def test_picked_cells_and_figures_hold_the_numbers_of_every_set_and_judge(store):
    tables = []
    for name, more in zip(SETS, ({"x": Replay()}, {}), strict=True):
        contest = hold_contest(name, load_sample(name), {"longer": load_judge("baseline/longer")} | more, store)
        tables.append(contest_scores(with_constant(contest), n_boot=50))
    table = pd.concat(tables, ignore_index=True)
    assert not table.duplicated(["set", "judge", "metric"]).any()
    assert not ((table["judge"] == "x") & (table["metric"] == "consistency")).any()
    rows = pick(table, {name: ["accuracy"] for name in SETS})
    numbers = {(row.set, row.judge): row.number for row in table[table["metric"] == "accuracy"].itertuples()}
    cells = {judge: cells for judge, *cells in (row.values() for row in rows)}
    assert set(cells) == {"longer", "majority_class", "x"}
    assert cells["longer"] == [numbers[name, "longer"] for name in SETS]
    assert cells["x"] == [numbers["sample_natural", "x"], None]
    assert "x" not in [next(iter(row.values())) for row in pick(table, {"sample_adversarial": ["accuracy"]})]
    forest = forest_table(table)
    assert sorted(forest["value"]) == sorted(number.value for number in numbers.values())
    assert forest.loc[forest["judge"] == "x", "value"].tolist() == [numbers["sample_natural", "x"].value]
