"""The published code of scores from layers (LAGER, arXiv:2508.03550), beside this package's.

It was run once on a seeded model; only its numbers are kept (``published_layers.json`` says which commit).
"""

import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from judgekit.inside.layer_logits import checked_scores, layer_logits
from judgekit.inside.layers import OVER, LayerWeights, RatedItems, distribution, expected_score, last_only
from judgekit.models.causal import CausalModel
from judgekit.models.one_pass import Plan
from judgekit.stats import Array, Floats

SCALE, SCORE_IDS = (1, 2, 3, 4, 5), (11, 12, 13, 14, 15)
PLAN = Plan(SCALE, tuple("12345"), (), tuple((token,) for token in SCORE_IDS))
_N_PROMPTS, _N_TRAIN, _VOCABULARY = 48, 36, 40
_NAMES = {  # the published code's names of aggregates, and ours
    "direct_score": "vscore",
    "e_score": "escore",
    "lager_w": "learned",
    "lager_wo": "uniform",
    "logits_agg_max_score": "uniform_argmax",
    "logits_agg_weighted_max_score": "learned_argmax",
    "prob_weighted_agg_e_score": "learned_double_softmax",
    "prob_weighted_agg_max_score": "learned_double_softmax_argmax",
    "prob_agg_e_score": "summed",
    "prob_agg_max_score": "summed_argmax",
}


def modal_score(probabilities: Array, scores: Sequence[int]) -> Floats:
    """The most probable score of each row, the lowest of several, shape (n_items,); NaN where probabilities are."""
    probabilities, scale = np.asarray(probabilities, float), np.array(checked_scores(scores), float)
    return np.where(np.isnan(probabilities).any(-1), np.nan, scale[probabilities.argmax(-1)])


def aggregated_scores(
    logits: Array, scores: Sequence[int], learned: Array | None = None, last: bool = True
) -> dict[str, Floats]:
    """Scores of the same logits, shape (n_items, n_layers, n_scores), by every published method, each (n_items,).

    ``vscore``, the most probable score at the last layer; ``escore``, its expected score; ``uniform`` (with or without
    the ``last`` layer) and ``learned``, the expected score of logits averaged over layers, whose ablations end in
    ``_argmax``, ``_probabilities`` and ``_double_softmax`` (what is averaged), or both. NaN for an item without logits.
    """
    n_layers = np.shape(logits)[1]
    at_last = distribution(logits, last_only(n_layers))
    made = {"vscore": modal_score(at_last, scores), "escore": expected_score(at_last, scores)}
    used = np.arange(n_layers) < n_layers - (not last)
    averages = {"uniform": used / max(used.sum(), 1)} | ({} if learned is None else {"learned": learned})
    for name, weights in averages.items():
        for over in OVER:
            probabilities = distribution(logits, weights, over)
            stem = name if over == "logits" else f"{name}_{over}"
            made |= {stem: expected_score(probabilities, scores), f"{stem}_argmax": modal_score(probabilities, scores)}
    return made


def published_weights(
    logits: Array, labels: Array, scores: Sequence[int], loss: str = "mixed", last: bool = False, batch_size: int = 4
) -> LayerWeights:
    """Weights after one epoch of Adam, as LAGER's code fits them; material as for `judgekit.inside.layers.fit_weights`.

    ``last``: whether the last layer is used, whose parameter starts at 1 (others at 0). ``batch_size``: 8 there with
    cross-entropy. An item moves a parameter by 0.01 / ``batch_size`` at most: a thousand do not bring weights far.
    """
    items = RatedItems(logits if last else np.asarray(logits)[:, :-1], labels, scores, loss)
    parameters = torch.nn.Parameter(torch.zeros(items.logits.shape[1], dtype=torch.float64))
    parameters.data[-1] = float(last)
    optimiser = torch.optim.Adam([parameters], lr=0.01)
    with torch.random.fork_rng(devices=[]):  # the caller's random numbers are not ours to use up
        torch.manual_seed(42)
        # torch's types ask for a Dataset; any sequence will do.
        for rows in DataLoader(range(len(items.labels)), batch_size=batch_size, shuffle=True):  # type: ignore[arg-type]
            optimiser.zero_grad()
            items.loss(parameters.softmax(0), rows).backward()
            optimiser.step()
    return items.weights(parameters)


def seeded_model() -> Any:
    """Three Llama blocks, a final norm far from the identity; `RandomState` is alike in all numpy's versions."""
    from transformers import LlamaConfig, LlamaForCausalLM

    shape: dict[str, Any] = {"hidden_size": 24, "intermediate_size": 32, "num_hidden_layers": 3, "head_dim": 6}
    shape |= {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128}
    shape |= {"bos_token_id": None, "eos_token_id": None, "pad_token_id": 0, "tie_word_embeddings": False}
    model: Any = LlamaForCausalLM(LlamaConfig(vocab_size=_VOCABULARY, **shape)).eval()
    draws = np.random.RandomState(0)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            values = draws.standard_normal(tuple(weight.shape)) * 0.3
            values = values + 1 if "norm" in name else values * 3 if "embed_tokens" in name else values
            weight.copy_(torch.tensor(values, dtype=torch.float32))
    return model


def seeded_prompts(seed: int = 1) -> tuple[list[list[int]], list[int]]:
    """Prompts of 5 to 30 tokens, and what people are said to have rated: whole scores from 1 to 5."""
    draws = np.random.RandomState(seed)
    prompts = [draws.randint(1, _VOCABULARY, size=draws.randint(5, 31)).tolist() for _ in range(_N_PROMPTS)]
    return prompts, draws.randint(1, 6, size=_N_PROMPTS).tolist()


def up_to_score(prompt: Sequence[int], written: Sequence[int]) -> list[int] | None:
    """A prompt with what was written before its last score (also inside a longer number); None where none was written.

    >>> up_to_score([3], [30, 11, 7, 12, 4]), up_to_score([3], [30, 7])
    ([3, 30, 11, 7], None)
    """
    positions = [position for position, token in enumerate(written) if token in SCORE_IDS]
    return [*prompt, *written[: positions[-1]]] if positions else None


def beside_published() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """This package's values, computed now, and the published code's, of the same shape, by part.

    Scores of the last rows by aggregates have weights from the first rows. ValueError where the completions differ.
    """
    theirs = json.loads((resources.files("judgekit.studies") / "published_layers.json").read_text(encoding="utf-8"))
    engine, (prompts, labels) = CausalModel(seeded_model()), seeded_prompts()
    completions: Any = engine.generate(prompts, 10)
    ended = [up_to_score(*each) for each in zip(prompts, completions, strict=True)]
    there = np.array([row is not None for row in theirs["logits"]])
    if completions != theirs["completions"] or [each is not None for each in ended] != there.tolist():
        raise ValueError("the seeded model wrote other completions than under the published code")
    logits = layer_logits(engine, [each for each in ended if each is not None], PLAN)
    scores, train = aggregated_scores(logits, SCALE), np.flatnonzero(there) < _N_TRAIN
    pairs: dict[str, Any] = {"logits": (logits, [row for row in theirs["logits"] if row is not None])}
    pairs |= {name: (scores[name], np.array(theirs[name])[there]) for name in ("vscore", "escore")}
    known = logits[train], np.array(labels)[there][train], SCALE
    mixed = published_weights(*known)
    entropy = published_weights(*known, "cross_entropy", last=True, batch_size=8)
    pairs["weights_mixed"] = ([*mixed.values, 0], [*theirs["weights_mixed_without_last"], 0])
    pairs["weights_cross_entropy"] = (entropy.values, theirs["weights_cross_entropy_with_last"])
    made = aggregated_scores(logits[~train], SCALE, [*mixed.values, 0], last=False)
    summed = distribution(logits[~train], [1, 1, 1, 0], "double_softmax")  # the published code sums: no average
    made |= {"summed": expected_score(summed, SCALE), "summed_argmax": modal_score(summed, SCALE)}
    pairs |= {name: (made[ours], theirs["test_scores"][name]) for name, ours in _NAMES.items()}
    return {name: (np.asarray(ours, float), np.asarray(other, float)) for name, (ours, other) in pairs.items()}
