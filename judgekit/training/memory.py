"""How much memory a training needs, told from the model's configuration alone: before anything is loaded."""

from dataclasses import dataclass
from typing import Any

from judgekit.models.causal import parameter_count
from judgekit.training.causal_recipe import CausalRecipe

GIB = 2**30


@dataclass(frozen=True)
class Estimate:
    """Memory of a training on one device by what it is for, in bytes."""

    parameters: int  # number of weights, the adapter's included
    trained: int
    weights: int
    gradients: int
    optimiser: int
    activations: int  # the largest that are held at once

    @property
    def total(self) -> int:
        """Bytes in all; the allocator and the libraries want about a tenth more."""
        return self.weights + self.gradients + self.optimiser + self.activations

    def __str__(self) -> str:
        parts = ("weights", "gradients", "optimiser", "activations", "total")
        told = ", ".join(f"{part} {getattr(self, part) / GIB:.1f}" for part in parts)
        return f"{self.parameters:,} parameters, {self.trained:,} trained; GiB: {told}"


def dimensions(config: Any) -> tuple[int, int, int, int, int, int, int]:
    """The sizes that decide, from a decoder's configuration (Llama, Qwen3, Mistral and the like).

    Vocabulary, width, inner width, blocks, widths of queries and of keys, head. ValueError if the configuration lacks
    one of them, or has experts, which these sums do not know.
    """
    if getattr(config, "num_experts", None) or getattr(config, "num_local_experts", None):
        raise ValueError(f"{config.model_type}: memory of mixtures of experts is not estimated")
    names = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
    if missing := [name for name in names if getattr(config, name, None) is None]:
        raise ValueError(f"{config.model_type}: the configuration has no {missing[0]}")
    vocabulary, width, inner, layers, heads = (getattr(config, name) for name in names)
    head = getattr(config, "head_dim", None) or width // heads
    keys = getattr(config, "num_key_value_heads", None) or heads
    return vocabulary, width, inner, layers, heads * head, keys * head, head


def linear_shapes(config: Any) -> list[tuple[int, int]]:
    """Inputs and outputs of the linear layers of one block."""
    _, width, inner, _, queries, keys, _ = dimensions(config)
    attention = [(width, queries), (width, keys), (width, keys), (queries, width)]
    return [*attention, (width, inner), (width, inner), (inner, width)]


def adapter_count(config: Any, r: int) -> int:
    """Weights of a LoRA adapter on every linear layer of the blocks."""
    layers = dimensions(config)[3]
    return layers * sum(r * (inputs + outputs) for inputs, outputs in linear_shapes(config))


def estimate(config: Any, recipe: CausalRecipe, gpu: bool = True, parameters: int | None = None) -> Estimate:
    """Memory of one device for a training; ``target_modules`` is taken as all linear layers.

    ``gpu``: frozen weights and activations have two bytes a number there, and attention keeps no square of the length.
    ``parameters``: weights of the model, where they have been counted already.

    Weights that are trained, their gradients and Adam's two moments have four bytes each; frozen ones two, or about
    half a byte (and the embeddings two) in 4 bits. Per token, a block keeps some 14 widths and 4 inner widths for the
    backward pass, or its input alone when it is computed again; the logits have four bytes and are held twice, with
    their gradient. DPO runs two replies of each prompt, and holds a second model where there is no adapter. Activations
    are an estimate (they depend on the kernels); the rest is exact.
    """
    vocabulary, width, inner, layers, queries, _, _ = dimensions(config)
    parameters, embeddings = parameters or parameter_count(config), vocabulary * width
    adapter = adapter_count(config, recipe.r) if recipe.r else 0
    trained = adapter or parameters
    half = 2 if gpu and recipe.bf16 else 4
    in_four_bits = round((parameters - embeddings) * 0.55) + embeddings * 2
    frozen = in_four_bits if recipe.quantise else parameters * half
    weights = frozen + adapter * 4 if adapter else parameters * 4
    if recipe.method == "dpo" and not adapter:
        weights += parameters * 4
    rows = recipe.batch_size * (2 if recipe.method in ("dpo", "reward") else 1)
    tokens = rows * recipe.max_length
    block = (10 * width + 4 * queries + 4 * inner) * half
    if not gpu:
        block += config.num_attention_heads * recipe.max_length * 4 * 2
    kept = layers * width * half + block if recipe.recompute else layers * block
    logits = 0 if recipe.method == "reward" else vocabulary * 4 * 2
    return Estimate(
        parameters=parameters + adapter,
        trained=trained,
        weights=weights,
        gradients=trained * 4,
        optimiser=trained * 8,
        activations=tokens * (kept + logits),
    )
