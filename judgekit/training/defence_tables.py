"""What a defence is fitted and chosen on: pairs as the parts of an encoder judge see them, as they are and attacked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from judgekit.bias.edits import TRAINABLE, tampered
from judgekit.judges.features import scores_of, standardise
from judgekit.judges.gate import END, against_tampering, tamper_odds
from judgekit.records import PreferencePair
from judgekit.stats import Floats, outcome_probabilities
from judgekit.training.bank import Embedder
from judgekit.training.constructed import KINDS
from judgekit.training.features import FeatureTable, feature_table
from judgekit.training.gate import ALWAYS_OPEN
from judgekit.training.material import Material
from judgekit.training.tables import PairTable, Reader
from judgekit.training.targets import source_weights

if TYPE_CHECKING:
    from judgekit.judges.encoder import EncoderJudge


@dataclass(frozen=True)
class DefenceTable:
    """Pairs as the parts of a judge see them."""

    features: FeatureTable
    pairs: PairTable
    ends_a: np.ndarray  # embeddings of the two ends of each response, shape (n_pairs, 2, width)
    ends_b: np.ndarray
    attacks: list  # what the worse response of each pair was tampered with; empty for pairs as they are

    def inputs(self, side: str, quality: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """What the gate reads of one side's responses."""
        ends, looks = getattr(self, f"ends_{side}"), getattr(self.features, side)
        looks = standardise(looks, quality["mean"], quality["scale"])
        return {"features": looks, "head": ends[:, 0], "tail": ends[:, 1]}

    def defended(
        self, quality: Mapping[str, Any], gates: Mapping[str, Any], tamper: Mapping[str, Any] | None
    ) -> Floats:
        """Probabilities of A, B and tie, shape (n_pairs, 3).

        ``gates``: ``relevance`` and ``gate`` of the judge; ``tamper``: of `fit_tamper`, with this preference part.
        """
        score_a, score_b, log_nu = scores_of(quality, self.features.a, self.features.b, self.features.pair)
        outcomes = outcome_probabilities(score_a - score_b, log_nu)
        p = replace(self.pairs, outcomes=outcomes).probabilities(gates)
        if tamper is None:
            return p
        p = against_tampering(p, *(tamper_odds(self.inputs(side, quality), tamper) for side in "ab"))
        return p / p.sum(1, keepdims=True)


def defence_table(
    pairs: Sequence[PreferencePair], reader: Reader, attacks: Sequence[str] | None = None
) -> DefenceTable:
    """The table of some pairs."""
    features = feature_table(pairs, reader.tied)
    ends = reader.embedder.ends([text for pair in pairs for text in pair.responses], END)  # type: ignore[attr-defined]  # an Embedder
    sides: Any = (np.array([ends[getattr(pair, side)] for pair in pairs]) for side in ("response_a", "response_b"))
    return DefenceTable(features, reader.table(pairs, features), *sides, attacks or [""] * len(pairs))  # type: ignore[call-arg]  # two sides


def attacked_pairs(
    pairs: Sequence[PreferencePair], per_pair: int = 2, seed: int = 0, kinds: Sequence[str] = TRAINABLE
) -> tuple[list[PreferencePair], list[str]]:
    """Decided pairs whose worse response was tampered with, in wordings for training, and the attack on each.

    Labels as they were; ties, and pairs whose worse response is empty, are left out. ``per_pair``: attacks on each,
    drawn without replacement from ``kinds``, none of which may be held out.
    """
    rng, made, attacks = np.random.default_rng(seed), [], []
    for pair in pairs:
        worse = {"A": "response_b", "B": "response_a"}.get(pair.label)  # type: ignore[arg-type]  # None is no key
        if worse is None or not getattr(pair, worse).strip():
            continue
        for name in rng.choice(kinds, size=min(per_pair, len(kinds)), replace=False):
            text = tampered(str(name), pair.asked, getattr(pair, worse), "trained", seed)
            changed: dict[str, Any] = {worse: text}
            made.append(replace(pair, item_id=f"{pair.item_id}+{name}", soft_label=None, **changed))
            attacks.append(str(name))
    return made, attacks


def rows_of(table: DefenceTable, kept: np.ndarray) -> DefenceTable:
    """Some rows of a table."""
    indices = np.flatnonzero(kept)
    pairs: dict[str, Any] = {
        name: [value[i] for i in indices] if isinstance(value, list) else value[indices]
        for name, value in vars(table.pairs).items()
    }
    return DefenceTable(
        table.features.of(indices),
        PairTable(**pairs),
        table.ends_a[indices],
        table.ends_b[indices],
        [table.attacks[i] for i in indices],
    )


@dataclass(frozen=True)
class DefenceData:
    """What a defence is fitted and chosen on."""

    features: FeatureTable  # of the judge's training pairs, as is ``weight``
    weight: np.ndarray
    natural: DefenceTable  # training pairs, as they are
    attacked: DefenceTable  # the same ones attacked
    validation: dict  # set to the DefenceTable of its ordinary validation pairs
    assault: DefenceTable  # validation pairs, attacked
    unattacked: DefenceTable  # the same pairs as they were
    quality: dict  # of the judge that is defended, as are ``gates``
    gates: dict

    def without(self, kind: str) -> "DefenceData":
        """The data with training pairs attacked in this way left out."""
        kept = np.array([name != kind for name in self.attacked.attacks])
        return replace(self, attacked=rows_of(self.attacked, kept))


def reader_of_judge(judge: "EncoderJudge", tied: frozenset[str]) -> Reader:
    """What makes the tables of a trained encoder judge; ``tied``: sets whose annotators could say tie."""
    limits = judge.config["max_question_tokens"], judge.config["max_response_tokens"]
    return Reader(judge.surface.parts, Embedder(judge.encoder, judge.bf16), judge.others, tied, *limits)


def defence_data(
    judge: "EncoderJudge",
    material: Material,
    n_pairs: int = 3000,
    per_pair: int = 2,
    n_validation: int = 400,
    seed: int = 0,
) -> DefenceData:
    """The data of a defence, from the material that the judge was trained on and chosen by.

    ``n_pairs``: training pairs that are attacked, drawn by the shares of the mixture; ``per_pair``: attacks on each;
    ``n_validation``: validation pairs of each set that are attacked, at most.
    """
    reader, rng = reader_of_judge(judge, material.tied), np.random.default_rng(seed)
    weight = source_weights(material.train, material.shares)
    usable = np.array([p.label in ("A", "B") and p.benchmark not in KINDS for p in material.train])
    chances = weight * usable / (weight * usable).sum()
    size = min(n_pairs, int(usable.sum()))
    drawn = [material.train[i] for i in rng.choice(len(weight), size=size, replace=False, p=chances)]
    held_out = [pair for pairs in material.validation.values() for pair in pairs[:n_validation]]
    assault, kinds = attacked_pairs(held_out, per_pair, seed + 1)
    originals = {pair.item_id: pair for pair in held_out}
    before = [originals[pair.item_id.rpartition("+")[0]] for pair in assault]
    attacked = attacked_pairs(drawn, per_pair, seed)
    config = judge.config
    gates = {"relevance": config["relevance"], "gate": config["gate"]} if config["gate"] else ALWAYS_OPEN
    return DefenceData(
        features=material.features,
        weight=weight,
        natural=defence_table(drawn, reader),
        attacked=defence_table(attacked[0], reader, attacked[1]),
        validation={name: defence_table(pairs, reader) for name, pairs in material.validation.items()},
        assault=defence_table(assault, reader, kinds),
        unattacked=defence_table(before, reader),
        quality=judge.surface.parts,
        gates=gates,
    )
