"""What an encoder judge is trained on and chosen by."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from judgekit.training.bank import AnswerBank, make_bank, meant_for, share_of
from judgekit.training.constructed import BESIDE, KINDS, constructed_pairs
from judgekit.training.features import feature_table
from judgekit.training.targets import check_disjoint, sources_with_ties

CALIBRATION = 0.15  # share of the training questions that the encoder does not see, for the gate
PER_SOURCE = 60  # questions of one source per kind of constructed pair


@dataclass(frozen=True)
class Material:
    """The data of a training run.

    Attributes
    ----------
    train : list of PreferencePair
        For the preference part; constructed pairs among them.
    shares : dict of str to float
        Share of the mixture of each source of ``train``.
    validation : dict of str to list of PreferencePair
    bank : AnswerBank
        Of all training and validation questions.
    parts : dict of str to array of int
        The bank's questions: ``train`` for the encoder, ``calibration`` for the gate, ``validation``.
    """

    train: list
    shares: dict
    validation: dict
    bank: AnswerBank
    parts: dict

    @cached_property
    def features(self):
        """Surface features of the training pairs."""
        return feature_table(self.train)

    @cached_property
    def tied(self):
        """Names of the sets whose annotators could say tie."""
        held_out = [pair for pairs in self.validation.values() for pair in pairs]
        return frozenset(sources_with_ties(self.train) | sources_with_ties(held_out))

    def calibration_pairs(self, limit=None):
        """Training pairs of the questions that the encoder does not see; a limit takes the same ones each time."""
        questions = {self.bank.questions[i] for i in self.parts["calibration"]}
        natural = [pair for pair in self.train if pair.asked in questions]
        return sorted(natural, key=lambda pair: share_of(pair.item_id, "natural"))[:limit]

    def constructed(self, part, kinds=tuple(BESIDE), seed=0, limit=None, per_question=1):
        """Constructed pairs of some kinds, about at most ``limit`` questions of a part in all.

        No source gives more than `PER_SOURCE` questions to a kind: sums, whose numbers show at once which response is
        meant for which, would otherwise be nearly half of what misleads.
        """
        options = {"per_question": per_question, "limit": limit and limit // len(kinds), "per_source": PER_SOURCE}
        made = [constructed_pairs(kind, self.bank, self.parts[part], seed, **options) for kind in kinds]
        return [pair for pairs in made for pair in pairs]


def parts_of(bank, training, validation):
    """Indices of a bank's questions: for the encoder, for the gate, and for validation.

    Parameters
    ----------
    bank : AnswerBank
    training, validation : collection of str
        Questions of the two parts; a question of both counts as validation.

    Returns
    -------
    dict of str to array of int
        ``train``, ``calibration``, ``validation``.
    """
    training, validation = set(training), set(validation)
    found = {"train": [], "calibration": [], "validation": []}
    for i, question in enumerate(bank.questions):
        if question in validation:
            found["validation"].append(i)
        elif question in training:
            found["calibration" if share_of(question) < CALIBRATION else "train"].append(i)
    return {name: np.array(indices, int) for name, indices in found.items()}


def make_material(train, shares, validation, encoder, answers=(), held_out_answers=(), per_kind=1000, bf16=False):
    """The material of pairs and single responses: the bank, its parts, and constructed pairs.

    Parameters
    ----------
    train : list of PreferencePair
    shares : dict of str to float
        Of the mixture that the preference part learns from: of each source of ``train``, and of kinds of constructed
        pairs (`judgekit.training.constructed.KINDS`), which are then made.
    validation : dict of str to list of PreferencePair
        None of their prompts may be in ``train``.
    encoder : TextEncoder
        The base model.
    answers, held_out_answers : list of Response
        Single responses of the training and of the validation part.
    per_kind : int
        Training questions per kind of constructed pair.
    bf16 : bool

    Returns
    -------
    Material

    Raises
    ------
    ValueError
        If a validation prompt is also a training prompt, or a validation set is empty.
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
