"""A verified copy of a registered file: from the mirror, or from upstream by way of the cache."""

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from judgekit.data import paths
from judgekit.data.files import unpacked_limit
from judgekit.data.progress import progress_bar
from judgekit.data.sources.registry import DataError, Source, find_source, sources

CHUNK = 2**20  # bytes
PACKET = 2**14  # bytes of a download: the most that is lost where it is cut off
ATTEMPTS = 3  # requests of one download; each goes on where the one before was cut off
# Files whose hash this process has seen to be right: (path, size, time of change). A file changed since is new.
verified: set[tuple[str, int, int]] = set()


def fetch(name: str | Source, progress: bool = True) -> Path:
    """Path of a verified local copy of a registered file, downloaded first where need be.

    In a mirror it may be gzipped (a further ``.gz``). DataError if it cannot be had or is not the pinned content.
    """
    source = find_source(name)
    path = _locate(source, progress)
    if _stamp(path) not in verified:
        _verified_content(source, path, keep=False)
    return path


def read_bytes(name: str | Source, progress: bool = True) -> bytes:
    """The verified, uncompressed content of a registered file; DataError as for `fetch`."""
    source = find_source(name)
    return _verified_content(source, _locate(source, progress))


def open_source(name: str | Source, binary: bool = False) -> IO[Any]:
    """A registered file opened for reading: UTF-8 text, or bytes; decompressed where it is a ``.gz`` upstream."""
    source = find_source(name)
    content = read_bytes(source)
    if source.name.endswith(".gz"):
        limit = unpacked_limit(len(content))
        try:
            with gzip.open(io.BytesIO(content)) as stream:
                content = stream.read(limit + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise _damaged(source, error) from error
        if len(content) > limit:
            raise DataError(f"{source.name}: unpacks to more than {limit >> 20} MiB")
    return io.BytesIO(content) if binary else io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="\n")


def fetch_all(names: Iterable[str | Source] | None = None, progress: bool = True) -> dict[str, Path]:
    """Get many files, by name or family (``"pandalm"``; by default all that can be had); those here are checked.

    DataError after all were tried, if any failed: names how many and each failure. What succeeded stays.
    """
    wanted = expand(names)
    paths_by_name, failures = {}, []
    with progress_bar(sum(source.bytes for source in wanted), "files", "B", progress) as bar:
        for source in wanted:
            try:
                paths_by_name[source.name] = fetch(source, progress=False)
            except DataError as error:
                failures.append(str(error))
            bar.update(source.bytes)
    if failures:
        raise DataError(f"{len(failures)} of {len(wanted)} files could not be had:\n" + "\n".join(failures))
    return paths_by_name


def expand(names: Iterable[str | Source] | None) -> list[Source]:
    """The `Source` records that names and families stand for, each once."""
    if names is None:
        return [source for source in sources() if source.repo is not None or paths.data_mirror() is not None]
    chosen: list[Source] = []
    for name in names:
        family = sources(name) if isinstance(name, str) and "/" not in name else []
        chosen += family or [find_source(name)]
    return list({source.name: source for source in chosen}.values())


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
    url = source.url
    if url is not None and not (path.is_file() and _stamp(path) in verified):
        retrieve(source.name, url, source.sha256, source.bytes, path, progress)
    elif not path.is_file():
        raise DataError(f"{source.name}: exists only in a data mirror; set JUDGEKIT_DATA to a mirror that holds it")
    return path


def retrieve(name: str, url: str, sha256: str, size: int, path: Path, progress: bool) -> None:
    """Have ``path`` hold the pinned content: a good copy stays, another is replaced by a download, whole or not at all.

    ``size``: bytes after which a download is given up. DataError if it cannot be had or is another content.
    """
    import pooch

    def download(url: str, part: str, _: Any) -> None:
        with progress_bar(None, name, "B", progress) as bar:
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    return _download_rest(url, Path(part), size, bar)
                except ConnectionResetError:
                    if attempt == ATTEMPTS:
                        raise

    pooch.get_logger().setLevel("WARNING")
    try:
        pooch.retrieve(url, known_hash=f"sha256:{sha256}", fname=path.name, path=path.parent, downloader=download)
    except ValueError as error:
        raise DataError(
            f"{name}: what {url} sent is not the pinned content (SHA-256 {sha256}); "
            f"try again, or set JUDGEKIT_DATA to a data mirror"
        ) from error
    except OSError as error:  # requests' errors are OSErrors; a full disk is one, too
        raise DataError(
            f"{name}: could not be downloaded from {url} ({error}); "
            f"check the connection and try again, or set JUDGEKIT_DATA to a data mirror"
        ) from error


def _download_rest(url: str, part: Path, size: int, bar: Any) -> None:
    """Add to ``part`` what it lacks, by a Range request; ConnectionResetError where the connection ends on the way."""
    import requests

    start = part.stat().st_size
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    with requests.get(url, headers=headers, stream=True, timeout=30) as reply:
        reply.raise_for_status()
        if reply.status_code != requests.codes.partial_content:  # a server without ranges sends all of it again
            start = 0
        bar.total = start + int(reply.headers.get("Content-Length", 0)) or None
        bar.reset(bar.total)
        bar.update(start)
        with open(part, "ab" if start else "wb") as stream:
            try:
                for content in reply.iter_content(PACKET):
                    bar.update(stream.write(content))
                    if stream.tell() > size:
                        raise ValueError(f"more than {size} bytes")
            except (requests.exceptions.ChunkedEncodingError, requests.exceptions.ConnectionError) as error:
                raise ConnectionResetError(str(error)) from error


def _verified_content(source: Source, path: Path, keep: bool = True) -> bytes:
    """The content of a local copy (none without ``keep``), hashed once; at most the pinned size is unpacked."""
    # A blob that is a .gz upstream is hashed as it is; only the mirror's own compression is undone here.
    packed = path.name != source.mirror_path.rsplit("/", 1)[-1]
    stamp, size, parts = _stamp(path), 0, []
    digest = None if stamp in verified else hashlib.sha256(b"")
    try:
        with gzip.open(path) if packed else open(path, "rb") as stream:
            while size <= source.bytes and (part := stream.read(CHUNK)):
                size += len(part)
                if digest:
                    digest.update(part)
                if keep:
                    parts.append(part)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _damaged(source, error) from error
    except OSError as error:
        raise DataError(f"{source.name}: {path} cannot be read ({error.strerror})") from error
    if digest and digest.hexdigest() != source.sha256:
        length = f"more than {source.bytes}" if packed and size > source.bytes else size if packed else stamp[1]
        raise DataError(
            f"{source.name}: {path} is not the pinned content ({length} bytes, {source.bytes} expected, "
            f"SHA-256 differs); {_remedy(source)}"
        )
    verified.add(stamp)
    return b"".join(parts)


def _damaged(source: Source, error: Exception) -> DataError:
    return DataError(f"{source.name}: its .gz is damaged or cut short ({error}); {_remedy(source)}")


def _remedy(source: Source) -> str:
    """What to do about a bad or missing copy."""
    if paths.data_mirror() is None:
        return "delete it and fetch it again"
    if source.repo is None:
        return "copy it again from a good mirror"
    return f"copy it again from a good mirror, or unset JUDGEKIT_DATA to download it from {source.url}"


def _stamp(path: Path) -> tuple[str, int, int]:
    """What identifies the state of a local file: path, size, time of change."""
    status = path.stat()
    return str(path), status.st_size, status.st_mtime_ns
