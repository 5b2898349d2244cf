"""What decides a training run of the encoder judge, besides the data."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RelevanceRecipe:
    """Everything that decides how relevance is learnt, besides the data."""

    base: str = "minilm"  # base model (`judgekit.models.encoder.base_location`)
    revision: str | None = None
    r: int = 16  # 0 leaves the base model as it is, -1 trains the topmost layers themselves
    lora_alpha: int = 32
    target_modules: tuple[str, ...] = ("query", "key", "value", "dense")
    layers: int = 3  # how many of the topmost are trained: below, nothing needs a gradient, which nearly halves a step
    max_question_tokens: int = 128
    max_response_tokens: int = 256  # what the judge reads
    train_response_tokens: int = 96  # what training reads: shorter, since the subject of a response shows early
    steps: int = 400
    questions_per_step: int = 32  # with a response each
    group: int = 4  # questions are drawn in groups of neighbours of this size
    cut_share: float = 0.3  # of the responses cut to their first words in training, so that short ones are learnt
    lr: float = 4e-4
    weight_decay: float = 0.01
    warmup: float = 0.06  # share of the steps with rising learning rate; then it falls linearly to zero
    scale: float = 20.0  # factor on cosines in the contrastive loss to start from; it is learnt
    loss: str = "both"  # contrast responses for a question and the reverse, or the former alone ("questions")
    bf16: bool = True  # compute in bfloat16 where the processor has it
    eval_every: int = 50  # steps between validations; the state with the lowest validation loss is kept
    seed: int = 0
