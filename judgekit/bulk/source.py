"""A file of pairs that is read more than once, a chunk at a time."""

import hashlib
import json
from array import array
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from judgekit.pairfile import PairFileError, PairRow, iterate_pair_rows, repeated_id
from judgekit.pairfile.places import Place
from judgekit.progress import progress_bar

ROWS = 1024  # rows of a chunk: enough to sort by length, little enough to hold
CHARACTERS = 2_000_000  # of a chunk's texts; one row of more is a chunk of its own
INT64 = 2**63
DELAY = 5  # seconds without a bar


@dataclass
class PairSource:
    """A checked file of pairs.

    Attributes
    ----------
    path : Path
    n_rows : int
    first : PairRow
        The first row.
    labels : Counter
        Rows by label; unlabelled ones are not counted.
    whole_ids : bool
        Whether every id is a whole number of 64 bits; otherwise a table holds them as texts.
    digest : str
        SHA-256 over the ids and everything a judge may be shown, in order.
    held : list of PairRow or None
        The rows themselves, of what can be read only once (a pipe).
    """

    path: Path
    n_rows: int
    first: PairRow
    labels: Counter
    whole_ids: bool
    digest: str
    held: list | None = field(default=None, repr=False)

    def rows(self):
        """Every row, in the order of the file.

        Raises
        ------
        PairFileError
            If the file is no longer the one that was checked, as far as its rows and their number tell.
        """
        count = 0
        for row in iterate_pair_rows(self.path) if self.held is None else self.held:
            count += 1
            if count > self.n_rows:
                break
            yield row
        if count != self.n_rows:
            raise Place(self.path).error(f"has changed since it was checked (it had {self.n_rows} rows)")

    def chunks(self, size=ROWS, characters=CHARACTERS):
        """The rows in lists of at most ``size`` rows; the same file always gives the same lists."""
        chunk, length = [], 0
        for row in self.rows():
            own = len(row.pair.question) + len(row.pair.response_a) + len(row.pair.response_b)
            if chunk and (len(chunk) == size or length + own > characters):
                yield chunk
                chunk, length = [], 0
            chunk.append(row)
            length += own
        yield chunk


def check_source(path, progress=False):
    """Read a file of pairs to its end, and keep none of it.

    Parameters
    ----------
    path : path
        As for `judgekit.pairfile.read_pairs`.
    progress : bool
        Count rows on standard error if it takes long.

    Returns
    -------
    PairSource

    Raises
    ------
    PairFileError
        If anything is wrong with the file, with the words of `judgekit.pairfile.read_pair_rows`.

    Notes
    -----
    Of every row 8 bytes stay, a hash of its id. Equal hashes are looked at again with the ids themselves: the check
    for ids that come twice is exact.
    """
    path = Path(path)
    once = path.exists() and not path.is_file() and not path.is_dir() and not path.is_char_device()
    held = [] if once else None
    hashes, labels, digest, first, whole = array("Q"), Counter(), hashlib.sha256(), None, True
    try:
        for row in counted(iterate_pair_rows(path), progress):
            first = first or row
            hashes.append(id_hash(row))
            digest.update(content_of(row))
            whole = whole and isinstance(row.id, int) and -INT64 <= row.id < INT64
            if row.pair.label is not None:
                labels[row.pair.label] += 1
            if once:
                held.append(row)
    except PairFileError:
        refuse_repeated(path, hashes, held)  # an id that came twice further up is the first fault of the file
        raise
    refuse_repeated(path, hashes, held)
    return PairSource(path, len(hashes), first, labels, whole, digest.hexdigest(), held)


def counted(rows, progress):
    """The rows, with a bar after a few seconds."""
    with progress_bar(None, "checking", "row", shown=progress, delay=DELAY) as bar:
        for row in rows:
            yield row
            bar.update()


def id_hash(row):
    """64 bits of a row's id."""
    return int.from_bytes(hashlib.blake2b(row.pair.item_id.encode(), digest_size=8).digest(), "little")


def content_of(row):
    """A row's id and all the text that a judge may be shown, as bytes."""
    pair = row.pair
    turns = [[turn.question, turn.response_a, turn.response_b] for turn in pair.turns]
    return json.dumps([row.id, pair.question, pair.response_a, pair.response_b, pair.reference, turns]).encode()


def refuse_repeated(path, hashes, held=None):
    """Raise the `PairFileError` about the first row whose id stands further up already; sorts the hashes in place."""
    if len(hashes) < 2:
        return
    import numpy as np

    ordered = np.frombuffer(hashes, np.uint64)
    ordered.sort()
    suspects = set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
    seen = {}
    for number, row in enumerate(iterate_pair_rows(path) if held is None else held):
        if not suspects or number == len(hashes):
            return
        if id_hash(row) in suspects:
            if row.pair.item_id in seen:
                raise repeated_id(row, seen[row.pair.item_id])
            seen[row.pair.item_id] = row.place
