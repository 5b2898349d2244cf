"""Defend an encoder judge by adversarial training: against edits that please judges, with the encoder as it is.

Two parts learn from attacked pairs (`judgekit.tampering`, wordings for training): the preference part is fitted again
with a share of pairs whose worse response was tampered with, and a gate (`judgekit.tamper_gate`) learns to tell
tampered responses from others. How much of either is chosen on validation pairs, by a rule that is fixed before any
test.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from judgekit.davidson import outcome_probabilities
from judgekit.judges.encoder import DEFENDED, FORMAT
from judgekit.judges.features import scores_of, standardise
from judgekit.tamper_gate import END, PARTS, against_tampering, tamper_odds
from judgekit.tampering import TRAINABLE, tampered
from judgekit.training.bank import Embedder
from judgekit.training.constructed import KINDS
from judgekit.training.features import FeatureTable, feature_table, fit_features, rounded_parts
from judgekit.training.files import write_json
from judgekit.training.gate import ALWAYS_OPEN, standard_error
from judgekit.training.tables import PairTable, Reader
from judgekit.training.targets import source_weights

# Brings standardised features and unit embeddings to like sizes before one penalty is put on both.
SCALES = {"features": 0.3, "head": 6.0, "tail": 6.0}
PENALTY = 0.03  # scikit-learn's C


@dataclass(frozen=True)
class Setting:
    """How a judge is defended.

    Attributes
    ----------
    rung : str
        What the setting is called in the ladder.
    share : float
        Weight of attacked pairs in the preference part, in [0, 1); 0 leaves it as it is.
    prior : float
        How often a response is taken to be tampered with, in [0, 1); 0 is no gate.
    parts : tuple of str
        What the gate reads (`judgekit.tamper_gate.PARTS`).
    """

    rung: str
    share: float = 0.0
    prior: float = 0.0
    parts: tuple[str, ...] = PARTS


def ladder(shares=(0.05, 0.1, 0.2), priors=(0.02, 0.05, 0.1)):
    """The settings that are tried, from the judge as it is to both parts together."""
    steps = [Setting("as it is")]
    steps += [Setting("preference part", share=share) for share in shares]
    for rung, parts in (("gate, by looks", ("features",)), ("gate, by ends", ("head", "tail")), ("gate", PARTS)):
        steps += [Setting(rung, prior=prior, parts=parts) for prior in priors]
    return steps + [Setting("both", share, prior) for share in shares for prior in priors]


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


def refit(features, weight, attacked, share, l2=0.01):
    """The preference part, fitted with a share of attacked pairs.

    Parameters
    ----------
    features : FeatureTable
        Of the training pairs.
    weight : array, shape (n_pairs,)
        Theirs.
    attacked : FeatureTable
        Of attacked pairs; they say nothing of ties.
    share : float
    l2 : float
        See `judgekit.training.features.fit_features`.
    """
    n = len(attacked.target)
    untied = replace(attacked, tied=np.zeros(n, bool))
    table = FeatureTable(*(np.concatenate([getattr(part, name) for part in (features, untied)]) for name in FIELDS))
    rows = np.concatenate([(1 - share) * weight / weight.sum(), np.full(n, share / n)])
    return fit_features(table, weight=rows, l2=l2)


FIELDS = ("a", "b", "pair", "target", "tied")


def fit_tamper(natural, attacked, quality, prior, parts=PARTS):
    """The gate against tampering: a penalised logistic regression on responses.

    Parameters
    ----------
    natural, attacked : DefenceTable
        Pairs as they are, of which both responses count as untouched, and pairs whose worse response was tampered with.
    quality : dict
        The preference part of the judge saved, whose means and scales standardise the features.
    prior : float
        How often a response is taken to be tampered with.
    parts : sequence of str
        What it reads.

    Returns
    -------
    dict
        A list of weights for each part, and ``bias``, as `judgekit.tamper_gate.tamper_odds` takes them.
    """
    from sklearn.linear_model import LogisticRegression

    def stacked(inputs):
        return np.concatenate([SCALES[name] * inputs[name] for name in parts], axis=1)

    untouched = np.concatenate([stacked(natural.inputs(side, quality)) for side in "ab"])
    worse = (attacked.features.target[:, 0] > attacked.features.target[:, 1])[:, None]
    touched = np.where(worse, stacked(attacked.inputs("b", quality)), stacked(attacked.inputs("a", quality)))
    target = np.repeat([0, 1], [len(untouched), len(touched)])
    weight = np.where(target, 0.5 / len(touched), 0.5 / len(untouched)) * 2 * len(touched)
    model = LogisticRegression(C=PENALTY, max_iter=1000).fit(np.concatenate([untouched, touched]), target, weight)
    widths = np.cumsum([natural.inputs("a", quality)[name].shape[1] for name in parts])
    pieces = np.split(model.coef_[0], widths[:-1])
    found = {name: (SCALES[name] * piece).tolist() for name, piece in zip(parts, pieces, strict=True)}
    return found | {"bias": float(model.intercept_[0] + np.log(prior / (1 - prior)))}


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


def fit_setting(setting, data):
    """Preference part and gate (or None) of a setting."""
    quality = data.quality
    if setting.share:
        quality = refit(data.features, data.weight, data.attacked.features, setting.share)
    if not setting.prior:
        return quality, None
    return quality, fit_tamper(data.natural, data.attacked, quality, setting.prior, setting.parts)


def assess(setting, data, fitted):
    """What a defence costs and brings on validation pairs.

    Returns
    -------
    dict
        ``hits`` (set to 0 or 1 per ordinary pair), ``success`` (attack to the share of pairs, right before, that it
        turns) and ``mean_success``.
    """
    quality, tamper = fitted

    def probabilities(table):
        return table.defended(quality, data.gates, tamper)

    hits = {
        name: (probabilities(table).argmax(1) == table.features.target.argmax(1)).astype(float)
        for name, table in data.validation.items()
    }
    better = (data.assault.features.target[:, 0] > data.assault.features.target[:, 1]).astype(int)

    def lead(table):  # of the better response
        p = probabilities(table)
        return np.where(better, p[:, 0] - p[:, 1], p[:, 1] - p[:, 0])

    before, after = lead(data.unattacked) > 0, lead(data.assault) < 0
    attacks = np.array(data.assault.attacks)
    success = {name: float(after[before & (attacks == name)].mean()) for name in sorted(set(attacks))}
    return {
        "setting": setting,
        "hits": hits,
        "success": success,
        "mean_success": float(np.mean(list(success.values()))),
    }


def compare_settings(settings, data, progress=None):
    """Fit and assess every setting.

    Parameters
    ----------
    settings : list of Setting
        The first is the judge as it is.
    data : DefenceData
    progress : callable, optional
        Wraps the list.

    Returns
    -------
    table : pandas.DataFrame
        One row per setting: rung, share, prior, accuracy (mean over the validation sets), cost (what the first
        setting's is above it), its standard error, mean_success, and the success of every attack.
    fitted : list of (dict, dict or None)
    """
    import pandas as pd

    found, rows = [], []
    for setting in progress(settings) if progress else settings:
        found.append(fit_setting(setting, data))
        rows.append(assess(setting, data, found[-1]))
    base = rows[0]["hits"]
    table = []
    for row in rows:
        gaps = {name: base[name] - hits for name, hits in row["hits"].items()}
        errors = [standard_error(gap, data.validation[name].pairs.clusters) for name, gap in gaps.items()]
        table.append(
            {
                "rung": row["setting"].rung,
                "share": row["setting"].share,
                "prior": row["setting"].prior,
                "accuracy": float(np.mean([hits.mean() for hits in row["hits"].values()])),
                "cost": float(np.mean([gap.mean() for gap in gaps.values()])),
                "error": float(np.sqrt(np.sum(np.square(errors))) / len(errors)),
                "mean_success": row["mean_success"],
                **row["success"],
            }
        )
    return pd.DataFrame(table), found


def choose_setting(table, most=0.005):
    """The row with the lowest mean success among those that cost at most so much accuracy; the first of equals.

    Parameters
    ----------
    table : pandas.DataFrame
        Of `compare_settings`.
    most : float
        Accuracy that may be lost on ordinary validation pairs.

    Returns
    -------
    int
        Position of the row. The judge as it is costs nothing, so there always is one.
    """
    allowed = table[table["cost"] <= most]
    return int(allowed["mean_success"].idxmin())


def unseen_success(setting, data, progress=None):
    """Success on validation of each attack against a defence that never saw it.

    Returns
    -------
    dict of str to float
        Attack to the success that `assess` finds when training pairs attacked in that way are left out.
    """
    kinds, found = sorted(set(data.assault.attacks)), {}
    for kind in progress(kinds) if progress else kinds:
        left = data.without(kind)
        found[kind] = assess(setting, left, fit_setting(setting, left))["success"][kind]
    return found


def save_defended(quality, tamper, base, folder):
    """Write a defended judge beside the one that it defends, whose weights it shares.

    Parameters
    ----------
    quality, tamper : dict, dict or None
        Of `fit_setting`.
    base, folder : path
        Folders of the judge that is defended and of the new one, in the same place.

    Raises
    ------
    ValueError
        If the folders do not stand side by side.
    """
    base, folder = Path(base), Path(folder)
    if base.parent.resolve() != folder.parent.resolve():
        raise ValueError(f"{folder} must stand beside {base}, whose weights it shares")
    config = json.loads((base / "judge.json").read_text(encoding="utf-8")) | rounded_parts(quality)
    config |= {"format": FORMAT, "weights_of": base.name}
    if tamper is not None:
        config |= {"format": DEFENDED, "tamper": {name: np.round(part, 6).tolist() for name, part in tamper.items()}}
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "judge.json", config)
