"""The authored sample: preference pairs and rated responses whose better response is known by construction.

They were drawn once from templates with fixed seeds (`judgekit/data/sample` of commit 13db883). Four sets of pairs over
ten task families: ``sample_train`` and ``sample_validation``, two thirds ordinary pairs, a fifth whose worse response
carries a distractor, the rest ties; ``sample_natural``, ordinary test pairs, one in eight a tie, the better response
mildly the longer one; ``sample_adversarial``, test pairs with a distractor, no ties.

``subset`` is the task family of an ordinary pair and the distractor of the others; ``item_id`` begins with the family
in both. A question belongs to one set and may serve several pairs (``cluster_id``). ``label`` is the truth; ``votes``
(all sets but training) come from the simulated panel of `annotators` and err as it does.
"""

import json
from importlib import resources
from typing import Any, NamedTuple

from judgekit.records import PreferencePair, Response, unique_items

SAMPLE_SETS = ("sample_train", "sample_validation", "sample_natural", "sample_adversarial")
# Simulated writers of responses, and how probably one answers rightly, before pairs are selected for their label.
ASSISTANTS = {
    "sample-careful": 0.92,
    "sample-steady": 0.75,
    "sample-verbose": 0.62,
    "sample-terse": 0.50,
    "sample-hasty": 0.30,
}


class Annotator(NamedTuple):
    """One simulated annotator and the true parameters of its votes.

    A reader judges the responses; the biased ones read only part of the time: ``length`` else votes for the longer
    response, ``position`` votes A; a ``spammer`` never reads, and votes a label at random.
    """

    name: str  # the key in ``PreferencePair.votes``
    kind: str  # reader, length, position or spammer
    accuracy: float  # probability of voting the truth when reading; errors are even over the two other labels
    bias: float = 0.0  # probability of not reading


def annotators() -> list[Annotator]:
    """The panel behind the votes, with its true parameters: best reader first, the spammer last."""
    readers = [Annotator(f"annotator-{n}", "reader", p) for n, p in enumerate((0.97, 0.92, 0.86, 0.78, 0.62), 1)]
    return [
        *readers,
        Annotator("annotator-6", "length", 0.88, 0.5),
        Annotator("annotator-7", "position", 0.88, 0.4),
        Annotator("annotator-8", "spammer", 1 / 3, 1.0),
    ]


def load_sample(name: str) -> list[PreferencePair]:
    """One of `SAMPLE_SETS`, the same pairs in the same order at every call, families mixed and sides balanced.

    >>> pairs = load_sample("sample_natural")
    >>> len(pairs), sum(pair.label == "tie" for pair in pairs)
    (160, 20)
    """
    if name not in SAMPLE_SETS:
        raise ValueError(f"no sample set {name!r}; there are {', '.join(SAMPLE_SETS)}")
    fields: dict[str, Any] = {"benchmark": name, "label_kind": "authored"}
    rows = enumerate(_document(name))
    pairs = [PreferencePair(**row, **fields, source=f"judgekit.data.sample:{name}:{number}") for number, row in rows]
    return unique_items(pairs)


def load_sample_ratings() -> dict[str, list[Response]]:
    """Rated responses of the sample by aspect, balanced over the scores 1 to 5.

    ``factuality``: right with its working (5), right (4), a part or a slip (3), wrong (2), off-topic (1).
    ``informativeness``: all of the way in order (5), all of it (4), a sentence (3), the bare answer (2), none (1).
    """
    return {
        aspect: unique_items([Response(**row, benchmark="sample", label_kind="authored") for row in rows])
        for aspect, rows in _document("ratings").items()
    }


def _document(name: str) -> Any:
    return json.loads(resources.files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8"))
