"""A tuned encoder that gives scores for several aspects: the baseline that a probe on hidden states has to beat.

One model for all aspects, one outer fold at a time; an inner split by question chooses the penalty of the heads, the
learning rate and the number of epochs. The heads start from a fit to the untouched encoder (Kumar et al. 2022,
arXiv:2202.10054), which heads that know nothing yet would bend. They are softmaxes: the most probable class of an
ordinal model that knows little is never a middle one.
"""

import copy
import json
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import ConfigDict, Field, NonNegativeInt, PositiveFloat, PositiveInt, Strict, model_validator
from pydantic.dataclasses import dataclass
from sklearn.linear_model import LogisticRegression
from sklearn.utils.class_weight import compute_sample_weight

from judgekit.data.files import write_json
from judgekit.data.progress import progress_bar, progress_over
from judgekit.inside.probes import GOOD, grouped_folds
from judgekit.models.encoder import TextEncoder, base_location, computing_in_bf16, padded, token_batches
from judgekit.models.files import model_files
from judgekit.models.states import pool
from judgekit.records import fingerprint_of
from judgekit.stats import Floats
from judgekit.training.causal_data import Share, Texts
from judgekit.training.encoder import linear_rate

_VERSION = 2  # of what a fold's predictions depend on besides its key: raise it, and they are computed again
_CLOSE = 0.05  # largest relative difference between the two halves in a row and the whole, in 16 bits
_Rates = Annotated[tuple[PositiveFloat, ...], Strict(False), Field(min_length=1)]
Text = tuple[str, str]  # question and response


@dataclass(frozen=True, config=ConfigDict(strict=True, extra="forbid"))
class TunedRecipe:
    """Everything that decides how an encoder is tuned to give scores, besides the data.

    Defaults by inner validation scores of one fold of GSM8K and AlpacaEval, for a laptop; no test score had a say.
    """

    base: str = "minilm"  # of the BERT or RoBERTa kind (`judgekit.models.encoder.base_location`)
    revision: str | None = None
    r: Annotated[int, Field(ge=-1)] = -1  # rank of LoRA; -1 trains all weights of the topmost blocks themselves
    lora_alpha: int = 16
    target_modules: Texts = ("query", "key", "value", "dense")
    layers: PositiveInt = 1  # topmost blocks that are tuned; what lies below stays frozen, its output is computed once
    max_tokens: PositiveInt = 256  # of an item: the middle of the response is cut out
    max_question_tokens: PositiveInt = 80  # the middle of a longer question is cut out
    rates: _Rates = (5e-5, 2e-4)  # to choose from: for all weights; with LoRA, a few times as high
    epochs: NonNegativeInt = 3  # at most; how many is chosen, and 0 leave the fitted heads on the frozen encoder
    batch_size: PositiveInt = 16  # texts per optimiser step
    batch_tokens: PositiveInt = 2048  # per forward pass, padding included
    warmup: Share = 0.1  # share of the steps with rising rate; then it falls linearly to zero at the end of ``epochs``
    weight_decay: float = 0.01
    # inverse penalties of the heads, to choose from where no epoch helps; training starts from the smallest
    ridges: _Rates = (1e-3, 1e-2)
    n_inner: Annotated[int, Field(ge=2)] = 5  # one part in so many of the training questions chooses
    classes: Annotated[tuple[int, ...], Strict(False), Field(min_length=2)] = (1, 2, 3, 4, 5)  # scores, ascending
    bf16: bool = True  # compute in bfloat16 where the processor has it
    seed: int = 0

    @model_validator(mode="after")
    def _fields_go_together(self) -> "TunedRecipe":
        if self.r == 0:
            raise ValueError("r is 0: the rank of LoRA, or -1 for all weights")
        if self.max_question_tokens >= self.max_tokens:
            raise ValueError(f"max_question_tokens is {self.max_question_tokens}: no room is left for the response")
        if list(self.classes) != sorted(set(self.classes)):
            raise ValueError(f"classes is {self.classes!r}: two or more scores are needed, ascending")
        return self


class _UpperBlocks(torch.nn.Module):
    """The topmost blocks of an encoder: states in, mean-pooled states out."""

    def __init__(self, blocks: Iterable[torch.nn.Module]) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList(blocks)

    def forward(self, states: Any, mask: torch.Tensor) -> torch.Tensor:
        unseen = None if mask.all() else (1.0 - mask[:, None, None, :]) * torch.finfo(torch.bfloat16).min
        if unseen is not None and torch.is_autocast_enabled("cpu"):
            unseen = unseen.bfloat16()  # in float32 it would double the width of every attention map
        for block in self.blocks:
            states = block(states, attention_mask=unseen)
            states = states[0] if isinstance(states, tuple) else states
        return pool(states, mask.bool(), "mean")


class SplitEncoder:
    """Different texts, read once by the frozen blocks of an encoder.

    The states between the halves are kept in float16 (0.2 MB for 256 tokens and MiniLM); all folds share them.
    """

    def __init__(self, recipe: TunedRecipe, texts: Sequence[Text]) -> None:
        self.recipe, self.encoder = recipe, TextEncoder(recipe.base, recipe.revision)
        blocks = getattr(getattr(self.encoder.model, "encoder", None), "layer", None)
        if blocks is None:
            raise ValueError(f"base {recipe.base!r} has no model.encoder.layer: encoders like BERT and RoBERTa do")
        if recipe.layers > len(blocks):
            raise ValueError(f"layers is {recipe.layers}, but base {recipe.base!r} has {len(blocks)} blocks")
        self.blocks, self.below = blocks, len(blocks) - recipe.layers
        self.ids = [self._token_ids(text) for text in texts]
        self.states: list[Any] = [None] * len(self.ids)  # between the halves
        self.pooled = torch.zeros(len(self.ids), self.encoder.width)  # at the top of the untouched encoder
        self._read()
        # Written out, attention over short texts trains a third faster on a processor than the fused kernel.
        self.encoder.model.set_attn_implementation("eager")
        rows = next(self.batches(range(len(self.ids))))
        with torch.no_grad(), computing_in_bf16("cpu", recipe.bf16):  # relative positions, say, need more than a mask
            apart = self.copy()(*self.batch(rows)) - self.pooled[rows]
        if apart.norm() > _CLOSE * self.pooled[rows].norm():
            raise ValueError(f"base {recipe.base!r} gives other states when its blocks are run one by one")

    def _token_ids(self, text: Text) -> list[int]:
        """Token ids of a question and its response in one row."""
        encoder, room = self.encoder, min(self.recipe.max_tokens, self.encoder.max_positions)
        question = encoder.token_ids(text[0], self.recipe.max_question_tokens)
        start = len(encoder.prefix)
        return question + encoder.token_ids(text[1], room - len(question) + start)[start:]

    def batches(self, rows: Iterable[int]) -> Iterator[list[int]]:
        """Rows in batches under the budget of tokens, longest first."""
        return token_batches({row: len(self.ids[row]) for row in rows}, self.recipe.batch_tokens)

    def copy(self) -> _UpperBlocks:
        """The upper blocks, untouched, as a module of their own."""
        # Without dropout, as in the encoder judge: epochs are few, and how many is chosen on held-out questions.
        return _UpperBlocks(copy.deepcopy(list(self.blocks[self.below :]))).eval()

    @torch.no_grad()
    def _read(self) -> None:
        model: Any = self.encoder.model
        pad = self.encoder.tokenizer.pad_token_id or 0
        with progress_bar(len(self.ids), "reading", "text") as bar, computing_in_bf16("cpu", self.recipe.bf16):
            for batch in self.batches(range(len(self.ids))):
                ids, mask = padded([self.ids[row] for row in batch], pad, "cpu")
                out = model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
                for row, states in zip(batch, out.hidden_states[self.below], strict=True):
                    self.states[row] = states[: len(self.ids[row])].half().clone()
                self.pooled[batch] = pool(out.last_hidden_state, mask.bool(), "mean")
                bar.update(len(batch))

    def batch(self, rows: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """States between the halves and mask of some texts, padded with zeros."""
        states = [self.states[row] for row in rows]
        masks = [torch.ones(len(one)) for one in states]
        pad = torch.nn.utils.rnn.pad_sequence
        return pad(states, batch_first=True).float(), pad(masks, batch_first=True)


def tuned_predictions(
    texts: Sequence[Text],
    aspects: Any,
    scores: Any,
    groups: Any,
    folds: Sequence[tuple[Any, Any]],
    recipe: TunedRecipe,
    folder: str | Path,
) -> Floats:
    """Probabilities of ``recipe.classes`` by a tuned encoder that never saw the row's question, (n_items, n_classes).

    A text may occur under several aspects. ``groups``: question of each row. ``folds``: as
    `judgekit.inside.probes.grouped_folds` makes them. ``folder``: where finished folds are kept.
    """
    items = Items(texts, aspects, scores, groups, recipe)
    probabilities, base = np.zeros((len(texts), len(recipe.classes))), None
    for train, test in progress_over(folds, "tuning", "fold"):
        if lacking := set(items.aspect[test]) - set(items.aspect[train]):
            raise ValueError(f"{items.names[min(lacking)]} occurs in no training row of a fold")
        path = Path(folder) / f"{items.key(train, test)}.json"
        if not path.is_file():
            base = base or SplitEncoder(recipe, items.texts)
            write_json(path, _tune_fold(base, items, np.asarray(train), np.asarray(test)))
        probabilities[test] = json.loads(path.read_text(encoding="utf-8"))["probabilities"]
    return probabilities


def _tune_fold(base: SplitEncoder, items: "Items", train: np.ndarray, test: np.ndarray) -> dict[str, Any]:
    """Choose on the training rows, train on all of them, predict the test rows."""
    started, recipe = time.perf_counter(), items.recipe
    fitting, held_out = items.inner_split(train)
    tried = [(Rater(base, items, fitting, ridge).loss(held_out), ridge, 0.0, 0) for ridge in recipe.ridges]
    # Blocks are tuned from the most penalised heads: others fit the training rows so well that no gradient is left.
    gentle = min(recipe.ridges)
    for rate in recipe.rates:
        rater = Rater(base, items, fitting, gentle)
        tried += [(rater.loss(held_out), gentle, rate, epoch + 1) for epoch, _ in enumerate(rater.run(rate))]
    _, ridge, rate, epochs = min(tried)
    rater = Rater(base, items, train, ridge)
    losses = list(islice(rater.run(rate), epochs))
    chosen = {"ridge": ridge, "rate": rate, "epochs": epochs, "tried": tried, "losses": losses}
    predicted = {"test": test.tolist(), "probabilities": rater.predict(test).tolist()}
    return chosen | predicted | {"seconds": time.perf_counter() - started}


class Items:
    """Rows (of `tuned_predictions`) as codes: which text, which aspect, which class, which question."""

    def __init__(self, texts: Sequence[Text], aspects: Any, scores: Any, groups: Any, recipe: TunedRecipe) -> None:
        if unknown := set(scores) - set(recipe.classes):
            raise ValueError(f"score {min(unknown)!r} is none of {', '.join(map(str, recipe.classes))}")
        self.recipe, self.texts = recipe, list(dict.fromkeys(texts))
        number_of = {text: number for number, text in enumerate(self.texts)}
        self.text = np.array([number_of[text] for text in texts])
        names, self.aspect = np.unique(aspects, return_inverse=True)
        self.names = names.tolist()
        self.code = np.searchsorted(recipe.classes, scores)
        self.group = np.array([str(group) for group in groups])

    def key(self, train: np.ndarray, test: np.ndarray) -> str:
        """Content key of a fold: all that its predictions depend on, and nothing of the test rows' scores."""
        name = base_location(self.recipe.base) + (f"@{self.recipe.revision}" if self.recipe.revision else "")
        rows = [(self.texts[self.text[i]], self.names[self.aspect[i]], self.group[i]) for i in (*train, *test)]
        about = asdict(self.recipe) | {"base": model_files(name).digest}
        return fingerprint_of(_VERSION, about, rows, self.code[train].tolist(), len(train))

    def inner_split(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows to fit on and rows to choose by: questions apart, aspects and scores spread evenly."""
        strata = self.aspect[rows] * len(self.recipe.classes) + self.code[rows]
        if np.bincount(strata).max() < self.recipe.n_inner:
            strata = self.code[rows]  # too few rows to spread the scores of each aspect
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class")  # a rare score may miss one side
            fitting, held_out = grouped_folds(strata, self.group[rows], self.recipe.n_inner, self.recipe.seed)[0]
        return rows[fitting], rows[held_out]

    def weights(self, rows: np.ndarray) -> Floats:
        """One weight per row: the classes of an aspect count alike, and the mean is 1 in each aspect."""
        weight = np.ones(len(rows))
        for aspect in np.unique(self.aspect[rows]):
            own = self.aspect[rows] == aspect
            weight[own] = compute_sample_weight("balanced", self.code[rows][own])
        return weight


class Rater(torch.nn.Module):
    """Upper blocks with a softmax head per aspect, fitted to ``rows`` (``ridge``: scikit-learn's inverse penalty)."""

    def __init__(self, base: SplitEncoder, items: Items, rows: np.ndarray, ridge: float) -> None:
        super().__init__()
        self.base, self.items, self.rows, self.recipe = base, items, rows, items.recipe
        torch.manual_seed(self.recipe.seed)
        self.upper: torch.nn.Module = base.copy().requires_grad_(self.recipe.r < 0)
        if self.recipe.r > 0:
            from peft import LoraConfig, inject_adapter_in_model

            given = {name: getattr(self.recipe, name) for name in ("r", "lora_alpha", "target_modules")}
            self.upper = inject_adapter_in_model(LoraConfig(**given), self.upper).eval()
        pooled = base.pooled[np.unique(items.text[rows])]
        self.centre, self.spread = pooled.mean(0), pooled.std(0) + 1e-6
        n_heads, n_classes = len(items.names), len(self.recipe.classes)
        self.head = torch.nn.Parameter(torch.zeros(n_heads, n_classes, base.encoder.width))
        self.bias = torch.nn.Parameter(torch.full((n_heads, n_classes), -4.0))  # of a class that training lacks
        self._fit_heads(ridge)

    @torch.no_grad()
    def _fit_heads(self, ridge: float) -> None:
        """Logistic regression on the standardised embeddings of the untouched encoder, head by head."""
        X = ((self.base.pooled - self.centre) / self.spread).numpy()
        for aspect in np.unique(self.items.aspect[self.rows]):
            own = self.rows[self.items.aspect[self.rows] == aspect]
            codes = np.unique(self.items.code[own])
            if len(codes) == 1:
                self.bias[aspect, codes] = 0.0
                continue
            fit = LogisticRegression(C=ridge, class_weight="balanced", max_iter=1000)
            fit.fit(X[self.items.text[own]], self.items.code[own])
            for parameter, found in ((self.head, fit.coef_), (self.bias, fit.intercept_)):
                if len(codes) == 2:  # then scikit-learn keeps one direction, of the second class
                    found = np.concatenate([-found, found]) / 2
                parameter[aspect, codes] = torch.tensor(found, dtype=torch.float32)

    def logits(self, texts: Sequence[int], rows: np.ndarray) -> torch.Tensor:
        """Logits of rows whose texts are among ``texts``, shape (n_rows, n_classes)."""
        with computing_in_bf16("cpu", self.recipe.bf16):
            pooled = self.upper(*self.base.batch(texts))
        number_of = {text: number for number, text in enumerate(texts)}
        states = ((pooled - self.centre) / self.spread)[[number_of[text] for text in self.items.text[rows].tolist()]]
        aspects = torch.from_numpy(self.items.aspect[rows])
        return (self.head[aspects] * states[:, None]).sum(-1) + self.bias[aspects]

    def run(self, rate: float) -> Iterator[float]:
        """Train by the recipe's schedule; yields the mean loss of each epoch."""
        recipe, weight = self.recipe, np.zeros(len(self.items.text))
        weight[self.rows] = self.items.weights(self.rows)
        texts = np.unique(self.items.text[self.rows])
        trained = [parameter for parameter in self.parameters() if parameter.requires_grad]
        optimiser = torch.optim.AdamW(trained, lr=rate, weight_decay=recipe.weight_decay)
        n_steps = -(-len(texts) // recipe.batch_size)
        for epoch in range(recipe.epochs):
            order, losses = np.random.default_rng([recipe.seed, epoch]).permutation(texts), []
            for number in range(n_steps):
                step = epoch * n_steps + number
                optimiser.param_groups[0]["lr"] = rate * linear_rate(step, n_steps * recipe.epochs, recipe.warmup)
                losses.append(self._gradients(order[number * recipe.batch_size :][: recipe.batch_size], weight))
                torch.nn.utils.clip_grad_norm_(trained, 1.0)
                optimiser.step()
                optimiser.zero_grad(set_to_none=True)
            yield float(np.mean(losses))

    def _gradients(self, drawn: np.ndarray, weight: np.ndarray) -> float:
        """Add up the gradients of one step, longest texts first: its loss."""
        rows_of = {text: self.rows[self.items.text[self.rows] == text] for text in drawn.tolist()}
        total, loss = sum(map(len, rows_of.values())), 0.0
        for texts in self.base.batches(rows_of):
            rows = np.concatenate([rows_of[text] for text in texts])
            logits, code = self.logits(texts, rows), torch.from_numpy(self.items.code[rows])
            losses = torch.nn.functional.cross_entropy(logits, code, reduction="none")
            part = (losses * torch.from_numpy(weight[rows]).float()).sum() / total
            part.backward()
            loss += part.item()
        return loss

    @torch.no_grad()
    def predict(self, rows: np.ndarray) -> Floats:
        """Class probabilities of rows, shape (n_rows, n_classes)."""
        probabilities = np.zeros((len(rows), len(self.recipe.classes)))
        for texts in self.base.batches(np.unique(self.items.text[rows]).tolist()):
            own = np.flatnonzero(np.isin(self.items.text[rows], texts))
            probabilities[own] = torch.softmax(self.logits(texts, rows[own]).double(), 1).numpy()
        return probabilities

    def loss(self, rows: np.ndarray) -> float:
        """Ranked probability score of rows that were held out."""
        return ranked_probability_score(self.predict(rows), self.items.code[rows])


def ranked_probability_score(probabilities: Any, codes: Any) -> float:
    """Mean squared error of the cumulative probabilities, averaged over the cuts between classes, in [0, 1].

    ``probabilities``: shape (n_items, n_classes), classes ascending; ``codes``: position of the right class.
    Epstein (1969), Journal of Applied Meteorology 8: bounded, unlike the log-likelihood, and less noisy than an F1.

    >>> ranked_probability_score(np.array([[0.0, 0.0, 1.0]]), np.array([0]))
    1.0
    """
    p = np.asarray(probabilities, float)
    passed = np.asarray(codes)[:, None] <= np.arange(p.shape[1] - 1)
    return float(((p.cumsum(1)[:, :-1] - passed) ** 2).mean())


def readings(probabilities: Any, head: str, classes: Any = (1, 2, 3, 4, 5)) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and scores to rank by, shape (n_items,), by class probabilities under a head.

    ``binary``: whether a response is good (4 or more), and the probability of that; else the most probable score, and
    the expected one. (The median of an unsure forecast is nearly always a middle score, which F1 would punish.)

    >>> p = np.array([[0.0, 0.1, 0.3, 0.35, 0.25]])
    >>> [readings(p, head)[0].tolist() for head in ("five", "binary")]
    [[4], [1]]
    """
    p, classes = np.asarray(probabilities, float), np.asarray(classes)
    if head == "binary":
        good = p[:, classes >= GOOD].sum(1)
        return (good >= 0.5).astype(int), good
    return classes[p.argmax(1)], p @ classes
