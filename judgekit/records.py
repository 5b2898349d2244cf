"""The records that every part exchanges: preference pairs, single responses and verdicts."""

from collections import Counter
from dataclasses import asdict, dataclass, field, replace

LABELS = ("A", "B", "tie")
ORDERS = ("ab", "ba")
STATUSES = ("ok", "unparsed", "ambiguous", "error")
LABEL_KINDS = ("human", "gpt-4", "model", "objective", "authored")
SWAPPED = {"A": "B", "B": "A", "tie": "tie", None: None}


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier exchange of a conversation: the question and what each side had answered."""

    question: str
    response_a: str
    response_b: str


class Item:
    """What pairs and single responses have in common."""

    __slots__ = ()

    @property
    def where(self):
        """Words for an error message: the set, the item and the row it came from."""
        return f"{self.benchmark}/{self.item_id}" + (f" ({self.source})" if self.source else "")

    @property
    def cluster(self):
        """What uncertainty is clustered by: the prompt, or the item alone where the set names no prompts."""
        return self.cluster_id or self.item_id

    def check_fields(self, *texts):
        """Refuse fields that must be text and are not, and an unknown ``label_kind``."""
        for name in texts:
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{self.where}: {name} is {type(getattr(self, name)).__name__}, not text")
        if self.label_kind and self.label_kind not in LABEL_KINDS:
            raise ValueError(f"{self.where}: label_kind {self.label_kind!r} is not one of {', '.join(LABEL_KINDS)}")


@dataclass(frozen=True, slots=True)
class PreferencePair(Item):
    """A question with two responses, and what people (or the construction) say about them.

    Attributes
    ----------
    item_id : str
        Unique within the set.
    benchmark : str
        Name of the set, e.g. ``"pandalm"`` or ``"alpaca_eval"``.
    question, response_a, response_b : str
        The pair. An empty response is a response.
    subset : str
        Part of the set: a scenario, a category, a task family; empty when there are none.
    cluster_id : str
        Identifies the prompt. Pairs that share a prompt are not independent, so uncertainty is clustered by it.
    reference : str or None
        A reference response, where the set has one.
    turns : tuple of Turn
        Earlier turns, oldest first; empty for one-turn pairs.
    model_a, model_b : str or None
        Who wrote the responses.
    label : {"A", "B", "tie"} or None
        The reference label; None where there is none (or only votes without a majority).
    votes : dict of str to str
        Annotator to label, for sets that keep single votes.
    soft_label : float or None
        Probability in [0, 1] the annotator gives to A, where it is graded.
    label_kind : {"human", "gpt-4", "model", "objective", "authored"} or ""
        Who or what the label comes from.
    source : str
        File and row the pair was read from.
    """

    item_id: str
    benchmark: str
    question: str
    response_a: str
    response_b: str
    subset: str = ""
    cluster_id: str = ""
    reference: str | None = None
    turns: tuple[Turn, ...] = ()
    model_a: str | None = None
    model_b: str | None = None
    label: str | None = None
    votes: dict[str, str] = field(default_factory=dict)
    soft_label: float | None = None
    label_kind: str = ""
    source: str = ""

    def __post_init__(self):
        self.check_fields("item_id", "benchmark", "question", "response_a", "response_b", "subset", "cluster_id")
        if not self.item_id:
            raise ValueError(f"{self.where}: item_id is empty")
        for label in (self.label, *self.votes.values()):
            if label is not None and label not in LABELS:
                raise ValueError(f"{self.where}: label {label!r} is not one of A, B, tie")
        if self.soft_label is not None and not 0 <= self.soft_label <= 1:
            raise ValueError(f"{self.where}: soft_label {self.soft_label} is not in [0, 1]")

    @property
    def responses(self):
        """Both responses, A first."""
        return self.response_a, self.response_b

    @property
    def asked(self):
        """Every user turn so far, as one text: what judges that read a single question are shown."""
        return "\n\n".join([*(turn.question for turn in self.turns), self.question])

    def swapped(self):
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

    Attributes
    ----------
    item_id : str
        Unique within the set.
    question, response : str
    reference : str or None
        A reference response, where the set has one.
    score : float or None
        On the set's own scale, where it has one.
    source : str
        File and row the response was read from.
    benchmark : str
        Name of the set, as in `PreferencePair`.
    cluster_id : str
        Identifies the prompt.
    turns : tuple of Turn
        Earlier turns, oldest first, with the same response on both sides.
    model : str or None
        Who wrote the response, where it is known (``"writer"`` for a person).
    label_kind : {"human", "gpt-4", "model", "objective", "authored"} or ""
        Who or what says that the response is a good one, or gave the score; empty when nobody did.
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

    def __post_init__(self):
        self.check_fields("item_id", "question", "response")

    @property
    def responses(self):
        """The response, as `PreferencePair.responses` gives two."""
        return (self.response,)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge said of a pair shown in one order, told in the item's own A and B.

    Attributes
    ----------
    item_id, judge : str
        The pair and the judge (``provider/model``).
    order : {"ab", "ba"}
        Which response was shown first.
    verdict : {"A", "B", "tie"} or None
        In the item's own order whatever the order shown; None unless status is ``ok``.
    p_a, p_b, p_tie : float or None
        Probabilities in [0, 1] that sum to one; None when the judge gives none.
    score_a, score_b : float or None
        Scores of the single responses, on the judge's own scale.
    status : {"ok", "unparsed", "ambiguous", "error"}
        Only ``ok`` counts as a verdict.
    raw : str or None
        The reply as received.
    prompt_version : str or None
        Hash of the prompt template.
    tokens_in, tokens_out : int or None
    seconds : float or None
        Time this verdict took (its share of the batch).
    truncated : int or None
        Characters of the responses that the judge was not shown because they were too long; None where it saw all.
    calls : int or None
        Calls of a model made for this verdict.
    """

    item_id: str
    judge: str
    order: str
    verdict: str | None
    p_a: float | None = None
    p_b: float | None = None
    p_tie: float | None = None
    score_a: float | None = None
    score_b: float | None = None
    status: str = "ok"
    raw: str | None = None
    prompt_version: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: float | None = None
    truncated: int | None = None
    calls: int | None = None

    def __post_init__(self):
        if self.order not in ORDERS:
            raise ValueError(f"{self.item_id}: order {self.order!r} is not 'ab' or 'ba'")
        if self.status not in STATUSES:
            raise ValueError(f"{self.item_id}: status {self.status!r} is not one of {', '.join(STATUSES)}")
        if (self.verdict is not None) != (self.status == "ok"):
            raise ValueError(f"{self.item_id}: verdict {self.verdict!r} does not go with status {self.status!r}")
        if self.verdict is not None and self.verdict not in LABELS:
            raise ValueError(f"{self.item_id}: verdict {self.verdict!r} is not one of A, B, tie")


def majority_label(votes, default=None):
    """The label more annotators gave than any other, or ``default`` when there is no such label.

    Examples
    --------
    >>> majority_label({"ann": "A", "bob": "tie", "cat": "A"})
    'A'
    >>> majority_label({"ann": "A", "bob": "B"}) is None
    True
    """
    counts = Counter(votes.values()).most_common(2)
    if not counts or (len(counts) == 2 and counts[0][1] == counts[1][1]):
        return default
    return counts[0][0]


def label_of_gap(gap, margin=0):
    """The label that says how two quantities compare.

    Parameters
    ----------
    gap : float
        By how much A is better.
    margin : float, at least 0
        Gaps that are no wider are a tie.

    Examples
    --------
    >>> label_of_gap(0.5), label_of_gap(-0.5), label_of_gap(0.5, margin=1)
    ('A', 'B', 'tie')
    """
    return "tie" if abs(gap) <= margin else "A" if gap > 0 else "B"


def unique_items(pairs):
    """The items as a list, after checking that no item_id occurs twice.

    Raises
    ------
    ValueError
        Names the first repeated item and both rows.
    """
    seen = {}
    for pair in pairs:
        if pair.item_id in seen:
            raise ValueError(f"{pair.where}: item_id also stands at {seen[pair.item_id].where}")
        seen[pair.item_id] = pair
    return list(seen.values())


def named_by_set(pair):
    """A pair whose item and prompt are named after its set, so that pairs of several sets may be pooled.

    Examples
    --------
    >>> pair = named_by_set(PreferencePair("7", "autoj", "Why?", "So.", "Thus.", cluster_id="p"))
    >>> pair.item_id, pair.cluster
    ('autoj/7', 'autoj/p')
    """
    return replace(pair, item_id=f"{pair.benchmark}/{pair.item_id}", cluster_id=f"{pair.benchmark}/{pair.cluster}")


def with_counts(items, report):
    """The items of a set, checked to be unique, with the counts that every set reports and those of its own.

    Parameters
    ----------
    items : iterable of PreferencePair or of Response
    report : dict of str to int
        What its loader skipped or repaired.

    Returns
    -------
    items : list
    report : dict of str to int
        ``items`` and ``empty_responses`` (items with at least one empty response) before the given counts.

    Raises
    ------
    ValueError
        If two items share an id.
    """
    items = unique_items(items)
    empty = sum(not all(text.strip() for text in item.responses) for item in items)
    return items, {"items": len(items), "empty_responses": empty, **report}


def to_rows(records):
    """Records as plain dictionaries, for a table or JSON lines."""
    return [asdict(record) for record in records]
