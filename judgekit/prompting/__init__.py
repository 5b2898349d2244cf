"""What a way of prompting does for a model as a judge: effects on the same items, agreement, and calls.

An evaluator is a model with a method. Everything is the paired difference to the model's own base method, over one
draw of prompts for all evaluators of a set.
"""

from dataclasses import dataclass
from statistics import fmean

import numpy as np
import pandas as pd

from judgekit.benchmarks.outputs import PUBLISHED, published_of
from judgekit.intervals import cluster_sums, percentile_interval, resampled_sums, two_sided_p
from judgekit.records import ORDERS
from judgekit.results import Number, slug
from judgekit.scoring import N_BOOT, run_judge
from judgekit.scoring.protocols import protocol_of, read_verdict
from judgekit.sources import read_rows

CREDIT, SAME, UNREAD = range(3)


@dataclass(frozen=True, slots=True)
class Evaluator:
    """A model asked in one way.

    Attributes
    ----------
    model, method : str
        Slugs, e.g. ``gpt_4`` and ``vanilla_norules``.
    judge : str
        Name of the judge that has the verdicts, e.g. ``replay/gpt-4-vanilla-norules``.
    """

    model: str
    method: str
    judge: str


def stored_evaluators(models):
    """Every method whose outputs are stored for some models.

    Parameters
    ----------
    models : list of str
        As in the names of replay judges, e.g. ``["gpt-4", "chatgpt", "chatgpt-0301"]``.

    Returns
    -------
    list of Evaluator
        By model, in the order given.

    Raises
    ------
    KeyError
        If a model has none.
    """
    found = []
    for model in models:
        longer = [f"{other}-" for other in models if other.startswith(f"{model}-")]
        names = [name for name in PUBLISHED if name.startswith(f"{model}-") and not name.startswith(tuple(longer))]
        names = [name for name in names if "llmbar_natural" in PUBLISHED[name].sets]
        if not names:
            raise KeyError(f"no prompt outputs of {model!r} are stored")
        found += [Evaluator(slug(model), slug(name.removeprefix(f"{model}-")), f"replay/{name}") for name in names]
    return found


def outcome_table(evaluators, judges, sets, store):
    """What every evaluator earned on every item, both orders.

    Parameters
    ----------
    evaluators : list of Evaluator
    judges : dict of str to Judge
        By name.
    sets : dict of str to list of PreferencePair
    store : judgekit.store.VerdictStore

    Returns
    -------
    pandas.DataFrame
        Columns set, model, method, item_id, cluster, credit (share of the two orders that are right), same (both
        orders say the same), unread (share of the orders that could not be read).

    Raises
    ------
    RuntimeError
        If a live judge failed on some items: a failed call is no wrong verdict. Those that succeeded are stored.
    """
    rows = []
    for name, pairs in sets.items():
        protocol = protocol_of(name)
        for one in evaluators:
            live = one.judge.startswith("openai/")
            verdicts = run_judge(judges[one.judge], pairs, store, progress=live)
            if live and (failed := [verdict for verdict in verdicts if verdict.status == "error"]):
                many = f"{len(failed)} of {len(verdicts)} verdicts of {one.judge} on {name} failed"
                raise RuntimeError(f"{many} ({failed[0].raw}); run again, the others are stored")
            said = {(verdict.item_id, verdict.order): verdict for verdict in verdicts}
            for pair in pairs:
                both = [said[pair.item_id, order] for order in ORDERS]
                read = [read_verdict(verdict, protocol) for verdict in both]
                rows.append(
                    (
                        *(name, one.model, one.method, pair.item_id, pair.cluster),
                        sum(label == pair.label for label in read) / 2,
                        float(both[0].status == both[1].status == "ok" and both[0].verdict == both[1].verdict),
                        sum(verdict.status != "ok" for verdict in both) / 2,
                    )
                )
    names = ["set", "model", "method", "item_id", "cluster", "credit", "same", "unread"]
    return pd.DataFrame(rows, columns=names)


def effect_table(outcomes, base, n_boot=N_BOOT, seed=0):
    """Accuracy, agreement and effect of every evaluator on every set.

    Parameters
    ----------
    outcomes : pandas.DataFrame
        As `outcome_table`.
    base : str
        The method that others are compared with, of the same model.
    n_boot, seed : int

    Returns
    -------
    pandas.DataFrame
        Columns set, model, method; Numbers ``accuracy`` (mean of both orders), ``agreement`` (both orders say the
        same), ``unread``, ``difference`` (accuracy less the base method's, None for the base itself) and
        ``interaction`` (the difference less the mean difference of the method over the other models; None where no
        other model has the method); floats ``p_value``, ``p_interaction``.

    Raises
    ------
    ValueError
        If a model lacks the base method.

    Notes
    -----
    Prompts are drawn once for all evaluators of a set, so every difference is paired.
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
            row = {"set": name, "model": model, "method": method}
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


def mean_effect_table(outcomes, base, n_boot=N_BOOT, seed=0):
    """Effect of every method on every set, averaged over the models that have it (two at least).

    Parameters
    ----------
    outcomes, base, n_boot, seed
        As for `effect_table`.

    Returns
    -------
    pandas.DataFrame
        Columns set, method, models (how many), difference (a Number), p_value. The models are these models: the
        interval is over prompts, not over models that could have been.
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


def resampled_means(part, keys, n_boot, seed):
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


def differences_of(keys, means, drawn, base):
    """Evaluator to its difference in accuracy to the base method of its model: value and resampled values."""
    places = {key: k for k, key in enumerate(keys)}
    found = {}
    for (model, method), k in places.items():
        if method != base:
            b = places[model, base]
            found[model, method] = (means[k, CREDIT] - means[b, CREDIT], drawn[:, k, CREDIT] - drawn[:, b, CREDIT])
    return found


def number(value, drawn, n):
    """A rate or a difference with its interval, and the two-sided p-value of it being zero."""
    return Number(float(value), *percentile_interval(drawn), n=n, spec=".1%"), two_sided_p(drawn)


# ---------------------------------------------------------------- cost


def call_table(evaluators):
    """How often a model was called for a verdict, and how much it wrote, by stored evaluator.

    Returns
    -------
    pandas.DataFrame
        Columns set, model, method, calls (per verdict: half of an item's calls, which give two) and characters
        (written per verdict, where replies are kept). Evaluators without stored calls are left out.

    Notes
    -----
    A reference or a list of metrics is written once for an item and serves both orders. Ratings of the two responses
    serve both orders too. A synthesis is asked for only where the two orders disagree.
    """
    rows = []
    for one in evaluators:
        if not one.judge.startswith("replay/"):
            continue
        by_set = {}
        for file in published_of(one.judge.removeprefix("replay/")).files:
            name = set_of(file)
            by_set[name] = [cost_of(row.get("results")) for row in read_rows(file)]
        union = [cost for name, costs in by_set.items() if name != "llmbar_natural" for cost in costs]
        costs = by_set | {"llmbar_adversarial": union}
        rows += [
            (name, one.model, one.method, fmean(calls for calls, _ in cost) / 2, fmean(size for _, size in cost) / 2)
            for name, cost in costs.items()
        ]
    return pd.DataFrame(rows, columns=["set", "model", "method", "calls", "characters"])


def set_of(file):
    """The set an output file belongs to.

    Examples
    --------
    >>> set_of("llmbar/LLMBar/Adversarial/GPTOut/evaluators/GPT-4/CoT/result.json")
    'llmbar_gptout'
    """
    return "llmbar_" + file.partition("/evaluators/")[0].rpartition("/")[2].lower()


def cost_of(steps):
    """Calls and characters written for one item, from the steps that are stored for it.

    Examples
    --------
    >>> cost_of([["a reference", "stop"], {"swap = False": {"completion": ["(a)"]}, "swap = True": {"winner": "1"}}])
    (3, 14)
    >>> cost_of([{"score_1": ["5", "stop"], "score_2": ["9", "stop"], "swap = False": {}, "swap = True": {}}])
    (2, 2)
    """
    calls = characters = 0
    for step in steps:
        if isinstance(step, list):
            replies = [step]
        elif "score_1" in step:
            replies = [step["score_1"], step["score_2"]]
        else:
            replies = [step[key].get("completion") for key in ("swap = False", "swap = True")]
        calls += len(replies)
        characters += sum(len(reply[0]) for reply in replies if isinstance(reply, list) and reply and reply[0])
    return calls, characters
