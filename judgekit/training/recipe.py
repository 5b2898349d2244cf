"""What decides a training run of the encoder judge, besides the data."""

from dataclasses import dataclass


@dataclass(frozen=True)
class EncoderRecipe:
    """Everything that decides a training run besides the data.

    Attributes
    ----------
    base, revision : str
        Base model (`judgekit.judges.encoder_model.base_location`).
    r, lora_alpha, target_modules
        PEFT's LoRA settings; ``r=0`` trains the heads alone.
    layers : int
        How many of the topmost layers get an adapter: below them nothing needs a gradient, which nearly halves a step.
    hidden : int
        Width of the text head of the quality part; 0 leaves it out.
    max_question_tokens, max_response_tokens : int
    steps, pairs_per_step, quads_per_step : int
        A quad is two neighbouring questions with a response each.
    lr, head_lr, weight_decay : float
    warmup : float
        Share of the steps with rising learning rate; then it falls linearly to zero.
    gate_weight : float
        Weight of the on-topic / off-topic loss of the gate.
    neighbour_weight : float
        Weight of preferring a question's own response to its neighbour's; it sets how much the gate counts.
    bf16 : bool
        Compute in bfloat16 where the processor has it.
    eval_every : int
        Steps between validations; the state with the lowest mean validation loss is kept.
    seed : int
    """

    base: str = "minilm"
    revision: str | None = None
    r: int = 16
    lora_alpha: int = 32
    target_modules: tuple[str, ...] = ("query", "key", "value", "dense")
    layers: int = 3
    hidden: int = 32
    max_question_tokens: int = 128
    max_response_tokens: int = 256
    steps: int = 400
    pairs_per_step: int = 16
    quads_per_step: int = 12
    lr: float = 3e-4
    head_lr: float = 1e-3
    weight_decay: float = 0.01
    warmup: float = 0.06
    gate_weight: float = 0.5
    neighbour_weight: float = 0.1
    bf16: bool = True
    eval_every: int = 50
    seed: int = 0
