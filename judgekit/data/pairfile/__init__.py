"""Users' own preference pairs and single responses, read from JSON lines, CSV or Parquet.

Whatever is wrong with a file is told in one sentence that names the file, the line and the field. Nothing in a text is
ever interpreted: it is read, judged and forgotten.
"""

from judgekit.data.pairfile.places import PairFileError
from judgekit.data.pairfile.rows import (
    PairRow,
    ResponseRow,
    checked_responses,
    iterate_pair_rows,
    read_pair_rows,
    read_pairs,
    read_response_rows,
    repeated_id,
)

__all__ = [
    "PairFileError",
    "PairRow",
    "ResponseRow",
    "checked_responses",
    "iterate_pair_rows",
    "read_pair_rows",
    "read_pairs",
    "read_response_rows",
    "repeated_id",
]
