"""The records that every part exchanges: preference pairs, single responses, replies (by position), verdicts (by item).

A `Reply` stands in the store under what was shown, whichever item that was; a `Verdict` is of one item.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from statistics import multimode
from typing import Any, TypeAlias, TypeVar

LABELS = ("A", "B", "tie")
ORDERS = ("ab", "ba")
POSITIONS = ("first", "second", "tie", None)  # what the verdict of a reply may be
STATUSES = ("ok", "unparsed", "ambiguous", "error")
LABEL_KINDS = ("human", "gpt-4", "model", "objective", "authored", "missing")  # missing: a response is not there
SWAPPED: dict[Any, Any] = {"A": "B", "B": "A", "first": "second", "second": "first", "tie": "tie", None: None}


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier exchange of a conversation: the question and what each side had answered."""

    question: str
    response_a: str
    response_b: str


class Item:
    """What pairs and single responses have in common."""

    __slots__ = ()
    item_id: str
    benchmark: str
    cluster_id: str
    label_kind: str
    source: str

    @property
    def where(self) -> str:
        """Words for an error message: the set, the item and the row it came from."""
        return f"{self.benchmark}/{self.item_id}" + (f" ({self.source})" if self.source else "")

    @property
    def cluster(self) -> str:
        """What uncertainty is clustered by: the prompt, or the item alone where the set names no prompts."""
        return self.cluster_id or self.item_id

    @property
    def responses(self) -> tuple[str, ...]:
        """The texts that are judged."""
        raise NotImplementedError

    def _check_fields(self, *texts: str) -> None:
        """Refuse fields that must be text and are not, and an unknown ``label_kind``."""
        for name in texts:
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{self.where}: {name} is {type(getattr(self, name)).__name__}, not text")
        if self.label_kind and self.label_kind not in LABEL_KINDS:
            raise ValueError(f"{self.where}: label_kind {self.label_kind!r} is not one of {', '.join(LABEL_KINDS)}")


@dataclass(frozen=True, slots=True)
class PreferencePair(Item):
    """A question with two responses, and what people (or the construction) say about them."""

    item_id: str  # unique within the set
    benchmark: str  # the set's name, such as ``"pandalm"``
    question: str
    response_a: str  # an empty response is a response
    response_b: str
    subset: str = ""  # part of the set: a scenario, a task family
    cluster_id: str = ""  # the prompt: pairs that share one are not independent, so uncertainty is clustered by it
    reference: str | None = None  # a reference response
    turns: tuple[Turn, ...] = ()  # earlier ones, oldest first
    model_a: str | None = None  # who wrote the response
    model_b: str | None = None
    label: str | None = None  # "A", "B" or "tie"; None where there is none, or only votes without a majority
    votes: dict[str, str] = field(default_factory=dict)  # annotator to label
    soft_label: float | None = None  # probability in [0, 1] that the annotator gives to A, where it is graded
    label_kind: str = ""  # who or what the label comes from: one of LABEL_KINDS, or empty
    source: str = ""  # file and row that the pair was read from

    def __post_init__(self) -> None:
        self._check_fields("item_id", "benchmark", "question", "response_a", "response_b", "subset", "cluster_id")
        if not self.item_id:
            raise ValueError(f"{self.where}: item_id is empty")
        for label in (self.label, *self.votes.values()):
            if label is not None and label not in LABELS:
                raise ValueError(f"{self.where}: label {label!r} is not one of A, B, tie")
        if self.soft_label is not None and not 0 <= self.soft_label <= 1:
            raise ValueError(f"{self.where}: soft_label {self.soft_label} is not in [0, 1]")

    @property
    def responses(self) -> tuple[str, ...]:
        """Both responses, A first."""
        return self.response_a, self.response_b

    @property
    def asked(self) -> str:
        """Every user turn so far, as one text: what judges that read a single question are shown."""
        return "\n\n".join([*(turn.question for turn in self.turns), self.question])

    def swapped(self) -> "PreferencePair":
        """The same pair with A and B exchanged everywhere: responses, models, label, votes, earlier turns."""
        return replace(
            self,
            response_a=self.response_b,
            response_b=self.response_a,
            model_a=self.model_b,
            model_b=self.model_a,
            label=SWAPPED[self.label],
            votes={annotator: SWAPPED[label] for annotator, label in self.votes.items()},
            soft_label=None if self.soft_label is None else 1 - self.soft_label,
            turns=tuple(Turn(turn.question, turn.response_b, turn.response_a) for turn in self.turns),
        )


@dataclass(frozen=True, slots=True)
class Response(Item):
    """One response to a question, for judges that rate single responses and for training what answers what.

    Fields as in `PreferencePair`, and: ``score`` on the set's own scale; ``model``, who wrote the response
    (``"writer"`` for a person); ``label_kind``, of the score. Earlier turns have the same response on both sides.
    """

    item_id: str
    question: str
    response: str
    reference: str | None = None
    score: float | None = None
    source: str = ""
    benchmark: str = ""
    cluster_id: str = ""
    turns: tuple[Turn, ...] = ()
    model: str | None = None
    label_kind: str = ""

    def __post_init__(self) -> None:
        self._check_fields("item_id", "question", "response")

    @property
    def responses(self) -> tuple[str, ...]:
        """The response, as `PreferencePair.responses` gives two."""
        return (self.response,)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a judge answered to a pair as shown, in terms of first and second: the record of the verdict store.

    Fields as in `Verdict`, by position (``"first"``, ``"second"``, ``"tie"``; ValueError where the verdict is no such);
    ``raw`` is the reply as received, or the error. A call that serves both orders counts with the first.
    """

    verdict: str | None
    p_first: float | None = None
    p_second: float | None = None
    p_tie: float | None = None
    score_first: float | None = None
    score_second: float | None = None
    status: str = "ok"
    raw: str | None = None
    prompt_version: str | None = None
    tokens_in: int | None = None  # of all calls made for this reply
    tokens_out: int | None = None
    seconds: float | None = None
    truncated: int | None = None
    calls: int | None = None
    earlier: str | None = None  # what the model wrote in the calls before the last, as JSON
    shared: str | None = None  # texts of calls that other requests may put, too, by what was asked, as JSON

    def __post_init__(self) -> None:
        if self.verdict not in POSITIONS:
            wanted = "a reply's verdict is 'first' or 'second' as shown, 'tie' or None"
            raise ValueError(f"a judge replied {self.verdict!r}: {wanted}")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's verdict on a pair shown in one order, in the item's own A and B whatever the order shown.

    ValueError where verdict, order and status do not go together: there is a verdict exactly where status is ``ok``.
    """

    item_id: str
    judge: str  # provider/model
    order: str  # which response was shown first: "ab" or "ba"
    verdict: str | None  # "A", "B" or "tie"
    p_a: float | None = None  # probabilities in [0, 1] that sum to one; None when the judge gives none
    p_b: float | None = None
    p_tie: float | None = None
    score_a: float | None = None  # of the single responses, on the judge's own scale
    score_b: float | None = None
    status: str = "ok"  # one of STATUSES; only "ok" counts as a verdict
    raw: str | None = None  # the reply as received
    prompt_version: str | None = None  # hash of the prompt template
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: float | None = None  # this verdict's share of its batch
    truncated: int | None = None  # characters left out, or responses cut, as too long; None or 0 where it saw all
    calls: int | None = None  # of a model, made for this verdict

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise ValueError(f"{self.item_id}: order {self.order!r} is not 'ab' or 'ba'")
        if self.status not in STATUSES:
            raise ValueError(f"{self.item_id}: status {self.status!r} is not one of {', '.join(STATUSES)}")
        if (self.verdict is not None) != (self.status == "ok"):
            raise ValueError(f"{self.item_id}: verdict {self.verdict!r} does not go with status {self.status!r}")
        if self.verdict is not None and self.verdict not in LABELS:
            raise ValueError(f"{self.item_id}: verdict {self.verdict!r} is not one of A, B, tie")


AnyItem = TypeVar("AnyItem", bound=Item)
Pairs: TypeAlias = Sequence[PreferencePair]


def majority_label(votes: dict[str, str]) -> str | None:
    """The label more annotators gave than any other, or None when there is no such label.

    >>> majority_label({"ann": "A", "bob": "tie", "cat": "A"}), majority_label({"ann": "A", "bob": "B"})
    ('A', None)
    """
    labels = multimode(votes.values())
    return labels[0] if len(labels) == 1 else None


def label_of_gap(gap: float) -> str:
    """The label that says by how much A is better.

    >>> label_of_gap(0.5), label_of_gap(-0.5), label_of_gap(0)
    ('A', 'B', 'tie')
    """
    return "tie" if gap == 0 else "A" if gap > 0 else "B"


def unique_items(items: Iterable[AnyItem]) -> list[AnyItem]:
    """The items as a list; ValueError names the first repeated item_id and both rows."""
    seen: dict[str, AnyItem] = {}
    for item in items:
        if item.item_id in seen:
            raise ValueError(f"{item.where}: item_id also stands at {seen[item.item_id].where}")
        seen[item.item_id] = item
    return list(seen.values())


def with_counts(items: Iterable[AnyItem], report: dict[str, int]) -> tuple[list[AnyItem], dict[str, int]]:
    """The unique items of a set, and ``items`` and ``empty_responses`` (items with one) before its loader's counts."""
    items = unique_items(items)
    empty = sum(not all(text.strip() for text in item.responses) for item in items)
    return items, {"items": len(items), "empty_responses": empty, **report}


def fingerprint_of(*parts: Any) -> str:
    """SHA-256 over JSON-able parts, the usual way to make a fingerprint."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
