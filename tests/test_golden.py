"""What every set holds on its real file: items, prompts, labels, votes, and what its reader reports."""

from collections import Counter
from pathlib import Path

import pytest
import yaml

from judgekit.data.benchmarks import BENCHMARKS
from judgekit.data.catalogue import load_answer_set_with_report, load_set_with_report, set_hashes
from judgekit.data.corpora import ANSWERS, CORPORA

GOLDEN = yaml.safe_load(Path(__file__).with_name("golden_counts.yaml").read_text(encoding="utf-8"))
SETS = [("pairs", name) for name in (*BENCHMARKS, *CORPORA)] + [("responses", name) for name in ANSWERS]


def counts_of(items, report):
    """Counts of a set as they stand in golden_counts.yaml, what there is none of left out."""
    found = {"items": len(items), "prompts": len({item.cluster_id for item in items})}
    if hasattr(items[0], "votes"):
        voted = Counter(label for item in items for label in item.votes.values())
        found |= {"labels": Counter(str(item.label) for item in items), "votes": voted}
        found |= {"soft": sum(item.soft_label is not None for item in items)}
    parts = Counter(item.subset for item in items if getattr(item, "subset", None))
    found |= {"subsets": parts if len(parts) < 20 else None}
    found |= {"kinds": Counter(str(item.label_kind) for item in items)}
    found |= {"report": {name: count for name, count in report.items() if name != "items"}}
    return {
        name: dict(sorted(part.items())) if isinstance(part, dict) else part for name, part in found.items() if part
    }


@pytest.mark.realdata
@pytest.mark.parametrize(("kind", "name"), SETS)
def test_counts_of_a_set(kind, name):
    load = {"pairs": load_set_with_report, "responses": load_answer_set_with_report}[kind]
    items, report = load(name)
    assert counts_of(items, report) == GOLDEN[kind][name] and report["items"] == len(items)
    assert {item.benchmark for item in items} == {name}
    assert all(item.source and item.cluster_id for item in items)
    assert {len(digest) for digest in set_hashes([name]).values()} == {64}
    if kind == "pairs" and name in CORPORA:  # no label by its position: four standard errors of a fair coin
        decided = Counter(item.label for item in items)
        assert abs(decided["A"] - decided["B"]) < 4 * (decided["A"] + decided["B"]) ** 0.5
