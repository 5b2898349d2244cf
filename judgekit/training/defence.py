"""Defend an encoder judge by adversarial training: against edits that please judges, with the encoder as it is.

Two parts learn from attacked pairs (`bias.tampering`, wordings for training): the preference part is fitted again
with a share of pairs whose worse response was tampered with, and a gate (`judgekit.judges.gate`) learns to tell
tampered responses from others. How much of either is chosen on validation pairs, by a rule that is fixed before any
test. The pairs come as `judgekit.training.defence_tables` makes them.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from judgekit.judges.encoder import DEFENDED, FORMAT
from judgekit.judges.gate import PARTS
from judgekit.stats import Floats
from judgekit.training.features import FeatureTable, fit_features, rounded_parts
from judgekit.training.files import write_json
from judgekit.training.gate import standard_error

if TYPE_CHECKING:
    import pandas as pd

    from judgekit.training.defence_tables import DefenceData, DefenceTable

FIELDS = ("a", "b", "pair", "target", "tied")  # of a FeatureTable
# Brings standardised features and unit embeddings to like sizes before one penalty is put on both.
SCALES = {"features": 0.3, "head": 6.0, "tail": 6.0}
PENALTY = 0.03  # scikit-learn's C


@dataclass(frozen=True)
class Setting:
    """How a judge is defended."""

    rung: str  # what the setting is called in the ladder
    share: float = 0.0  # weight of attacked pairs in the preference part, in [0, 1); 0 leaves it as it is
    prior: float = 0.0  # how often a response is taken to be tampered with, in [0, 1); 0 is no gate
    parts: tuple[str, ...] = PARTS  # what the gate reads


def ladder(shares: Sequence[float] = (0.05, 0.1, 0.2), priors: Sequence[float] = (0.02, 0.05, 0.1)) -> list[Setting]:
    """The settings that are tried, from the judge as it is to both parts together."""
    steps = [Setting("as it is")]
    steps += [Setting("preference part", share=share) for share in shares]
    for rung, parts in (("gate, by looks", ("features",)), ("gate, by ends", ("head", "tail")), ("gate", PARTS)):
        steps += [Setting(rung, prior=prior, parts=parts) for prior in priors]
    return steps + [Setting("both", share, prior) for share in shares for prior in priors]


def refit(
    features: FeatureTable, weight: np.ndarray, attacked: FeatureTable, share: float, l2: float = 0.01
) -> dict[str, np.ndarray]:
    """The preference part, fitted with a share of attacked pairs, which say nothing of ties (`fit_features`).

    ``weight``: of the training pairs, shape (n_pairs,).
    """
    n = len(attacked.target)
    untied = replace(attacked, tied=np.zeros(n, bool))
    table = FeatureTable(*(np.concatenate([getattr(part, name) for part in (features, untied)]) for name in FIELDS))
    rows = np.concatenate([(1 - share) * weight / weight.sum(), np.full(n, share / n)])
    return fit_features(table, weight=rows, l2=l2)


def fit_tamper(
    natural: "DefenceTable",
    attacked: "DefenceTable",
    quality: Mapping[str, Any],
    prior: float,
    parts: Sequence[str] = PARTS,
) -> dict[str, Any]:
    """The gate against tampering, a penalised logistic regression on responses: weights of each part, and ``bias``.

    As `judgekit.judges.gate.tamper_odds` takes them. Both responses of ``natural`` pairs count as untouched; the worse
    response of ``attacked`` pairs was tampered with. ``quality``: the preference part of the judge saved, whose means
    and scales standardise the features. ``prior``: how often a response is taken to be tampered with.
    """
    from sklearn.linear_model import LogisticRegression

    def stacked(inputs: Mapping[str, np.ndarray]) -> np.ndarray:
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


def fit_setting(setting: Setting, data: "DefenceData") -> tuple[Mapping[str, Any], dict[str, Any] | None]:
    """Preference part and gate (or None) of a setting."""
    quality = data.quality
    if setting.share:
        quality = refit(data.features, data.weight, data.attacked.features, setting.share)
    if not setting.prior:
        return quality, None
    return quality, fit_tamper(data.natural, data.attacked, quality, setting.prior, setting.parts)


def assess(
    setting: Setting, data: "DefenceData", fitted: tuple[Mapping[str, Any], Mapping[str, Any] | None]
) -> dict[str, Any]:
    """What a defence costs and brings on validation pairs.

    ``hits`` (set to 0 or 1 per ordinary pair), ``success`` (attack to the share of pairs, right before, that it turns)
    and ``mean_success``.
    """
    quality, tamper = fitted

    def probabilities(table: "DefenceTable") -> Floats:
        return table.defended(quality, data.gates, tamper)

    hits = {
        name: (probabilities(table).argmax(1) == table.features.target.argmax(1)).astype(float)
        for name, table in data.validation.items()
    }
    better = (data.assault.features.target[:, 0] > data.assault.features.target[:, 1]).astype(int)

    def lead(table: "DefenceTable") -> Floats:  # of the better response
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


def compare_settings(
    settings: Sequence[Setting], data: "DefenceData", progress: Callable[[Any], Iterable[Any]] | None = None
) -> "tuple[pd.DataFrame, list[Any]]":
    """A row per setting, fitted and assessed, and what was fitted; the first setting is the judge as it is.

    Columns rung, share, prior, accuracy (mean over the validation sets), cost (what the first setting's is above it),
    error (standard error of the cost), mean_success, and the success of every attack. ``progress`` wraps the list.
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


def choose_setting(table: "pd.DataFrame", most: float = 0.005) -> int:
    """Position of the row with the lowest mean success among those that cost at most so much accuracy.

    The first of equals; the judge as it is costs nothing, so there always is one.
    """
    allowed = table[table["cost"] <= most]
    return int(allowed["mean_success"].idxmin())  # type: ignore[call-overload]  # rows are numbered


def unseen_success(
    setting: Setting, data: "DefenceData", progress: Callable[[Any], Iterable[Any]] | None = None
) -> dict[str, float]:
    """Attack to its success (`assess`) on validation against a defence that never saw attacks of that kind."""
    kinds, found = sorted(set(data.assault.attacks)), {}
    for kind in progress(kinds) if progress else kinds:
        left = data.without(kind)
        found[kind] = assess(setting, left, fit_setting(setting, left))["success"][kind]
    return found


def save_defended(
    quality: Mapping[str, Any], tamper: Mapping[str, Any] | None, base: str | Path, folder: str | Path
) -> None:
    """Write a defended judge beside the one that it defends, whose weights it shares (``base``: its folder).

    ValueError if the folders do not stand side by side.
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
