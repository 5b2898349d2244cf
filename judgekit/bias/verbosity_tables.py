"""The readings of verbosity of many judges, and of planted ones, as tables."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from judgekit.bias.formats import form_differences, form_effects
from judgekit.bias.judged import judged_table
from judgekit.bias.latent_length import NoOptimum, fit_latent_length
from judgekit.bias.planted import PlantedBias, Population, planted_table
from judgekit.bias.verbosity import Separated, error_gap, length_effects, partial_correlation, prefers_longer
from judgekit.data.progress import progress_over
from judgekit.stats import Number, holm

if TYPE_CHECKING:
    from judgekit.scoring import Contest

SEVERAL = 0.1  # share of pairs with more than one vote from which the latent model is fitted
READINGS = {  # quantity to its head in a table
    "length_effect": "length",
    "people_length_effect": "people's",
    "excess": "excess",
    "given_people": "given people",
    "latent_length": "repaired",
    "error_gap": "error gap",
    "partial": "partial r",
}


def read_verbosity(table: pd.DataFrame, n_boot: int = 10_000, seed: int = 0) -> tuple[dict[str, Number], float]:
    """Every reading of one judge on one set, and the p-value that the judge's length effect is people's.

    ``latent_*`` only where a tenth of the pairs or more have several votes and these determine the latent model.
    """
    effects, p_value = length_effects(table)
    gap, prefers = error_gap(table, n_boot, seed), prefers_longer(table, n_boot, seed)
    numbers = {
        "length_effect": effects["judge"],
        "people_length_effect": effects["people"],
        "excess": effects["excess"],
        "given_people": effects["given_people"],
        "prefers_longer": prefers["judge"],
        "people_prefer_longer": prefers["people"],
        "prefers_longer_than_people": prefers["difference"],
        "error_shorter": gap["shorter"],
        "error_longer": gap["longer"],
        "error_gap": gap["gap"],
        "partial": partial_correlation(table, n_boot, seed),
    }
    return numbers | read_latent(table), p_value


def read_latent(table: pd.DataFrame) -> dict[str, Number]:
    """What the latent model says, or nothing where too few votes are split to fit it."""
    if (table["n_votes"] > 1).mean() < SEVERAL:
        return {}
    try:
        latent = fit_latent_length(table)
    except NoOptimum:
        return {}
    return {"latent_length": latent.length, "latent_people": latent.people, "latent_weight": latent.weight}


def verbosity_table(contests: Mapping[str, "Contest"], n_boot: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The readings of every judge of some contests; a progress bar is shown.

    Columns set, judge, p_holm (over all judges and sets) and the readings, as numbers or NaN.
    """
    cells = [(name, judge) for name, contest in contests.items() for judge in contest.verdicts]
    rows, p_values = [], []
    for name, judge in progress_over(cells, "readings", "judge"):
        table = judged_table(contests[name].pairs, contests[name].verdicts[judge])
        numbers, p_value = read_verbosity(table, n_boot, seed)
        rows.append({"set": name, "judge": judge, **numbers})
        p_values.append(p_value)
    table = pd.DataFrame(rows)
    table.insert(2, "p_holm", holm(p_values))
    return table


def form_table(contests: Mapping[str, "Contest"]) -> tuple[pd.DataFrame, list[tuple[str, str]]]:
    """Effects of form of every judge of some contests, and the sets and judges left out.

    Columns set, judge, form, judge_effect, people_effect and difference_effect (numbers). Left out is where an effect
    is infinite: a form, or all forms together, decide every verdict.
    """
    rows, left_out = [], []
    for name, contest in contests.items():
        differences = form_differences(contest.pairs)
        for judge, said in contest.verdicts.items():
            try:
                found = form_effects(judged_table(contest.pairs, said), differences)
            except Separated:
                left_out.append((name, judge))
                continue
            for form, numbers in found.items():
                effects = {f"{who}_effect": x for who, x in numbers.items()}
                rows.append({"set": name, "judge": judge, "form": form} | effects)
    columns = ["set", "judge", "form", "judge_effect", "people_effect", "difference_effect"]
    return pd.DataFrame(rows, columns=columns), left_out


PLANTED = {  # what is planted: the judge's taste for length, and whether long responses are the better ones
    "taste": (0.5, 0.0),
    "none": (0.0, 0.8),
    "both": (0.5, 0.8),
}


def planted_readings(seed: int = 0, prompts: int = 600) -> pd.DataFrame:
    """Judges with a known taste for length, read by three estimators.

    Columns case, planted, richer, and given_people, excess and latent_length as numbers.
    """
    rows = []
    for case, (length, richer) in PLANTED.items():
        table = planted_table(
            PlantedBias(length=length, position=0.4), Population(prompts=prompts, richer=richer), seed
        )
        effects, _ = length_effects(table)
        found = {"given_people": effects["given_people"], "excess": effects["excess"]}
        found["latent_length"] = fit_latent_length(table).length
        rows.append({"case": case, "planted": length, "richer": richer, **found})
    return pd.DataFrame(rows)
