"""judgekit.studies.score_benchmarks: what a judge costs is measured in a process of its own."""

import numpy as np
import pytest

from judgekit.studies import score_benchmarks
from judgekit.studies.score_benchmarks import resources_of


def test_memory_is_the_judges_own_and_not_that_of_whoever_asks():
    ballast = np.ones((60, 1024, 1024))  # 480 MB that the measured process must not be charged for
    found = resources_of("baseline/longer")
    assert ballast.sum() > 0
    assert found["peak_mb"].value < 150  # nor for PyTorch, which a rule does not need
    assert 0 < found["seconds_per_item"].value < 0.01
    assert found["tokens_per_item"].value == 0
    assert found["peak_mb"].n == 100


def test_what_this_process_no_longer_uses_of_a_gpu_is_free_for_the_measured_one(monkeypatch):
    """Before, PyTorch kept the room of the judge before, which the same weights in another process would not find."""
    order = []
    monkeypatch.setattr("accelerate.utils.memory.clear_device_cache", lambda **given: order.append(given))
    monkeypatch.setattr(score_benchmarks.subprocess, "run", lambda *_, **__: order.append("measured") or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        resources_of("baseline/longer")
    assert order == [{"garbage_collection": True}, "measured"]


def test_a_judge_that_is_not_there_is_an_error():
    with pytest.raises(RuntimeError, match="no judge is called"):
        resources_of("encoder/absent")
