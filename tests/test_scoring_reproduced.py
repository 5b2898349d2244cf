"""The verdicts of the first edition, row by row: what the shipped judges say is what they said.

`outputs/laptop/data/verdicts_*.parquet` holds ids, verdicts and probabilities (no texts) that commit 4098d62 gave, with
the fingerprint of the judge and what the processor could. Encoders judge in bfloat16 where the processor multiplies
it, and its products differ in their last digits between kinds of processor: equality is asked on the same kind only.
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


@pytest.mark.realdata
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_first_edition_is_reproduced_row_by_row(path):
    about = json.loads(pq.read_schema(path).metadata[b"judgekit"])
    judge, before = load_judge(about["judge"]), pd.read_parquet(path)
    same_kind = about["processor_can"] == sorted(
        name for name, can in torch.cpu.get_capabilities().items() if can is True
    )
    assert judge.fingerprint == about["fingerprint"] or not same_kind
    for name, count in SETS.items():
        verdicts = run_judge(judge, load_set(name)[:count], VerdictStore(":memory:"), progress=False)
        rows = [(v.item_id, v.order, v.verdict, v.p_a, v.p_b, v.p_tie, v.status) for v in verdicts]
        after = pd.DataFrame(rows, columns=["item", "order", "verdict", *PROBABILITIES, "status"])
        both = after.merge(before[before["set"] == name], on=["item", "order"], suffixes=("", "_before"))
        assert len(both) == len(after) > 0
        gaps = (both[PROBABILITIES] - both[[f"{p}_before" for p in PROBABILITIES]].to_numpy()).abs().max()
        if same_kind:
            assert (both["verdict"] == both["verdict_before"]).all() and gaps.max() < 1e-6
        else:
            assert (both["verdict"] == both["verdict_before"]).mean() > 0.95 and gaps.max() < 0.05
