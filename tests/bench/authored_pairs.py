"""Any number of authored pairs as a file, JSON lines or Parquet: ``python tests/bench/authored_pairs.py 1000000 OUT``.

The sample's pairs in turn, each with a number of its own in question and responses, so that no text comes twice and
nothing can be remembered instead of judged. Labels are those of the sample.
"""

import json
import sys
from itertools import islice

from judgekit.data.sample import SAMPLE_SETS, load_sample

GROUP = 10_000  # rows of a Parquet row group


def authored_rows(count):
    """The first ``count`` rows of an endless file."""
    pairs = [pair for name in SAMPLE_SETS for pair in load_sample(name)]
    for number in range(count):
        pair = pairs[number % len(pairs)]
        yield {
            "id": number,
            "question": f"Case {number}. {pair.question}",
            "response_a": f"{pair.response_a} ({number})",
            "response_b": f"{pair.response_b} ({number})",
            "label": pair.label,
        }


def write_authored(path, count):
    rows = authored_rows(count)
    if not str(path).endswith(".parquet"):
        with open(path, "w", encoding="utf-8") as stream:
            stream.writelines(json.dumps(row) + "\n" for row in rows)
        return
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    texts = [(name, pa.string()) for name in ("question", "response_a", "response_b", "label")]
    with ParquetWriter(path, schema := pa.schema([("id", pa.int64()), *texts])) as writer:
        while group := list(islice(rows, GROUP)):
            writer.write_table(pa.Table.from_pylist(group, schema))


if __name__ == "__main__":
    write_authored(sys.argv[2], int(sys.argv[1]))
