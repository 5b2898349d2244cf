"""What `70_case_studies` is made of: the table that its rules read, the choice, and verdicts taken apart.

The score of a surface model is linear in standardised features, so that a difference of two is a sum of pushes, one for
each feature: ``score_a - score_b = sum_k w_k (z_ak - z_bk)``.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import Match, SequenceMatcher
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from judgekit.judges.base import Judge, Request, request_of
from judgekit.judges.features import SurfaceModel
from judgekit.judges.gate import gate_features, gated, relevance_inputs, relevance_of, sigmoid
from judgekit.judges.surface import FEATURES, words_of
from judgekit.records import LABELS, ORDERS, PreferencePair, Verdict
from judgekit.scoring.comparison import Contest
from judgekit.scoring.protocols import joined_verdict
from judgekit.stats import Array, outcome_probabilities

if TYPE_CHECKING:
    from judgekit.bias.attacks import Suite

COLUMNS = "set item_id cluster label n_votes unanimous judge ab ba verdict p_a p_b p_tie".split()
GIVEN = COLUMNS[6:]  # of these, what one judge gave
CANDIDATE = ["kind", "set", "item_id", "cluster", "judge", "strength"]

# ---------------------------------------------------------------- the table and the choice


def verdict_table(contest: Contest) -> pd.DataFrame:
    """A row for each judge and pair of a contest, judges in its order.

    Columns set, item_id, cluster, label, n_votes, unanimous (what all people say, where they agree), judge, ab and ba
    (the verdict in each order, in the item's own A and B), verdict (of both orders: a tie where they differ; of one
    where the judge saw one), p_a, p_b, p_tie (means over the orders; NaN where none are stated). None where there is
    nothing.
    """
    rows = []
    for judge, verdicts in contest.verdicts.items():
        shown: dict[str, dict[str, Verdict]] = {}
        for verdict in verdicts:
            shown.setdefault(verdict.item_id, {})[verdict.order] = verdict
        for pair in contest.pairs:
            votes = list(pair.votes.values())
            people = (pair.label, len(votes), votes[0] if len(set(votes)) == 1 else None)
            given = _given(shown.get(pair.item_id, {}))
            rows.append((contest.name, pair.item_id, pair.cluster, *people, judge, *given))
    table = pd.DataFrame(rows, columns=COLUMNS, dtype=object)  # so that None stays None
    return table.astype({"n_votes": int, "p_a": float, "p_b": float, "p_tie": float})


def _given(shown: Mapping[str, Verdict]) -> tuple[Any, ...]:
    """Verdict in either order and in both, and the mean probabilities, of one judge on one pair."""
    ab, ba = (shown[order].verdict if order in shown else None for order in ORDERS)
    verdict = joined_verdict(ab, ba, "any") if len(shown) == len(ORDERS) else ab or ba
    stated = [(v.p_a, v.p_b, v.p_tie or 0.0) for v in shown.values() if v.p_a is not None and v.p_b is not None]
    return ab, ba, verdict, *(np.mean(stated, axis=0) if stated else [np.nan] * 3)


def ranked(kind: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Candidates of a kind, the strongest first; where two are as strong, the set's name and then the item's id decide.

    ``rows``: set, item_id, cluster, judge, strength (rounded, so that the last digit of a sum decides nothing), more.
    """
    found = rows.assign(kind=kind, strength=rows["strength"].astype(float).round(9))
    found = found.assign(item_id=found["item_id"].astype(str))
    found = found.sort_values(["strength", "set", "item_id"], ascending=[False, True, True], kind="stable")
    return found[[*CANDIDATE, *(name for name in rows.columns if name not in CANDIDATE)]].reset_index(drop=True)


def choose_cases(candidates: Sequence[pd.DataFrame], n: int) -> pd.DataFrame:
    """The cases: of each kind the strongest, the best of every set before the second of any, no prompt twice.

    Columns of `CANDIDATE`, ``attack`` (None where nothing was edited), and ``name`` (``<kind>_<rank>``).
    ``candidates``: as `ranked`, earlier kinds choose first; ``n``: cases of a kind at most.
    """
    chosen, taken = [], set()
    for found in candidates:
        found = found.drop_duplicates(["set", "cluster"])
        free = [key not in taken for key in zip(found["set"], found["cluster"], strict=True)]
        found = found[pd.Series(free, index=found.index, dtype=bool)]
        found = found.assign(round=found.groupby("set", sort=False).cumcount())
        order = ["round", "strength", "set", "item_id"]
        found = found.sort_values(order, ascending=[True, False, True, True], kind="stable").head(n)
        taken |= set(zip(found["set"], found["cluster"], strict=True))
        for rank, row in enumerate(found.to_dict("records"), 1):
            last = {"attack": row.get("attack"), "name": f"{row['kind']}_{rank}"}
            chosen.append({name: row[name] for name in CANDIDATE} | last)
    table = pd.DataFrame(chosen, columns=[*CANDIDATE, "attack", "name"], dtype=object)  # so that None stays None
    return table.astype({"strength": float})


# ---------------------------------------------------------------- edits


def changed_words(before: str, after: str) -> tuple[int, int]:
    """Words that an edit removed and added.

    >>> changed_words("It may rain today.", "It will surely rain today.")
    (1, 2)
    """
    shared = sum(block.size for block in _shared_words(before, after))
    return len(before.split()) - shared, len(after.split()) - shared


def _shared_words(before: str, after: str) -> list[Match]:
    return SequenceMatcher(None, before.split(), after.split(), autojunk=False).get_matching_blocks()


def added_text(before: str, after: str) -> str:
    """What an edit added, its positions divided by an ellipsis.

    >>> added_text("It may rain today.", "Sure! It will surely rain today.")
    'Sure! … will surely'
    """
    pieces, end, words = [], 0, after.split()
    for block in _shared_words(before, after):
        pieces += [" ".join(words[end : block.b])] if block.b > end else []
        end = block.b + block.size
    return " … ".join(pieces)


def edit_size(before: PreferencePair, after: PreferencePair) -> tuple[int, int]:
    """Words that an edit of a pair removed and added."""
    changes = [changed_words(*texts) for texts in zip(before.responses, after.responses, strict=True)]
    return sum(removed for removed, _ in changes), sum(added for _, added in changes)


def attack_table(
    outcomes: pd.DataFrame, pairs: Sequence[PreferencePair], suite: "Suite", before: pd.DataFrame
) -> pd.DataFrame:
    """The attacks that turned a judge in both orders: set, item_id, cluster, judge, attack, strength, removed, added.

    ``strength``: how sure it had been of the better response, 0 where it states nothing; ``removed``, ``added``: words.
    ``outcomes``: of one judge (`judgekit.bias.attacks.AttackReport.outcomes`); ``pairs``: those attacked, as they were;
    ``before``: the judge's rows of `verdict_table` on their set.
    """
    by_id, own, rows = {pair.item_id: pair for pair in pairs}, before.set_index("item_id"), []
    turned = outcomes[["lost_ab", "lost_ba", "won_ab", "won_ba"]].astype(bool).all(axis=1)
    for item, attack in outcomes.loc[turned, ["item_id", "attack"]].itertuples(index=False):
        pair, given = by_id[item], own.loc[item]
        sure = given[f"p_{str(pair.label).lower()}"]
        who = (given["set"], item, pair.cluster, given["judge"], attack, 0.0 if np.isnan(sure) else sure)
        rows.append((*who, *edit_size(pair, suite.attacked(pair, attack))))
    names = ["set", "item_id", "cluster", "judge", "attack", "strength", "removed", "added"]
    return pd.DataFrame(rows, columns=names)


# ---------------------------------------------------------------- a verdict taken apart


@dataclass(frozen=True)
class Dissection:
    """What stands behind a verdict; the last three are None without a gate."""

    judge: str  # slug
    pushes: dict[str, float]  # feature to what it adds to the score of A less that of B, their sum
    by_features: tuple[float, ...]  # probabilities of A, B and tie before any gate
    relevance: tuple[float, ...] | None = None  # log odds that A, and that B, was meant for the question
    off_topic: float | None = None  # probability that one of the two is, in [0, 1]
    behind_gate: tuple[float, ...] | None = None  # probabilities of A, B and tie

    @property
    def favoured(self) -> str:
        """The response that its features favour, ``"A"`` or ``"B"``."""
        return "A" if sum(self.pushes.values()) >= 0 else "B"

    def strongest(self, side: str, n: int = 3) -> list[tuple[str, float]]:
        """The features that speak most for a side: at most ``n`` pairs of name and size of the push (above 0)."""
        sign = 1 if side == "A" else -1
        found = sorted(((sign * push, name) for name, push in self.pushes.items()), key=lambda one: (-one[0], one[1]))
        return [(name, push) for push, name in found[:n] if push > 0]

    def turning(self) -> list[str]:
        """The fewest features, largest pushes first, without which the other response would be ahead; [] if none."""
        left, names = abs(sum(self.pushes.values())), []
        for name, push in self.strongest(self.favoured, len(self.pushes)):
            names.append(name)
            left -= push
            if left < 0:
                return names
        return []


def dissect(judge: Judge, pair: PreferencePair, name: str) -> Dissection:
    """A judge's verdict on a pair taken apart; ``name``: the judge's slug.

    ``judge``: ``baseline/features`` or an encoder judge. TypeError where it has no surface model: then its score is not
    a sum of features.
    """
    models = [getattr(judge, part, None) for part in ("surface", "model")]
    model = next((model for model in models if isinstance(model, SurfaceModel)), None)
    if model is None:
        raise TypeError(f"{judge.name} has no surface model to take apart: choose baseline/features or an encoder")
    request = request_of(pair, "ab")
    sides = model.sides(request)
    first, second = model.standardised(sides)
    pushes = (first - second) * model.parts["weight"]
    score_a, score_b, log_nu = model.compare(request, sides)
    before = outcome_probabilities(score_a - score_b, log_nu)
    named = dict(zip(FEATURES, pushes.tolist(), strict=True))
    return Dissection(name, named, tuple(before.tolist()), **_at_gate(judge, request, before))


def _at_gate(judge: Any, request: Request, before: Array) -> dict[str, Any]:
    """Relevance, the chance that a response is off-topic, and the probabilities behind the gate."""
    parts = getattr(judge, "config", {}).get("gate")
    if not parts:
        return {}
    keys = [("question", request.asked), ("response", request.first), ("response", request.second)]
    encoded = judge.encode(sorted(set(keys)))
    asked, *texts = (np.asarray(encoded[key][0], np.float32)[None] for key in keys)
    first, second = (
        relevance_of(relevance_inputs(asked, text, judge.others), judge.config["relevance"]) for text in texts
    )
    likeness = (texts[0] * texts[1]).sum(-1)
    off = sigmoid(gate_features(first, second, likeness) @ np.asarray(parts["weight"]) + parts["bias"])
    behind = gated(before[None], first, second, likeness, parts)[0]
    odds = (float(first[0]), float(second[0]))
    return {"relevance": odds, "off_topic": float(off[0]), "behind_gate": tuple(behind.tolist())}


# ---------------------------------------------------------------- a case


@dataclass(frozen=True)
class Case:
    """A pair that a rule chose, what judges say of it, and what stands behind that; the last four: of an attack."""

    name: str  # ``<kind>_<rank>``: names its files and keys
    kind: str  # the rule
    set: str  # or part of one
    judge: str  # that it was chosen for
    strength: float  # by which the rule ranked it
    pair: PreferencePair
    verdicts: tuple[Any, ...]  # rows of `GIVEN` of every judge that saw the pair
    dissection: Dissection  # of the judge that is taken apart, on the pair as it is
    attack: str | None = None
    edited: PreferencePair | None = None
    after: Any = None  # what the judge that was attacked says of it
    edited_dissection: Dissection | None = None

    @property
    def own(self) -> Any:
        """What the judge says that the case was chosen for."""
        return next(one for one in self.verdicts if one.judge == self.judge)

    @property
    def words(self) -> tuple[int, ...]:
        """Words of the two responses."""
        return tuple(len(words_of(text)) for text in self.pair.responses)

    @property
    def votes(self) -> tuple[int, ...]:
        """Number of people's votes for A, for B and for a tie."""
        counts = Counter(self.pair.votes.values())
        return tuple(counts[label] for label in LABELS)

    def judges_for(self, verdict: str | None) -> list[str]:
        """Slugs of the judges with a verdict (or None: without any)."""
        return [one.judge for one in self.verdicts if one.verdict == verdict]

    @property
    def flipped(self) -> list[str]:
        """Slugs of the judges that prefer the other response once the two are exchanged."""
        return [one.judge for one in self.verdicts if {one.ab, one.ba} == {"A", "B"}]


def make_case(
    choice: Mapping[str, Any], pair: PreferencePair, table: pd.DataFrame, dissection: Dissection, **attacked: Any
) -> Case:
    """A case from a choice (a row of `choose_cases`), its pair, and the verdicts of all sets (`verdict_table`).

    ``attacked``: edited, after (its row of `verdict_table`) and edited_dissection, where an attack made a pair of it.
    ValueError where the pair is not the one chosen, or the judge it was chosen for did not judge it.
    """
    if pair.item_id != choice["item_id"]:
        raise ValueError(f"{choice['name']} is item {choice['item_id']}, not {pair.item_id}")
    given = _rows_of(table[(table["set"] == choice["set"]) & (table["item_id"] == pair.item_id)])
    if choice["judge"] not in {one.judge for one in given}:
        raise ValueError(f"{pair.where}: {choice['judge']} did not judge it, and the case was chosen for it")
    fields = {name: choice[name] for name in ("name", "kind", "set", "judge", "strength")}
    if attacked:
        (attacked["after"],) = _rows_of(attacked["after"])
        attacked["attack"] = choice["attack"]
    return Case(**fields, pair=pair, verdicts=given, dissection=dissection, **attacked)


def _rows_of(table: pd.DataFrame) -> tuple[Any, ...]:
    rows = table[GIVEN].astype(object)
    return tuple(rows.where(rows.notna(), None).itertuples(index=False, name="Given"))
