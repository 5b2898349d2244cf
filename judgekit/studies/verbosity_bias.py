"""What is too long for `41_verbosity_bias`: responses edited in form, and win rates before and after length control.

Twins are a response against itself with its form changed: a preference is the form's doing.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from judgekit.data.sources import heads, text_key
from judgekit.judges.surface import BOLD, HEADING
from judgekit.records import PreferencePair
from judgekit.stats import Array, Floats, Number, interval_of, kendall, spearman, t_quantile

CODE = re.compile(r"```|`[^`\n]+`")
ITEM = re.compile(r"(?m)^[ \t]*(?:\(?\d{1,3}[.)、]|[-*•–])[ \t]+(?=\S)")
FIRST_WORD = re.compile(r"(?:^|(?<=[.!?])(?<!\d\.)[ \t]+(?=[A-Z])|(?<=\n))([A-Za-z]+)")
MIN_ITEMS = 3  # lines that make a list
REFRAMED = ("In other words, ", "That is to say, ", "Put differently, ", "To say it another way, ", "Once more: ")


def padded(text: str) -> str:
    """A list with every item said again in other words before it: longer, and nothing more in it.

    The attack of Zheng et al. (2023), arXiv:2306.05685, section 3.3, whose rewording was GPT-4's. A text without a list
    of three items stays as it is.

    >>> print(padded("1. Red\\n2. Green\\n3. Blue"))
    1. In other words, red
    2. That is to say, green
    3. Put differently, blue
    1. Red
    2. Green
    3. Blue
    """
    lines = text.splitlines()
    marks = {place: match[0] for place, line in enumerate(lines) if (match := ITEM.match(line))}
    if len(marks) < MIN_ITEMS:
        return text
    again = []
    for number, (place, mark) in enumerate(marks.items()):
        item = lines[place][len(mark) :]
        item = item[0].lower() + item[1:] if item[1:2].islower() else item
        again.append(f"{mark}{REFRAMED[number % len(REFRAMED)]}{item}")
    return "\n".join([*lines[: next(iter(marks))], *again, *lines[next(iter(marks)) :]])


def _unmarked(text: str) -> str:
    """A text without the marks of Markdown; fenced code keeps its lines."""
    text = re.sub(r"(?m)^[ \t]*#{1,6}[ \t]+|^[ \t]*[-*•][ \t]+|^```[^\n]*\n?", "", text)
    return re.sub(r"`([^`\n]+)`", r"\1", re.sub(r"\*\*([^*\n]+)\*\*", r"\1", text))


def _emboldened(text: str) -> str:
    """The first word of every sentence in bold, where nothing is and there is no code."""
    if BOLD.search(text) or CODE.search(text) or not text.strip():
        return text
    return FIRST_WORD.sub(lambda match: match[0].replace(match[1], f"**{match[1]}**"), text)


def _headed(text: str) -> str:
    return text if HEADING.search(text) or not text.strip() else f"## Answer\n\n{text}"


EDITS: dict[str, Callable[[str], str]] = {
    "padded": padded,
    "unmarked": _unmarked,
    "bold": _emboldened,
    "heading": _headed,
}


def twins(pairs: Sequence[PreferencePair], edit: str, most: int | None = None) -> list[PreferencePair]:
    """Each distinct response that an edit (a key of `EDITS`) changes, against itself unedited; without label.

    ``model_a`` and ``model_b`` are ``edited`` and ``original``; sides and drawing are by a hash of the texts.
    """
    made = {}
    for pair in pairs:
        for text in pair.responses:
            if (changed := EDITS[edit](text)) != text:
                key = text_key(f"{edit}\n{pair.question}\n{text}")
                twin = PreferencePair(f"{edit}/{key}", pair.benchmark, pair.asked, changed, text)
                cluster = f"{pair.benchmark}/{pair.cluster}"
                twin = replace(twin, cluster_id=cluster, model_a="edited", model_b="original")
                made[key] = twin if heads(key) else twin.swapped()
    return [made[key] for key in sorted(made)[:most]]


def _equal_length_rates(credit: Floats, doublings: Floats, model: Array, weight: Array) -> Floats:
    """Win rates of several models at equal length, shape (n_models,), by Newton's method on sums by model.

    The arrays have a value per row: ``model`` counts from 0, ``weight`` says how often the row counts.
    """
    theta, slope = np.zeros((2, model.max() + 1))
    for _ in range(25):
        p = 1 / (1 + np.exp(-theta[model] - slope[model] * doublings))
        spread, missed = weight * p * (1 - p), weight * (credit - p)
        terms = (missed, missed * doublings, spread, spread * doublings, spread * doublings**2)
        g0, g1, h00, h01, h11 = (np.bincount(model, term) for term in terms)
        step = (g1 - h01 * g0 / h00) / (h11 - h01**2 / h00)
        theta, slope = theta + (g0 - h01 * step) / h00, slope + step
        if np.abs(step).max() < 1e-6:
            break
    return 1 / (1 + np.exp(-theta))


def leaderboard(table: pd.DataFrame, n_boot: int = 500, seed: int = 0) -> tuple[pd.DataFrame, dict[str, Number]]:
    r"""Every model's win rates against a baseline, best raw one first, and what length control does to the ranking.

    ``table``: a row per model and prompt, with credit and doublings of length over the baseline's response. For each
    model :math:`\operatorname{logit} E[c] = \theta + \lambda d`; the win rate at equal length is
    :math:`\sigma(\theta)`, after AlpacaEval 2 (Dubois et al. 2024, arXiv:2404.04475). All that goes with length is
    controlled for: where longer responses say more, the controlled rate is too low.

    The board has the columns model, doublings (the mean), raw and controlled. The changes are ``kendall_controlled``,
    between the two rankings, and ``length_raw`` and ``length_controlled``, Spearman's correlation of win rate with mean
    length. Intervals resample prompts: of win rates by the standard error of the draws and t quantiles, which needs
    fewer draws than percentiles. The models are these, not a sample of them.
    """
    models, model = np.unique(table["model"].astype(str), return_inverse=True)
    names, prompt = np.unique(table["prompt"].astype(str), return_inverse=True)
    rng, n_prompts = np.random.default_rng(seed), len(names)
    credit, doublings = table["credit"].to_numpy(), table["doublings"].to_numpy()
    raw, controlled = np.zeros((2, n_boot + 1, len(models)))
    for draw in range(n_boot + 1):  # the first is of the prompts as they are
        counts = np.bincount(rng.integers(n_prompts, size=n_prompts), minlength=n_prompts)
        weight = (counts if draw else np.ones(n_prompts))[prompt]
        raw[draw] = np.bincount(model, weight * credit) / np.bincount(model, weight)
        controlled[draw] = _equal_length_rates(credit, doublings, model, weight)
    by_model = table.groupby("model")["doublings"].agg(["mean", "size"]).loc[models]
    board = pd.DataFrame({"model": models, "doublings": by_model["mean"].to_numpy()})
    for kind, drawn in (("raw", raw), ("controlled", controlled)):
        half = t_quantile(0.975, n_prompts - 1) * drawn[1:].std(0, ddof=1)
        ends = np.clip([drawn[0], drawn[0] - half, drawn[0] + half], 0, 1)
        rows = np.column_stack([*ends, by_model["size"]])
        numbers = [Number(value, low, high, n, ".1%") for value, low, high, n in rows]
        board[kind] = pd.Series(numbers, dtype=object)
    found = {
        "length_raw": [float(spearman(row, by_model["mean"])) for row in raw],
        "length_controlled": [float(spearman(row, by_model["mean"])) for row in controlled],
        "kendall_controlled": [float(kendall(*two)) for two in zip(raw, controlled, strict=True)],
    }
    changes = {
        name: Number(one[0], *interval_of(one[0], one[1:], n_prompts), len(models), ".2f")
        for name, one in found.items()
    }
    return board.iloc[np.argsort(-raw[0])].reset_index(drop=True), changes
