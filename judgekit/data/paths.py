"""Where things are: the repository, the folders of a run, the data mirror, the shipped judge; and names of things."""

import os
import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
PRETRAINED = PACKAGE / "pretrained"
NAME = re.compile(r"[a-z0-9][a-z0-9_]*")
OWN = "file:"  # in the place of a set's name, before the path of a file of pairs (`judgekit.data.pairfile`)
HUB = "hub:"  # likewise, before a file of the Hugging Face hub: ``hub:owner/name@revision/path.parquet``


@lru_cache(maxsize=1)
def project_root() -> Path:
    """The checkout that outputs are written to: that of an editable install, else the nearest above the working folder.

    FileNotFoundError if there is none: notebooks need the repository, not only the installed package.
    """
    for folder in (PACKAGE.parent, Path.cwd(), *Path.cwd().parents):
        if (folder / "notebooks").is_dir() and (folder / "params").is_dir():
            return folder
    raise FileNotFoundError(
        "no checkout of this project here or above: run inside the repository, or install it with 'pip install -e .'"
    )


def run_folder(run: str, *parts: str) -> Path:
    """Folder ``outputs/<run>/<parts>`` of a run, made if absent; ValueError if the name could leave ``outputs/``."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", run):
        raise ValueError(f"run {run!r}: use lower-case letters, digits, '-' and '_'")
    folder = (project_root() / "outputs" / run).joinpath(*parts)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@lru_cache(maxsize=1)
def data_mirror() -> Path | None:
    """The mirror that ``JUDGEKIT_DATA`` names, as an absolute path, or None; NotADirectoryError if it is no folder.

    Resolved once and written back to the environment, so that a kernel started in another folder sees the same mirror.
    """
    value = os.environ.get("JUDGEKIT_DATA", "").strip()
    if not value:
        return None
    mirror = Path(value).expanduser().resolve()
    if not mirror.is_dir():
        raise NotADirectoryError(f"JUDGEKIT_DATA is {value!r}, which is not a folder (looked at {mirror})")
    os.environ["JUDGEKIT_DATA"] = str(mirror)
    return mirror


def data_cache() -> Path:
    """Folder that upstream files are downloaded to when there is no mirror (git-ignored)."""
    try:
        folder = project_root() / "data"
    except FileNotFoundError:
        folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "judgekit"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def checked_name(name: str) -> str:
    """``name`` when it can name a notebook, a figure or a table; an error otherwise."""
    if not NAME.fullmatch(name):
        raise ValueError(f"name {name!r}: use lower-case letters, digits and '_'")
    return name


def known_names(name: str, known: Iterable[str], *also: str) -> str:
    """The end of a sentence that refuses a name: what it may be a misspelling of, and all names there are."""
    known = [*known, *also]
    near = get_close_matches(name.lower(), known, n=2, cutoff=0.7) or [one for one in known if one.endswith(f"/{name}")]
    question = f"did you mean {' or '.join(map(repr, near))}? There" if near else "there"
    return f"{question} are {', '.join(known)}"
