"""A seal on weights: the SHA-256 of each file, written when they are made and checked when they are read.

It finds damage (a flipped bit, a copy that was cut off), which safetensors does not look for. It is no signature:
whoever can replace the weights can replace the seal.
"""

import hashlib
import json
import re
from pathlib import Path

from judgekit.models.errors import Unavailable
from judgekit.results.files import replaced

SEAL = "sha256.json"
HASH = re.compile("[0-9a-f]{64}")


def digests_of(folder, names):
    """SHA-256 of those of some files that a folder has.

    Parameters
    ----------
    folder : path
    names : iterable of str

    Returns
    -------
    dict of str to str
    """
    digests = {}
    for path in (Path(folder) / name for name in names):
        if path.is_file():
            with path.open("rb") as file:
                digests[path.relative_to(folder).as_posix()] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def seal(folder, names):
    """Write the seal of those of some files that a folder has; an older one is replaced.

    Parameters
    ----------
    folder : path
    names : iterable of str
    """
    path = Path(folder) / SEAL
    with replaced(path) as temporary:
        temporary.write_text(json.dumps(digests_of(folder, names), indent=1, sort_keys=True) + "\n", encoding="utf-8")


def break_seal(folder):
    """Remove the seal before files are replaced: a process that is killed in between leaves none that is wrong."""
    (Path(folder) / SEAL).unlink(missing_ok=True)


def check_seal(folder, digests=None):
    """Compare a folder's files with its seal. A folder without one (of another program, or older) is let through.

    Parameters
    ----------
    folder : path
    digests : dict of str to str, optional
        What was hashed already.

    Raises
    ------
    judgekit.models.errors.Unavailable
        If a file is not the one that was sealed, or is missing, or the seal is damaged itself.

    Examples
    --------
    >>> check_seal("/nowhere")
    """
    path = Path(folder) / SEAL
    if not path.is_file():
        return
    try:
        sealed = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as broken:
        raise Unavailable(f"{path}: not JSON ({broken})") from None
    values = sealed.values() if isinstance(sealed, dict) else [None]
    if not all(isinstance(value, str) and HASH.fullmatch(value) for value in values):
        raise Unavailable(f"{path}: expected names of files, each with a SHA-256")
    found = {name: (digests or {}).get(name) for name in sealed}
    found |= digests_of(folder, [name for name, known in found.items() if known is None and is_inside(name)])
    for name, value in sealed.items():
        if found[name] is None:
            raise Unavailable(f"{Path(folder) / name}: is missing, and {SEAL} names it")
        if found[name] != value:
            raise Unavailable(f"{Path(folder) / name}: not the file that {SEAL} was written for: damaged or replaced")


def is_inside(name):
    """Whether the name of a file cannot lead out of its folder."""
    return "\0" not in name and not Path(name).is_absolute() and ".." not in Path(name).parts
