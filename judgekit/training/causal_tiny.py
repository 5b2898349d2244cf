"""A causal language model small enough to be trained from nothing on a laptop, and the words it knows.

Half a million weights in LFM2's architecture: short convolutions, which see the words just before, in turn with
attention. To tell whether a response repeats a word of the question takes a layer that knows what came before and one
that looks for its like; with attention alone it came later, in trials that were not kept. The tokenizer has a token per
word of the tiny tasks, and one for each passage of the strategy's prompt that never changes, so that a whole prompt is
some twenty tokens.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    AutoModelForSequenceClassification,
    Lfm2Config,
    Lfm2ForCausalLM,
    Lfm2PreTrainedModel,
    PreTrainedTokenizerFast,
)
from transformers.modeling_layers import GenericForSequenceClassification

from judgekit.judges.base import Request
from judgekit.prompts import Strategy
from judgekit.prompts.files import PLACEHOLDER
from judgekit.training.causal_data import IGNORED, chat_tokens
from judgekit.training.causal_families import KINDS, LETTERS, NUMBERS, PLACES, WORDS
from judgekit.training.causal_wordings import HELD_OUT, TRAIN

MARKS = {True: "right", False: "wrong"}  # what a drill says of a response
BOUNDS = "<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<|pad|>", "<|unknown|>"
TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}"
    "{% if m['role'] == 'assistant' %}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def passages(strategy: Strategy) -> tuple[str, list[str]]:
    """The passages of a strategy's prompt that never change: system message, then what stands around the texts."""
    (call,) = strategy.calls
    around = [piece for piece in PLACEHOLDER.split(call.user)[::2] if piece]
    return call.system, around


def known_words(strategy: Strategy) -> list[str]:
    """Every word of the tiny tasks, of the marks and of the strategy's replies, sorted."""
    said = " ".join([*strategy.said.values(), *MARKS.values()])
    wordings = " ".join(text for part in (TRAIN, HELD_OUT) for texts in part.values() for text in texts)
    wordings = PLACEHOLDER.sub(" ", wordings)
    numbers = map(str, range(160))
    closed = (*WORDS, *LETTERS, *NUMBERS, *PLACES, *KINDS, *numbers, "same", "other", "plus", "minus", "to")
    return sorted({*closed, *said.split(), *wordings.split()})


def tiny_tokenizer(strategy: Strategy) -> PreTrainedTokenizerFast:
    """A tokenizer of whole words for one strategy (of a single call); it comes with a chat template."""
    words = {word: n for n, word in enumerate([*BOUNDS, *known_words(strategy)])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<|unknown|>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    system, around = passages(strategy)
    tokenizer.add_special_tokens([*BOUNDS, system, *around])
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|pad|>", unk_token="<|unknown|>"
    )
    wrapped.chat_template = TEMPLATE
    return wrapped


class Lfm2ForSequenceClassification(GenericForSequenceClassification, Lfm2PreTrainedModel):
    """LFM2 with a head for scores, which transformers does not have: what a reward model needs."""


AutoModelForSequenceClassification.register(Lfm2Config, Lfm2ForSequenceClassification, exist_ok=True)


def tiny_config(tokenizer: Any, width: int = 96, layers: str = "cacaa", heads: int = 4, inner: int = 192) -> Lfm2Config:
    """Architecture of the tiny model; ``layers`` has a letter for each, a convolution or attention."""
    kinds = {"c": "conv", "a": "full_attention"}
    return Lfm2Config(
        vocab_size=-(-len(tokenizer) // 8) * 8,
        hidden_size=width,
        num_hidden_layers=len(layers),
        layer_types=[kinds[letter] for letter in layers],
        num_attention_heads=heads,
        num_key_value_heads=heads,
        intermediate_size=inner,
        block_auto_adjust_ff_dim=False,
        max_position_embeddings=512,
        rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
        initializer_range=0.05,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )


def tiny_model(tokenizer: Any, seed: int = 0) -> Lfm2ForCausalLM:
    """The model with random weights, the same for the same seed."""
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    model = Lfm2ForCausalLM(tiny_config(tokenizer))
    torch.set_rng_state(state)
    return model


def drill_rows(
    drills: Sequence[Any], strategy: Strategy, tokenizer: Any, marks: Mapping[Any, Any] = MARKS
) -> list[dict[str, Any]]:
    """Rows ``input_ids, labels`` for drills: the prompt of a pair, but with several responses.

    ``drills``: with question, responses (text and mark), predictable; ``tokenizer``: of `tiny_tokenizer`; ``marks``:
    the word that says how good a response is.

    Two things are learnt. The words of right responses, as a language model learns them: that is what makes it read
    the question. And where a response ends, whether it was right; the marks are labels only, so no later position can
    read them. Before a right response both would stand on one position: in one of three cases it is the word. Marks
    alone are not enough: whether two words are the same cannot be learnt a little, and the loss stays where it began.
    Where nearly any words would be right, they are not learnt.
    """
    _, around = passages(strategy)
    after_question, between, last = (tokenizer.convert_tokens_to_ids(piece) for piece in around[1:4])
    marks = {right: tokenizer.convert_tokens_to_ids(word) for right, word in marks.items()}
    rows, rng = [], Random(len(drills))
    for drill in drills:
        prompt, _ = chat_tokens(tokenizer, strategy.render("verdict", Request(drill.question, "", "")).messages)
        ids = prompt[: prompt.index(after_question) + 1]
        due: dict[int, int] = {}
        for n, (response, right) in enumerate(drill.responses, 1):
            words = tokenizer(response, add_special_tokens=False)["input_ids"]
            if right and drill.predictable:
                said = {len(ids) + place: word for place, word in enumerate(words)}
                due = due | said if rng.random() < 1 / 3 else said | due
            ids += [*words, last if n == len(drill.responses) else between]
            due[len(ids)] = marks[right]  # a label stands one place after the position that predicts it
        ids.append(tokenizer.eos_token_id)
        rows.append({"input_ids": ids, "labels": [due.get(place, IGNORED) for place in range(len(ids))]})
    return rows
