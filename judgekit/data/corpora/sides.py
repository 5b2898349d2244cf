"""Which response of a corpus pair is A."""

from judgekit.data.sources import heads


def keeps_sides(corpus, item_id):
    """Whether an item keeps the sides of its file: a fair coin that is a hash of its name."""
    return heads(f"{corpus}:{item_id}")


def place(pair):
    """The pair as it is or with its sides exchanged, as `keeps_sides` says.

    Corpora list the better response, or the baseline's, on a fixed side; a judge trained on that would learn the
    side instead of the quality.
    """
    return pair if keeps_sides(pair.benchmark, pair.item_id) else pair.swapped()
