"""Rows of a corpus that is too large to ship: from the Hugging Face hub, or from a local file in the same form."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from judgekit.data import paths
from judgekit.data.sources import DataError, Row

SUFFIXES = {".json": "json", ".jsonl": "json", ".parquet": "parquet"}


@dataclass(frozen=True, slots=True)
class HubCorpus:
    """A corpus on the Hugging Face hub, or a file to be fetched by hand.

    Attributes
    ----------
    name : str
        What this project calls it.
    repo : str or None
        ``owner/name`` on the hub; None when its authors keep it elsewhere.
    config : str or None
        The hub's name for the part that is read.
    split : str
    licence : str
        As its card states it.
    description : str
        What it is, in a line; where to get the file when there is no repository.
    revision : str
        Commit, branch or tag. A branch is resolved to its commit when it is read, and provenance names the commit.
    """

    name: str
    repo: str | None
    config: str | None
    split: str
    licence: str
    description: str
    revision: str = "main"


def local_file(corpus):
    """A copy in the mirror, ``raw/<name>/<name>`` with one of the known endings; None when there is none."""
    mirror = paths.data_mirror()
    folder = None if mirror is None else mirror / "raw" / corpus.name
    found = [] if folder is None else [folder / f"{corpus.name}{suffix}" for suffix in SUFFIXES]
    return next((path for path in found if path.is_file()), None)


def read_corpus_rows(corpus, revision=None, path=None):
    """The rows of a corpus.

    Parameters
    ----------
    corpus : HubCorpus
    revision : str, optional
        Instead of the corpus's own.
    path : str or Path, optional
        A JSON, JSON-lines or parquet file in the hub's form, read instead of the hub (default: `local_file`).

    Returns
    -------
    list of Row

    Raises
    ------
    DataError
        If the set cannot be had or read; the message says where it is to be found.
    """
    import datasets

    path = local_file(corpus) if path is None else Path(path)
    options = {"cache_dir": str(paths.data_cache() / "hub" / corpus.name)}
    if path is None:
        where, what = f"{checked_repo(corpus)}[{corpus.split}]", (corpus.repo, corpus.config)
        commit = resolved_commit(corpus.repo, revision or corpus.revision)
        options |= {"split": corpus.split, "revision": commit}
    else:
        where, what = path.name, (kind_of(path),)
        options |= {"split": "train", "data_files": str(path)}
    try:
        table = datasets.load_dataset(*what, **options)
    except Exception as error:  # of whichever library failed: to read, to download, to build the table
        raise DataError(f"{corpus.name}: cannot be read ({error}); {remedy(corpus)}") from error
    return [Row(values, where, number) for number, values in enumerate(table)]


def kind_of(path):
    """The reader for a local file."""
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    if path.suffix not in SUFFIXES:
        raise DataError(f"{path}: ends with none of {', '.join(SUFFIXES)}")
    return SUFFIXES[path.suffix]


def checked_repo(corpus):
    """The repository on the hub, or an error that says where the file is to be had."""
    if corpus.repo is None:
        raise DataError(f"{corpus.name}: is not on the hub; {remedy(corpus)}")
    return corpus.repo


def remedy(corpus):
    """What to do about a corpus that cannot be read."""
    first = "" if corpus.repo is None else "check the connection, or "
    return (
        f"{first}put it into a data mirror as raw/{corpus.name}/{corpus.name}.jsonl (or .json, .parquet) "
        f"and set JUDGEKIT_DATA; {corpus.description}"
    )


@lru_cache
def resolved_commit(repo, revision):
    """The commit that a revision of a hub set stands for, asked once per process.

    Raises
    ------
    DataError
        If the hub does not answer, or has no such set or revision.
    """
    import huggingface_hub

    try:
        return huggingface_hub.HfApi().dataset_info(repo, revision=revision).sha
    except Exception as error:  # the network's errors are those of an HTTP library that the hub's may exchange
        raise DataError(f"{repo}: revision {revision!r} could not be looked up ({error})") from error


def corpus_provenance(corpus):
    """The SHA-256 of the local file, or the commit on the hub, under a name that says which."""
    path = local_file(corpus)
    if path is not None:
        return {f"{corpus.name}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()}
    return {f"hub:{checked_repo(corpus)}": resolved_commit(corpus.repo, corpus.revision)}
