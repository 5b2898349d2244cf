"""The authored sample: preference pairs whose better response is known by construction.

Everything is made by code from fixed seeds: nothing is downloaded, and every record is the same on every
machine. Ten task families, four sets:

- ``sample_train``, ``sample_validation``: 68 % ordinary pairs with a better response, 20 % with a distractor,
  12 % ties (in validation 67, 20 and 13 %).
- ``sample_natural``: ordinary test pairs, right against wrong or complete against incomplete; one in eight is
  a tie of two right or two wrong responses. The better response is, mildly, the longer one.
- ``sample_adversarial``: test pairs whose worse response carries a distractor; no ties.

``subset`` is the task family of an ordinary pair and the distractor of the others; ``item_id`` begins with
the family in both. A question belongs to one set only and may serve several pairs (``cluster_id``).
``label`` is the truth; ``votes`` (all sets but training) come from the simulated panel of `annotators` and
err as it does.
"""

from functools import lru_cache

from judgekit.data.sample.annotators import Annotator, annotators
from judgekit.data.sample.assistants import ASSISTANTS
from judgekit.data.sample.distractors import DISTRACTORS
from judgekit.data.sample.families import FAMILIES
from judgekit.data.sample.pairs import MIXTURE, make_set
from judgekit.records import PreferencePair, unique_items

__all__ = ["ASSISTANTS", "DISTRACTORS", "FAMILIES", "SAMPLE_SETS", "Annotator", "annotators", "load_sample"]

SAMPLE_SETS = tuple(MIXTURE)


def load_sample(name: str) -> list[PreferencePair]:
    """One of `SAMPLE_SETS`, the same pairs in the same order at every call, families mixed and sides balanced.

    >>> pairs = load_sample("sample_natural")
    >>> len(pairs), sum(pair.label == "tie" for pair in pairs)
    (160, 20)
    """
    if name not in MIXTURE:
        raise ValueError(f"no sample set {name!r}; there are {', '.join(SAMPLE_SETS)}")
    return list(_cached_set(name))


@lru_cache(maxsize=len(MIXTURE))
def _cached_set(name: str) -> tuple[PreferencePair, ...]:
    return tuple(unique_items(make_set(name)))
