"""What decides the tuning of an encoder on teacher scores, besides the data."""

from dataclasses import asdict, dataclass

from judgekit.training.causal_recipe import RecipeError

WHOLE = ("layers", "max_tokens", "max_question_tokens", "batch_size", "batch_tokens", "n_inner")


@dataclass(frozen=True)
class TunedRecipe:
    """Everything that decides how an encoder is tuned to give scores, besides the data.

    Attributes
    ----------
    base, revision : str
        An encoder of the BERT or RoBERTa kind (`judgekit.models.encoder.base_location`).
    r, lora_alpha, target_modules
        PEFT's LoRA settings; ``r=-1`` trains all weights of the topmost blocks themselves.
    layers : int
        How many of the topmost blocks are tuned. What lies below stays frozen, and its output is computed once.
    max_tokens, max_question_tokens : int
        Tokens read of an item, and of its question: the middle of a longer question, and of the response in the room
        that is left, is cut out.
    rates : tuple of float
        Learning rates to choose from. The defaults are for all weights; with LoRA, rates a few times as high do the
        same.
    epochs : int
        Longest training; how much of it is used is chosen, and 0 epochs leave the fitted heads on the frozen encoder.
    batch_size : int
        Texts per optimiser step.
    batch_tokens : int
        Tokens per forward pass, padding included.
    warmup : float
        Share of the steps with rising learning rate; then it falls linearly to zero at the end of ``epochs``.
    weight_decay : float
    ridges : tuple of float
        Inverse strengths of the penalty that the heads are fitted with, to choose from where no epoch helps; training
        starts from the smallest.
    n_inner : int
        One part in so many of the training questions chooses rate, epochs and ridge.
    classes : tuple of int
        Scores that occur, ascending.
    bf16 : bool
        Compute in bfloat16 where the processor has it.
    seed : int

    Raises
    ------
    RecipeError
        Names the field.

    Notes
    -----
    The defaults were set once, by inner validation scores of one fold of the GSM8K and AlpacaEval labels, for a cost
    that a laptop bears; no outer test score had a say. Tuning all blocks takes six times as long as the topmost one.
    """

    base: str = "minilm"
    revision: str | None = None
    r: int = -1
    lora_alpha: int = 16
    target_modules: tuple[str, ...] = ("query", "key", "value", "dense")
    layers: int = 1
    max_tokens: int = 256
    max_question_tokens: int = 80
    rates: tuple[float, ...] = (5e-5, 2e-4)
    epochs: int = 3
    batch_size: int = 16
    batch_tokens: int = 2048
    warmup: float = 0.1
    weight_decay: float = 0.01
    ridges: tuple[float, ...] = (1e-3, 1e-2)
    n_inner: int = 5
    classes: tuple[int, ...] = (1, 2, 3, 4, 5)
    bf16: bool = True
    seed: int = 0

    def __post_init__(self):
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

    def as_dict(self):
        """The recipe as JSON-able values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
