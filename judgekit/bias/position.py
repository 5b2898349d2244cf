r"""Position bias: how far a verdict depends on which response is shown first.

With :math:`x_1, x_2` the credit of a pair's A (1, 1/2 for a tie, 0) when A is shown first and second, the *shift* of
the pair is :math:`D = x_1 - x_2`, in [-1, 1]: 0 where the judge gives the same verdict in both orders.
"""

from typing import Any

import numpy as np
import pandas as pd

from judgekit.stats import Floats, Number, interval, share_of

N_BOOT = 10_000
FEWEST = 10  # pairs with opposite verdicts from which log odds are estimated


def log_odds(opposite: Floats) -> Floats:
    r"""Position effect in log odds, given the pair: :math:`\frac12 \log\frac{n_1 + 1/2}{n_2 + 1/2}`.

    ``opposite``: pairs that go to the first (:math:`n_1`) and to the second response (:math:`n_2`) in both orders,
    shape (..., 2). Let the judge's log odds for A be :math:`\theta \pm \beta`, plus where A is shown first. Given that
    the two verdicts are opposite, they go to the first response with probability :math:`\sigma(2\beta)`, whatever the
    pair's :math:`\theta` and its inclination to ties (Davidson's model). Half a pair is added to both counts, which
    keeps the estimate finite and takes off its first-order bias (Haldane, 1956).

    Where :math:`\beta` varies, this is that of an average pair among those with opposite verdicts; it is not defined
    where a judge's two verdicts are not independent given the pair (one mood, one cache).
    """
    first, second = np.moveaxis(np.asarray(opposite, float), -1, 0) + 0.5
    return np.log(first / second) / 2


def position_numbers(table: pd.DataFrame, n_boot: int = N_BOOT, seed: int = 0) -> dict[str, Number]:
    r"""Every measure of one judge's position bias on a `judgekit.bias.judged` table, with intervals over prompts.

    Among the pairs read in both orders, as in `judgekit.scoring.score`: ``consistency``, the same verdict twice;
    ``toward_first`` and ``toward_second``, those whose verdict changes, by the side that they lean to (:math:`D > 0`
    and :math:`D < 0`); ``delta``, the mean shift, in [-1, 1]. ``first_rate``: decided verdicts for the response shown
    first. `log_odds` is left out where fewer than ten pairs have opposite verdicts, or all of them lean to one side.
    ValueError if no pair was read in both.
    """
    ab, ba = table["ab"].to_numpy(float), table["ba"].to_numpy(float)
    shift = ab - ba
    read = np.isfinite(shift)
    if not read.any():
        raise ValueError("no pair has a verdict in both orders")
    rates = {
        "consistency": (shift == 0, read),
        "toward_first": (shift > 0, read),
        "toward_second": (shift < 0, read),
        "first_rate": ((ab == 1) * 1 + (ba == 0), np.isin(ab, (0, 1)) * 1 + np.isin(ba, (0, 1))),
        "delta": (np.nan_to_num(shift), read),
    }
    options: Any = {"n_boot": n_boot, "seed": seed}
    numbers = {}
    for name, (hits, cases) in rates.items():
        if n := int(cases.sum()):
            more = options | {"n": n, "spec": ".1%", "signed": name == "delta"}
            numbers[name] = interval(share_of, table["prompt"], np.column_stack([hits, cases]), **more)
    opposite = np.column_stack([shift == 1, shift == -1])
    if (n := int(opposite.sum())) >= FEWEST and opposite.any(0).all():
        numbers["log_odds"] = interval(log_odds, table["prompt"], opposite, n=n, spec=".2f", signed=True, **options)
    return numbers
