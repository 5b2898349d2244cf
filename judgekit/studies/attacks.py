"""Who is attacked in notebook 43, and on which pairs."""

from collections.abc import Mapping, Sequence
from typing import Any

from judgekit.bias.attacks import attackable
from judgekit.data.catalogue import load_set
from judgekit.data.paths import run_folder, verdict_store_path
from judgekit.judges import Judge, load_judge
from judgekit.judges.names import unique_slugs
from judgekit.records import PreferencePair, named_by_set
from judgekit.scoring.store import VerdictStore
from judgekit.training.causal_judge import TrainedCausalJudge
from judgekit.training.causal_tasks import tiny_tasks


def judges_by_slug(names: Sequence[str], run: str) -> dict[str, Judge]:
    """Judges of a run by slug; judges with one encoder encode a text once."""
    slugs = unique_slugs(names, {"probe/pairs": "probe_pairs"} if "probe/pairs" in names else None)
    loaded: dict[str, Any] = {slug: load_judge(name, run=run) for name, slug in slugs.items()}
    loaded["minilm_defended"].share_embeddings(loaded["minilm"])
    return loaded


def pairs_to_attack(sets: Mapping[str, int]) -> list[PreferencePair]:
    """At most so many attackable pairs of each set, named after their sets."""
    return [named_by_set(pair) for name, limit in sets.items() for pair in attackable(load_set(name), limit)]


def small_causal_judge(run: str, n_tasks: int) -> tuple[Judge, list[PreferencePair]]:
    """The causal judge of notebook 21, and as many of its tasks, which it was not trained on."""
    judge = TrainedCausalJudge(run_folder(run, "models", "causal") / "sft", "causal/tiny_sft")
    return judge, tiny_tasks(n_tasks, "test")


def shared_store() -> VerdictStore:
    """The store that all runs share: what was judged before is not judged again."""
    return VerdictStore(verdict_store_path())
