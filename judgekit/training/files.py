"""Files of a trained judge: small, safe to load, and silent about the machine they were made on."""

import json

from safetensors.torch import load_file, save_file

from judgekit.models.encoder import PACKAGED_BASES
from judgekit.results.files import replaced


def write_json(path, value):
    """Write a small JSON file, readable in a diff, in one step: what reads it back never finds a half of it."""
    with replaced(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def store_half(path):
    """Rewrite a safetensors file in 16-bit floats."""
    tensors = {name: value.half().contiguous() for name, value in load_file(path).items()}
    with replaced(path) as temporary:
        save_file(tensors, temporary, metadata={"format": "pt"})


def forget_location(folder, base):
    """Replace the machine's path in the adapter's config by the base model's public name; drop PEFT's empty card."""
    path = folder / "adapter_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["base_model_name_or_path"] = PACKAGED_BASES[base][1] if base in PACKAGED_BASES else base
    path.write_text(json.dumps(config, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    (folder / "README.md").unlink(missing_ok=True)
