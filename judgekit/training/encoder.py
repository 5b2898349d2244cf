"""Train the encoder judge: looks from surface features, relevance from a tuned encoder, joined by a gate.

Three parts, each from data the others do not see where that matters: the preference part is fitted on all training
pairs; the encoder learns relevance from the questions outside the calibration part; the gate is fitted on the
calibration part, where the encoder's cosines are what they will be on new questions. How strong the gate may be is
chosen on validation pairs by a rule (`judgekit.training.gate.choose_share`).
"""

import json
from pathlib import Path

import numpy as np

from judgekit.judges.encoder import FORMAT
from judgekit.training.bank import Embedder, make_bank, meant_for, misleading_pairs, share_of
from judgekit.training.features import feature_table, fit_features, rounded_parts
from judgekit.training.files import write_json
from judgekit.training.gate import choose_share, compare_gates, fit_gate, gate_table
from judgekit.training.relevance import load_encoder, train_relevance
from judgekit.training.targets import check_disjoint, source_weights, sources_with_ties

CALIBRATION = 0.15  # share of the training questions that the encoder does not see, for the gate
GATES = (0.02, 0.05, 0.1, 0.25)  # shares of misleading pairs that are tried


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


def bank_of(train, validation, answers, held_out_answers, encoder, bf16=False):
    """The bank of all training and validation material, and its parts.

    Parameters
    ----------
    train : list of PreferencePair
    validation : dict of str to list of PreferencePair
    answers, held_out_answers : list of Response
        Single responses of the training and of the validation part.
    encoder : TextEncoder
        The base model.

    Returns
    -------
    bank : AnswerBank
    parts : dict of str to array of int
        See `parts_of`.
    """
    held_out = [pair for pairs in validation.values() for pair in pairs]
    of_validation = meant_for(held_out, held_out_answers)
    of_training = meant_for(train, answers)
    bank = make_bank(of_training | of_validation, encoder, bf16=bf16)
    return bank, parts_of(bank, of_training, of_validation)


def train_encoder(
    recipe, train, shares, validation, folder, answers=(), held_out_answers=(), made=None, gates=GATES, progress=True
):
    """Train an encoder judge and write its folder.

    Parameters
    ----------
    recipe : RelevanceRecipe
    train : list of PreferencePair
    shares : dict of str to float
        Share of the mixture of each source of ``train``, for the preference part and the gate.
    validation : dict of str to list of PreferencePair
        Validation sets; none of their prompts may be in ``train``.
    folder : path
        Where the judge goes, with the checkpoint on the way there.
    answers, held_out_answers : list of Response
        Single responses to learn relevance from, and to validate on.
    made : tuple of AnswerBank and dict, optional
        What `bank_of` gives, where it was made before.
    gates : sequence of float
        Shares of misleading pairs to fit a gate with.
    progress : bool

    Returns
    -------
    dict
        ``relevance`` (the run of `train_relevance`), ``gates`` (table of `compare_gates`), ``share`` (the one
        chosen), ``fitted`` (all gates by share), ``quality`` (the preference part) and ``tables`` (the validation
        tables by set).

    Raises
    ------
    ValueError
        If a validation prompt is also a training prompt, or a validation set is empty.
    """
    from judgekit.judges.encoder_model import TextEncoder

    check_disjoint(train, validation)
    quality = fit_features(feature_table(train), weight=source_weights(train, shares), l2=0.01)
    made = made or bank_of(
        train, validation, answers, held_out_answers, TextEncoder(recipe.base, recipe.revision), recipe.bf16
    )
    bank, parts = made
    relevance = train_relevance(recipe, bank, parts["train"], parts["validation"], folder, progress)
    embedder = Embedder(load_encoder(recipe, folder), recipe.bf16)
    tied = sources_with_ties(train) | sources_with_ties([pair for pairs in validation.values() for pair in pairs])

    def table(pairs):
        return gate_table(pairs, quality, embedder, recipe, tied)

    calibration = {bank.questions[i] for i in parts["calibration"]}
    natural = [pair for pair in train if pair.asked in calibration]
    misleading = misleading_pairs(bank, parts["calibration"], np.random.default_rng([recipe.seed, 1]))
    held_out = misleading_pairs(bank, parts["validation"], np.random.default_rng(2))
    tables = {name: table(pairs) for name, pairs in validation.items()} | {"misleading": table(held_out)}
    natural_table, misleading_table = table(natural), table(misleading)
    weight = source_weights(natural, shares)
    fitted = {share: fit_gate(natural_table, misleading_table, share, weight) for share in gates}
    ordinary = {name: tables[name] for name in validation}
    comparison = compare_gates(fitted, ordinary, tables["misleading"], seed=recipe.seed)
    share = choose_share(comparison)
    report = {"relevance": relevance, "gates": comparison, "share": share, "fitted": fitted, "quality": quality}
    save_encoder(recipe, quality, fitted.get(share), folder)
    return report | {"tables": tables}


def save_encoder(recipe, quality, gate, folder):
    """Write ``judge.json``, which with the adapter is the judge; ``gate`` None leaves the gate open."""
    config = {
        "format": FORMAT,
        "base": recipe.base,
        "revision": recipe.revision,
        "trained": {0: "nothing", 1: "adapter", -1: "model"}[int(np.sign(recipe.r))],
        "max_question_tokens": recipe.max_question_tokens,
        "max_response_tokens": recipe.max_response_tokens,
        "gate": gate and {name: np.round(value, 6).tolist() for name, value in gate.items()},
        **rounded_parts(quality),
    }
    write_json(Path(folder) / "judge.json", json.loads(json.dumps(config)))
