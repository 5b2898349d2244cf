"""The mixture that an encoder judge is trained on: cleaned pairs, single responses, constructed pairs, shares."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judgekit.data.cleaning.texts import wordings
from judgekit.models.encoder import TextEncoder
from judgekit.models.files import model_files
from judgekit.records import Pairs, PreferencePair, Response, fingerprint_of
from judgekit.stats import Floats
from judgekit.training.bank import AnswerBank, make_bank, meant_for, share_of
from judgekit.training.constructed import KINDS, constructed_pairs
from judgekit.training.features import FeatureTable, feature_table, sources_with_ties

_CALIBRATION = 0.15  # share of the training questions that the encoder does not see, for the gate
_PER_SOURCE = 60  # questions of one source per kind of constructed pair
_PER_KIND = 1000  # training questions per kind of constructed pair in the mixture


def source_weights(pairs: Sequence[PreferencePair], shares: Mapping[str, float]) -> Floats:
    """A weight per pair so that each source's total is its share (mean weight 1); ValueError if one has no share."""
    counts = Counter(pair.benchmark for pair in pairs)
    if unknown := sorted(set(counts) - set(shares)):
        raise ValueError(f"no share of the mixture is given for {', '.join(unknown)}")
    total = sum(shares[name] for name in counts)
    return np.array([shares[p.benchmark] / total * len(pairs) / counts[p.benchmark] for p in pairs])


def select_split(
    split: pd.DataFrame, pairs: Mapping[str, Sequence[Any]], part: str, by_set: bool = False, limit: int | None = None
) -> Any:
    """The list of pairs, or a dictionary by set, that the split of ``10_clean_preferences`` puts in a part.

    ``limit``: pairs per set at most, spread evenly over the table. ValueError if the data changed since cleaning.
    """
    chosen, own = {}, split[split["split"] == part]
    for name in sorted(own["benchmark"].unique()):  # as groups are: in the order of their names
        wanted = own.loc[own["benchmark"] == name, "item_id"].tolist()
        if limit is not None and len(wanted) > limit:
            wanted = [wanted[i * len(wanted) // limit] for i in range(limit)]
        by_id = {pair.item_id: pair for pair in pairs[name]}
        if missing := [item for item in wanted if item not in by_id]:
            raise ValueError(f"{name} has no item {missing[0]!r} ({len(missing)} in all): clean the data again")
        chosen[name] = [by_id[item] for item in wanted]
    return chosen if by_set else [pair for name in chosen for pair in chosen[name]]


@dataclass(frozen=True)
class Material:
    """The data of a training run of the encoder judge."""

    train: list  # pairs for the preference part; constructed pairs among them
    shares: dict  # of the mixture, for each source of ``train``
    validation: dict  # set to its pairs
    bank: AnswerBank  # of all training and validation questions
    parts: dict  # indices of the bank's questions: train for the encoder, calibration for the gate, validation

    @cached_property
    def features(self) -> FeatureTable:
        """Surface features of the training pairs."""
        return feature_table(self.train)

    @cached_property
    def tied(self) -> frozenset[str]:
        """Names of the sets whose annotators could say tie."""
        held_out = [pair for pairs in self.validation.values() for pair in pairs]
        return frozenset(sources_with_ties(self.train) | sources_with_ties(held_out))

    def constructed(
        self, part: str, kinds: Sequence[str], seed: int | Sequence[int], limit: int | None, per_question: int = 1
    ) -> list[PreferencePair]:
        """Constructed pairs of some kinds, about at most ``limit`` questions of a part in all, sixty of one source."""
        # Sums, whose numbers show at once which response is meant for which, would else be nearly half of them.
        given = (per_question, limit and limit // len(kinds), _PER_SOURCE)
        return [pair for kind in kinds for pair in constructed_pairs(kind, self.bank, self.parts[part], seed, *given)]


def parts_of(bank: AnswerBank, training: Collection[str], validation: Collection[str]) -> dict[str, np.ndarray]:
    """Indices of a bank's questions: ``train`` for the encoder, ``calibration`` for the gate, and ``validation``."""
    indices_of: dict[str, list[int]] = {"train": [], "calibration": [], "validation": []}
    for i, question in enumerate(bank.questions):
        if question in validation:
            indices_of["validation"].append(i)
        elif question in training:
            indices_of["calibration" if share_of(question) < _CALIBRATION else "train"].append(i)
    return {name: np.array(indices, int) for name, indices in indices_of.items()}


def make_material(
    train: Sequence[PreferencePair],
    shares: dict[str, float],
    validation: dict[str, list[PreferencePair]],
    encoder: TextEncoder,
    answers: Iterable[Response] = (),
    held_out_answers: Iterable[Response] = (),
    bf16: bool = False,
) -> Material:
    """The material of pairs and single responses (``answers``).

    ``encoder``: the base model. ``shares``: of the mixture, for each source of ``train``, and for kinds of constructed
    pairs (`judgekit.training.constructed.KINDS`), which are then made about a thousand training questions each.
    """
    held_out = [pair for pairs in validation.values() for pair in pairs]
    check_disjoint(train, held_out)
    if empty := [name for name, pairs in validation.items() if not pairs]:
        raise ValueError(f"validation set {empty[0]} is empty")
    of_training, of_validation = meant_for(train, answers), meant_for(held_out, held_out_answers)
    bank = make_bank(of_training | of_validation, encoder, bf16=bf16)
    parts = parts_of(bank, of_training, of_validation)
    asked = np.concatenate([parts["train"], parts["calibration"]])
    kinds = [name for name in shares if name in KINDS]
    made = [pair for kind in kinds for pair in constructed_pairs(kind, bank, asked, [3], limit=_PER_KIND)]
    return Material([*train, *made], shares, validation, bank, parts)


def check_disjoint(train: Iterable[PreferencePair], validation: Iterable[PreferencePair]) -> None:
    """ValueError if a validation prompt is also a training prompt."""
    asked = set[str]().union(*(wordings(pair.asked) for pair in train))
    if leaks := [pair for pair in validation if wordings(pair.asked) & asked]:
        raise ValueError(f"{leaks[0].where}: this validation prompt is also a training prompt")


def base_key(base: str) -> Any:
    """What tells a base model from others: its name, or the digest of a folder's files, which may change."""
    return model_files(base).digest if Path(base).is_dir() else base


def pairs_key(pairs: Pairs) -> str:
    """What tells pairs from others, or from the same ones before a change: ids, texts and labels, in their order."""
    texts = [(pair.benchmark, pair.item_id, repr(pair.turns), pair.question, pair.responses) for pair in pairs]
    return fingerprint_of(texts, [(pair.label, pair.soft_label, pair.label_kind) for pair in pairs])
