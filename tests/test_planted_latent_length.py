"""Planted judges: the latent model finds a taste for length where quality and length go together."""

import numpy as np
import pytest

from judgekit.bias.latent_length import NoOptimum, fit_latent_length
from judgekit.bias.planted import PlantedBias, Population, planted_table
from judgekit.stats import coverage

ENOUGH, SIMULATIONS = 930, 1000
pytestmark = pytest.mark.slow  # a thousand simulations each
TASTE, RICHER = 0.5, 0.8
JUDGE = PlantedBias(length=TASTE, position=0.4)


def table_of(seed, bias=JUDGE, prompts=120, per_prompt=2, richer=RICHER, **population):
    return planted_table(bias, Population(prompts=prompts, per_prompt=per_prompt, richer=richer, **population), seed)


def test_the_latent_model_finds_what_was_planted_where_long_is_better():
    held = coverage(lambda t: fit_latent_length(t).length, TASTE, lambda k: table_of(k), SIMULATIONS)
    assert held >= ENOUGH


def test_the_latent_model_sees_no_taste_in_a_skilled_judge_without():
    found = fit_latent_length(table_of(0, PlantedBias(length=0.0, skill=2.0), prompts=2000))
    assert found.length.low <= 0 <= found.length.high  # where the excess of the plain estimates is above 0.18
    assert found.weight.value == pytest.approx(2.0, abs=0.3)
    assert found.people.value == pytest.approx(
        0.64, abs=0.08
    )  # cov(quality, d) / var(d) with `richer` doublings a unit


def test_ties_shrink_the_latent_model_as_its_docstring_says():
    tied = PlantedBias(length=TASTE, log_nu=0.0)
    found = fit_latent_length(table_of(1, tied, prompts=3000, log_nu=0.0)).length
    assert found.high < TASTE and 0.2 < found.value < 0.36


def test_one_order_and_symmetric_judges_are_read_without_opinions():
    table = table_of(0, PlantedBias(length=TASTE, opinion=0.0), prompts=1000)
    one = fit_latent_length(table.assign(ba=float("nan"))).length
    assert one.low <= TASTE <= one.high
    symmetric = fit_latent_length(table.assign(ba=table["ab"])).length
    assert symmetric == one


def test_opinions_shrink_what_one_order_tells():
    table = table_of(0, PlantedBias(length=1.0, opinion=2.0), prompts=3000)
    both, one = (fit_latent_length(part).length for part in (table, table.assign(ba=float("nan"))))
    assert both.low <= 1.0 <= both.high
    assert one.high < 0.9


def test_what_cannot_be_told_is_an_error():
    table = table_of(0)
    with pytest.raises(ValueError, match="more than one vote"):
        fit_latent_length(table.assign(n_votes=1, people=table["people"].round()))
    rule = np.where(table["words_a"] > table["words_b"], 1.0, 0.0)
    with pytest.raises(NoOptimum):
        fit_latent_length(table.assign(people=rule, ab=rule, ba=rule))
