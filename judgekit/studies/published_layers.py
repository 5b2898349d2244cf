"""The published code of scores from layers (LAGER, arXiv:2508.03550), beside this package's.

It was run once on a seeded model; only its numbers are kept (``published_layers.json`` says which commit).
"""

import json
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from judgekit.inside.layer_logits import layer_logits
from judgekit.inside.layers import LayerWeights, RatedItems, distribution, expected_score
from judgekit.models.causal import CausalModel, Plan
from judgekit.stats import Array, Floats

SCALE, SCORE_IDS = (1, 2, 3, 4, 5), (11, 12, 13, 14, 15)
PLAN = Plan(SCALE, tuple("12345"), (), tuple((token,) for token in SCORE_IDS))
_N_PROMPTS, _N_TRAIN, _VOCABULARY = 48, 36, 40


def modal_score(probabilities: Array, scores: Sequence[int]) -> Floats:
    """The most probable score of each row, the lowest of several, shape (n_items,)."""
    return np.array(scores, float)[np.argmax(probabilities, axis=-1)]


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
    train = np.flatnonzero(there) < _N_TRAIN
    held_out, last = logits[~train], np.eye(logits.shape[1])[-1]
    at_last = distribution(logits, last)
    pairs: dict[str, Any] = {"logits": (logits, [row for row in theirs["logits"] if row is not None])}
    for name, scores in (("vscore", modal_score(at_last, SCALE)), ("escore", expected_score(at_last, SCALE))):
        pairs[name] = (scores, np.array(theirs[name])[there])
    known = logits[train], np.array(labels)[there][train], SCALE
    mixed = published_weights(*known)
    entropy = published_weights(*known, "cross_entropy", last=True, batch_size=8)
    pairs["weights_mixed"] = ([*mixed.values, 0], [*theirs["weights_mixed_without_last"], 0])
    pairs["weights_cross_entropy"] = (entropy.values, theirs["weights_cross_entropy_with_last"])
    summed, learned = 1 - last, np.array([*mixed.values, 0])
    # The published code's names of aggregates: weights of the layers, what they average, how a score is read off.
    # "prob_agg" is a sum there and no average.
    aggregates: dict[str, tuple[Floats, str, Callable[..., Floats]]] = {
        "direct_score": (last, "logits", modal_score),
        "e_score": (last, "logits", expected_score),
        "lager_w": (learned, "logits", expected_score),
        "lager_wo": (summed / summed.sum(), "logits", expected_score),
        "logits_agg_max_score": (summed / summed.sum(), "logits", modal_score),
        "logits_agg_weighted_max_score": (learned, "logits", modal_score),
        "prob_weighted_agg_e_score": (learned, "double_softmax", expected_score),
        "prob_weighted_agg_max_score": (learned, "double_softmax", modal_score),
        "prob_agg_e_score": (summed, "double_softmax", expected_score),
        "prob_agg_max_score": (summed, "double_softmax", modal_score),
    }
    for name, (weights, over, read) in aggregates.items():
        pairs[name] = (read(distribution(held_out, weights, over), SCALE), theirs["test_scores"][name])
    return {name: (np.asarray(ours, float), np.asarray(other, float)) for name, (ours, other) in pairs.items()}
