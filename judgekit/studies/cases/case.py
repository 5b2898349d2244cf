"""What a case is: a pair that a rule chose, what everybody says of it, and what stands behind that."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from judgekit.judges.surface import words_of
from judgekit.records import LABELS, PreferencePair
from judgekit.studies.cases.dissection import Dissection
from judgekit.studies.cases.edits import changed_words


@dataclass(frozen=True)
class Said:
    """What one judge says of a pair, as in `judgekit.studies.cases.verdict_table`."""

    judge: str
    ab: str | None
    ba: str | None
    verdict: str | None
    p_a: float | None
    p_b: float | None
    p_tie: float | None


@dataclass(frozen=True)
class Case:
    """A pair that a rule chose, what judges say of it, and what stands behind that; the last four: of an attack."""

    name: str  # ``<kind>_<place>``: names its files and keys
    kind: str  # the rule
    set: str  # or part of one
    judge: str  # that it was chosen for
    strength: float  # by which the rule ranked it
    pair: PreferencePair
    said: tuple  # `Said` of every judge that saw the pair
    dissection: Dissection  # of the judge that is taken apart, on the pair as it is
    attack: str | None = None  # the edit, where the case is an attack
    edited: PreferencePair | None = None  # the pair that the attack made
    after: Said | None = None  # what the judge that was attacked says of it
    edited_dissection: Dissection | None = None

    @property
    def own(self) -> Said:
        """What the judge says that the case was chosen for."""
        return next(one for one in self.said if one.judge == self.judge)

    @property
    def words(self) -> tuple[int, ...]:
        """Words of the two responses."""
        return tuple(len(words_of(text)) for text in self.pair.responses)

    @property
    def votes(self) -> tuple[int, ...]:
        """Number of people's votes for A, for B and for a tie."""
        counts = Counter(self.pair.votes.values())
        return tuple(counts[label] for label in LABELS)

    def saying(self, verdict: str | None) -> list[str]:
        """Slugs of the judges with a verdict (or None: without any)."""
        return [one.judge for one in self.said if one.verdict == verdict]

    @property
    def flipped(self) -> list[str]:
        """Slugs of the judges that prefer the other response once the two are exchanged."""
        return [one.judge for one in self.said if {one.ab, one.ba} == {"A", "B"}]

    @property
    def edit_size(self) -> tuple[int, ...] | None:
        """Words that the attack removed and added; None where nothing was edited."""
        if self.edited is None:
            return None
        texts = zip(self.pair.responses, self.edited.responses, strict=True)
        return tuple(map(sum, zip(*(changed_words(*both) for both in texts), strict=True)))


def said_by(rows: pd.DataFrame) -> tuple[Said, ...]:
    """The rows of one pair as `Said`, judges in the order of the table."""
    fields = list(Said.__dataclass_fields__)
    values = ({name: row[name] for name in fields} for row in rows.to_dict("records"))
    return tuple(Said(**{name: None if value != value else value for name, value in one.items()}) for one in values)  # type: ignore[arg-type] # cells of a frame


def make_case(
    choice: Mapping[str, Any],
    pair: PreferencePair,
    table: pd.DataFrame,
    dissection: Dissection,
    edited: PreferencePair | None = None,
    after: pd.DataFrame | None = None,
    edited_dissection: Dissection | None = None,
) -> Case:
    """A case from a choice (a row of `judgekit.studies.cases.choose_cases`) and what belongs to it.

    ``table``: verdicts of all sets, as `judgekit.studies.cases.verdict_table`; ``edited``: what an attack made of the
    pair, with ``after``, a table of the verdicts on it, and ``edited_dissection``. ValueError where the pair is not the
    one chosen, nobody judged it, or the judge it was chosen for did not.
    """
    if pair.item_id != choice["item_id"]:
        raise ValueError(f"{choice['name']} is item {choice['item_id']}, not {pair.item_id}")
    said = said_by(table[(table["set"] == choice["set"]) & (table["item_id"] == pair.item_id)])
    if choice["judge"] not in {one.judge for one in said}:
        raise ValueError(f"{pair.where}: {choice['judge']} did not judge it, and the case was chosen for it")
    fields = {name: choice[name] for name in ("name", "kind", "set", "judge", "strength")}
    if edited is None:
        return Case(**fields, pair=pair, said=said, dissection=dissection)
    (then,) = said_by(after)  # type: ignore[arg-type] # it comes with the edited pair
    return Case(
        **fields,
        pair=pair,
        said=said,
        dissection=dissection,
        attack=choice["attack"],
        edited=edited,
        after=then,
        edited_dissection=edited_dissection,
    )
