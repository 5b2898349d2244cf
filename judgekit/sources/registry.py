"""The register of pinned files, kept as one JSON file per source in ``registry/``.

A JSON file lists groups of files that share a repository, a commit, a licence and a split; each file is
``[SHA-256, bytes, records]`` of the uncompressed content. ``repo`` is null for a file that no single upstream
address serves: it can only be read from a mirror.
"""

import json
import os
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from urllib.parse import quote

from judgekit.sources.errors import DataError

UPSTREAM = "https://raw.githubusercontent.com"


@dataclass(frozen=True, slots=True)
class Source:
    """One pinned file.

    Attributes
    ----------
    name : str
        ``<source>/<path>``, the name every loader uses.
    source : str
        The family of files, e.g. ``"pandalm"``.
    mirror_path : str
        Path below the mirror; there it may carry a further ``.gz``.
    repo, commit, path_in_repo : str or None
        Where it stands upstream; all None when it exists only in a mirror.
    sha256 : str
        Of the uncompressed content, lower-case hexadecimal.
    bytes : int
        Size of the uncompressed content.
    records : int or None
        Rows it holds, where that has a meaning.
    licence : str
        As far as the upstream repository states one.
    split : {"test", "train", "judge-outputs", "meta"}
        ``test``: labelled evaluation items; ``train``: may be trained on; ``judge-outputs``: stored verdicts of some
        judge; ``meta``: prompts, criteria or references without labels.
    description : str
        What it is, in a line.
    """

    name: str
    source: str
    mirror_path: str
    repo: str | None
    commit: str | None
    path_in_repo: str | None
    sha256: str
    bytes: int
    records: int | None
    licence: str
    split: str
    description: str

    @property
    def url(self):
        """The pinned upstream address, or None when the file exists only in a mirror."""
        return upstream_url(self)


def upstream_url(source):
    """The address a file is downloaded from, or None when it exists only in a mirror.

    ``JUDGEKIT_UPSTREAM`` replaces the host, for a copy of the upstream repositories inside one's own network.
    """
    if source.repo is None:
        return None
    base = os.environ.get("JUDGEKIT_UPSTREAM", "").strip() or UPSTREAM
    return f"{base.rstrip('/')}/{source.repo}/{source.commit}/{quote(source.path_in_repo)}"


def group_sources(source, mirror, group):
    """The `Source` records of one group of a registry file."""
    for file, (sha256, size, records) in group["files"].items():
        path = group["folder"] + file
        yield Source(
            name=f"{source}/{path}",
            source=source,
            mirror_path=mirror + path,
            repo=group["repo"],
            commit=group["commit"],
            path_in_repo=None if group["repo"] is None else group["upstream_folder"] + file,
            sha256=sha256,
            bytes=size,
            records=records,
            licence=group["licence"],
            split=group["split"],
            description=group["description"],
        )


@lru_cache(maxsize=1)
def registered():
    """Name to `Source`, for every registered file, in the order of the names."""
    found = {}
    for file in sorted((resources.files("judgekit.sources") / "registry").iterdir(), key=lambda item: item.name):
        if file.name.endswith(".json"):
            page = json.loads(file.read_text(encoding="utf-8"))
            for group in page["groups"]:
                for record in group_sources(page["source"], page["mirror"], group):
                    found[record.name] = record
    return dict(sorted(found.items()))


def sources(family=None, split=None):
    """The registered files, of one family or split where given, in the order of their names.

    Parameters
    ----------
    family : str, optional
        For example ``"pandalm"``.
    split : {"test", "train", "judge-outputs", "meta"}, optional

    Returns
    -------
    list of Source
    """
    return [
        record for record in registered().values() if family in (None, record.source) and split in (None, record.split)
    ]


def find_source(name):
    """The `Source` of a name; a `Source` passes through.

    Raises
    ------
    DataError
        If no file of that name is registered.
    """
    if isinstance(name, Source):
        return name
    try:
        return registered()[name]
    except KeyError:
        raise DataError(f"{name}: no such file is registered; 'judgekit fetch --list' lists all") from None


def source_names(family, prefix="", suffix=""):
    """Names of a family's files whose path begins and ends as given, sorted.

    Examples
    --------
    >>> source_names("pandalm", suffix="testset-v1.json")[-1]
    'pandalm/testset-v1.json'
    """
    start = f"{family}/{prefix}"
    return [record.name for record in sources(family) if record.name.startswith(start) and record.name.endswith(suffix)]


def source_hashes(names):
    """Name to SHA-256 for the given files: the provenance a result is saved with.

    Raises
    ------
    DataError
        If a name is not registered.
    """
    return {record.name: record.sha256 for record in map(find_source, names)}
