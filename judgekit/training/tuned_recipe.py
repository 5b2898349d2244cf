"""What decides the tuning of an encoder on teacher scores, besides the data."""

from dataclasses import asdict, dataclass
from typing import Any

from judgekit.training.causal_recipe import RecipeError

WHOLE = ("layers", "max_tokens", "max_question_tokens", "batch_size", "batch_tokens", "n_inner")


@dataclass(frozen=True)
class TunedRecipe:
    """Everything that decides how an encoder is tuned to give scores, besides the data; RecipeError names the field.

    The defaults were set once, by inner validation scores of one fold of the GSM8K and AlpacaEval labels, for a cost
    that a laptop bears; no outer test score had a say. Tuning all blocks takes six times as long as the topmost one.
    """

    base: str = "minilm"  # of the BERT or RoBERTa kind (`judgekit.models.encoder.base_location`)
    revision: str | None = None
    r: int = -1  # -1 trains all weights of the topmost blocks themselves
    lora_alpha: int = 16
    target_modules: tuple[str, ...] = ("query", "key", "value", "dense")
    layers: int = 1  # topmost blocks that are tuned; what lies below stays frozen, and its output is computed once
    max_tokens: int = 256  # of an item: the middle of the response is cut out, in the room that the question leaves
    max_question_tokens: int = 80  # the middle of a longer question is cut out
    rates: tuple[float, ...] = (5e-5, 2e-4)  # to choose from: for all weights; with LoRA, a few times as high
    epochs: int = 3  # at most; how many is chosen, and 0 leave the fitted heads on the frozen encoder
    batch_size: int = 16  # texts per optimiser step
    batch_tokens: int = 2048  # tokens per forward pass, padding included
    warmup: float = 0.1  # share of the steps with rising rate; then it falls linearly to zero at the end of ``epochs``
    weight_decay: float = 0.01
    # inverse penalties of the heads, to choose from where no epoch helps; training starts from the smallest
    ridges: tuple[float, ...] = (1e-3, 1e-2)
    n_inner: int = 5  # one part in so many of the training questions chooses rate, epochs and ridge
    classes: tuple[int, ...] = (1, 2, 3, 4, 5)  # scores that occur, ascending
    bf16: bool = True  # compute in bfloat16 where the processor has it
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("target_modules", "rates", "ridges", "classes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in (*WHOLE, "epochs"):
            value, least = getattr(self, name), 0 if name == "epochs" else 2 if name == "n_inner" else 1
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise RecipeError(f"{name} is {value!r}: a whole number of at least {least} is needed")
        for name in ("rates", "ridges"):
            values = getattr(self, name)
            if not values or not all(isinstance(value, (int, float)) and value > 0 for value in values):
                raise RecipeError(f"{name} is {values!r}: at least one positive number is needed")
        if self.r == 0 or self.r < -1:
            raise RecipeError(f"r is {self.r}: the rank of LoRA, or -1 for all weights")
        if not 0 <= self.warmup < 1:
            raise RecipeError(f"warmup is {self.warmup!r}: a share is at least 0 and below 1")
        if self.max_question_tokens >= self.max_tokens:
            raise RecipeError(f"max_question_tokens is {self.max_question_tokens}: no room is left for the response")
        if len(self.classes) < 2 or list(self.classes) != sorted(set(self.classes)):
            raise RecipeError(f"classes is {self.classes!r}: two or more scores are needed, ascending")

    def as_dict(self) -> dict[str, Any]:
        """The recipe as JSON-able values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
