"""What decides the training of a causal judge, besides the data; read from YAML with strict names."""

from dataclasses import asdict, dataclass, fields

METHODS = ("drill", "sft", "dpo", "reward")
SWAPS = ("none", "random", "both")
POSITIVE = ("steps", "batch_size", "accumulation", "max_length", "eval_every", "lr", "epochs", "patience", "beta")
SHARES = ("tie_share", "reference_drop", "warmup", "lora_dropout")
WORDS = {"int": int, "float": (int, float), "str": str, "bool": bool, "tuple": (list, tuple)}


class RecipeError(ValueError):
    """A recipe that cannot be followed; the message names the field."""


@dataclass(frozen=True)
class CausalRecipe:
    """Everything that decides how a causal judge is trained, besides the data.

    Attributes
    ----------
    method : {"sft", "dpo", "reward", "drill"}
        Supervised verdicts; preference of the right verdict over the wrong one; a reward model, whose verdict is the
        higher of two scores; or marks for single responses, the first lessons of a model from scratch.
    base, revision : str
        Hub name, folder of a model or of an earlier training, or ``tiny``: a small model with random weights.
    strategy, policy : str
        How pairs are put (`judgekit.prompts`); ``strict`` knows no tie. A reward model reads question and response.
    explanations : bool
        Whether the reply holds an explanation beside the verdict; the strategy says in which order.
    swap : {"none", "random", "both"}
        Show a pair as it is, in one order by chance, or once in each.
    tie_share : float
        Largest share of ties among the training pairs; 0 with ``strict``.
    reference_drop : float
        Share of training prompts that lose their reference, so that the judge does not lean on it.
    n_pairs : int
        Training pairs that are drawn from the mixture; 0 takes all that keep to the shares.
    r, lora_alpha, lora_dropout, target_modules
        PEFT's LoRA settings; ``r=0`` trains all weights. ``("all-linear",)`` is PEFT's word for all but the head.
    quantise : {"", "4bit"}
        QLoRA: the frozen base in 4 bits (needs a GPU and bitsandbytes).
    lr, weight_decay, warmup, beta2 : float
        Of AdamW; ``warmup`` is the share of steps with rising rate, then it falls linearly to zero.
    steps, epochs : int, float
        Optimiser steps; 0 steps means so many epochs instead.
    batch_size, accumulation : int
        Prompts per device and pass (pairs of replies with ``dpo`` and ``reward``), and passes per step.
    max_length : int
        Tokens of prompt and reply; a longer pair loses the middle of its responses, visibly.
    packing : bool
        Put several prompts into one row (``sft``), where the model has attention alone: the tiny one has not.
    recompute : bool
        Compute activations again in the backward pass: less memory, a third more time.
    beta : float
        DPO: how dear it is to leave the reference model.
    eval_every, patience : int
        Steps between validations and checkpoints; validations without a lower loss before training stops.
    bf16 : bool
        Compute in bfloat16 where there is a GPU; a processor always computes in float32.
    merge : bool
        Also write the model with the adapter merged into it.
    seed : int
    """

    method: str = "sft"
    base: str = "tiny"
    revision: str | None = None
    strategy: str = "letter"
    policy: str = "strict"
    explanations: bool = False
    swap: str = "random"
    tie_share: float = 0.0
    reference_drop: float = 0.0
    n_pairs: int = 0
    r: int = 0
    lora_alpha: int = 32
    lora_dropout: float = 0.0
    target_modules: tuple[str, ...] = ("all-linear",)
    quantise: str = ""
    lr: float = 1e-3
    weight_decay: float = 0.01
    warmup: float = 0.05
    beta2: float = 0.98
    steps: int = 400
    epochs: float = 1.0
    batch_size: int = 32
    accumulation: int = 1
    max_length: int = 1024
    packing: bool = False
    recompute: bool = False
    beta: float = 0.1
    eval_every: int = 100
    patience: int = 5
    bf16: bool = True
    merge: bool = False
    seed: int = 0

    def __post_init__(self):
        object.__setattr__(self, "target_modules", tuple(self.target_modules))
        for name in POSITIVE:
            value = getattr(self, name)
            if value < 0 or (value == 0 and name != "steps"):
                raise RecipeError(f"{name} is {value!r}: it must be positive")
        for name in SHARES:
            if not 0 <= getattr(self, name) < 1:
                raise RecipeError(f"{name} is {getattr(self, name)!r}: a share is at least 0 and below 1")
        for name, known in (("method", METHODS), ("swap", SWAPS), ("policy", ("permissive", "strict"))):
            if getattr(self, name) not in known:
                raise RecipeError(f"{name} is {getattr(self, name)!r}; there are {', '.join(known)}")
        if self.quantise not in ("", "4bit"):
            raise RecipeError(f"quantise is {self.quantise!r}: '4bit' or ''")
        if self.r < 0 or self.n_pairs < 0:
            raise RecipeError(f"r is {self.r}, n_pairs {self.n_pairs}: neither can be below 0")
        if self.quantise and not self.r:
            raise RecipeError("quantise needs r > 0: weights of 4 bits cannot be trained, an adapter on them can")
        if self.merge and not self.r:
            raise RecipeError("merge needs r > 0: without an adapter there is nothing to merge")
        if self.tie_share and self.policy == "strict":
            raise RecipeError(f"tie_share is {self.tie_share} but policy 'strict' knows no tie")
        if self.packing and self.method in ("dpo", "reward"):
            raise RecipeError(f"packing does not go with method {self.method!r}: replies are compared row by row")

    def as_dict(self):
        """The recipe as JSON-able values."""
        return asdict(self) | {"target_modules": list(self.target_modules)}


def recipe_of(values, where="recipe"):
    """A recipe from a mapping, every name and type checked.

    Raises
    ------
    RecipeError
        Names the field.

    Examples
    --------
    >>> recipe_of({"base": "Qwen/Qwen3-0.6B", "r": 16}).r
    16
    >>> recipe_of({"learning_rate": 1e-4})
    Traceback (most recent call last):
    ...
    judgekit.training.causal_recipe.RecipeError: recipe: no field is called 'learning_rate'
    """
    types = {field.name: getattr(field.type, "__name__", "str") for field in fields(CausalRecipe)} | {"revision": "str"}
    for name, value in values.items():
        if name not in types:
            raise RecipeError(f"{where}: no field is called {name!r}")
        kind = WORDS[types[name]]
        if name == "revision" and value is None:
            continue
        if not isinstance(value, kind) or (isinstance(value, bool) and types[name] != "bool"):
            raise RecipeError(f"{where}: {name} is {value!r}, which is no {types[name]}")
    try:
        return CausalRecipe(**values)
    except RecipeError as wrong:
        raise RecipeError(f"{where}: {wrong}") from None
