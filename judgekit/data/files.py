"""Files written whole or not at all, how much one may unpack to, and YAML as settings need it: plain values."""

import errno
import glob
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

RECORD_BYTES = 2**23  # of one record, unpacked: a question and two responses with all that stands beside them
GROWTH = 200  # times its own size that a packed file may unpack to; texts reach 5 to 60
LONGEST = 2**20  # characters; a file of settings has some thousands
MOST = 100_000  # values, aliases written out


def unpacked_limit(packed: int) -> int:
    """Bytes that a file of a size may unpack to: `GROWTH` times as many, and always one record."""
    return max(RECORD_BYTES, GROWTH * packed)


@contextmanager
def replaced(path: Path, resumed: bool = False) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its name when the block ends well.

    Its own name ends in ``.part``, so that what a killed process leaves is never read; the next writer removes it, or
    (``resumed``) goes on with it.
    """
    temporary = path.with_name(f".{os.getpid()}-{path.name}.part")
    for left in path.parent.glob(f".*-{glob.escape(path.name)}.part"):
        if not _is_running(left.name[1:].partition("-")[0]):
            with suppress(FileNotFoundError):  # another writer was first
                os.replace(left, temporary) if resumed else os.unlink(left)
    try:
        yield temporary
        sync(temporary)
        os.replace(temporary, path)
        sync(path.parent)
    except BaseException as error:
        if not (resumed and isinstance(error, KeyboardInterrupt)):
            temporary.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder (where the system can), to the disk: a power cut takes neither back."""
    if os.name == "nt" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def short_text(path: Path) -> str:
    """The text of a file of settings; OSError where it is not UTF-8, or longer than `LONGEST`."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(LONGEST + 1)
    except UnicodeDecodeError:
        raise OSError(errno.EILSEQ, "is not UTF-8 text", str(path)) from None
    if len(text) > LONGEST:
        raise OSError(errno.EFBIG, f"has more than {LONGEST:,} characters", str(path))
    return text


def sha256_of(path: str | Path) -> str:
    """SHA-256 of a file, read in pieces."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_text(path: Path, text: str) -> Path:
    """The path of a text that is written in one step: what reads it back never finds a half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def write_json(path: str | Path, value: Any, **options: Any) -> Path:
    """`write_text` of a small JSON file, readable in a diff; ``options`` are those of `json.dumps`."""
    return write_text(Path(path), json.dumps(value, indent=1, **options) + "\n")


def _is_running(pid: str) -> bool:
    """Whether a process with this number runs on this machine; what is no number counts as running."""
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (ValueError, OverflowError, PermissionError):
        return True
    return True


class PlainSafeLoader(yaml.SafeLoader):
    """The safe loader, which also counts what aliases stand for: nine lines of them can stand for a billion words.

    A key that stands twice is refused: of the two, the last would be kept in silence.
    """

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in seen:
                raise yaml.YAMLError(f"line {key.start_mark.line + 1}: field {key.value!r} stands twice")
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)

    def construct_document(self, node: yaml.Node) -> Any:
        """The value of a document, unless it is too large when it is written out."""
        if _expanded(node, {}) > MOST:
            raise yaml.YAMLError(f"more than {MOST:,} values when its aliases (*name) are written out")
        return super().construct_document(node)


def _expanded(node: yaml.Node, known: dict[int, int | None]) -> int:
    """Number of values of a YAML node with every alias written out."""
    if id(node) not in known:
        known[id(node)] = None  # until its inner nodes are counted
        inner = node.value if isinstance(node, yaml.CollectionNode) else ()
        pairs = isinstance(node, yaml.MappingNode)
        known[id(node)] = 1 + sum(_expanded(n, known) for each in inner for n in (each if pairs else [each]))
    count = known[id(node)]
    if count is None:
        raise yaml.YAMLError(f"line {node.start_mark.line + 1}: holds an alias of itself")
    return count


def read_plain(path: Path, where: str, refusal: type[ValueError], **words: str) -> Any:
    """`load_plain` of a YAML file, in which ``{word}`` stands for what ``words`` say; an empty one is an empty mapping.

    ``refusal`` is raised, with a sentence on ``where`` (the file as a reader knows it), if it cannot be read.
    """
    try:
        text = short_text(path)
        for word, meant in words.items():
            text = text.replace(f"{{{word}}}", meant)
        values = load_plain(text)
        return {} if values is None else values
    except OSError as bad:
        raise refusal(f"{where}: cannot be read ({bad.strerror})") from None
    except yaml.YAMLError as broken:
        raise refusal(f"{where} is not YAML: {' '.join(str(broken).split())}") from None


def load_plain(text: str) -> Any:
    """The value of a YAML text; None for an empty one.

    YAMLError if it is not YAML, holds a tag of Python's, is nested beyond reason, or larger than `MOST`.
    """
    try:
        return yaml.load(text, Loader=PlainSafeLoader)
    except (RecursionError, ValueError) as bad:  # ValueError: a date that is none
        raise yaml.YAMLError(f"not to be read ({type(bad).__name__}: {bad})") from None
