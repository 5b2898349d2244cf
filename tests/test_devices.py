"""Training on several devices: two processes that share the batch follow the loss curve of one."""

import pytest
import yaml
from two_processes import STEPS, trained, write_data

from judgekit.data.paths import project_root

CONFIGS = project_root() / "setup" / "accelerate"


@pytest.mark.slow
def test_two_processes_train_as_one_with_the_doubled_batch(tmp_path):
    write_data(tmp_path)
    alone, together = (trained(tmp_path, processes) for processes in (1, 2))
    assert len(alone) == len(together) == STEPS and alone[-1] < alone[0] / 2, "it must learn something"
    assert together == pytest.approx(alone, rel=1e-3)
    assert not (tmp_path / "by_2" / "checkpoints").exists()
    assert trained(tmp_path, 2) == together, "a finished training is not repeated"


@pytest.mark.parametrize(("name", "kind"), [("ddp", "MULTI_GPU"), ("fsdp", "FSDP")])
def test_the_configurations_are_what_accelerate_reads(name, kind):
    from accelerate.commands.config.config_args import load_config_from_file

    path = CONFIGS / f"{name}.yaml"
    read = load_config_from_file(str(path))
    assert read.distributed_type == kind and read.num_processes == 2
    assert (read.fsdp_config or {}).get("fsdp_version") == (2 if name == "fsdp" else None)
    assert f"setup/accelerate/{name}.yaml -m judgekit.training.causal_run" in path.read_text()
    assert yaml.safe_load(path.read_text())["mixed_precision"] == "no"
