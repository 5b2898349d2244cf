"""Files of a trained judge: safe to load, and silent about the machine they were made on."""

import json
from pathlib import Path

from judgekit.data.files import write_json
from judgekit.models.encoder import PACKAGED_BASES


def settle_config(folder: Path, base: str) -> None:
    """Write the config of an adapter so that equal trainings leave equal files: PEFT keeps module names in a set.

    The public name of ``base`` takes the place of the machine's path; PEFT's empty card goes, too.
    """
    path = folder / "adapter_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(config.get("target_modules"), list):
        config["target_modules"] = sorted(config["target_modules"])
    config["base_model_name_or_path"] = PACKAGED_BASES[base][1] if base in PACKAGED_BASES else base
    (folder / "README.md").unlink(missing_ok=True)
    write_json(path, dict(sorted(config.items())))
