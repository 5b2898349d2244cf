"""A verified copy of a registered file: from the mirror, or from upstream by way of the cache."""

import gzip
import hashlib
import io
import zlib

from judgekit import paths
from judgekit.sources.errors import DataError
from judgekit.sources.registry import find_source, sources, upstream_url

# Files whose hash this process has seen to be right: (path, size, time of change). A file changed since is new.
verified = set()


def fetch(name, progress=True):
    """Path of a verified local copy of a registered file, downloaded first where need be.

    Parameters
    ----------
    name : str or Source
    progress : bool, default True
        Show a progress bar (on stderr) while downloading.

    Returns
    -------
    pathlib.Path
        In a mirror the file may be gzipped and its name then ends in a further ``.gz``; `read_bytes` and
        `open_source` make no difference between the two.

    Raises
    ------
    DataError
        If there is no such file, it cannot be had, or its content is not the pinned content. A partial download
        is never left under the file's name.
    """
    source = find_source(name)
    path = locate(source, progress)
    if stamp(path) not in verified:
        load_verified(source, path)
    return path


def read_bytes(name, progress=True):
    """The verified, uncompressed content of a registered file.

    Raises
    ------
    DataError
        As `fetch` does.
    """
    source = find_source(name)
    return load_verified(source, locate(source, progress))


def open_source(name, binary=False):
    """A registered file opened for reading: UTF-8 text, or bytes; decompressed where it is a ``.gz``.

    Raises
    ------
    DataError
        As `fetch` does.
    """
    source = find_source(name)
    content = read_bytes(source)
    if source.name.endswith(".gz"):
        content = decompress(source, content)
    stream = io.BytesIO(content)
    return stream if binary else io.TextIOWrapper(stream, encoding="utf-8", newline="\n")


def fetch_all(names=None, progress=True):
    """Get many files; those already here are checked and kept.

    Parameters
    ----------
    names : iterable of str, optional
        File names, or families such as ``"pandalm"``; by default everything that can be had (files that exist
        only in a mirror are left out when there is none).
    progress : bool, default True
        Show one progress bar, in bytes, on stderr.

    Returns
    -------
    dict of str to pathlib.Path

    Raises
    ------
    DataError
        After all were tried, if any failed: names how many and each failure. What succeeded stays.
    """
    from tqdm import tqdm

    wanted = expand(names)
    found, failures = {}, []
    with tqdm(total=sum(source.bytes for source in wanted), unit="B", unit_scale=True, disable=not progress) as bar:
        for source in wanted:
            try:
                found[source.name] = fetch(source, progress=False)
            except DataError as error:
                failures.append(str(error))
            bar.update(source.bytes)
    if failures:
        raise DataError(f"{len(failures)} of {len(wanted)} files could not be had:\n" + "\n".join(failures))
    return found


def expand(names):
    """The `Source` records that names and families stand for, each once."""
    if names is None:
        return [source for source in sources() if source.repo is not None or paths.data_mirror() is not None]
    chosen = {}
    for name in names:
        for source in sources(name) if isinstance(name, str) and "/" not in name else ():
            chosen[source.name] = source
        if not isinstance(name, str) or "/" in name or not sources(name):
            source = find_source(name)
            chosen[source.name] = source
    return list(chosen.values())


def locate(source, progress):
    """Path of a file's local copy: in the mirror when there is one, else in the cache, downloaded if absent."""
    mirror = paths.data_mirror()
    if mirror is None:
        return download(source, progress)
    plain = mirror / source.mirror_path
    for path in (plain, plain.with_name(plain.name + ".gz")):
        if path.is_file():
            return path
    raise DataError(f"{source.name}: not in the mirror at {plain}; {remedy(source, mirror)}")


def download(source, progress):
    """Path of the cached file, downloaded if it is absent or damaged."""
    path = paths.data_cache() / source.mirror_path
    if path.is_file() and stamp(path) in verified:
        return path
    url = upstream_url(source)
    if url is None and not path.is_file():
        raise DataError(f"{source.name}: exists only in a data mirror; set JUDGEKIT_DATA to a mirror that holds it")
    if url is not None:
        retrieve(source.name, url, source.sha256, path, progress)
    return path


def retrieve(name, url, sha256, path, progress):
    """Download to a temporary file beside `path`, check the hash, and only then give it its name."""
    import pooch

    pooch.get_logger().setLevel("WARNING")
    try:
        pooch.retrieve(
            url,
            known_hash=f"sha256:{sha256}",
            fname=path.name,
            path=path.parent,
            downloader=pooch.HTTPDownloader(progressbar=progress, timeout=30),
        )
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


def load_verified(source, path):
    """The uncompressed content of a local copy, after comparing its hash (once per process and file)."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{source.name}: {path} cannot be read ({error.strerror})") from error
    # A blob that is a .gz upstream is hashed as it is; only the mirror's own compression is undone here.
    if path.name != source.mirror_path.rsplit("/", 1)[-1]:
        content = decompress(source, content)
    mark = stamp(path)
    if mark not in verified:
        if hashlib.sha256(content).hexdigest() != source.sha256:
            raise DataError(
                f"{source.name}: {path} is not the pinned content ({len(content)} bytes, {source.bytes} expected, "
                f"SHA-256 differs); {remedy(source, paths.data_mirror())}"
            )
        verified.add(mark)
    return content


def decompress(source, content):
    """The content of a gzip stream."""
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"{source.name}: its .gz is damaged or cut short ({error}); {remedy(source, paths.data_mirror())}"
        ) from error


def remedy(source, mirror):
    """What to do about a bad or missing copy."""
    if mirror is None:
        return "delete it and fetch it again"
    if source.repo is None:
        return "copy it again from a good mirror"
    return f"copy it again from a good mirror, or unset JUDGEKIT_DATA to download it from {upstream_url(source)}"


def is_pinned_content(path, sha256):
    """Whether a local file has the pinned hash (computed once per process and state of the file)."""
    mark = stamp(path)
    if mark not in verified and hashlib.sha256(path.read_bytes()).hexdigest() == sha256:
        verified.add(mark)
    return mark in verified


def stamp(path):
    """What identifies the state of a local file."""
    status = path.stat()
    return str(path), status.st_size, status.st_mtime_ns
