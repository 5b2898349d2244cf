"""What decides the training of a causal judge, besides the data; read from YAML with strict names."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

METHODS = ("drill", "sft", "dpo", "reward")
SWAPS = ("none", "random", "both")
POSITIVE = ("steps", "batch_size", "accumulation", "max_length", "eval_every", "lr", "epochs", "patience", "beta")
SHARES = ("tie_share", "reference_drop", "warmup", "lora_dropout")
WORDS: dict[str, Any] = {"int": int, "float": (int, float), "str": str, "bool": bool, "tuple": (list, tuple)}


class RecipeError(ValueError):
    """A recipe that cannot be followed; the message names the field."""


@dataclass(frozen=True)
class CausalRecipe:
    """Everything that decides how a causal judge is trained, besides the data.

    Methods: supervised verdicts (``sft``); preference of the right verdict over the wrong one (``dpo``); a reward
    model, whose verdict is the higher of two scores (``reward``); or marks for single responses, the first lessons of
    a model from scratch (``drill``). RecipeError names the field that is wrong.
    """

    method: str = "sft"  # sft, dpo, reward or drill
    base: str = "tiny"  # hub name, folder of a model or of an earlier training, or ``tiny``: small, with random weights
    revision: str | None = None
    strategy: str = "letter"  # how pairs are put (`judgekit.prompts`); a reward model reads question and response
    policy: str = "strict"  # ``strict`` knows no tie
    explanations: bool = False  # the reply holds one beside the verdict; the strategy says in which order
    swap: str = "random"  # show a pair as it is (none), in one order by chance (random), or once in each (both)
    tie_share: float = 0.0  # largest share of ties among the training pairs; 0 with ``strict``
    reference_drop: float = 0.0  # share of training prompts that lose their reference: the judge shall not lean on it
    n_pairs: int = 0  # training pairs drawn from the mixture; 0 takes all that keep to the shares
    r: int = 0  # 0 trains all weights
    lora_alpha: int = 32
    lora_dropout: float = 0.0
    target_modules: tuple[str, ...] = ("all-linear",)  # PEFT's word for all but the head
    quantise: str = ""  # "4bit" is QLoRA: the frozen base in 4 bits (needs a GPU and bitsandbytes)
    lr: float = 1e-3
    weight_decay: float = 0.01
    warmup: float = 0.05  # share of the steps with rising rate, then it falls linearly to zero
    beta2: float = 0.98  # of AdamW
    steps: int = 400  # optimiser steps; 0 means ``epochs`` instead
    epochs: float = 1.0
    batch_size: int = 32  # prompts per device and pass (pairs of replies with ``dpo`` and ``reward``)
    accumulation: int = 1  # passes per step
    max_length: int = 1024  # tokens of prompt and reply; a longer pair loses the middle of its responses, visibly
    packing: bool = False  # several prompts in one row (``sft``), where the model has attention alone; ``tiny`` has not
    recompute: bool = False  # activations again in the backward pass: less memory, a third more time
    beta: float = 0.1  # DPO: how dear it is to leave the reference model
    eval_every: int = 100  # steps between validations and checkpoints
    patience: int = 5  # validations without a lower loss before training stops
    bf16: bool = True  # compute in bfloat16 where there is a GPU; a processor always computes in float32
    merge: bool = False  # also write the model with the adapter merged into it
    seed: int = 0

    def __post_init__(self) -> None:
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

    def as_dict(self) -> dict[str, Any]:
        """The recipe as JSON-able values."""
        return asdict(self) | {"target_modules": list(self.target_modules)}


def recipe_of(values: Mapping[str, Any], where: str = "recipe") -> CausalRecipe:
    """A recipe from a mapping, every name and type checked; RecipeError names the field.

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
