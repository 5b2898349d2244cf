"""From rated responses to a rater: states and labels by cell (set, aspect, head), estimates, and probes to keep."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from judgekit.data.loading import text_key
from judgekit.data.progress import progress_over
from judgekit.inside import probes as probing
from judgekit.inside.probes import Head, NestedResult, Space
from judgekit.inside.rating import Rater
from judgekit.inside.representations import inputs_of, rated_text
from judgekit.inside.saved_probes import saved_probe
from judgekit.judges.surface import surface_features, words_of
from judgekit.records import Response
from judgekit.stats import Array, interval, spearman

if TYPE_CHECKING:
    from judgekit.models.states import StateReader

Ratings = Mapping[str, Mapping[str, Sequence[Response]]]  # set to aspect to responses
Results = dict[tuple[str, str, str, str], NestedResult]  # by set, aspect, head and method
TITLES = {"gsm8k": "GSM8K", "gpqa": "GPQA", "alpacaeval": "AlpacaEval"}  # of rated sets, as printed
SAVED = {"binary": ("logistic",), "five": ("logistic",), "ordinal": ("ordinal",)}  # families that can be kept
_STEP = 64  # texts read at a time
_POOLINGS = ("mean", "last")  # that probes of one's own may choose from
_LEAST = {"binary": 15, "five": 5, "ordinal": 5}  # items that the rarest class must have: fewer say nothing
_SPECS = {"weighted_f1": ".1%", "macro_f1": ".1%", "accuracy": ".1%", "spearman": ".2f"}


@dataclass(frozen=True)
class Cell:
    """``features``: by kind, shape (n_items, n_layers, width); ``labels``: of the head; ``groups``: questions."""

    set: str
    aspect: str
    head: Head
    features: dict[str, np.ndarray]
    labels: np.ndarray
    groups: np.ndarray

    @property
    def name(self) -> tuple[str, str, str]:
        return self.set, self.aspect, self.head.name


def read_states(ratings: Ratings, reader: "StateReader", poolings: Sequence[str]) -> dict[str, dict[str, np.ndarray]]:
    """States of all rated texts, each read once: text to pooling to states of shape (n_layers, width).

    Always there: ``length``, shape (1, 2), logarithms of one plus the characters, and the words, of the response, and
    ``looks``, shape (1, n_features), its surface features.
    """
    items = [item for aspects in ratings.values() for items in aspects.values() for item in items]
    asked = {rated_text(item.question, item.response): (item.question, item.response) for item in items}
    ordered, states = sorted(asked, key=lambda text: (len(text), text)), {}
    batches = [ordered[start : start + _STEP] for start in range(0, len(ordered), _STEP)]
    for batch in progress_over(batches, "reading", "batch"):
        read = reader.read(batch, tuple(poolings))
        for row, text in enumerate(batch):
            question, response = asked[text]
            known = {"length": np.log1p([[len(response), len(words_of(response))]])}
            known["looks"] = np.array([surface_features(question, response)])
            states[text] = {name: read[name][row] for name in poolings} | known
    return states


def cells_of(
    ratings: Ratings, states: Mapping[str, Mapping[str, np.ndarray]], heads: Iterable[str]
) -> tuple[list[Cell], dict[tuple[str, str, str], str]]:
    """Cells of a study, and why others (set, aspect, head) are left out: too few items of a class.

    Scores of 0 and 1 are labels of the binary head already. ValueError where an item has no score.
    """
    cells, skipped = [], {}
    for name, aspects in ratings.items():
        for aspect, items in aspects.items():
            rows = [states[rated_text(item.question, item.response)] for item in items]
            features = {kind: np.stack([row[kind] for row in rows]) for kind in rows[0]}
            scores: list[Any] = [item.score for item in items]
            if None in scores:
                raise ValueError(f"{items[scores.index(None)].where}: no score")
            groups = np.array([item.cluster for item in items])
            for head in (probing.HEADS[head] for head in heads):
                good = head.name == "binary" and not set(scores) <= {0, 1}
                labels = (np.array(scores) >= probing.GOOD if good else np.rint(scores)).astype(int)
                counts = Counter(labels.tolist())
                rarest = min(counts.get(label, 0) for label in head.classes)
                if rarest < _LEAST[head.name]:
                    skipped[name, aspect, head.name] = f"{rarest} of {len(items)} items in the rarest class"
                else:
                    cells.append(Cell(name, aspect, head, features, labels, groups))
    return cells, skipped


def metric_table(cells: Sequence[Cell], results: Results, n_boot: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Every metric of every method on every cell: columns set, aspect, head, method, metric, number and its parts.

    Questions are resampled; that other training sets would have given other probes is not in the interval.
    """
    by_name, rows = {cell.name: cell for cell in cells}, []
    for (*name, method), result in results.items():
        cell = by_name[name[0], name[1], name[2]]
        counts = probing.class_counts(cell.labels, result.predicted, cell.head.classes)
        measures: dict[str, tuple[Any, Array]] = {metric: (rate, counts) for metric, rate in probing.METRICS.items()}
        measures["spearman"] = partial(spearman, cell.labels, result.scores), None
        for metric, (measure, values) in measures.items():
            more: Any = {"spec": _SPECS[metric], "signed": metric == "spearman", "n_boot": n_boot, "seed": seed}
            number = interval(measure, cell.groups, values, **more)
            about = {"set": name[0], "aspect": name[1], "head": name[2], "method": method, "metric": metric}
            rows.append(about | {"number": number} | vars(number))
    return pd.DataFrame(rows)


def fit_rater(
    cells: Sequence[Cell],
    table: pd.DataFrame,
    reader: "StateReader",
    poolings: Sequence[str],
    seed: int = 0,
    method: str = "linear",
) -> Rater:
    """Probes of all aspects of a set for one head, called ``<set>-<head>``, each chosen and fitted on all its items.

    ``cells``: of one set and head. ``table``: of `metric_table`; its estimates of ``method`` go beside the probes.
    """
    name, _, head = cells[0].name
    own: Any = table[(table["set"] == name) & (table["head"] == head) & (table["method"] == method)]
    space, probes = Space(families=SAVED[head]), {}
    for cell in cells:
        estimate = {row.metric: row.number.row() for row in own[own["aspect"] == cell.aspect].itertuples()}
        features = {pooling: cell.features[pooling] for pooling in poolings}
        choice = probing.choose_probe(features, cell.labels, cell.groups, cell.head, space, seed)
        fitted = probing.fit_choice(choice, features, cell.labels, space, seed)
        about = {"estimate": estimate, "setting": choice.setting, "n": len(cell.labels)}
        about["questions"] = len(set(cell.groups))
        inputs = inputs_of(reader, choice.features, choice.layers)
        probes[cell.aspect] = saved_probe(fitted, choice.family, inputs, about)
    return Rater(f"{name}-{head}", probes, {"set": name, "head": head})


def fit_probes(
    rows: Sequence[Mapping[str, Any]], aspects: Sequence[str], head: str = "binary", base: str = "minilm"
) -> tuple[Rater, pd.DataFrame]:
    """A rater fitted on one's own ratings (for `judgekit.inside.rating.save_rater`), and estimates of its probes.

    The estimates (`metric_table`) are by nested cross-validation, of ``linear`` (the probes' own procedure) and of
    ``majority``. ``rows``: with ``question``, ``response`` and a whole score from 1 to 5 (or 0 and 1) per aspect; a
    score of None is left out. ``head``: ``binary`` (4 and 5 are good), ``five`` or ``ordinal``. ``base``: the frozen
    model. ValueError where a row lacks a field, or an aspect has too few ratings.
    """
    from judgekit.models.states import StateReader

    ratings = {"own": {aspect: _rated_items(rows, aspect) for aspect in aspects}}
    reader = StateReader(base)
    cells, skipped = cells_of(ratings, read_states(ratings, reader, _POOLINGS), (head,))
    if skipped:
        (_, aspect, _), why = next(iter(skipped.items()))
        raise ValueError(f"aspect {aspect!r}: {why}: too few to fit a probe")
    results: Results = {}
    for cell in cells:
        features = {pooling: cell.features[pooling] for pooling in _POOLINGS}
        for method, families in (("linear", SAVED[head]), ("majority", ("majority",))):
            space = Space(families=families)
            results[*cell.name, method] = probing.nested_probe(features, cell.labels, cell.groups, cell.head, space)
    table = metric_table(cells, results)
    return fit_rater(cells, table, reader, _POOLINGS), table


def _rated_items(rows: Sequence[Mapping[str, Any]], aspect: str) -> list[Response]:
    """The rows that have a score of an aspect, as responses."""
    items = []
    for number, row in enumerate(rows):
        if missing := [field for field in ("question", "response", aspect) if field not in row]:
            raise ValueError(f"row {number}: field {missing[0]!r} is missing")
        if row[aspect] is None or row["response"] is None:
            continue
        if not isinstance(row[aspect], int) or not 0 <= row[aspect] <= 5:
            raise ValueError(f"row {number}: field {aspect!r} is {row[aspect]!r}, not a whole score from 0 to 5")
        about: Any = {"benchmark": "own", "cluster_id": text_key(row["question"]), "source": f"rows:{number}"}
        items.append(Response(str(number), row["question"], row["response"], score=float(row[aspect]), **about))
    if not items:
        raise ValueError(f"aspect {aspect!r}: no row has a score")
    if 0 in (scores := {item.score for item in items}) and scores - {0, 1}:
        raise ValueError(f"aspect {aspect!r} has scores of 0 and others than 1: a scale is 1 to 5, or 0 and 1")
    return items
