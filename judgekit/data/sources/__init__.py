"""Pinned upstream files: what they are, where they come from, a verified copy of each (`fetching`), its rows (`rows`).

Every file, ``<source>/<path>``, is pinned by repository, commit and SHA-256, and read from the mirror that
``JUDGEKIT_DATA`` names or from a download under ``data/``; nothing is read unverified. The register is one JSON file
per source in ``registry/``: groups of files that share repository (null: only a mirror has them), commit, licence and
split; each file is ``[SHA-256, bytes, records]`` of the uncompressed content.
"""

import fnmatch
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any
from urllib.parse import quote

from judgekit.data.paths import known_names

# Host -> the variable that replaces its address, the address, and a file's path there.
HOSTS = {
    "github": ("JUDGEKIT_UPSTREAM", "https://raw.githubusercontent.com", "{repo}/{commit}/{path}"),
    "hub": ("HF_ENDPOINT", "https://huggingface.co", "datasets/{repo}/resolve/{commit}/{path}"),
}


class DataError(Exception):
    """A data file is missing, damaged or malformed; the message names the file and what to do about it."""


@dataclass(frozen=True, slots=True)
class Source:
    """One pinned file."""

    name: str  # ``<source>/<path>``, the name every loader uses
    source: str  # the family of files, e.g. "pandalm"
    mirror_path: str  # below the mirror; there the file may carry a further ``.gz``
    repo: str | None  # with commit and path: where it stands upstream; all None when it exists only in a mirror
    commit: str | None
    path_in_repo: str | None
    sha256: str  # of the uncompressed content, lower-case hexadecimal
    bytes: int  # size of the uncompressed content
    licence: str  # as far as the upstream repository states one
    split: str  # "test" (labelled), "train", "judge-outputs" (stored verdicts) or "meta" (no labels)
    description: str
    host: str = "github"  # one of `HOSTS`

    @property
    def url(self) -> str | None:
        """The pinned address of a file, or None when only a mirror has it."""
        if self.repo is None or self.path_in_repo is None:
            return None
        variable, address, path = HOSTS[self.host]
        base = os.environ.get(variable, "").strip() or address
        return f"{base.rstrip('/')}/{path.format(repo=self.repo, commit=self.commit, path=quote(self.path_in_repo))}"


def _group_sources(family: str, mirror: str, group: dict[str, Any]) -> Iterator[Source]:
    shared = {name: group[name] for name in ("repo", "commit", "licence", "split", "description")}
    shared["host"] = group.get("host", "github")
    for file, (sha256, size, _) in group["files"].items():
        path = group["folder"] + file
        upstream = None if group["repo"] is None else group["upstream_folder"] + file
        pinned = {"sha256": sha256, "bytes": size, "path_in_repo": upstream}
        yield Source(name=f"{family}/{path}", source=family, mirror_path=mirror + path, **shared, **pinned)


@lru_cache(maxsize=1)
def _registered() -> dict[str, Source]:
    """Name to `Source`, for every registered file, in the order of the names."""
    records = []
    for file in (resources.files(__name__) / "registry").iterdir():
        if file.name.endswith(".json"):
            page = json.loads(file.read_text(encoding="utf-8"))
            records += [s for group in page["groups"] for s in _group_sources(page["source"], page["mirror"], group)]
    return {record.name: record for record in sorted(records, key=lambda record: record.name)}


def sources(family: str | None = None) -> list[Source]:
    """The registered files, of one family where given, in the order of their names."""
    return [record for record in _registered().values() if family in (None, record.source)]


def find_source(name: str | Source) -> Source:
    """The `Source` of a name, or the one given; DataError if no file of that name is registered."""
    if isinstance(name, Source):
        return name
    if name not in _registered():
        families = known_names(name, sorted({source.source for source in sources()}))
        raise DataError(f"{name}: no such file is registered; {families} ('judgekit fetch --list NAME' has the files)")
    return _registered()[name]


def source_names(*patterns: str) -> list[str]:
    """Names of the files that each pattern stands for, sorted, where it has a ``*``; others stand for themselves.

    >>> source_names("pandalm/*testset-v1.json")[-1]
    'pandalm/testset-v1.json'
    """
    return [name for it in patterns for name in (fnmatch.filter(_registered(), it) if "*" in it else [it])]


def source_hashes(names: Iterable[str | Source]) -> dict[str, str]:
    """Name to SHA-256 for the given files: the provenance a result is saved with."""
    return {record.name: record.sha256 for record in map(find_source, names)}
