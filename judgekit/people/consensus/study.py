"""The methods side by side: by name, and on annotators that were planted."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from judgekit.data.progress import progress_over
from judgekit.people.consensus.crowdlab import crowdlab, knows_nothing
from judgekit.people.consensus.majority import majority
from judgekit.people.consensus.models import dawid_skene, glad, mace
from judgekit.people.consensus.planted import Panel, planted_votes
from judgekit.people.consensus.truth import auroc, rank_agreement
from judgekit.stats import Number

VOTE_METHODS = {
    "majority": majority,
    "dawid_skene": dawid_skene,
    "dawid_skene_one_coin": partial(dawid_skene, one_coin=True),
    "glad": glad,
    "mace": mace,
}
METHOD_TITLES = {
    "majority": "majority",
    "dawid_skene": "Dawid-Skene",
    "dawid_skene_one_coin": "one-coin D.-S.",
    "glad": "GLAD",
    "mace": "MACE",
    "crowdlab": "CROWDLAB",
    "crowdlab_uniform": "CROWDLAB, no judge",
    "judge": "judge alone",
}


def methods_with(judges=None):
    """Methods by name: those that read votes only, and CROWDLAB with each judge's probabilities.

    Parameters
    ----------
    judges : dict of str to ClassProbabilities, optional
        Name of the method to a judge's probabilities, of all items that the votes will be on.

    Returns
    -------
    dict of str to callable
        Votes to `Consensus`. ``crowdlab_uniform`` has a judge that knows nothing.
    """
    methods = dict(VOTE_METHODS)
    for name, probabilities in (judges or {}).items():
        methods[name] = partial(crowdlab_consensus, probabilities=probabilities, method=name)
    methods["crowdlab_uniform"] = without_judge
    return methods


def without_judge(votes):
    """CROWDLAB with a judge that knows nothing."""
    return crowdlab(votes, knows_nothing(votes), method="crowdlab_uniform").consensus


def crowdlab_consensus(votes, probabilities, method):
    """CROWDLAB's consensus, with the judge's probabilities found by the items' keys and classes."""
    stated = probabilities if probabilities.classes == votes.classes else probabilities.only(votes.classes)
    return crowdlab(votes, stated.at(votes.items), method=method).consensus


GOOD = (0.95, 0.9, 0.9, 0.85, 0.85, 0.8, 0.8, 0.75, 0.75, 0.7, 0.65, 0.6)
SPAMMED = (0.95, 0.9, 0.85, 0.8, 0.8, 0.75, 0.7, 0.65, 1 / 3, 1 / 3, 1 / 3, 1 / 3)
REGIMES = {
    "one to three votes": Panel(GOOD, votes=(1, 3)),
    "five votes": Panel(GOOD, votes=(5, 5)),
    "a third spams": Panel(SPAMMED, votes=(2, 4)),
    "half are hard": Panel(GOOD, votes=(2, 4), hard=0.5),
    "shared errors": Panel(GOOD, votes=(2, 4), misleading=0.5, prompt_spread=1.0),
    "a weak judge": Panel(GOOD, votes=(1, 3), judge=0.4),
    "a strong judge": Panel(GOOD, votes=(1, 3), judge=0.85),
}


def simulated(regimes, simulations, seed=0, prompts=100):
    """Every method on planted annotators.

    Parameters
    ----------
    regimes : dict of str to Panel
    simulations, seed, prompts : int

    Returns
    -------
    pandas.DataFrame
        Columns ``regime``, ``simulation``, ``method``, ``accuracy``, ``gain`` (over majority), ``auroc`` (of the
        consensus quality for being right) and ``rank`` (Spearman of the skills with the planted rates).
    """
    cells = [(name, panel, number) for name, panel in regimes.items() for number in range(simulations)]
    rows, known = [], {}
    for name, panel, number in progress_over(cells, "planted annotators", "panel"):
        planted = planted_votes(replace(panel, prompts=prompts), seed + number)
        methods = methods_with({"crowdlab": planted.judge})
        same = replace(panel, judge=0.5), number  # panels that differ in the judge only have the same votes
        found = {"crowdlab": methods.pop("crowdlab")(planted.votes)}
        if same not in known:
            known[same] = {key: method(planted.votes) for key, method in methods.items()}
        found = known[same] | found
        right = {key: consensus.labels == planted.truth for key, consensus in found.items()}
        for key, consensus in found.items():
            row = {"regime": name, "simulation": number, "method": key, "accuracy": right[key].mean()}
            row["gain"] = right[key].mean() - right["majority"].mean()
            row["auroc"] = float(auroc(consensus.quality, right[key]))
            rows.append(row | {"rank": rank_agreement(consensus.skill, planted.rates)})
    return pd.DataFrame(rows)


def simulated_numbers(table, quantities=("accuracy", "gain", "auroc", "rank")):
    """Means over simulations with Student's interval.

    Parameters
    ----------
    table : pandas.DataFrame
        Of `simulated`, two simulations or more.

    Returns
    -------
    pandas.DataFrame
        Columns ``regime``, ``method`` and the quantities (`Number`, ``n`` simulations; the gain of majority over
        itself is None).
    """
    from scipy.stats import t as student

    rows = []
    for (regime, method), part in table.groupby(["regime", "method"], sort=False):
        row = {"regime": regime, "method": method}
        for quantity in quantities:
            values = part[quantity].to_numpy(float)
            half = student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
            spec = ".3f" if quantity in ("auroc", "rank") else ".1%"
            mean = float(values.mean())
            row[quantity] = Number(mean, mean - half, mean + half, len(values), spec)
        if method == "majority":
            row["gain"] = None
        rows.append(row)
    return pd.DataFrame(rows, dtype=object)
