"""A seal on weights: the SHA-256 of each file, written when they are made and checked when they are read.

It finds damage (a flipped bit, a copy that was cut off), which safetensors does not look for. It is no signature:
whoever can replace the weights can replace the seal.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path

from judgekit.data.files import replaced
from judgekit.models.errors import Unavailable

SEAL = "sha256.json"


def digests_of(folder: str | Path, names: Iterable[str]) -> dict[str, str]:
    """SHA-256, by name, of those of some files that a folder has."""
    digests = {}
    for path in (Path(folder) / name for name in names):
        if path.is_file():
            with path.open("rb") as file:
                digests[path.relative_to(folder).as_posix()] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def seal(folder: str | Path, names: Iterable[str]) -> None:
    """Write the seal of those of some files that a folder has; an older one is replaced."""
    with replaced(Path(folder) / SEAL) as temporary:
        temporary.write_text(json.dumps(digests_of(folder, names), indent=1, sort_keys=True) + "\n", encoding="utf-8")


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
        sealed = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as broken:
        raise Unavailable(f"{path}: not JSON ({broken})") from None
    values = sealed.values() if isinstance(sealed, dict) else [None]
    if not all(isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) for value in values):
        raise Unavailable(f"{path}: expected names of files, each with a SHA-256")
    inside = [name for name in sealed if "\0" not in name and not {"..", "/"} & set(Path(name).parts)]
    actual = digests_of(folder, set(inside) - set(digests or {})) | (digests or {})
    for name, value in sealed.items():
        if name not in actual:
            raise Unavailable(f"{Path(folder) / name}: is missing, and {SEAL} names it")
        if actual[name] != value:
            raise Unavailable(f"{Path(folder) / name}: not the file that {SEAL} was written for: damaged or replaced")
