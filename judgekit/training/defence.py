"""Defend an encoder judge by adversarial training: against edits that please judges, with the encoder as it is.

Two parts learn from attacked pairs (`bias.tampering`, wordings for training): the preference part is fitted again
with a share of pairs whose worse response was tampered with, and a gate (`judgekit.judges.tamper_gate`) learns to tell
tampered responses from others. How much of either is chosen on validation pairs, by a rule that is fixed before any
test. The pairs come as `judgekit.training.defence_tables` makes them.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from judgekit.judges.encoder import DEFENDED, FORMAT
from judgekit.judges.gate import PARTS
from judgekit.training.features import FeatureTable, fit_features, rounded_parts
from judgekit.training.files import write_json
from judgekit.training.gate import standard_error

FIELDS = ("a", "b", "pair", "target", "tied")  # of a FeatureTable
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
        What the gate reads (`judgekit.judges.tamper_gate.PARTS`).
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
        A list of weights for each part, and ``bias``, as `judgekit.judges.tamper_gate.tamper_odds` takes them.
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
