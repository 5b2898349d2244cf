"""What decides a training run of the encoder judge, besides the data."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RelevanceRecipe:
    """Everything that decides how relevance is learnt, besides the data.

    Attributes
    ----------
    base, revision : str
        Base model (`judgekit.models.encoder.base_location`).
    r, lora_alpha, target_modules
        PEFT's LoRA settings; ``r=0`` leaves the base model as it is, ``r=-1`` trains the topmost layers themselves.
    layers : int
        How many of the topmost layers are trained: below them nothing needs a gradient, which nearly halves a step.
    max_question_tokens, max_response_tokens : int
        What the judge reads.
    train_response_tokens : int
        What is read of a response in training: shorter, since its subject shows early.
    steps, questions_per_step, group : int
        Questions with a response each, drawn in groups of neighbours of this size.
    cut_share : float
        Share of the responses that are cut to their first words in training, so that short ones are learnt, too.
    lr, weight_decay : float
    warmup : float
        Share of the steps with rising learning rate; then it falls linearly to zero.
    scale : float
        Factor on cosines in the contrastive loss to start from; it is learnt.
    loss : {"both", "questions"}
        Contrast responses for a question and questions for a response, or only the former.
    bf16 : bool
        Compute in bfloat16 where the processor has it.
    eval_every : int
        Steps between validations; the state with the lowest validation loss is kept.
    seed : int
    """

    base: str = "minilm"
    revision: str | None = None
    r: int = 16
    lora_alpha: int = 32
    target_modules: tuple[str, ...] = ("query", "key", "value", "dense")
    layers: int = 3
    max_question_tokens: int = 128
    max_response_tokens: int = 256
    train_response_tokens: int = 96
    steps: int = 400
    questions_per_step: int = 32
    group: int = 4
    cut_share: float = 0.3
    lr: float = 4e-4
    weight_decay: float = 0.01
    warmup: float = 0.06
    scale: float = 20.0
    loss: str = "both"
    bf16: bool = True
    eval_every: int = 50
    seed: int = 0
