"""Files of a trained judge: safe to load, and silent about the machine they were made on."""

import json
from pathlib import Path

from safetensors.torch import load_file, save_file

from judgekit.data.files import replaced, write_json
from judgekit.models.encoder import PACKAGED_BASES


def store_half(path: Path) -> None:
    """Rewrite a safetensors file in 16-bit floats."""
    tensors = {name: value.half().contiguous() for name, value in load_file(path).items()}
    with replaced(path) as temporary:
        save_file(tensors, temporary, metadata={"format": "pt"})


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
