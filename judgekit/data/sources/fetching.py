"""A verified copy of a registered file: from the mirror, or from upstream by way of the cache."""

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from judgekit.data import paths
from judgekit.data.files import unpacked_limit
from judgekit.data.progress import progress_bar
from judgekit.data.sources.registry import DataError, Source, find_source, sources

ATTEMPTS = 3  # requests of one download, where the connection ends on the way
ELSEWHERE = "try again, or set JUDGEKIT_DATA to a data mirror"


def read_bytes(name: str | Source) -> bytes:
    """The pinned content of a registered file, downloaded first where need be; of a ``.gz`` upstream unpacked.

    DataError if it cannot be had, is not the pinned content, or unpacks beyond reason.
    """
    source = find_source(name)
    content = _pinned_content(source)
    if not source.name.endswith(".gz"):
        return content
    limit = unpacked_limit(len(content))
    try:
        with gzip.open(io.BytesIO(content)) as stream:
            content = stream.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise _damaged(source, error) from error
    if len(content) > limit:
        raise DataError(f"{source.name}: unpacks to more than {limit >> 20} MiB")
    return content


def fetch_all(names: Iterable[str | Source] | None = None, progress: bool = True) -> list[Source]:
    """Have many files, by name or family (``"pandalm"``; by default all that can be had); those here are checked.

    DataError after all were tried, if any failed: names how many and each failure. What succeeded stays.
    """
    wanted, failures = expand(names), []
    with progress_bar(sum(source.bytes for source in wanted), "files", "B", progress) as bar:
        for source in wanted:
            try:
                _pinned_content(source, progress=False)
            except DataError as error:
                failures.append(str(error))
            bar.update(source.bytes)
    if failures:
        raise DataError(f"{len(failures)} of {len(wanted)} files could not be had:\n" + "\n".join(failures))
    return wanted


def expand(names: Iterable[str | Source] | None) -> list[Source]:
    """The `Source` records that names and families stand for, each once."""
    if names is None:  # a mirror has what the hub has in a form of its own
        mirrored = paths.data_mirror() is not None
        return [source for source in sources() if (source.host != "hub" if mirrored else source.repo is not None)]
    families = [(sources(name) if isinstance(name, str) else []) or [find_source(name)] for name in names]
    return list({source.name: source for family in families for source in family}.values())


def _locate(source: Source, progress: bool) -> Path:
    """Path of a file's local copy: in the mirror when there is one, else in the cache, downloaded if absent."""
    mirror = paths.data_mirror()
    if mirror is not None:
        plain = mirror / source.mirror_path
        for path in (plain, plain.with_name(plain.name + ".gz")):
            if path.is_file():
                return path
        raise DataError(f"{source.name}: not in the mirror at {plain}; {_remedy(source)}")
    path = paths.data_cache() / source.mirror_path
    if source.url is not None:
        retrieve(source, path, progress)
    elif not path.is_file():
        raise DataError(f"{source.name}: exists only in a data mirror; set JUDGEKIT_DATA to a mirror that holds it")
    return path


def retrieve(source: Source, path: Path, progress: bool) -> None:
    """Have ``path`` hold the pinned content: a good copy stays, another is replaced by a download, whole or not at all.

    DataError if it cannot be had, is another content, or goes on beyond the pinned size.
    """
    import pooch
    import requests

    def download(url: str, part: str, pup: Any, attempts: int = ATTEMPTS) -> None:
        try:
            with (
                requests.get(url, headers={"Accept-Encoding": "identity"}, stream=True, timeout=30) as reply,
                progress_bar(source.bytes, source.name, "B", progress) as bar,
                open(part, "wb") as stream,
            ):
                reply.raise_for_status()
                for content in reply.iter_content(2**14):
                    bar.update(stream.write(content))
                    if stream.tell() > source.bytes:
                        raise ValueError(f"more than {source.bytes} bytes")
        except (requests.exceptions.ChunkedEncodingError, requests.ConnectionError):
            if attempts == 1:
                raise
            download(url, part, pup, attempts - 1)

    pooch.get_logger().setLevel("WARNING")
    try:
        pooch.retrieve(source.url, f"sha256:{source.sha256}", fname=path.name, path=path.parent, downloader=download)
    except ValueError as error:
        sent = f"what {source.url} sent is not the pinned content (SHA-256 {source.sha256})"
        raise DataError(f"{source.name}: {sent}; {ELSEWHERE}") from error
    except OSError as error:  # requests' errors are OSErrors; a full disk is one, too
        failed = f"could not be downloaded from {source.url} ({error}); check the connection and"
        raise DataError(f"{source.name}: {failed} {ELSEWHERE}") from error


def _pinned_content(source: Source, progress: bool = True) -> bytes:
    """The verified content of a file; no more than the pinned size is unpacked."""
    path = _locate(source, progress)
    # A blob that is a .gz upstream is hashed as it is; only the mirror's own compression is undone here.
    packed = path.name != source.mirror_path.rsplit("/", 1)[-1]
    try:
        with gzip.open(path) if packed else open(path, "rb") as stream:
            content = stream.read(source.bytes + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _damaged(source, error) from error
    except OSError as error:
        raise DataError(f"{source.name}: {path} cannot be read ({error.strerror})") from error
    if hashlib.sha256(content).hexdigest() != source.sha256:
        length = f"more than {source.bytes}" if len(content) > source.bytes else len(content)
        raise DataError(
            f"{source.name}: {path} is not the pinned content ({length} bytes, {source.bytes} expected, "
            f"SHA-256 differs); {_remedy(source)}"
        )
    return content


def _damaged(source: Source, error: Exception) -> DataError:
    return DataError(f"{source.name}: its .gz is damaged or cut short ({error}); {_remedy(source)}")


def _remedy(source: Source) -> str:
    """What to do about a bad or missing copy."""
    if paths.data_mirror() is None:
        return "delete it and fetch it again"
    if source.repo is None:
        return "copy it again from a good mirror"
    return f"copy it again from a good mirror, or unset JUDGEKIT_DATA to download it from {source.url}"
