"""The verdicts of the first edition, row by row: what the shipped judges say is what they said.

`outputs/laptop/data/verdicts_*.parquet` holds ids, verdicts and probabilities (no texts) that commit 4098d62 gave, with
the fingerprint of the judge and what the processor could. Encoders judge in bfloat16 where the processor multiplies
it, and its products differ in their last digits between kinds of processor and shapes of batches: equality is asked of
whole sets, in the file's order, on the same kind.
"""

import json

import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch

from judgekit.data.catalogue import load_set
from judgekit.data.paths import project_root
from judgekit.judges import load_judge
from judgekit.scoring import run_judge
from judgekit.scoring.store import VerdictStore

FILES = sorted((project_root() / "outputs" / "laptop" / "data").glob("verdicts_*.parquet"))
SETS = {"llmbar_manual": None, "pandalm": 20, "autoj": 20, "mtbench": 20}  # pairs of each, from the first
PROBABILITIES = ["p_a", "p_b", "p_tie"]


def test_there_are_verdicts_of_four_judges_and_no_texts():
    assert len(FILES) == 4
    for path in FILES:
        assert pq.read_schema(path).names == ["set", "item", "judge", "order", "verdict", *PROBABILITIES, "status"]
        rows = pd.read_parquet(path)
        assert not rows.duplicated(["set", "item", "order"]).any()
        assert set(rows["verdict"].dropna()) <= {"A", "B", "tie"} and set(rows["status"]) == {"ok"}


def about(path):
    return json.loads(pq.read_schema(path).metadata[b"judgekit"])


def same_kind(path):
    can = sorted(name for name, can in torch.cpu.get_capabilities().items() if can is True)
    return about(path).get("processor_can") == can


def judged_beside_before(path, sets):
    """The rows of the file's sets, judged now, beside what they were."""
    judge, before = load_judge(about(path)["judge"]), pd.read_parquet(path)
    assert judge.fingerprint == about(path)["fingerprint"] or not same_kind(path)
    store, rows = VerdictStore(":memory:"), []
    for name, count in sets.items():
        verdicts = run_judge(judge, load_set(name)[:count], store, progress=False)
        rows += [(name, v.item_id, v.order, v.verdict, v.p_a, v.p_b, v.p_tie, v.status) for v in verdicts]
    after = pd.DataFrame(rows, columns=["set", "item", "order", "verdict", *PROBABILITIES, "status"])
    both = before[before["set"].isin(sets)].merge(after, on=["set", "item", "order"], suffixes=("_before", ""))
    assert set(both["set"]) == set(sets)
    gaps = (both[PROBABILITIES] - both[[f"{p}_before" for p in PROBABILITIES]].to_numpy()).abs().max()
    return len(before), both, gaps.max()


@pytest.mark.realdata
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_part_is_reproduced_up_to_the_processor_and_the_batches(path):
    _, both, gap = judged_beside_before(path, SETS)
    assert (both["verdict"] == both["verdict_before"]).mean() > 0.95 and gap < 0.05


@pytest.mark.slow
@pytest.mark.realdata
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_first_edition_is_reproduced_row_by_row(path):
    if not same_kind(path):
        pytest.skip(f"{path.name} was judged on another kind of processor")
    count, both, gap = judged_beside_before(path, dict.fromkeys(pd.read_parquet(path)["set"].unique()))
    assert len(both) == count
    assert (both["verdict"] == both["verdict_before"]).all() and gap < 1e-6
