"""Adversarial training of an encoder judge's preference part and of a gate against tampering; the encoder stays.

Attacked pairs are in the wordings for training of `judgekit.bias.edits`; the gate is `judgekit.judges.encoder`'s.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from judgekit.bias.edits import TRAINABLE, tampered
from judgekit.data.files import write_json
from judgekit.judges.encoder import DEFENDED, END, FORMAT, PARTS, EncoderJudge, against_tampering, tamper_odds
from judgekit.judges.surface import scores_of, standardise
from judgekit.records import Pairs, PreferencePair
from judgekit.stats import Floats, outcome_probabilities
from judgekit.training.bank import Embedder
from judgekit.training.constructed import KINDS
from judgekit.training.features import FeatureTable, feature_table, fit_features, rounded_parts
from judgekit.training.gate import ALWAYS_CLOSED, PairTable, Reader
from judgekit.training.mixture import Material, source_weights

_SCALES = {"features": 0.3, "head": 6.0, "tail": 6.0}  # bring features and embeddings to like sizes for one penalty
_PENALTY = 0.03  # scikit-learn's C
Parts = Mapping[str, Any]  # parameters of a part of a judge, by name


def attacked_pairs(pairs: Pairs, per_pair: int = 2, seed: int = 0) -> tuple[Pairs, list[str], Pairs]:
    """Decided pairs whose worse response (if not empty) was tampered with, the attack on each, and each as it was.

    Attacks are in wordings for training; ``per_pair``: how many on each, drawn without replacement.
    """
    rng, made, attacks, originals = np.random.default_rng(seed), [], [], []
    for pair in pairs:
        worse = {"A": "response_b", "B": "response_a"}.get(pair.label or "")
        if worse is None or not getattr(pair, worse).strip():
            continue
        for name in rng.choice(TRAINABLE, size=min(per_pair, len(TRAINABLE)), replace=False):
            changed: dict[str, Any] = {worse: tampered(str(name), pair.asked, getattr(pair, worse), "trained", seed)}
            made.append(replace(pair, item_id=f"{pair.item_id}+{name}", soft_label=None, **changed))
            attacks.append(str(name))
            originals.append(pair)
    return made, attacks, originals


@dataclass(frozen=True)
class DefenceTable:
    """Pairs as the parts of a judge see them."""

    features: FeatureTable
    pairs: PairTable
    ends_a: np.ndarray  # embeddings of the two ends of each response, shape (n_pairs, 2, width)
    ends_b: np.ndarray
    attacks: np.ndarray  # what the worse response of each pair was tampered with; empty for pairs as they are

    def inputs(self, side: str, quality: Parts) -> dict[str, np.ndarray]:
        """What the gate reads of one side's responses."""
        ends, features = getattr(self, f"ends_{side}"), getattr(self.features, side)
        features = standardise(features, quality["mean"], quality["scale"])
        return {"features": features, "head": ends[:, 0], "tail": ends[:, 1]}

    def defended(self, quality: Parts, gates: Parts, tamper: Parts | None) -> Floats:
        """Probabilities of A, B and tie, shape (n_pairs, 3), by a preference part and the gates that go with it."""
        score_a, score_b, log_nu = scores_of(quality, self.features.a, self.features.b, self.features.pair)
        outcomes = outcome_probabilities(score_a - score_b, log_nu)
        p = replace(self.pairs, outcomes=outcomes).probabilities(gates)
        if tamper is None:
            return p
        p = against_tampering(p, *(tamper_odds(self.inputs(side, quality), tamper) for side in "ab"))
        return p / p.sum(1, keepdims=True)


@dataclass(frozen=True)
class DefenceData:
    """What a defence is fitted and chosen on."""

    features: FeatureTable  # of the judge's training pairs, as is ``weight``
    weight: np.ndarray
    natural: DefenceTable  # training pairs, as they are
    attacked: DefenceTable  # the same ones attacked
    validation: dict[str, DefenceTable]  # of the ordinary validation pairs of each set
    assault: DefenceTable  # validation pairs, attacked
    unattacked: DefenceTable  # the same pairs as they were
    quality: dict[str, Any]  # of the judge that is defended, as are ``gates``
    gates: dict[str, Any]


def defence_data(
    judge: EncoderJudge,
    material: Material,
    n_pairs: int = 3000,
    per_pair: int = 2,
    n_validation: int = 400,
    seed: int = 0,
) -> DefenceData:
    """The data of a defence, from the material that the judge was trained on and chosen by.

    ``n_pairs`` training pairs, drawn by the shares of the mixture, and at most ``n_validation`` of each validation set
    are attacked, ``per_pair`` times each.
    """
    config, embedder = judge.config, Embedder(judge.encoder, judge.bf16)
    limits = config["max_question_tokens"], config["max_response_tokens"]
    reader = Reader(judge.surface.parts, embedder, judge.others, material.tied, *limits)

    def table(pairs: Sequence[PreferencePair], attacks: Sequence[str] = ()) -> DefenceTable:
        features = feature_table(pairs, reader.tied)
        ends = embedder.ends([text for pair in pairs for text in pair.responses], END)
        a, b = (np.array([ends[pair.responses[side]] for pair in pairs]) for side in (0, 1))
        return DefenceTable(features, reader.table(pairs, features), a, b, np.array(attacks or [""] * len(pairs)))

    weight = source_weights(material.train, material.shares)
    usable = np.array([p.label in ("A", "B") and p.benchmark not in KINDS for p in material.train])
    chances = weight * usable / (weight * usable).sum()
    size = min(n_pairs, int(usable.sum()))
    chosen = np.random.default_rng(seed).choice(len(weight), size=size, replace=False, p=chances)
    drawn = [material.train[i] for i in chosen]
    held_out = [pair for pairs in material.validation.values() for pair in pairs[:n_validation]]
    assault, kinds, unattacked = attacked_pairs(held_out, per_pair, seed + 1)
    return DefenceData(
        features=material.features,
        weight=weight,
        natural=table(drawn),
        attacked=table(*attacked_pairs(drawn, per_pair, seed)[:2]),
        validation={name: table(pairs) for name, pairs in material.validation.items()},
        assault=table(assault, kinds),
        unattacked=table(unattacked),
        quality=judge.surface.parts,
        gates={"relevance": config["relevance"], "gate": config["gate"]} if config["gate"] else ALWAYS_CLOSED,
    )


@dataclass(frozen=True)
class Setting:
    """How a judge is defended."""

    rung: str  # what the setting is called in the ladder
    share: float = 0.0  # weight of attacked pairs in the preference part, in [0, 1); 0 leaves it as it is
    prior: float = 0.0  # how often a response is taken to be tampered with, in [0, 1); 0 is no gate
    parts: tuple[str, ...] = PARTS  # what the gate reads


def fit_setting(setting: Setting, data: DefenceData, left_out: str = "") -> tuple[Parts, dict[str, Any] | None]:
    """Preference part and gate (or None) of a setting, fitted without the attack that is left out."""
    quality, rows = data.quality, np.flatnonzero(data.attacked.attacks != left_out)
    if setting.share:  # attacked pairs say nothing of ties
        n, share = len(rows), setting.share
        attacked = replace(data.attacked.features.of(rows), tied=np.zeros(n, bool))
        parts = [(getattr(data.features, field.name), getattr(attacked, field.name)) for field in fields(attacked)]
        weight = np.concatenate([(1 - share) * data.weight / data.weight.sum(), np.full(n, share / n)])
        quality = fit_features(FeatureTable(*map(np.concatenate, parts)), weight=weight, l2=0.01)
    return quality, fit_tamper(setting, data, quality, rows) if setting.prior else None


def fit_tamper(setting: Setting, data: DefenceData, quality: Parts, rows: np.ndarray) -> dict[str, Any]:
    """The gate against tampering, a penalised logistic regression on responses, as `tamper_odds` takes it.

    Both responses of natural pairs count as untouched; the worse response of attacked pairs (some ``rows``) was
    tampered with. ``quality``: the preference part of the judge saved, whose means and scales standardise features.
    """
    from sklearn.linear_model import LogisticRegression

    parts, attacked = setting.parts, data.attacked
    natural = data.natural.inputs("a", quality)
    widths = np.cumsum([natural[name].shape[1] for name in parts])

    def stacked(table: DefenceTable, side: str) -> np.ndarray:
        given = table.inputs(side, quality)
        return np.concatenate([_SCALES[name] * given[name] for name in parts], axis=1)

    untouched = np.concatenate([stacked(data.natural, side) for side in "ab"])
    worse = (attacked.features.target[:, 0] > attacked.features.target[:, 1])[:, None]
    touched = np.where(worse, stacked(attacked, "b"), stacked(attacked, "a"))[rows]
    target = np.repeat([0, 1], [len(untouched), len(touched)])
    weight = np.where(target, 0.5 / len(touched), 0.5 / len(untouched)) * 2 * len(touched)
    model = LogisticRegression(C=_PENALTY, max_iter=1000).fit(np.concatenate([untouched, touched]), target, weight)
    pieces = zip(parts, np.split(model.coef_[0], widths[:-1]), strict=True)
    gate = {name: (_SCALES[name] * piece).tolist() for name, piece in pieces}
    return gate | {"bias": float(model.intercept_[0] + np.log(setting.prior / (1 - setting.prior)))}


def save_defended(quality: Parts, tamper: Parts | None, base: Path, folder: Path) -> None:
    """Write a defended judge beside the one that it defends, whose weights it shares (``base``: its folder)."""
    if base.parent.resolve() != folder.parent.resolve():
        raise ValueError(f"{folder} must stand beside {base}, whose weights it shares")
    config = json.loads((base / "judge.json").read_text(encoding="utf-8")) | rounded_parts(quality)
    config |= {"format": FORMAT, "weights_of": base.name}
    if tamper is not None:
        config |= {"format": DEFENDED, "tamper": {name: np.round(part, 6).tolist() for name, part in tamper.items()}}
    write_json(folder / "judge.json", config)
