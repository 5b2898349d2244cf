"""A Parquet file as rows of named fields."""

from judgekit.pairfile.lines import Fields, opened
from judgekit.pairfile.places import Place

READ_ROWS = 1024  # rows decoded at a time
BUFFER = 1 << 20  # bytes read ahead per column: a whole row group is never held


def parquet_records(path):
    """Rows as (Place, Fields); the first row is row 1.

    Raises
    ------
    PairFileError
        If the file cannot be opened, is no Parquet file, is damaged, or has two columns of one name.
    """
    import pyarrow
    from pyarrow.parquet import ParquetFile

    with opened(path) as stream:
        try:
            table = ParquetFile(stream, buffer_size=BUFFER, pre_buffer=False)
        except (pyarrow.ArrowException, OSError) as bad:
            raise Place(path).error(f"is no Parquet file, or a damaged one ({first_line(bad)})") from None
        if (repeated := Fields((name, None) for name in table.schema_arrow.names).repeated) is not None:
            raise Place(path).error("stands twice among the columns", repeated)
        number = 0
        batches = table.iter_batches(READ_ROWS, use_threads=False)
        while True:
            try:
                rows = next(batches).to_pylist()
            except StopIteration:
                return
            except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as bad:
                raise Place(path, number + 1, "row").error(f"or one after it is damaged ({first_line(bad)})") from None
            for row in rows:
                number += 1
                yield Place(path, number, "row"), Fields(row.items())


def first_line(error):
    """A foreign message, cut to its first line."""
    return str(error).partition("\n")[0][:200]
