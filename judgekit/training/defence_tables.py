"""What a defence is fitted and chosen on: pairs as the parts of an encoder judge see them, as they are and attacked."""

from dataclasses import dataclass, replace

import numpy as np

from judgekit.bias.tampering import TRAINABLE, tampered
from judgekit.judges.features import scores_of, standardise
from judgekit.judges.gate import END, against_tampering, tamper_odds
from judgekit.stats import outcome_probabilities
from judgekit.training.bank import Embedder
from judgekit.training.constructed import KINDS
from judgekit.training.features import FeatureTable, feature_table
from judgekit.training.gate import ALWAYS_OPEN
from judgekit.training.tables import PairTable, Reader
from judgekit.training.targets import source_weights


@dataclass(frozen=True)
class DefenceTable:
    """Pairs as the parts of a judge see them.

    Attributes
    ----------
    features : FeatureTable
    pairs : PairTable
    ends_a, ends_b : array, shape (n_pairs, 2, width)
        Embeddings of the two ends of each response.
    attacks : list of str
        What the worse response of each pair was tampered with; empty for pairs as they are.
    """

    features: FeatureTable
    pairs: PairTable
    ends_a: np.ndarray
    ends_b: np.ndarray
    attacks: list

    def inputs(self, side, quality):
        """What the gate reads of one side's responses."""
        ends, looks = getattr(self, f"ends_{side}"), getattr(self.features, side)
        looks = standardise(looks, quality["mean"], quality["scale"])
        return {"features": looks, "head": ends[:, 0], "tail": ends[:, 1]}

    def defended(self, quality, gates, tamper):
        """Probabilities of A, B and tie, shape (n_pairs, 3).

        Parameters
        ----------
        quality : dict
            The preference part.
        gates : dict
            ``relevance`` and ``gate`` of the judge.
        tamper : dict or None
            Of `fit_tamper`, with this preference part.
        """
        score_a, score_b, log_nu = scores_of(quality, self.features.a, self.features.b, self.features.pair)
        outcomes = outcome_probabilities(score_a - score_b, log_nu)
        p = replace(self.pairs, outcomes=outcomes).probabilities(gates)
        if tamper is None:
            return p
        p = against_tampering(p, *(tamper_odds(self.inputs(side, quality), tamper) for side in "ab"))
        return p / p.sum(1, keepdims=True)


def defence_table(pairs, reader, attacks=None):
    """The table of some pairs.

    Parameters
    ----------
    pairs : list of PreferencePair
    reader : judgekit.training.tables.Reader
    attacks : list of str, optional
    """
    features = feature_table(pairs, reader.tied)
    ends = reader.embedder.ends([text for pair in pairs for text in pair.responses], END)
    sides = (np.array([ends[getattr(pair, side)] for pair in pairs]) for side in ("response_a", "response_b"))
    return DefenceTable(features, reader.table(pairs, features), *sides, attacks or [""] * len(pairs))


def attacked_pairs(pairs, per_pair=2, seed=0, kinds=TRAINABLE):
    """Decided pairs whose worse response was tampered with, in wordings for training.

    Parameters
    ----------
    pairs : list of PreferencePair
        Ties, and pairs whose worse response is empty, are left out.
    per_pair : int
        Attacks on each, drawn without replacement.
    seed : int
    kinds : sequence of str
        Edits to draw from; none that is held out.

    Returns
    -------
    pairs : list of PreferencePair
        Labels as they were.
    attacks : list of str
    """
    rng, made, attacks = np.random.default_rng(seed), [], []
    for pair in pairs:
        worse = {"A": "response_b", "B": "response_a"}.get(pair.label)
        if worse is None or not getattr(pair, worse).strip():
            continue
        for name in rng.choice(kinds, size=min(per_pair, len(kinds)), replace=False):
            text = tampered(str(name), pair.asked, getattr(pair, worse), "trained", seed)
            made.append(replace(pair, item_id=f"{pair.item_id}+{name}", soft_label=None, **{worse: text}))
            attacks.append(str(name))
    return made, attacks


def rows_of(table, kept):
    """Some rows of a table."""
    indices = np.flatnonzero(kept)
    pairs = {
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
    """What a defence is fitted and chosen on.

    Attributes
    ----------
    features, weight
        Of the judge's training pairs, as `refit` takes them.
    natural, attacked : DefenceTable
        Training pairs, and the same ones attacked.
    validation : dict of str to DefenceTable
        Ordinary validation pairs by set.
    assault : DefenceTable
        Validation pairs, attacked; ``unattacked`` are the same pairs as they were.
    unattacked : DefenceTable
    quality, gates : dict
        Of the judge that is defended.
    """

    features: FeatureTable
    weight: np.ndarray
    natural: DefenceTable
    attacked: DefenceTable
    validation: dict
    assault: DefenceTable
    unattacked: DefenceTable
    quality: dict
    gates: dict

    def without(self, kind):
        """The data with training pairs attacked in this way left out."""
        kept = np.array([name != kind for name in self.attacked.attacks])
        return replace(self, attacked=rows_of(self.attacked, kept))


def reader_of_judge(judge, tied):
    """What makes the tables of a trained encoder judge.

    Parameters
    ----------
    judge : judgekit.judges.encoder.EncoderJudge
    tied : set of str
        Sets whose annotators could say tie.
    """
    limits = judge.config["max_question_tokens"], judge.config["max_response_tokens"]
    return Reader(judge.surface.parts, Embedder(judge.encoder, judge.bf16), judge.others, tied, *limits)


def defence_data(judge, material, n_pairs=3000, per_pair=2, n_validation=400, seed=0):
    """The data of a defence.

    Parameters
    ----------
    judge : judgekit.judges.encoder.EncoderJudge
        The one that is defended.
    material : judgekit.training.material.Material
        What it was trained on and chosen by.
    n_pairs : int
        Training pairs that are attacked, drawn by the shares of the mixture.
    per_pair : int
        Attacks on each.
    n_validation : int
        Validation pairs of each set that are attacked, at most.
    seed : int

    Returns
    -------
    DefenceData
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
