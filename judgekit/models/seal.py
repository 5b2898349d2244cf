"""A seal on weights: the SHA-256 of each file, written when they are made and checked when they are read.

It finds damage (a flipped bit, a copy that was cut off), which safetensors does not look for. It is no signature:
whoever can replace the weights can replace the seal.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from judgekit.data.files import replaced
from judgekit.models.errors import Unavailable

SEAL = "sha256.json"
_NAME = Annotated[str, Field(pattern=r"^\w[\w.-]*(/\w[\w.-]*)*$")]  # of a file in the folder: no absolute path, no ..
_SEALED = TypeAdapter(dict[_NAME, Annotated[str, Field(pattern="^[0-9a-f]{64}$")]])


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
        sealed = _SEALED.validate_json(path.read_bytes())
    except (OSError, ValueError):
        raise Unavailable(f"{path}: expected JSON with names of files, each with a SHA-256") from None
    for name, value in sealed.items():
        actual = (digests or {}).get(name) or digests_of(folder, [name]).get(name)
        if actual is None:
            raise Unavailable(f"{Path(folder) / name}: is missing, and {SEAL} names it")
        if actual != value:
            raise Unavailable(f"{Path(folder) / name}: not the file that {SEAL} was written for: damaged or replaced")
