"""Judges by sets: the tables that notebooks show, draw and save."""

import pandas as pd

from judgekit.intervals import mean_of_independent
from judgekit.judges import load_judge
from judgekit.records import ORDERS
from judgekit.scoring.protocols import majority_class, primary_protocol
from judgekit.scoring.running import run_judge
from judgekit.scoring.scores import N_BOOT, score


def score_table(judges, sets, store, slugs, published=None, n_boot=N_BOOT, seed=0, progress=True):
    """Judge and score every set with every judge.

    Parameters
    ----------
    judges : dict of str to Judge
        Name to judge; ``baseline/majority_class`` may be given as None and is made for each set.
    sets : dict of str to list of PreferencePair
    store : judgekit.store.VerdictStore
    slugs : dict of str to str
        Name to slug, published judges included.
    published : dict of str to list of Judge, optional
        Judges that have verdicts on one set only, by set; they are asked for the orders they have.
    n_boot, seed, progress
        See `score` and `run_judge`.

    Returns
    -------
    pandas.DataFrame
        Columns set, judge (slug), metric, number (a `Number`), protocol.
    """
    rows = []
    for name, pairs in sets.items():
        protocol = primary_protocol(name)
        for judge in [*judges_on(judges, pairs, protocol), *(published or {}).get(name, [])]:
            verdicts = run_judge(judge, pairs, store, getattr(judge, "orders", ORDERS), progress)
            scores = score(verdicts, pairs, name, protocol, n_boot, seed)
            rows += [(name, slugs[judge.name], metric, number, protocol.name) for metric, number in scores.items()]
    return pd.DataFrame(rows, columns=["set", "judge", "metric", "number", "protocol"])


def judges_on(judges, pairs, protocol):
    """The judges for one set: the majority class is another one for each set."""
    constant = load_judge("baseline/majority_class", label=majority_class(pairs, protocol))
    return [constant if judge is None else judge for judge in judges.values()]


TITLES = {
    "pandalm": "PandaLM",
    "autoj": "Auto-J",
    "mtbench": "MT-bench",
    "judgebench": "JudgeBench",
    "rm_bench": "RM-Bench",
    "evalbiasbench": "EvalBiasBench",
    "llmbar_natural": "Natural",
    "llmbar_neighbor": "Neighbor",
    "llmbar_gptinst": "GPTInst",
    "llmbar_gptout": "GPTOut",
    "llmbar_manual": "Manual",
    "llmbar_adversarial": "LLMBar adversarial",
    "chatbot_arena": "Chatbot Arena",
    "mtbench_repro": "MT-bench, newer models",
    "sample_natural": "sample natural",
    "sample_adversarial": "sample adversarial",
}


def pick(table, metric_of):
    """One number per judge and set as a wide table: rows are judges, columns (set title, metric title).

    Parameters
    ----------
    table : pandas.DataFrame
        What `score_table` returns.
    metric_of : dict of str to list of str
        Set to the metrics shown for it, in order.

    Returns
    -------
    list of dict
        For `judgekit.results.save_table`; cells that a judge lacks are None.
    """
    numbers = {(row.set, row.judge, row.metric): row.number for row in table.itertuples()}
    rows = []
    for judge in dict.fromkeys(table["judge"]):
        cells = {
            (TITLES.get(name, name), metric_title(metric)): numbers.get((name, judge, metric))
            for name, wanted in metric_of.items()
            for metric in wanted
        }
        if any(cell is not None for cell in cells.values()):
            rows.append({("", "judge"): judge, **cells})
    return rows


def metric_title(metric):
    """A metric's name as a head of a column.

    Examples
    --------
    >>> metric_title("macro_f1"), metric_title("first_rate")
    ('macro-F1', 'first rate')
    """
    return {"macro_f1": "macro-F1", "ece": "ECE", "nll": "NLL", "brier": "Brier"}.get(metric, metric.replace("_", " "))


def forest_table(table, metric="accuracy"):
    """One metric of every judge and set, as `judgekit.plots.plot_forest` takes it: judge, set, value, low, high."""
    chosen = table[table["metric"] == metric]
    rows = [
        (row.judge, TITLES.get(row.set, row.set), row.number.value, row.number.low, row.number.high)
        for row in chosen.itertuples()
    ]
    return pd.DataFrame(rows, columns=["judge", "set", "value", "low", "high"])


def tradeoff_table(table, quality_sets, adversarial_set):
    """Mean accuracy on some sets against accuracy on another, for the judges that have all of them.

    Returns
    -------
    pandas.DataFrame
        Columns judge, x, x_low, x_high (the mean), y, y_low, y_high.
    """
    numbers = {(row.judge, row.set): row.number for row in table[table["metric"] == "accuracy"].itertuples()}
    rows = []
    for judge in dict.fromkeys(table["judge"]):
        wanted = [numbers.get((judge, name)) for name in (*quality_sets, adversarial_set)]
        if all(number is not None for number in wanted):
            x = mean_of_independent([(number.value, number.low, number.high) for number in wanted[:-1]])
            rows.append((judge, *x, wanted[-1].value, wanted[-1].low, wanted[-1].high))
    return pd.DataFrame(rows, columns=["judge", "x", "x_low", "x_high", "y", "y_low", "y_high"])
