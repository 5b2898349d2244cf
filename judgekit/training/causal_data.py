"""From preference pairs to token rows: the prompts that a judge is asked, and the replies it should give.

Rows hold token ids, so that training reads exactly what judging reads: both take prompts from `prompt_tokens`.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from judgekit.judges.base import request_of
from judgekit.prompts import Strategy, load_strategy
from judgekit.records import PreferencePair
from judgekit.training.causal_recipe import CausalRecipe, RecipeError

SAID = {"A": "first", "B": "second", "tie": "tie"}
IGNORED = -100  # label of a position without a loss, as transformers has it
CHAT = {"add_generation_prompt": True, "tokenize": True, "enable_thinking": False}


# ---------------------------------------------------------------- which pairs


def mixed(
    pairs: list[PreferencePair], recipe: CausalRecipe, shares: Mapping[str, float] | None = None
) -> list[PreferencePair]:
    """The training pairs of a recipe, shuffled by its seed: shares of the sources, ties, order of the responses.

    Without ``shares`` (source to its share of the mixture), pairs are taken as they come. ValueError if a pair has no
    label, a source has no share or no pairs, or nothing is left.
    """
    if unlabelled := [pair for pair in pairs if pair.label is None]:
        raise ValueError(f"{unlabelled[0].where}: no label to train on")
    rng = Random(f"{recipe.seed}/mixed")
    pairs = rng.sample(pairs, len(pairs))
    decided = [pair for pair in pairs if pair.label != "tie"]
    ties = [pair for pair in pairs if pair.label == "tie"]
    allowed = int(len(decided) * recipe.tie_share / (1 - recipe.tie_share)) if recipe.policy == "permissive" else 0
    chosen = rng.sample([*decided, *ties[:allowed]], len(decided) + min(allowed, len(ties)))
    chosen = by_shares(chosen, shares, recipe.n_pairs)
    if not chosen:
        raise ValueError(f"none of {len(pairs)} pairs is left to train on (ties: {len(ties)}, {allowed} allowed)")
    if recipe.swap == "both":
        chosen = [shown for pair in chosen for shown in (pair, pair.swapped())]
    elif recipe.swap == "random":
        chosen = [pair.swapped() if rng.random() < 0.5 else pair for pair in chosen]
    return [replace(p, reference=None) if rng.random() < recipe.reference_drop else p for p in chosen]


def by_shares(pairs: list[PreferencePair], shares: Mapping[str, float] | None, n_pairs: int) -> list[PreferencePair]:
    """As many pairs of each source as its share says, at most ``n_pairs`` (0: as many as the scarcest allows)."""
    if shares is None:
        return pairs[: n_pairs or None]
    held = defaultdict(list)
    for pair in pairs:
        held[pair.benchmark].append(pair)
    if unknown := sorted(set(held) - set(shares)):
        raise ValueError(f"shares: no share is given for {unknown[0]}")
    if missing := sorted(name for name, share in shares.items() if share > 0 and not held[name]):
        raise ValueError(f"shares: {missing[0]} has no pairs")
    whole = sum(shares.values())
    most = min(len(held[name]) * whole / share for name, share in shares.items() if share > 0)
    total = min(n_pairs, most) if n_pairs else most
    taken = {id(pair) for name in held for pair in held[name][: round(total * shares[name] / whole)]}
    return [pair for pair in pairs if id(pair) in taken]


def rows_hash(rows: Iterable[Mapping[str, Any]]) -> str:
    """SHA-256 over token rows: what exactly was trained on."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps(row, sort_keys=True).encode())
    return digest.hexdigest()


# ---------------------------------------------------------------- prompts and replies


def strategy_of(recipe: CausalRecipe) -> Strategy:
    """The strategy of a recipe, after checking that one call of it gives the verdict.

    RecipeError if it asks in several calls, rates single responses, or has replies that cannot be written.
    """
    strategy = load_strategy(recipe.strategy, recipe.policy)
    if strategy.kind != "pair" or len(strategy.calls) != 1:
        raise RecipeError(f"strategy {recipe.strategy!r}: verdicts are trained with strategies that ask once")
    if not strategy.said["first"]:
        raise RecipeError(f"strategy {recipe.strategy!r}: its replies ({strategy.format}) cannot be written")
    if recipe.explanations and strategy.closed:
        raise RecipeError(f"strategy {recipe.strategy!r} allows the verdict only: no explanations")
    return strategy


def chat_tokens(
    tokenizer: Any, messages: Iterable[Mapping[str, str]], reply: str | None = None
) -> tuple[list[int], list[int]]:
    """Token ids of messages with the opening of a reply, and of the reply with its end (none without a reply)."""
    ids = tokenizer.apply_chat_template(list(messages), return_dict=True, **CHAT)["input_ids"]
    return ids, [] if reply is None else reply_tokens(tokenizer, reply)


def reply_tokens(tokenizer: Any, text: str) -> list[int]:
    """Token ids of a reply with its end."""
    return [*tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]


def prompt_messages(tokenizer: Any, strategy: Strategy, pair: PreferencePair, limit: int) -> tuple[dict[str, str], ...]:
    """Messages that ask about a pair in its own order, cut to a number of tokens (`judgekit.prompts`)."""

    def measure(messages: Any) -> int:
        return len(chat_tokens(tokenizer, messages)[0])

    return strategy.render("verdict", request_of(pair, "ab"), limit=limit, measure=measure).messages


def prompt_tokens(tokenizer: Any, strategy: Strategy, pair: PreferencePair, limit: int) -> list[int]:
    """Token ids of the prompt for a pair."""
    return chat_tokens(tokenizer, prompt_messages(tokenizer, strategy, pair, limit))[0]


def reply_text(strategy: Strategy, label: str, explanation: str | None = None) -> str:
    """The reply that says a label, with an explanation before or after the verdict as the strategy wants it."""
    verdict = strategy.said[SAID[label]]
    if not explanation:
        return verdict
    return f"{verdict}\n{explanation}" if strategy.reads == "first line" else f"{explanation}\n{verdict}"


def prompts_and_replies(
    pairs: Iterable[PreferencePair], recipe: CausalRecipe, tokenizer: Any, explanations: Mapping[str, str] | None = None
) -> Iterator[tuple[Any, str, str]]:
    """For each pair the messages of its prompt, the reply that is right, and one whose verdict is wrong.

    ValueError if explanations are wanted and a pair has none.
    """
    strategy = strategy_of(recipe)
    explanations = (explanations or {}) if recipe.explanations else {}
    for pair in pairs:
        told = explanations.get(pair.item_id)
        if recipe.explanations and told is None:
            raise ValueError(f"{pair.where}: explanations are wanted, and it has none")
        wrong = {"A": "B", "B": "A", "tie": Random(pair.item_id).choice("AB")}[pair.label]  # type: ignore[index]  # labelled
        replies = reply_text(strategy, pair.label, told), reply_text(strategy, wrong)  # type: ignore[arg-type]  # labelled
        room = recipe.max_length - max(len(reply_tokens(tokenizer, reply)) for reply in replies)
        yield prompt_messages(tokenizer, strategy, pair, room), *replies


# ---------------------------------------------------------------- rows


def sft_rows(
    pairs: Iterable[PreferencePair], recipe: CausalRecipe, tokenizer: Any, explanations: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Rows ``input_ids, labels`` whose loss falls on the reply alone."""
    rows = []
    for messages, right, _ in prompts_and_replies(pairs, recipe, tokenizer, explanations):
        prompt, reply = chat_tokens(tokenizer, messages, right)
        rows.append({"input_ids": prompt + reply, "labels": [IGNORED] * len(prompt) + reply})
    return rows


def dpo_rows(
    pairs: Iterable[PreferencePair], recipe: CausalRecipe, tokenizer: Any, explanations: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Rows ``prompt, chosen, rejected``: the right verdict is preferred to the wrong one.

    Texts, since TRL's trainer makes the tokens of preferences itself. A tokenizer that begins every text with a token
    of its own would add a second one to that of the chat template: the template's is left out.
    """
    rows, end = [], tokenizer.eos_token
    for messages, right, wrong in prompts_and_replies(pairs, recipe, tokenizer, explanations):
        prompt = tokenizer.apply_chat_template(list(messages), **(CHAT | {"tokenize": False}))
        begin = tokenizer.bos_token
        adds = begin and tokenizer("x")["input_ids"][0] == tokenizer.bos_token_id
        prompt = prompt.removeprefix(begin) if adds else prompt
        rows.append({"prompt": prompt, "chosen": right + end, "rejected": wrong + end})
    return rows


def response_tokens(tokenizer: Any, pair: PreferencePair, response: str, side: str, limit: int) -> list[int]:
    """Token ids of a question and one response as a chat, for a reward model; the response is cut at its end.

    ``side``: ``"response_a"`` or ``"response_b"``, whose earlier turns are shown.
    """
    messages = []
    for turn in pair.turns:
        messages.append({"role": "user", "content": turn.question})
        messages.append({"role": "assistant", "content": getattr(turn, side)})
    prompt, reply = chat_tokens(tokenizer, [*messages, {"role": "user", "content": pair.question}], response)
    return [*(prompt + reply[:-1])[: limit - 1], reply[-1]]


def both_responses(tokenizer: Any, pair: PreferencePair, limit: int) -> tuple[list[int], ...]:
    """`response_tokens` of both sides of a pair."""
    return tuple(
        response_tokens(tokenizer, pair, getattr(pair, side), side, limit) for side in ("response_a", "response_b")
    )


def reward_rows(
    pairs: Iterable[PreferencePair], recipe: CausalRecipe, tokenizer: Any, explanations: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Rows ``chosen_ids, rejected_ids``: the better response and the worse one; ties teach nothing here."""
    rows = []
    for pair in pairs:
        if pair.label != "tie":
            first, second = both_responses(tokenizer, pair, recipe.max_length)
            chosen, rejected = (first, second) if pair.label == "A" else (second, first)
            rows.append({"chosen_ids": chosen, "rejected_ids": rejected})
    return rows
