"""A user's pairs for commands that hold them all."""

from collections import Counter

from judgekit.cli.messages import BAD_INPUT, Stop
from judgekit.cli.running import loaded_judge
from judgekit.pairfile import PairFileError, read_pair_rows


def read_rows(path):
    """The rows of a file of pairs; whatever is wrong with it is bad input."""
    try:
        return read_pair_rows(path)
    except PairFileError as bad:
        raise Stop(BAD_INPUT, str(bad)) from None


def judge_for(name, rows, settings):
    """The judge of a name, for these rows."""
    labels = Counter(row.pair.label for row in rows if row.pair.label is not None)
    return loaded_judge(name, labels, rows[0].place, settings)
