"""Effects of ways of asking: paired differences to the same model's base method, over one draw of prompts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from judgekit.scoring import N_BOOT
from judgekit.stats import Floats, Number, cluster_sums, percentile_interval, resampled_sums, two_sided_p

CREDIT, SAME, UNREAD = range(3)


def effect_table(outcomes: pd.DataFrame, base: str, n_boot: int = N_BOOT, seed: int = 0) -> pd.DataFrame:
    """Accuracy, agreement and effect of every evaluator on every set.

    ``outcomes``: of `outcome_table`; ``base``: the method that others are compared with, of the same model (ValueError
    where a model lacks it). Prompts are drawn once for all evaluators of a set, so every difference is paired.

    Columns set, model, method; Numbers ``accuracy`` (mean of both orders), ``agreement`` (both orders say the same),
    ``unread``, ``difference`` (accuracy less the base method's, None for the base itself) and ``interaction`` (the
    difference less the mean difference of the method over the other models; None where no other model has the method);
    floats ``p_value``, ``p_interaction``.
    """
    rows = []
    for name, part in outcomes.groupby("set", sort=False):
        keys = list(dict.fromkeys(zip(part["model"], part["method"], strict=True)))
        if lacking := sorted({model for model, _ in keys} - {model for model, method in keys if method == base}):
            raise ValueError(f"{name}: {', '.join(lacking)} has no method {base!r} to compare with")
        means, drawn = resampled_means(part, keys, n_boot, seed)
        n = part["item_id"].nunique()
        effects = differences_of(keys, means, drawn, base)
        for k, (model, method) in enumerate(keys):
            row: dict[str, Any] = {"set": name, "model": model, "method": method}
            for quantity, place in (("accuracy", CREDIT), ("agreement", SAME), ("unread", UNREAD)):
                row[quantity] = number(means[k, place], drawn[:, k, place], n)[0]
            others = [effect for (m, way), effect in effects.items() if way == method and m != model]
            own, both = effects.get((model, method)), None
            if own and others:
                both = (own[0] - np.mean([o[0] for o in others]), own[1] - np.mean([o[1] for o in others], axis=0))
            row["difference"], row["p_value"] = number(*own, n) if own else (None, None)
            row["interaction"], row["p_interaction"] = number(*both, n) if both else (None, None)
            rows.append(row)
    return pd.DataFrame(rows)


def mean_effect_table(outcomes: pd.DataFrame, base: str, n_boot: int = N_BOOT, seed: int = 0) -> pd.DataFrame:
    """Effect of every method on every set, averaged over the models that have it (two at least), as in `effect_table`.

    Columns set, method, models (how many), difference (a Number), p_value. The models are these models: the interval is
    over prompts, not over models that could have been.
    """
    rows = []
    for name, part in outcomes.groupby("set", sort=False):
        keys = list(dict.fromkeys(zip(part["model"], part["method"], strict=True)))
        means, drawn = resampled_means(part, keys, n_boot, seed)
        effects = differences_of(keys, means, drawn, base)
        for method in dict.fromkeys(method for _, method in effects):
            chosen = [effect for (_, way), effect in effects.items() if way == method]
            if len(chosen) > 1:
                value, resampled = np.mean([c[0] for c in chosen]), np.mean([c[1] for c in chosen], axis=0)
                rows.append((name, method, len(chosen), *number(value, resampled, part["item_id"].nunique())))
    return pd.DataFrame(rows, columns=["set", "method", "models", "difference", "p_value"])


def resampled_means(
    part: pd.DataFrame, keys: Sequence[tuple[str, str]], n_boot: int, seed: int
) -> tuple[Floats, Floats]:
    """Means of credit, same and unread by evaluator: (n_keys, 3) and, resampled by prompt, (n_boot, n_keys, 3)."""
    items = part.drop_duplicates("item_id").set_index("item_id")["cluster"]
    columns = []
    for model, method in keys:
        own = part[(part["model"] == model) & (part["method"] == method)].set_index("item_id").loc[items.index]
        columns.append(own[["credit", "same", "unread"]].to_numpy(float))
    values = np.stack([*columns, np.ones_like(columns[0])], axis=1)
    sums = cluster_sums(values, items.tolist())
    drawn = resampled_sums(sums, n_boot, seed)
    return values[:, :-1].mean(0), drawn[:, :-1] / drawn[:, -1:]


def differences_of(
    keys: Sequence[tuple[str, str]], means: Floats, drawn: Floats, base: str
) -> dict[tuple[str, str], tuple[Any, Floats]]:
    """Evaluator to its difference in accuracy to the base method of its model: value and resampled values."""
    places = {key: k for k, key in enumerate(keys)}
    found = {}
    for (model, method), k in places.items():
        if method != base:
            b = places[model, base]
            found[model, method] = (means[k, CREDIT] - means[b, CREDIT], drawn[:, k, CREDIT] - drawn[:, b, CREDIT])
    return found


def number(value: Any, drawn: Floats, n: int) -> tuple[Number, float]:
    """A rate or a difference with its interval, and the two-sided p-value of it being zero."""
    return Number(float(value), *percentile_interval(drawn), n=n, spec=".1%"), two_sided_p(drawn)
