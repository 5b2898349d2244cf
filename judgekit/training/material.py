"""What an encoder judge is trained on and chosen by."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from judgekit.records import PreferencePair, Response
from judgekit.training.bank import AnswerBank, make_bank, meant_for, share_of
from judgekit.training.constructed import BESIDE, KINDS, constructed_pairs
from judgekit.training.features import FeatureTable, feature_table
from judgekit.training.targets import check_disjoint, sources_with_ties

if TYPE_CHECKING:
    from judgekit.models.encoder import TextEncoder

CALIBRATION = 0.15  # share of the training questions that the encoder does not see, for the gate
PER_SOURCE = 60  # questions of one source per kind of constructed pair


@dataclass(frozen=True)
class Material:
    """The data of a training run."""

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

    def calibration_pairs(self, limit: int | None = None) -> list[PreferencePair]:
        """Training pairs of the questions that the encoder does not see; a limit takes the same ones each time."""
        questions = {self.bank.questions[i] for i in self.parts["calibration"]}
        natural = [pair for pair in self.train if pair.asked in questions]
        return sorted(natural, key=lambda pair: share_of(pair.item_id, "natural"))[:limit]

    def constructed(
        self,
        part: str,
        kinds: Sequence[str] = tuple(BESIDE),
        seed: int | Sequence[int] = 0,
        limit: int | None = None,
        per_question: int = 1,
    ) -> list[PreferencePair]:
        """Constructed pairs of some kinds, about at most ``limit`` questions of a part in all.

        No source gives more than `PER_SOURCE` questions to a kind: sums, whose numbers show at once which response is
        meant for which, would otherwise be nearly half of what misleads.
        """
        options: dict[str, Any] = {
            "per_question": per_question,
            "limit": limit and limit // len(kinds),
            "per_source": PER_SOURCE,
        }
        made = [constructed_pairs(kind, self.bank, self.parts[part], seed, **options) for kind in kinds]
        return [pair for pairs in made for pair in pairs]


def parts_of(bank: AnswerBank, training: Collection[str], validation: Collection[str]) -> dict[str, np.ndarray]:
    """Indices of a bank's questions: ``train`` for the encoder, ``calibration`` for the gate, and ``validation``.

    A question of both parts counts as validation.
    """
    training, validation = set(training), set(validation)
    found: dict[str, list[int]] = {"train": [], "calibration": [], "validation": []}
    for i, question in enumerate(bank.questions):
        if question in validation:
            found["validation"].append(i)
        elif question in training:
            found["calibration" if share_of(question) < CALIBRATION else "train"].append(i)
    return {name: np.array(indices, int) for name, indices in found.items()}


def make_material(
    train: Sequence[PreferencePair],
    shares: dict[str, float],
    validation: dict[str, list[PreferencePair]],
    encoder: "TextEncoder",
    answers: Iterable[Response] = (),
    held_out_answers: Iterable[Response] = (),
    per_kind: int = 1000,
    bf16: bool = False,
) -> Material:
    """The material of pairs and single responses: the bank, its parts, and constructed pairs.

    ``encoder``: the base model. ``shares``: of the mixture, for each source of ``train``, and for kinds of constructed
    pairs (`judgekit.training.constructed.KINDS`), which are then made about ``per_kind`` training questions each.
    ``answers``, ``held_out_answers``: single responses of the training and of the validation part. ValueError if a
    validation prompt is also a training prompt, or a validation set is empty.
    """
    check_disjoint(train, validation)
    held_out = [pair for pairs in validation.values() for pair in pairs]
    of_validation = meant_for(held_out, held_out_answers)
    of_training = meant_for(train, answers)
    bank = make_bank(of_training | of_validation, encoder, bf16=bf16)
    parts = parts_of(bank, of_training, of_validation)
    asked = np.concatenate([parts["train"], parts["calibration"]])
    kinds = [name for name in shares if name in KINDS]
    made = [pair for kind in kinds for pair in constructed_pairs(kind, bank, asked, [3], limit=per_kind)]
    return Material([*train, *made], shares, validation, bank, parts)
