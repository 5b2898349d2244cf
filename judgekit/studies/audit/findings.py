"""What an audit finds, one record each, in the form that the table, the file and the report share."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import pandas as pd

from judgekit.records import PreferencePair
from judgekit.stats import Number

KINDS = {
    "text": "texts",
    "repeat": "repeats",
    "contradiction": "contradictions",
    "overlap": "overlap",
    "artefact": "artefacts",
    "people": "disagreement",
    "label": "label errors",
    "clustering": "clustering",
    "code": "evaluation code",
}
EXAMPLES = 8  # ids that a table names; clean_labels.csv.gz holds them all


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is odd about a set.

    ValueError where the kind is unknown, or the count is not within n.
    """

    set: str
    kind: str  # a key of `KINDS`
    name: str  # for result keys: ``audit.<set>.<name>.count`` and so on
    what: str  # in a few words, for the table
    count: int  # how many of how many; facts about a published file, hence without an interval
    n: int
    effect: Number | None = None  # what it does, with its interval
    effect_on: str = ""  # what the effect is an effect on, in a few words
    examples: Sequence[str] = ()  # ids of all items that show it, kept as a tuple; tables name the first few

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.set}: a finding of kind {self.kind!r}, which is none of {', '.join(KINDS)}")
        if not 0 <= self.count <= self.n:
            raise ValueError(f"{self.set}: {self.name} has {self.count} of {self.n}")
        object.__setattr__(self, "examples", tuple(self.examples))

    @property
    def share(self) -> float:
        """``count / n``, in [0, 1]."""
        return self.count / self.n if self.n else 0.0


def finding_of_items(
    pairs: Sequence[PreferencePair], kind: str, name: str, what: str, odd: Collection[str]
) -> list[Finding]:
    """A finding that some items of a set are odd (``odd``: their ids), or nothing where none is."""
    found = [pair.item_id for pair in pairs if pair.item_id in odd]
    return [Finding(pairs[0].benchmark, kind, name, what, len(found), len(pairs), examples=found)] if found else []


def finding_table(findings: Iterable[Finding]) -> pd.DataFrame:
    """Findings as a table, a row each, by kind and set.

    Columns set, kind, finding, what, count, n, share, effect, low, high, effect_on, examples (ids, with blanks).
    """
    rows = []
    for one in findings:
        effect = one.effect or Number(0)
        known = one.effect is not None
        rows.append(
            {
                "set": one.set,
                "kind": KINDS[one.kind],
                "finding": one.name,
                "what": one.what,
                "count": one.count,
                "n": one.n,
                "share": one.share,
                "effect": effect.value if known else None,
                "low": effect.low if known else None,
                "high": effect.high if known else None,
                "effect_on": one.effect_on,
                "examples": " ".join(one.examples[:EXAMPLES]),
            }
        )
    order = list(KINDS.values())
    table = pd.DataFrame(rows)
    return table.sort_values("kind", key=lambda kinds: kinds.map(order.index), kind="stable").reset_index(drop=True)


def finding_numbers(findings: Sequence[Finding]) -> dict[str, Number]:
    """The numbers of findings, by result key; ValueError where two findings of a set share a name."""
    numbers = {"audit.findings.count": Number(len(findings))}
    for one in findings:
        key = f"audit.{one.set}.{one.name}"
        if f"{key}.count" in numbers:
            raise ValueError(f"{key} is found twice")
        numbers[f"{key}.count"] = Number(one.count, n=one.n)
        numbers[f"{key}.share"] = Number(one.share, n=one.n, spec=".1%")
        if one.effect is not None:
            numbers[f"{key}.effect"] = one.effect
    return numbers


def summary_table(findings: Iterable[Finding], tests: Collection[str] = ()) -> list[dict[str, Any]]:
    """One row for every kind of finding: in how many sets it was made, and the set with the largest share.

    Rows for `judgekit.report.save_table`: kind, finding, sets, most in (the set with the largest share; the rest is
    its), items, of, %, effect (a `Number`), on. ``tests``: sets that go before others as the one that is shown.
    """
    groups: dict[tuple[str, str], list[Finding]] = {}
    for one in findings:
        if one.kind != "overlap":
            groups.setdefault((one.kind, one.name), []).append(one)
    rows = []
    for (kind, _), group in sorted(groups.items(), key=lambda item: list(KINDS).index(item[0][0])):
        worst = max(group, key=lambda one: (one.set in tests, one.share))
        rows.append(
            {
                "kind": KINDS[kind],
                "finding": worst.what,
                "sets": len(group),
                "most in": worst.set,
                "items": worst.count,
                "of": worst.n,
                "%": Number(worst.share, spec=".1%"),
                "effect": worst.effect,
                "on": worst.effect_on,
            }
        )
    return rows


def effect_rows(findings: Sequence[Finding], sets: Collection[str]) -> pd.DataFrame:
    """Effects that are differences in points, for `judgekit.figures.audit.plot_effects_by_kind`, of some sets.

    Columns kind, row, effect, low, high, by kind.
    """
    drawn = [
        (KINDS[one.kind], f"{one.set}: {one.name.replace('_', ' ')}", *astuple(one.effect)[:3])
        for kind in KINDS
        for one in findings
        if one.kind == kind and one.set in sets and one.effect is not None and re.fullmatch(r"\+\.\d%", one.effect.spec)
    ]
    return pd.DataFrame(drawn, columns=["kind", "row", "effect", "low", "high"])
