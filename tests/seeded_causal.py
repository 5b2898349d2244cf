"""A causal language model that any machine makes alike from a seed, and prompts for it.

numpy promises that `RandomState` gives the same numbers in all its versions; torch promises no such thing.
"""

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

VOCABULARY = 40
SCORE_IDS = (11, 12, 13, 14, 15)  # stand for the scores 1 to 5
N_PROMPTS, N_TRAIN = 48, 36


def seeded_model(seed=0):
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


def seeded_prompts(seed=1):
    """Prompts of 5 to 30 tokens, and what people are said to have rated: whole scores from 1 to 5."""
    draws = np.random.RandomState(seed)
    prompts = [draws.randint(1, VOCABULARY, size=draws.randint(5, 31)).tolist() for _ in range(N_PROMPTS)]
    return prompts, draws.randint(1, 6, size=N_PROMPTS).tolist()
