"""Where a model's files are, whether they are still the same, and the one loader of weights.

Read are safetensors alone, no code of the model's own, and never a weight that no file gave. A seal is the SHA-256 of
each file, written when weights are made and checked when they are read. It finds damage (a flipped bit, a copy that was
cut off), which safetensors does not look for. It is no signature: whoever can replace weights can replace the seal.
"""

import json
import re
import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter
from safetensors import SafetensorError, safe_open

from judgekit.data.files import sha256_of, write_json
from judgekit.data.paths import PRETRAINED, known_names
from judgekit.models import Unavailable
from judgekit.models.registry import ORIGIN, folder_of, language_models

SEAL = "sha256.json"
_ADAPTER, _ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_SHIPPED = {"CAUSAL_LM": "hf", "SEQ_CLS": "reward"}  # by PEFT's word for a task: folder of the adapters that ship
# What a reply depends on; optimiser states and logs that training leaves beside it are not among it.
_MATTERS = """
    *.safetensors *.safetensors.index.json config.json generation_config.json tokenizer* vocab* merges.txt
    special_tokens_map.json added_tokens.json chat_template* additional_chat_templates/* *.model adapter_config.json
""".split()
_SIZE = re.compile(  # names of what a model has many of; the last four are GGUF's
    "layer|expert|depth|size|head|width|dim|position|intermediate|labels|rank|block_count"
    "|(context|embedding|feed_forward)_length"
)
_DEEP, _WIDE = 4096, 2**24  # more layers, experts, labels or ranks, or more of anything else, has no model
_LONGEST_CONFIG = 2**20  # bytes
_NAME = Annotated[str, Field(pattern=r"^\w[\w.-]*(/\w[\w.-]*)*$")]  # of a file in the folder: no absolute path, no ..
_SEALED = TypeAdapter(dict[_NAME, Annotated[str, Field(pattern="^[0-9a-f]{64}$")]])
_UNREAD = "pooler."  # BERT's head for sentence pairs, which many files leave out: states and embeddings do not pass it
_SHOWN = 3  # missing weights that a refusal names


# ---------------------------------------------------------------- where


@dataclass(frozen=True)
class ModelFiles:
    """Where a model's parts are."""

    base: str  # folder or hub name
    revision: str | None  # commit of a hub name
    adapter: str | None  # folder
    tokenizer: str

    @property
    def digest(self) -> dict[str, Any]:
        """SHA-256 by file for folders, the commit for a hub name; Unavailable where a sealed file has changed."""
        digests: dict[str, Any] = {"hub": [self.base, self.revision]} if self.revision else {}
        for kind, folder in (("base", None if self.revision else self.base), ("adapter", self.adapter)):
            if folder:
                paths = {path for pattern in _MATTERS for path in Path(folder).glob(pattern)}
                digests[kind] = digests_of(folder, sorted(path.relative_to(folder).as_posix() for path in paths))
                check_seal(folder, digests[kind])
                if (origin := Path(folder) / ORIGIN).is_file():  # made from one file: that is what the model is
                    digests[kind] = json.loads(origin.read_text(encoding="utf-8"))
        return digests

    @property
    def tokenizer_revision(self) -> str | None:
        """Commit to read the tokenizer at."""
        return self.revision if self.tokenizer == self.base else None


def model_files(name: str, task: str = "CAUSAL_LM") -> ModelFiles:
    """The files of an adapter that ships, a registered model (``smollm2-135m``), a GGUF file, a folder, or a hub name.

    ``@revision`` may follow a hub name, and ``+folder`` of an adapter any. Unavailable where there is no such model, or
    the adapter is not one for ``task`` (PEFT's word) in safetensors.
    """
    adapter, shipped = None, PRETRAINED / _SHIPPED[task] / name  # the base of what ships is fetched
    if (shipped / "training.json").is_file():
        name = str(shipped)
    if "+" in name and not Path(name).exists():
        name, _, adapter = name.partition("+")
        _base_of(adapter, task)
    elif (Path(name) / _ADAPTER).is_file():
        adapter, name = name, _base_of(name, task)
    name = str(folder_of(name) or name)
    base, revision = (name, None) if (Path(name) / "config.json").is_file() else on_hub(name)
    check_folder(base)
    own_tokenizer = adapter is not None and (Path(adapter) / "tokenizer_config.json").is_file()
    return ModelFiles(base, revision, adapter, adapter if adapter and own_tokenizer else base)


def _base_of(adapter: str, task: str) -> str:
    """The base model that an adapter was trained on, after a look at whether it can be used."""
    folder, file = Path(adapter), Path(adapter) / _ADAPTER
    config = _json_in(file)
    refuse_absurd(file, {"rank": [config.get("r"), *(config.get("rank_pattern") or {}).values()]})
    if config.get("task_type") not in (None, task):
        wanted = {"CAUSAL_LM": "causal language model", "SEQ_CLS": "reward model"}[task]
        raise Unavailable(f"{file}: task_type {config['task_type']!r} is no {wanted}")
    if not (folder / _ADAPTER_WEIGHTS).is_file():
        raise Unavailable(f"{folder}: {_ADAPTER_WEIGHTS} is missing")
    if not (base := config.get("base_model_name_or_path")):
        raise Unavailable(f"{file}: base_model_name_or_path is missing")
    at = f"@{config['revision']}" if config.get("revision") else ""
    # A way from the adapter's folder comes first: the same way from here may lead to another model.
    return next((str(each) for each in (folder / base, Path(base)) if each.is_dir()), f"{base}{at}")


def on_hub(name: str) -> tuple[str, str]:
    """Hub name and commit of ``owner/model[@revision]``; Unavailable where there is none."""
    from huggingface_hub import hf_hub_download

    repository, _, revision = name.partition("@")
    if Path(repository).is_dir():
        raise Unavailable(f"{repository}: no model here (neither config.json nor {_ADAPTER})")
    known = "" if "/" in name else f"; {known_names(name, language_models())}"
    if known.startswith("; did you mean"):  # without a network the hub would be tried for half a minute
        raise Unavailable(f"{name}: no such folder or model{known}")
    try:
        path = hf_hub_download(repository, "config.json", revision=revision or None)
    except Exception as absent:  # also of the HTTP library, where a connection breaks off
        reason = str(absent).partition("\n")[0] or type(absent).__name__
        raise Unavailable(f"{name}: no such folder, and cannot be fetched from the hub ({reason}){known}") from None
    check_folder(Path(path).parent)
    return repository, Path(path).parent.name  # the cache keeps a commit's files in a folder of its name


def check_folder(folder: str | Path) -> None:
    """Unavailable where a configuration asks for more than any model has, or an index leads out of the folder."""
    file = Path(folder) / "config.json"
    if file.is_file() and file.stat().st_size > _LONGEST_CONFIG:
        raise Unavailable(f"{file}: {file.stat().st_size:,} bytes, which no configuration has")
    if file.is_file():
        refuse_absurd(file, _json_in(file))
    for file in Path(folder).glob("*.index.json"):
        for shard in dict(_json_in(file).get("weight_map", {})).values():
            if not re.fullmatch(r"\w[\w.-]*\.safetensors", str(shard)):
                raise Unavailable(f"{file}: {shard!s:.80} is no file of tensors in this folder")


def refuse_absurd(file: Path, config: dict[str, Any]) -> None:
    """Unavailable, by file and name, where a configuration (also of GGUF) asks for more than any model has."""
    for name, value in _sizes(config):
        deep = re.search("layers|experts|depth|labels|rank|block_count|expert_count", name)
        if not -int("num" not in name) <= value <= (_DEEP if deep else _WIDE):
            raise Unavailable(f"{file}: {name} is {value!s:.20}, which no model has")


def _json_in(file: Path) -> dict[str, Any]:
    """The object that a JSON file holds; Unavailable where it holds none."""
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError, RecursionError) as broken:
        raise Unavailable(f"{file} cannot be read ({type(broken).__name__})") from None


def _sizes(value: Any, name: str = "") -> Iterator[tuple[str, int]]:
    """Whole numbers of a configuration that say how much of something there is, by name, nested ones too."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _sizes(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from _sizes(each, name)
    elif type(value) is int and _SIZE.search(name):
        yield name, value


def config_and_tokenizer(files: ModelFiles, name: str) -> tuple[Any, Any]:
    """A model's configuration and tokenizer; Unavailable where they cannot be read."""
    from transformers import AutoConfig, AutoTokenizer

    tokens = files.tokenizer, files.tokenizer_revision
    try:
        config = AutoConfig.from_pretrained(files.base, revision=files.revision, trust_remote_code=False)
        return config, AutoTokenizer.from_pretrained(tokens[0], revision=tokens[1], trust_remote_code=False)
    except (OSError, ValueError) as broken:
        raise Unavailable(f"{name}: {' '.join(str(broken).split())[:300]}") from None


def positions_of(config: Any) -> int | None:
    """Most tokens that a language model can read; None where it knows no limit."""
    return getattr(config.get_text_config(decoder=True), "max_position_embeddings", None)


def end_tokens(files: ModelFiles, config: Any, tokenizer: Any) -> list[int]:
    """Ids that end a reply: the tokenizer's, and those of the model's generation settings or else its configuration."""
    from transformers import GenerationConfig

    try:
        own = GenerationConfig.from_pretrained(files.base, revision=files.revision or "main").eos_token_id
    except OSError:  # not every model comes with that file
        own = config.get_text_config(decoder=True).eos_token_id
    ends = {*(own if isinstance(own, list) else [own]), tokenizer.eos_token_id}
    return sorted(end for end in ends if end is not None)


# ---------------------------------------------------------------- seals


def digests_of(folder: str | Path, names: Iterable[str]) -> dict[str, str]:
    """SHA-256, by name, of those of some files that a folder has."""
    return {name: sha256_of(path) for name in names if (path := Path(folder) / name).is_file()}


def seal(folder: str | Path, names: Iterable[str]) -> None:
    """Write the seal of those of some files that a folder has; an older one is replaced."""
    write_json(Path(folder) / SEAL, digests_of(folder, names), sort_keys=True)


def break_seal(folder: str | Path) -> None:
    """Remove the seal before files are replaced: a process that is killed in between leaves none that is wrong."""
    (Path(folder) / SEAL).unlink(missing_ok=True)


def check_seal(folder: str | Path, digests: dict[str, str] | None = None) -> None:
    """Unavailable where a sealed file is missing or not the one that was sealed, or the seal itself is damaged.

    A folder without a seal (of another program) is let through. ``digests``: what was hashed already.
    """
    path = Path(folder) / SEAL
    if not path.is_file():
        return
    try:
        sealed = _SEALED.validate_json(path.read_bytes())
    except (OSError, ValueError):
        raise Unavailable(f"{path}: expected JSON with names of files, each with a SHA-256") from None
    for name, value in sealed.items():
        actual = (digests or {}).get(name) or digests_of(folder, [name]).get(name)
        if actual is None:
            raise Unavailable(f"{Path(folder) / name}: is missing, and {SEAL} names it")
        if actual != value:
            raise Unavailable(f"{Path(folder) / name}: not the file that {SEAL} was written for: damaged or replaced")


def settle_adapter(folder: Path, base: str) -> None:
    """Write the config of an adapter so that equal trainings leave equal files: PEFT keeps module names in a set.

    The public name of its ``base`` takes the place of the machine's path; PEFT's empty card goes, too.
    """
    path = folder / _ADAPTER
    config = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(config.get("target_modules"), list):
        config["target_modules"] = sorted(config["target_modules"])
    config["base_model_name_or_path"] = base
    (folder / "README.md").unlink(missing_ok=True)
    write_json(path, dict(sorted(config.items())))


# ---------------------------------------------------------------- loading


@contextmanager
def quiet() -> Iterator[None]:
    """Without transformers' bars and tables, and one warning of an attribute that PEFT reads and that is to go."""
    from transformers.utils import logging

    logging.disable_progress_bar()  # a judge has a bar of its own
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()  # its table of missing weights: what it lists is refused below
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*is_gradient_checkpointing.*", category=FutureWarning)
            yield
    finally:
        logging.set_verbosity(verbosity)


def load_network(
    kind: Any,
    location: str | Path,
    revision: str | None = None,
    adapter: str | Path | None = None,
    *,
    new: tuple[str, ...] = (),
    **options: Any,
) -> Any:
    """A model of one of transformers' ``Auto`` classes, with the adapter merged into it.

    ``new``: parameters that training starts (the head of a reward model). Unavailable where another weight is in no
    file, or a reward model is to be read as a causal one: either would leave weights random, and verdicts with them.
    """
    check_folder(location)
    own: set[str] = set()
    if adapter is not None:
        with safe_open(Path(adapter) / _ADAPTER_WEIGHTS, framework="pt") as tensors:
            own = set(tensors.keys())
    fixed = {"use_safetensors": True, "trust_remote_code": False, "output_loading_info": True}
    try:
        with quiet():
            model, report = kind.from_pretrained(location, revision=revision, **fixed, **options)
    except (RuntimeError, SafetensorError) as damaged:  # tensors of another shape; a file that was cut off
        raise Unavailable(f"{location} cannot be loaded: {' '.join(str(damaged).split())[:300]}") from None
    names = ("model.safetensors", "model.safetensors.index.json")  # a name on the hub stays as it is
    file = next((path for name in names if (path := Path(location) / name).is_file()), location)
    missing, unused = report["missing_keys"], report["unexpected_keys"]
    made_for = (model.config.architectures or [""])[0]
    of_reward = made_for.endswith("ForSequenceClassification") or "score.weight" in unused
    if of_reward and kind.__name__ == "AutoModelForCausalLM":
        raise Unavailable(f"{file}: a reward model ({made_for}), not a causal language model")
    in_adapter = {name for name in missing if any(tensor.endswith(f".{name}") for tensor in own)}
    refuse_gaps(file, {name for name in missing - in_adapter - set(new) if not name.startswith(_UNREAD)}, unused)
    if adapter is None:
        return model
    from peft import PeftModel, get_peft_model_state_dict

    with quiet():
        model = PeftModel.from_pretrained(model, adapter)
    wanted = set(get_peft_model_state_dict(model, save_embedding_layers=False))
    refuse_gaps(Path(adapter) / _ADAPTER_WEIGHTS, wanted - own, own - wanted)
    return model.merge_and_unload()


def refuse_gaps(file: Path | str, missing: set[str], unused: Collection[str] = ()) -> None:
    """Unavailable, by file and tensors, where weights are missing; ``unused``: those that the file has instead."""
    if missing:
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        instead = f"; it has {min(unused)}, which the model does not know" if unused else ""
        raise Unavailable(f"{file}: weights are missing: {', '.join(sorted(missing)[:_SHOWN])}{more}{instead}")
