"""A verified copy of a registered file: from the mirror, or from upstream by way of the cache."""

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from judgekit.data import paths
from judgekit.data.files import replaced, sha256_of, unpacked_limit
from judgekit.data.progress import progress_bar
from judgekit.data.sources import DataError, Source, find_source, sources

PACKET = 2**14  # bytes of a download: the most that is lost where it is cut off
ATTEMPTS = 3  # requests of one download; each goes on where the one before was cut off
ELSEWHERE = "try again, or set JUDGEKIT_DATA to a data mirror"


def read_bytes(name: str | Source) -> bytes:
    """The verified content of a registered file, downloaded where need be, and unpacked where it is a ``.gz`` upstream.

    In a mirror it may be gzipped (a further ``.gz``). DataError if it cannot be had or is not the pinned content.
    """
    source = find_source(name)
    content = _verified_content(source, _locate(source, progress=True))
    if not source.name.endswith(".gz"):
        return content
    limit = unpacked_limit(len(content))
    with gzip.open(io.BytesIO(content)) as stream:  # which is whole: its SHA-256 is the pinned one
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise DataError(f"{source.name}: unpacks to more than {limit >> 20} MiB")
    return content


def fetch_all(names: Iterable[str | Source] | None = None, progress: bool = True) -> list[Source]:
    """Get many files, by name or family (``"pandalm"``; by default all that can be had); those here are checked.

    DataError after all were tried, if any failed: names how many and each failure. What succeeded stays.
    """
    wanted, failures = expand(names), []
    with progress_bar(sum(source.bytes for source in wanted), "files", "B", progress) as bar:
        for source in wanted:
            try:
                _verified_content(source, _locate(source, progress=False))
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
    if path.is_file() and sha256_of(path) == source.sha256:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with replaced(path, resumed=True) as part, progress_bar(source.bytes, source.name, "B", progress) as bar:
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    _download_rest(source, part, bar)
                    break
                except ConnectionResetError:
                    if attempt == ATTEMPTS:
                        raise
    except ValueError as error:
        sent = f"what {source.url} sent is not the pinned content (SHA-256 {source.sha256})"
        raise DataError(f"{source.name}: {sent}; {ELSEWHERE}") from error
    except OSError as error:  # requests' errors are OSErrors; a full disk is one, too
        failed = f"could not be downloaded from {source.url} ({error}); check the connection and"
        raise DataError(f"{source.name}: {failed} {ELSEWHERE}") from error


def _download_rest(source: Source, part: Path, bar: Any) -> None:
    """Add to ``part`` what it lacks, by a Range request; ConnectionResetError where another request may do better."""
    import requests

    start = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if 0 < start < source.bytes else {})
    with requests.get(str(source.url), headers=headers, stream=True, timeout=30) as reply:
        reply.raise_for_status()
        if reply.status_code != requests.codes.partial_content:  # a server without ranges sends all of it again
            start = 0
        bar.reset()
        bar.update(start)
        with open(part, "ab" if start else "wb") as stream:
            try:
                for content in reply.iter_content(PACKET):
                    bar.update(stream.write(content))
                    if stream.tell() > source.bytes:
                        raise ValueError(f"more than {source.bytes} bytes")
            except (requests.exceptions.ChunkedEncodingError, requests.exceptions.ConnectionError) as error:
                raise ConnectionResetError(str(error)) from error
    if sha256_of(part) != source.sha256:
        part.unlink()  # what a killed process left may be of another version, or damaged
        raise (ConnectionResetError if start else ValueError)("another content")


def _verified_content(source: Source, path: Path) -> bytes:
    """The content of a local copy; no more than the pinned size is unpacked."""
    # A blob that is a .gz upstream is hashed as it is; only the mirror's own compression is undone here.
    packed = path.name != source.mirror_path.rsplit("/", 1)[-1]
    try:
        with gzip.open(path) if packed else open(path, "rb") as stream:
            content = stream.read(source.bytes + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        damage = f"its .gz is damaged or cut short ({error})"
        raise DataError(f"{source.name}: {damage}; {_remedy(source)}") from error
    except OSError as error:
        raise DataError(f"{source.name}: {path} cannot be read ({error.strerror})") from error
    if hashlib.sha256(content).hexdigest() != source.sha256:
        length = f"more than {source.bytes}" if len(content) > source.bytes else len(content)
        raise DataError(
            f"{source.name}: {path} is not the pinned content ({length} bytes, {source.bytes} expected, "
            f"SHA-256 differs); {_remedy(source)}"
        )
    return content


def _remedy(source: Source) -> str:
    """What to do about a bad or missing copy."""
    if paths.data_mirror() is None:
        return "delete it and fetch it again"
    if source.repo is None:
        return "copy it again from a good mirror"
    return f"copy it again from a good mirror, or unset JUDGEKIT_DATA to download it from {source.url}"
