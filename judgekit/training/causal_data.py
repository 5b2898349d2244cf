"""From preference pairs to token rows: the recipe, the mixture, and prompts and replies exactly as judging has them."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import cycle, islice
from random import Random
from typing import Annotated, Any, Literal, TypeVar

import pandas as pd
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, Strict, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from judgekit.judges.base import SIDES, request_of
from judgekit.models.chat_tokens import ChatTokenizer
from judgekit.prompts import PromptTooLong, Strategy, load_strategy
from judgekit.records import Pairs, PreferencePair

SAID = {"A": "first", "B": "second", "tie": "tie"}
IGNORED = -100  # label of a position without a loss, as transformers has it
Share = Annotated[float, Field(ge=0, lt=1)]
Texts = Annotated[tuple[str, ...], Strict(False)]
Blocks = Annotated[tuple[NonNegativeInt, ...], Strict(False)]
Rows = list[dict[str, Any]]  # of token ids
T = TypeVar("T")


class RecipeError(ValueError):
    """A recipe that cannot be followed; the message names the field."""


@dataclass(frozen=True, config={"strict": True, "extra": "forbid"})
class CausalRecipe:
    """Everything that decides how a causal judge is trained, besides the data.

    Methods: supervised verdicts (``sft``); preference of the right verdict over the wrong one (``dpo``); a reward
    model, whose verdict is the higher of two scores (``reward``).
    """

    base: str  # registered name (``smollm2-135m``), hub name, folder of a model or of an earlier training
    method: Literal["sft", "dpo", "reward"] = "sft"
    revision: str | None = None
    strategy: str = "letter"  # how pairs are put (`judgekit.prompts`); a reward model reads question and response
    policy: Literal["permissive", "strict"] = "strict"  # ``strict`` knows no tie
    swap: Literal["none", "random", "both"] = "random"  # a pair as it is, in one order by chance, or once in each
    tie_share: Share = 0.0  # largest share of ties among the training pairs; 0 with ``strict``
    n_pairs: NonNegativeInt = 0  # training pairs drawn from the mixture, at most as many as there are; 0 takes these
    r: NonNegativeInt = 0  # 0 trains all weights
    lora_alpha: int = 32
    lora_dropout: Share = 0.0  # none with ``dpo``, which compares with a reference token by token
    target_modules: Texts = ("all-linear",)  # PEFT's word for all but the head
    layers: Blocks = ()  # blocks with an adapter, by number; by default all. Below the lowest nothing goes backwards
    quantise: Literal["", "4bit"] = ""  # "4bit" is QLoRA: the frozen base in 4 bits (needs a GPU and bitsandbytes)
    lr: PositiveFloat = 1e-3
    weight_decay: float = 0.01
    warmup: Share = 0.05  # share of the steps with rising rate, then it falls linearly to zero
    beta2: float = 0.98  # of AdamW
    steps: NonNegativeInt = 400  # optimiser steps; 0 means ``epochs`` instead
    epochs: PositiveFloat = 1.0
    batch_size: PositiveInt = 32  # prompts per device and pass (pairs of replies with ``dpo`` and ``reward``)
    accumulation: PositiveInt = 1  # passes per step
    max_length: PositiveInt = 1024  # tokens of prompt and reply; a longer pair loses the middle of its responses
    packing: bool = False  # several prompts in one row (``sft``), where the model has attention alone
    # Of the base; by default ``eager`` without a GPU: there it is a little faster than PyTorch's fused kernel.
    attn_implementation: Literal["", "eager", "sdpa", "flash_attention_2"] = ""
    recompute: bool = False  # activations again in the backward pass: less memory, a third more time
    beta: PositiveFloat = 0.1  # DPO: how dear it is to leave the reference model
    eval_every: PositiveInt = 100  # steps between validations and checkpoints
    patience: PositiveInt = 5  # validations without a lower loss before training stops
    bf16: bool = True  # compute in bfloat16 on a GPU, and on a processor that multiplies such matrices itself
    merge: bool = False  # also write the model with the adapter merged into it
    seed: int = 0

    @model_validator(mode="after")
    def _fields_go_together(self) -> "CausalRecipe":
        if self.quantise and not self.r:
            raise ValueError("quantise needs r > 0: weights of 4 bits cannot be trained, an adapter on them can")
        if self.layers and (not self.r or self.target_modules == ("all-linear",)):
            raise ValueError("layers needs r > 0, and target_modules by name")
        if self.merge and not self.r:
            raise ValueError("merge needs r > 0: without an adapter there is nothing to merge")
        if self.tie_share and self.policy == "strict":
            raise ValueError(f"tie_share is {self.tie_share} but policy 'strict' knows no tie")
        if self.packing and self.method in ("dpo", "reward"):
            raise ValueError(f"packing does not go with method {self.method!r}: replies are compared row by row")
        return self

    def as_dict(self) -> dict[str, Any]:
        """The recipe as JSON-able values."""
        return asdict(self) | {"target_modules": list(self.target_modules), "layers": list(self.layers)}


def checked(kind: type[T], values: Mapping[str, Any], where: str = "recipe") -> T:
    """A class of settings from a mapping, every name, type and range checked; RecipeError names the field."""
    try:
        return kind(**values)
    except ValidationError as wrong:
        error = wrong.errors()[0]
        name, message = ".".join(map(str, error["loc"])), error["msg"].removeprefix("Value error, ")
        if error["type"] == "unexpected_keyword_argument":
            raise RecipeError(f"{where}: no field is called {name!r}") from None
        if name:
            given = "" if error["type"].startswith("missing") else f" is {error['input']!r}"
            message = f"{name}{given}: {message}"
        raise RecipeError(f"{where}: {message}") from None


def mixed(pairs: Pairs, recipe: CausalRecipe, shares: Mapping[str, float] | None = None) -> list[PreferencePair]:
    """The training pairs of a recipe, shuffled by its seed; ``shares``: source to its share of what is drawn."""
    if unlabelled := [pair for pair in pairs if pair.label is None]:
        raise ValueError(f"{unlabelled[0].where}: no label to train on")
    rng = Random(f"{recipe.seed}/mixed")
    pairs = rng.sample(pairs, len(pairs))
    decided = [pair for pair in pairs if pair.label != "tie"]
    ties = [pair for pair in pairs if pair.label == "tie"]
    allowed = int(len(decided) * recipe.tie_share / (1 - recipe.tie_share))  # none with ``strict``
    chosen = rng.sample([*decided, *ties[:allowed]], len(decided) + min(allowed, len(ties)))
    if shares:
        chosen = _by_shares(chosen, shares, recipe, rng)
    elif (n_pairs := recipe.n_pairs) and n_pairs < len(chosen):  # of which there may be fewer ties than of all
        late = {*[id(pair) for pair in chosen if pair.label == "tie"][int(round(n_pairs * recipe.tie_share, 6)) :]}
        chosen = [pair for pair in chosen if id(pair) not in late][:n_pairs]
    if not chosen:
        raise ValueError(f"none of {len(pairs)} pairs is left to train on (ties: {len(ties)}, {allowed} allowed)")
    if recipe.swap == "both":
        chosen = [shown for pair in chosen for shown in (pair, pair.swapped())]
    elif recipe.swap == "random":
        chosen = [pair.swapped() if rng.random() < 0.5 else pair for pair in chosen]
    return chosen


def _by_shares(pairs: Pairs, shares: Mapping[str, float], recipe: CausalRecipe, rng: Random) -> list[PreferencePair]:
    """At most ``n_pairs`` (0: as many as there are), of each source its share; one with fewer pairs is repeated."""
    if unknown := sorted({pair.benchmark for pair in pairs} - set(shares)):
        raise ValueError(f"shares: no share is given for {unknown[0]}")
    sources = {name: [pair for pair in pairs if pair.benchmark == name] for name in shares}
    if missing := sorted(name for name, share in shares.items() if share > 0 and not sources[name]):
        raise ValueError(f"shares: {missing[0]} has no pairs")
    available = sum(len(sources[name]) for name, share in shares.items() if share > 0)
    total = min(recipe.n_pairs or available, available)
    wanted = {name: round(total * share / sum(shares.values())) for name, share in shares.items()}
    drawn = [pair for name, count in wanted.items() for pair in islice(cycle(sources[name]), count)]
    drawn = rng.sample(drawn, len(drawn))
    # A source that is repeated may bring more ties than are allowed: other pairs of it, first new ones, replace them.
    spare = {name: cycle([p for p in own[wanted[name] :] + own if p.label != "tie"]) for name, own in sources.items()}
    ties = [at for at, pair in enumerate(drawn) if pair.label == "tie"]
    for at in ties[int(round(len(drawn) * recipe.tie_share, 6)) :]:  # rounded: 0.29 of 100 are a little less than 29
        if (other := next(spare[name := drawn[at].benchmark], None)) is None:
            raise ValueError(f"shares: {name} has ties alone, more than tie_share ({recipe.tie_share}) allows")
        drawn[at] = other
    return drawn


def mixture_of(pairs: Iterable[PreferencePair]) -> dict[Any, dict[str, int]]:
    """Source to its ``pairs`` in a mixture and how many are ``distinct``, whatever their order."""
    drawn = pd.DataFrame([(pair.benchmark, pair.item_id) for pair in pairs], columns=["source", "item"])
    counts: Any = drawn.groupby("source")["item"].agg(pairs="size", distinct="nunique")
    return counts.to_dict("index")


def strategy_of(recipe: CausalRecipe) -> Strategy:
    """The strategy of a recipe, after checking that one call of it gives the verdict and can be written."""
    strategy = load_strategy(recipe.strategy, recipe.policy)
    if strategy.kind != "pair" or len(strategy.calls) != 1:
        raise RecipeError(f"strategy {recipe.strategy!r}: verdicts are trained with strategies that ask once")
    if not strategy.said["first"]:
        raise RecipeError(f"strategy {recipe.strategy!r}: its replies ({strategy.format}) cannot be written")
    return strategy


def token_rows(pairs: Iterable[PreferencePair], recipe: CausalRecipe, tokenizer: Any) -> tuple[Rows, int]:
    """Rows of the recipe's method, and how many pairs gave none because their prompt does not fit ``max_length``.

    ``sft``: ``input_ids, labels``, whose loss falls on the reply. ``dpo``: ``prompt_ids, chosen_ids,
    rejected_ids``: the token of the right verdict and of the wrong one where the two part, after what they share.
    ``reward``: ``chosen_ids, rejected_ids``, the better response and the worse one; ties teach nothing there.
    """
    rows: Rows = []
    too_long, chat = 0, ChatTokenizer(tokenizer)
    strategy = None if recipe.method == "reward" else strategy_of(recipe)
    for pair in pairs:
        request = request_of(pair, "ab")
        if strategy is None:
            if pair.label != "tie":
                names = ("chosen_ids", "rejected_ids") if pair.label == "A" else ("rejected_ids", "chosen_ids")
                first, second = (list(chat.scored_ids(request.chat(s), recipe.max_length)[0]) for s in SIDES["ab"])
                too_long += first == second  # what differs was cut off
                if first != second:
                    rows.append(dict(zip(names, (first, second), strict=True)))
            continue
        label: str = pair.label  # type: ignore[assignment]  # `mixed` lets no pair without one pass
        other = {"A": "B", "B": "A", "tie": Random(pair.item_id).choice("AB")}[label]
        said = (strategy.said[SAID[verdict]] for verdict in (label, other))
        right, wrong = ([*chat.plain_ids(text), tokenizer.eos_token_id] for text in said)
        room = recipe.max_length - max(len(right), len(wrong))
        try:
            prompt = chat.ids(strategy.render("verdict", request, limit=room, measure=chat.size).messages)
        except PromptTooLong:
            too_long += 1
            continue
        if recipe.method == "dpo":
            same = next(at for at, (one, other) in enumerate(zip(right, wrong, strict=False)) if one != other)
            parting = {"chosen_ids": right[same : same + 1], "rejected_ids": wrong[same : same + 1]}
            rows.append({"prompt_ids": prompt + right[:same], **parting})
        else:
            rows.append({"input_ids": prompt + right, "labels": [IGNORED] * len(prompt) + right})
    return rows, too_long


def in_steps(rows: Rows, recipe: CausalRecipe) -> Rows:
    """The rows, shuffled by the recipe's seed; those of one optimiser step by length, so that few are padded far.

    Of one process: with several, a step is the rows of as many such groups. Every epoch has them in this order.
    """
    rows, step = Random(f"{recipe.seed}/steps").sample(rows, len(rows)), recipe.batch_size * recipe.accumulation
    steps = [rows[start : start + step] for start in range(0, len(rows), step)]
    return [row for each in steps for row in sorted(each, key=lambda row: max(map(len, row.values())))]
