"""Where a causal model's files are, and what they depend on: a folder, a hub name, or an adapter on either."""

import json
from dataclasses import dataclass
from pathlib import Path

from judgekit.models.errors import Unavailable
from judgekit.models.seal import check_seal, digests_of

ADAPTER = "adapter_config.json"
# What a reply depends on; optimiser states and logs that training leaves beside it are not among it.
MATTERS = (
    "*.safetensors",
    "*.safetensors.index.json",
    "config.json",
    "generation_config.json",
    "tokenizer*",
    "vocab*",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template*",
    ADAPTER,
)


@dataclass(frozen=True)
class ModelFiles:
    """A model on disk or on the hub.

    Attributes
    ----------
    base : str
        Folder, or hub name.
    revision : str or None
        Commit of a hub name.
    adapter : str or None
        Folder of a PEFT adapter on the base.
    tokenizer : str
        Folder or hub name; an adapter's own where it has one.
    """

    base: str
    revision: str | None
    adapter: str | None
    tokenizer: str

    @property
    def digest(self):
        """What the files are: SHA-256 by name for folders, the commit for a hub name.

        Raises
        ------
        Unavailable
            If a folder's weights are not those that were sealed (`judgekit.models.seal`).
        """
        folders = {"base": None if self.revision else self.base, "adapter": self.adapter}
        found = {kind: folder_digest(folder) for kind, folder in folders.items() if folder}
        for kind, digests in found.items():
            check_seal(folders[kind], digests)
        return found | ({"hub": [self.base, self.revision]} if self.revision else {})

    @property
    def tokenizer_revision(self):
        """Commit to read the tokenizer at."""
        return self.revision if self.tokenizer == self.base else None


def model_files(name):
    """The files of a model.

    Parameters
    ----------
    name : str
        A folder with ``config.json`` or ``adapter_config.json``, or ``owner/model`` on the hub; ``@revision`` may
        follow a hub name, and ``+folder`` of an adapter any.

    Returns
    -------
    ModelFiles

    Raises
    ------
    Unavailable
        If there is no such model, or an adapter that is not one of a causal model in safetensors.
    """
    adapter = None
    if not Path(name).is_dir() and "+" in name:
        name, _, adapter = name.partition("+")
    if adapter is None and (Path(name) / ADAPTER).is_file():
        adapter = name
        name = base_of(Path(name))
    elif adapter is not None:
        base_of(Path(adapter))
    base, revision = (str(name), None) if (Path(name) / "config.json").is_file() else on_hub(str(name))
    own = adapter is not None and (Path(adapter) / "tokenizer_config.json").is_file()
    return ModelFiles(base, revision, adapter, adapter if own else base)


def base_of(folder):
    """The base model that an adapter was trained on, after a look at whether it can be used."""
    try:
        config = json.loads((folder / ADAPTER).read_text(encoding="utf-8"))
    except (OSError, ValueError) as broken:
        raise Unavailable(f"{folder}/{ADAPTER} cannot be read ({type(broken).__name__})") from None
    if config.get("task_type") not in (None, "CAUSAL_LM"):
        raise Unavailable(f"{folder}/{ADAPTER}: task_type {config['task_type']!r} is no causal language model")
    if not (folder / "adapter_model.safetensors").is_file():
        raise Unavailable(f"{folder}: adapter_model.safetensors is missing")
    base = config.get("base_model_name_or_path")
    if not base:
        raise Unavailable(f"{folder}/{ADAPTER}: base_model_name_or_path is missing")
    beside = folder / base
    return str(beside) if not Path(base).is_dir() and beside.is_dir() else base


def on_hub(name):
    """Hub name and commit of ``owner/model[@revision]``."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HFValidationError

    repository, _, revision = name.partition("@")
    if Path(repository).is_dir():
        raise Unavailable(f"{repository}: no model here (neither config.json nor {ADAPTER})")
    try:
        path = hf_hub_download(repository, "config.json", revision=revision or None)
    except (HFValidationError, OSError) as absent:
        said = str(absent).splitlines()[0] if str(absent) else type(absent).__name__
        raise Unavailable(f"{name}: no such folder, and not to be had from the hub ({said})") from None
    return repository, Path(path).parent.name  # the cache keeps a commit's files in a folder of its name


def folder_digest(folder):
    """SHA-256 of the files in a folder that matter, by name."""
    paths = sorted({path for pattern in MATTERS for path in Path(folder).glob(pattern) if path.is_file()})
    return digests_of(folder, [path.name for path in paths])


def end_tokens(files, config, tokenizer):
    """Ids that end a reply: the tokenizer's, and those of the model's generation settings or else its configuration."""
    from transformers import GenerationConfig

    try:
        own = GenerationConfig.from_pretrained(files.base, revision=files.revision).eos_token_id
    except OSError:  # not every model comes with that file
        own = config.get_text_config(decoder=True).eos_token_id
    ends = {*(own if isinstance(own, list) else [own]), tokenizer.eos_token_id}
    return sorted(end for end in ends if end is not None)
