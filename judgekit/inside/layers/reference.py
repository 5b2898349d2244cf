"""A causal language model that any machine makes alike from a seed, and what the published code gives for it.

The published code was run once on this model and these prompts; only its numbers are kept (``reference.json`` says
which commit). numpy promises that `RandomState` gives the same numbers in all its versions; torch promises no such
thing.
"""

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from judgekit.inside.layers.aggregation import aggregated_scores, distribution, expected_score, modal_score
from judgekit.inside.layers.reading import layer_logits, written_up_to
from judgekit.inside.layers.weights import LayerWeights, published_weights
from judgekit.models.causal import CausalModel
from judgekit.models.one_pass import Plan
from judgekit.stats import Floats

VOCABULARY = 40
SCALE = (1, 2, 3, 4, 5)
SCORE_IDS = (11, 12, 13, 14, 15)  # stand for the scores 1 to 5
PLAN = Plan(SCALE, tuple("12345"), (), tuple((token,) for token in SCORE_IDS))
N_PROMPTS, N_TRAIN = 48, 36


def seeded_model(seed: int = 0) -> LlamaForCausalLM:
    """Three blocks with a final norm that is far from the identity; no token ends a reply."""
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=24,
        intermediate_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=6,
        max_position_embeddings=128,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=0,
    )
    model, draws = LlamaForCausalLM(config).eval(), np.random.RandomState(seed)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            values = draws.standard_normal(tuple(weight.shape)) * 0.3
            if "norm" in name:
                values += 1
            elif "embed_tokens" in name:
                values *= 3
            weight.copy_(torch.tensor(values, dtype=torch.float32))
    return model


def seeded_prompts(seed: int = 1) -> tuple[list[list[int]], list[int]]:
    """Prompts of 5 to 30 tokens, and what people are said to have rated: whole scores from 1 to 5."""
    draws = np.random.RandomState(seed)
    prompts = [draws.randint(1, VOCABULARY, size=draws.randint(5, 31)).tolist() for _ in range(N_PROMPTS)]
    return prompts, draws.randint(1, 6, size=N_PROMPTS).tolist()


def published() -> dict[str, Any]:
    """The published code's values for the seeded model; None and -1 where it found no score."""
    text = (resources.files("judgekit.inside.layers") / "reference.json").read_text(encoding="utf-8")
    return json.loads(text)


def seeded_logits() -> tuple[list[Any], Floats]:
    """What this package reads off the seeded model: completions of ten tokens each, and logits (N_PROMPTS, 4, 5).

    NaN where a completion says no score.
    """
    engine, (prompts, _) = CausalModel(seeded_model()), seeded_prompts()
    completions: Any = engine.generate(prompts, 10)
    return completions, layer_logits(engine, written_up_to(prompts, completions, PLAN), PLAN)


def beside_published() -> dict[str, tuple[np.ndarray, ...]]:
    """This package's values and the published code's, of the same shape, by part; computed now.

    ``logits`` of every layer, ``vscore`` and ``escore``, weights by both losses, and scores of the last rows by every
    aggregate, which weights from the first rows go into.

    ValueError where the completions differ, or scores were found elsewhere: what follows would compare different
    things.
    """
    theirs, (completions, logits) = published(), seeded_logits()
    there = np.array([row is not None for row in theirs["logits"]])
    if completions != theirs["completions"] or (np.isnan(logits).any((1, 2)) == there).any():
        raise ValueError("the seeded model wrote other completions than under the published code")
    found = aggregated_scores(logits, SCALE)
    pairs: dict[str, Any] = {"logits": (logits[there], [row for row in theirs["logits"] if row is not None])}
    pairs |= {name: (found[name][there], np.array(theirs[name])[there]) for name in ("vscore", "escore")}
    labels, train = np.array(seeded_prompts()[1]), np.arange(N_PROMPTS) < N_TRAIN
    known, rest = there & train, there & ~train
    mixed = published_weights(logits[known], labels[known], SCALE)
    entropy = published_weights(logits[known], labels[known], SCALE, "cross_entropy", last=True, batch_size=8)
    pairs["weights_mixed"] = (mixed.values, [*theirs["weights_mixed_without_last"], 0])
    pairs["weights_cross_entropy"] = (entropy.values, theirs["weights_cross_entropy_with_last"])
    pairs |= {name: (ours, theirs["test_scores"][name]) for name, ours in aggregates_of(logits[rest], mixed).items()}
    return {name: tuple(np.asarray(side, float) for side in sides) for name, sides in pairs.items()}


def aggregates_of(logits: Floats, learned: LayerWeights) -> dict[str, Floats]:
    """Scores by every aggregate, under the published code's names for them."""
    found = aggregated_scores(logits, SCALE, learned.values, last=False)
    summed = distribution(logits, [1, 1, 1, 0], "double_softmax")  # the published code sums here: it does not average
    return {
        "direct_score": found["vscore"],
        "e_score": found["escore"],
        "lager_w": found["learned"],
        "lager_wo": found["uniform"],
        "logits_agg_max_score": found["uniform_argmax"],
        "logits_agg_weighted_max_score": found["learned_argmax"],
        "prob_weighted_agg_e_score": found["learned_double_softmax"],
        "prob_weighted_agg_max_score": found["learned_double_softmax_argmax"],
        "prob_agg_e_score": expected_score(summed, SCALE),
        "prob_agg_max_score": modal_score(summed, SCALE),
    }


def largest_difference(pairs: Mapping[str, tuple[np.ndarray, ...]]) -> float:
    """Largest absolute difference between two sides, over all parts of `beside_published`.

    >>> largest_difference({"a": (np.array([1.0, 2.0]), np.array([1.0, 2.5])), "b": (np.zeros(1), np.zeros(1))})
    0.5
    """
    return max(float(np.abs(ours - theirs).max()) for ours, theirs in pairs.values())
