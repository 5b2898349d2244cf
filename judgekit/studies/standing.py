"""Where judges stand: agreement with people against accuracy where looks mislead, ours and published ones."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from judgekit.data.benchmarks.published import published_table
from judgekit.stats import mean_of_independent, proportion_interval


def published_standing(
    quality: Mapping[str, str], adversarial: Sequence[str], sizes: Mapping[str, int]
) -> pd.DataFrame:
    """Published figures on two axes, for the judges that have all of them.

    Columns judge, x, x_low, x_high, y, y_low, y_high, as `judgekit.studies.score_benchmarks.tradeoff_table` makes it.
    ``quality``: set to the metric that is its primary figure; their mean is x. ``adversarial``: the sets of y, weighted
    by their sizes (items). Intervals are Wilson's for independent items, since nothing else is published: too narrow
    where items share prompts.
    """
    table = published_table()
    table = table[table["table"].isin(["figure4", "figure5", "figure6"])]
    values: dict[Any, Any] = {(row.title, row.set, row.metric): row.value for row in table.itertuples()}
    rows = []
    for judge in dict.fromkeys(table["title"]):
        of_quality: list[Any] = [values.get((judge, name, metric)) for name, metric in quality.items()]
        of_adversarial: list[Any] = [values.get((judge, name, "accuracy")) for name in adversarial]
        if None in of_quality + of_adversarial:
            continue
        parts = [(v, *proportion_interval(v, sizes[name])) for v, name in zip(of_quality, quality, strict=True)]
        total = sum(sizes[name] for name in adversarial)
        y = sum(v * sizes[name] for v, name in zip(of_adversarial, adversarial, strict=True)) / total
        rows.append((f"{judge}, published", *mean_of_independent(parts), y, *proportion_interval(y, total)))
    return pd.DataFrame(rows, columns=["judge", "x", "x_low", "x_high", "y", "y_low", "y_high"])
