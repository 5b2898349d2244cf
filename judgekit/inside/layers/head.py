"""The output head of a causal language model, applied to the hidden states of all its layers."""

from collections.abc import Sequence
from typing import Any

import torch

# Where architectures keep the norm between the last block and the head, below the model without its head.
NORMS = ("norm", "ln_f", "final_layer_norm", "final_layernorm", "norm_f", "embedding_norm", "decoder.final_layer_norm")
SLACK = {torch.float32: 1e-3, torch.float64: 1e-3}  # of what the model's own head gives; 0.05 in half precision


def final_norm(model: Any, name: str | None = None) -> torch.nn.Module:
    """The norm between the last block and the output head.

    ``name``: dotted, below the model without its head, where it is none of the usual ones. ValueError where there is
    none of that name.
    """
    for path in NORMS if name is None else (name,):
        module = model.base_model
        for part in path.split("."):
            module = getattr(module, part, None)
        if isinstance(module, torch.nn.Module):
            return module
    raise ValueError(
        f"{type(model).__name__} has no final norm called {name or ', '.join(NORMS)}: name it, or read the layers "
        "without it (normed=False)"
    )


class ScoreHead:
    """From hidden states to logits, as the model itself makes them after its last layer.

    ``normed``: whether the states of all layers go through the final norm first, as in the logit lens. Without it,
    layers count by the size of their states, too, which grows with depth; that is how the published code does it. The
    last layer's state comes normed from transformers either way, and is never normed twice. ``norm``: name of the final
    norm (`final_norm`).

    ValueError where the model has no output head, or no final norm where one is wanted.
    """

    def __init__(self, model: Any, normed: bool = False, norm: str | None = None) -> None:
        self.output = model.get_output_embeddings()
        if getattr(self.output, "weight", None) is None:
            raise ValueError(f"{type(model).__name__} has no output head that gives logits of tokens")
        config = model.config.get_text_config(decoder=True)
        self.cap = getattr(config, "final_logit_softcapping", None)  # Gemma
        self.factor = (getattr(config, "logit_scale", None) or 1) / (getattr(config, "logits_scaling", None) or 1)
        self.norm = final_norm(model, norm) if normed else None

    def states(self, layers: Sequence[torch.Tensor], columns: int) -> list[torch.Tensor]:
        """The last columns of every layer, through the final norm where that is wanted, each (n_rows, columns, width).

        Copies, so that the other columns need not stay in memory. ``layers``: all hidden states, the last one normed
        already, each (n_rows, n_columns, width).
        """
        ends = [layer[:, -columns:].clone() for layer in layers]
        return ends if self.norm is None else [*map(self.norm, ends[:-1]), ends[-1]]

    def logits(self, states: torch.Tensor, ids: Any) -> torch.Tensor:
        """Logits of some tokens only, in float32: states of shape (..., width) to (..., len(ids))."""
        ids = torch.tensor(ids, device=self.output.weight.device)
        bias = getattr(self.output, "bias", None)
        logits = states.float() @ self.output.weight[ids].float().T
        return self.scaled(logits if bias is None else logits + bias[ids].float())

    def log_probabilities(self, states: torch.Tensor) -> torch.Tensor:
        """Log-probabilities of the whole vocabulary; for the states of one layer at a time, since they are large."""
        return self.scaled(self.output(states).float()).log_softmax(-1)

    def scaled(self, logits: torch.Tensor) -> torch.Tensor:
        """What some architectures do to logits after the head."""
        logits = logits * self.factor
        return logits if self.cap is None else self.cap * torch.tanh(logits / self.cap)

    def check(self, states: torch.Tensor, ids: list[int], logits: torch.Tensor) -> None:
        """Compare the last layer's states, shape (n_rows, width), with the model's own logits, (n_rows, vocabulary).

        ValueError where logits are not finite, or differ: the model does something between states and logits that is
        not known here, and what other layers would give is then anybody's guess.
        """
        own = logits[:, ids].float()
        if not torch.isfinite(own).all():
            raise ValueError("the model's logits are not finite: damaged weights, or half precision that overflows")
        slack = SLACK.get(logits.dtype, 0.05)
        if not torch.allclose(self.logits(states, ids), own, rtol=slack, atol=slack):
            raise ValueError("the model's logits are not its output head applied to its last hidden state")
