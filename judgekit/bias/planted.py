r"""Judges whose biases are known, because they were planted: the ground truth that estimators are held against.

A pair has two responses of quality :math:`q_A, q_B`. People prefer A with the log odds :math:`q_A - q_B`. The planted
judge, shown the pair in one order, prefers A with

.. math:: \eta = w (q_A - q_B) + e \pm (p + u) + l \log_2(n_A / n_B) + o (f_A - f_B)

with :math:`e` an opinion of its own (the same in both orders), :math:`\pm` positive where A stands first, :math:`p` the
position bias and :math:`u` what it varies by between prompts, :math:`n` the responses' words and :math:`f` whether its
own family wrote a response. Both draw a tie by Davidson's model (`judgekit.stats`).
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from judgekit.judges.base import Request
from judgekit.judges.baseline import RuleJudge
from judgekit.records import PreferencePair, Reply, fingerprint_of
from judgekit.stats import Array, Floats, outcome_probabilities

NO_TIES = -40.0  # log of Davidson's tie parameter
OWN_FAMILY = "amber"  # the planted judge's: the part of a model's name before the first ``-``
VOTERS = 3  # people's votes on each pair
MODELS = {f"{family}-{k}": 0.0 for family in (OWN_FAMILY, "birch", "cedar") for k in (1, 2)}  # of equal quality


@dataclass(frozen=True)
class PlantedBias:
    """What a planted judge's verdicts depend on, in log odds."""

    skill: float = 1.0  # per unit of quality
    opinion: float = 0.5  # standard deviation of what it thinks of a pair beside its quality
    position: float = 0.0  # for the response shown first
    position_spread: float = 0.0  # standard deviation of the position bias between prompts
    length: float = 0.0  # per doubling of the number of words
    own: float = 0.0  # for a response of its own family
    log_nu: float = NO_TIES  # log of Davidson's tie parameter: higher is more ties


@dataclass(frozen=True)
class Population:
    """Pairs and people that planted judges are tried on."""

    prompts: int = 150
    per_prompt: int = 4  # pairs about each prompt
    models: Mapping[str, float] = field(default_factory=MODELS.copy)  # who writes, and the mean quality of it
    prompt_spread: float = 0.5  # standard deviation of a prompt's part in the difference: its pairs go together
    richer: float = 0.0  # doublings that a unit of quality brings; above 0, long responses are better more often
    wordier: Mapping[str, float] | None = None  # doublings by which a model writes more, whatever the quality


def _drawn(difference: Array, log_nu: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Credit for A (1, 0.5, 0) of verdicts with these log odds, drawn by Davidson's model; and its mean; any shape."""
    a, b, tie = np.moveaxis(outcome_probabilities(difference, np.full(np.shape(difference), log_nu)), -1, 0)
    drawn = rng.random(np.shape(difference))
    return np.where(drawn < a, 1.0, np.where(drawn < a + b, 0.0, 0.5)), a + tie / 2


def planted_table(bias: PlantedBias, population: Population, seed: int) -> pd.DataFrame:
    """A table of `judgekit.bias.judged` with one planted judge, and ``quality`` (of A less that of B), never read."""
    rng = np.random.default_rng(seed)
    n = population.prompts * population.per_prompt
    prompt = np.repeat(np.arange(population.prompts), population.per_prompt)
    names, means = np.array(list(population.models)), np.array(list(population.models.values()))
    a = rng.integers(len(names), size=n)
    b = (a + rng.integers(1, len(names), size=n)) % len(names)
    own_quality = rng.normal(size=(2, n)) + means[np.stack([a, b])]
    quality = own_quality[0] - own_quality[1] + population.prompt_spread * rng.normal(size=population.prompts)[prompt]
    doublings = 6.5 + population.richer * own_quality + rng.normal(scale=0.8, size=(2, n))
    doublings += np.array([(population.wordier or {}).get(name, 0.0) for name in names])[np.stack([a, b])]
    words = np.maximum(1, np.round(2.0**doublings)).astype(int)
    votes, _ = _drawn(np.tile(quality, (VOTERS, 1)), NO_TIES, rng)
    columns: dict[str, Any] = {"item": np.arange(n).astype(str), "prompt": prompt.astype(str), "people": votes.mean(0)}
    columns |= {"n_votes": VOTERS, "words_a": words[0], "words_b": words[1]}
    columns |= {"model_a": names[a], "model_b": names[b], "quality": quality}
    own = np.char.startswith(names, f"{OWN_FAMILY}-").astype(float)
    eta = bias.skill * quality + bias.opinion * rng.normal(size=n)
    eta += bias.length * np.log2(words[0] / words[1]) + bias.own * (own[a] - own[b])
    position = bias.position + bias.position_spread * rng.normal(size=population.prompts)[prompt]
    for order, sign in (("ab", 1), ("ba", -1)):  # whether the item's A stands first
        columns[order], columns[f"p_{order}"] = _drawn(eta + sign * position, bias.log_nu, rng)
    return pd.DataFrame(columns)


class PlantedJudge(RuleJudge):
    """A judge of real or authored pairs that knows the labels (the better response is one unit better), and is misled
    as planted; asked again, it gives the same verdict."""

    name = "planted/biased"
    sees_item = True

    def __init__(self, pairs: Sequence[PreferencePair], bias: PlantedBias) -> None:
        self.bias, self.pairs = bias, {pair.item_id: pair for pair in pairs}
        self.fingerprint = fingerprint_of("planted", 1, asdict(bias), 0)

    def _rule(self, request: Request) -> Reply:
        """A verdict on the texts as they are shown, by the label of the item."""
        pair, bias = self.pairs[str(request.item_id)], self.bias
        first = pair if request.order == "ab" else pair.swapped()
        # A standard normal draw per item, the same in both orders, and a uniform one per item and order.
        texts = (f"0:{pair.item_id}", f"0:{pair.item_id}:{request.order}")
        digests = [hashlib.sha256(text.encode()).digest() for text in texts]
        uniform, draw = ((int.from_bytes(digest[:8], "big") + 0.5) / 2**64 for digest in digests)
        taste = float(ndtri(uniform))
        quality = {"A": 1.0, "B": -1.0}.get(str(first.label), 0.0)
        doublings = np.log2((1 + len(request.first.split())) / (1 + len(request.second.split())))
        own = [bool(model) and str(model).split("-")[0] == OWN_FAMILY for model in (first.model_a, first.model_b)]
        opinion = bias.opinion * (taste if request.order == "ab" else -taste)
        eta = bias.skill * quality + opinion + bias.position + bias.length * doublings + bias.own * (own[0] - own[1])
        p = outcome_probabilities(np.array([eta]), np.array([bias.log_nu]))[0]
        verdict = "first" if draw < p[0] else "second" if draw < p[0] + p[1] else "tie"
        return Reply(verdict, float(p[0]), float(p[1]), float(p[2]))
