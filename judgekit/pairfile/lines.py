"""A user's file as rows of named fields: text, JSON lines, CSV; Parquet by `judgekit.pairfile.parquet`."""

import codecs
import csv
import gzip
import json
import zlib
from collections import Counter

from judgekit.pairfile.places import Place, kind_of, names_of

OPTIONAL = ("reference", "label")
LONGEST_LINE = 2**26  # bytes, unpacked
LONGEST_CELL = 2**31 - 1  # the csv module's own limit is 131,072 characters


class Fields(dict):
    """The fields of a row, and the first name that stood there twice."""

    def __init__(self, pairs):
        pairs = list(pairs)
        super().__init__(pairs)
        counts = Counter(name for name, _ in pairs) if len(self) != len(pairs) else {}
        self.repeated = next((name for name, count in counts.items() if count > 1), None)


def records(path):
    """Rows of a file as (Place, Fields)."""
    if "\0" in str(path):
        raise Place(path).error("no file has a NUL in its name")
    if path.suffix.lower() == ".parquet":
        from judgekit.pairfile.parquet import parquet_records

        return parquet_records(path)
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return csv_records(path) if plain.suffix.lower() == ".csv" else json_records(path)


def json_records(path):
    """Rows of JSON lines; blank lines are skipped."""
    for number, text in decoded_lines(path):
        if text.strip(" \t\r\n"):
            yield Place(path, number), json_fields(text.rstrip("\r\n"), Place(path, number))


def json_fields(text, place):
    """One JSON object."""
    if text.lstrip().startswith("["):
        raise place.error("begins a JSON array, not an object: write one object per line (jq -c '.[]' does it)")
    try:
        value = json.loads(text, object_pairs_hook=Fields)
    except json.JSONDecodeError as bad:
        hint = "; write one whole object per line" if bad.pos >= len(text.rstrip()) else ""
        raise place.error(f"column {bad.colno}: not JSON ({bad.msg}){hint}") from None
    except RecursionError:
        raise place.error("not JSON that can be read (nested too deeply)") from None
    except ValueError as bad:  # a number of thousands of digits
        raise place.error(f"not JSON that can be read ({bad})") from None
    return json_object(value, place)


def json_object(value, place):
    """A JSON value that must be an object whose names are all different."""
    if not isinstance(value, Fields):
        raise place.error(f"is {kind_of(value)}, not an object with the fields of a row")
    if value.repeated is not None:
        raise place.error("stands twice in this row", value.repeated)
    return value


def csv_records(path):
    """Rows of a CSV file; a row's line is the one it begins in."""
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        reader = csv.reader((text for _, text in decoded_lines(path)), strict=True)
        header = None
        while True:
            place = Place(path, reader.line_num + 1)
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as bad:
                raise place.error(f"not CSV ({bad})") from None
            if not cells:
                continue
            if header is None:
                header = csv_header(cells, place)
            else:
                yield place, csv_fields(header, cells, place)
    finally:
        csv.field_size_limit(before)


def csv_header(cells, place):
    """Names of the columns, each once."""
    names = Fields((name.strip(), None) for name in cells)
    if names.repeated is not None:
        raise place.error("stands twice in the header", names.repeated)
    return list(names)


def csv_fields(header, cells, place):
    """One CSV row; an empty optional cell is an absent field."""
    if len(cells) != len(header):
        raise place.error(f"has {len(cells)} columns, but the header has {len(header)} ({names_of(header)})")
    filled = zip(header, cells, strict=True)
    return Fields((name, cell) for name, cell in filled if cell or name not in OPTIONAL)


def decoded_lines(path):
    """Lines of a UTF-8 file, gzipped or not, as (number, text with its line end)."""
    offset = 0
    try:
        with opened(path) as stream:
            for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE + 1), b""), 1):
                if len(line) > LONGEST_LINE:  # some kilobytes of gzip can hold gigabytes
                    raise Place(path, number).error(f"is longer than {LONGEST_LINE >> 20} MiB: no row of texts")
                yield number, decoded(line, offset, Place(path, number))
                offset += len(line)
    except (gzip.BadGzipFile, EOFError, zlib.error) as bad:
        raise Place(path).error(f"is no gzip file, or a damaged one ({bad})") from None
    except OSError as bad:  # in the middle of the file
        raise Place(path).error(f"cannot be read ({bad.strerror or bad})") from None


def opened(path):
    """The bytes of a file, gunzipped where its name ends in ``.gz``; what cannot be opened is told in one sentence."""
    try:
        if path.is_char_device():  # /dev/zero never ends a line
            raise Place(path).error("is a device, not a file of rows")
        return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else open(path, "rb")
    except FileNotFoundError:
        raise Place(path).error("there is no such file") from None
    except IsADirectoryError:
        raise Place(path).error("is a folder, not a file") from None
    except OSError as bad:
        raise Place(path).error(f"cannot be read ({bad.strerror or bad})") from None


def decoded(line, offset, place):
    """One line as text; what is not text is named by its byte offset in the (uncompressed) file."""
    if offset == 0:
        if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise place.error("is UTF-16 text (byte offset 0): save the file as UTF-8")
        if line.startswith(b"\x1f\x8b"):
            raise place.error("is not UTF-8 text but gzip data (byte offset 0): let the file's name end in .gz")
        if line.startswith(codecs.BOM_UTF8):
            return decoded(line[len(codecs.BOM_UTF8) :], len(codecs.BOM_UTF8), place)
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as bad:
        found = f"0x{line[bad.start]:02x} at byte offset {offset + bad.start}"
        raise place.error(f"is not UTF-8 text ({found}): save the file as UTF-8") from None
    if "\0" in text:
        raise place.error(f"holds a NUL byte in column {text.index(chr(0)) + 1}: not text (in JSON, write \\u0000)")
    return text
