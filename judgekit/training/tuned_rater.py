"""A tuned encoder that gives scores for several aspects: the baseline that a probe on hidden states has to beat.

One model for all aspects, one outer fold at a time. Inside the training part of a fold, a question-grouped inner split
chooses the penalty of the heads, the learning rate and the number of epochs; then the model is trained on the whole
training part. The heads start from a fit to the untouched encoder (Kumar et al. 2022, arXiv:2202.10054): with some
hundred labels the encoder would otherwise be bent by heads that know nothing yet.

Each head is a softmax over the scores rather than one direction with thresholds: where little is known, the most
probable class of an ordinal model is never a middle one, and a fifth of these items belongs to each.
"""

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

from judgekit.data.progress import progress_bar
from judgekit.inside.probes import grouped_folds
from judgekit.models.encoder import base_location
from judgekit.models.files import model_files
from judgekit.records import fingerprint_of
from judgekit.stats import Floats
from judgekit.training.split_encoder import SplitEncoder
from judgekit.training.tuned_folds import TunedFold, read_fold, write_fold
from judgekit.training.tuned_readings import ranked_probability_score
from judgekit.training.tuned_recipe import TunedRecipe

VERSION = 2  # of what a fold's predictions depend on besides its key: raise it, and they are computed again


def tuned_predictions(
    texts: Sequence[Any],
    aspects: Any,
    scores: Any,
    groups: Any,
    folds: Sequence[tuple[Any, Any]],
    recipe: TunedRecipe,
    folder: str | Path | None = None,
    progress: bool = True,
) -> Floats:
    """Class probabilities of every row by a tuned encoder that never saw the row's question, shape (n_items, n_scores).

    Columns as in ``recipe.classes``. A text may occur under several aspects and is read once; given as (question,
    response), both have a share of the tokens of their own. ``groups``: question of each row. ``folds``: (train rows,
    test rows), each row tested once, no question on both sides; the scores of its test rows are not looked at.
    ``folder``: where finished folds are kept; an interrupted run loses the fold it was at.

    ValueError if lengths differ, a score is none of the classes, rows are not tested exactly once, a question stands on
    both sides of a fold, an aspect occurs in no training row of a fold, or the encoder cannot be cut.
    """
    found = np.zeros((len(texts), len(recipe.classes)))
    for fold in tune_folds(texts, aspects, scores, groups, folds, recipe, folder, progress):
        found[fold.test] = fold.probabilities
    return found


def tune_folds(
    texts: Sequence[Any],
    aspects: Any,
    scores: Any,
    groups: Any,
    folds: Sequence[tuple[Any, Any]],
    recipe: TunedRecipe,
    folder: str | Path | None = None,
    progress: bool = True,
) -> list[TunedFold]:
    """The folds behind `tuned_predictions`, with what was chosen in each: same parameters, a list of `TunedFold`."""
    items = Items(texts, aspects, scores, groups, recipe)
    items.check(folds)
    keys = [items.key(*fold) for fold in folds]
    kept: list[Any] = [read_fold(folder, key, len(test), recipe) for key, (_, test) in zip(keys, folds, strict=True)]
    if all(kept):
        return kept
    base = SplitEncoder(recipe, items.texts, progress)
    with progress_bar(len(folds), "tuning", "fold", progress, initial=sum(map(bool, kept))) as bar:
        for number, (train, test) in enumerate(folds):
            if not kept[number]:
                kept[number] = tune_fold(base, items, np.asarray(train), np.asarray(test))
                write_fold(folder, keys[number], kept[number])
                bar.update()
    return kept


def tune_fold(base: SplitEncoder, items: "Items", train: np.ndarray, test: np.ndarray) -> TunedFold:
    """Choose on the training rows, train on all of them, predict the test rows."""
    started, recipe, history = time.perf_counter(), items.recipe, []
    fitting, held = items.inner_split(train)
    tried = []
    for ridge in recipe.ridges:
        history.append({"ridge": ridge, "epoch": 0, **Rater(base, items, fitting, ridge).evaluate(held)})
        tried.append((history[-1]["validation"], ridge, 0.0, 0))
    # Blocks are tuned from the most penalised heads: others fit the training rows so well that no gradient is left.
    gentle = min(recipe.ridges)
    for rate in recipe.rates:
        for row in Rater(base, items, fitting, gentle).run(rate, recipe.epochs, held):
            history.append({"rate": rate, **row})
            tried.append((row["validation"], gentle, rate, row["epoch"]))
    _, ridge, rate, epochs = min(tried)
    rater = Rater(base, items, train, ridge)
    final = list(rater.run(rate, epochs))
    probabilities = rater.predict(test)
    return TunedFold(test, probabilities, ridge, rate, epochs, history, final, time.perf_counter() - started)


class Items:
    """Rows (of `tuned_predictions`) as codes: which text, which aspect, which class, which question."""

    def __init__(
        self,
        texts: Sequence[Any],
        aspects: Sequence[str],
        scores: Sequence[int],
        groups: Sequence[str],
        recipe: TunedRecipe,
    ) -> None:
        if not len(texts) == len(aspects) == len(scores) == len(groups):
            raise ValueError(f"{len(texts)} texts, {len(aspects)} aspects, {len(scores)} scores, {len(groups)} groups")
        texts = [text if isinstance(text, str) else tuple(text) for text in texts]
        for row, score in enumerate(scores):
            if score not in recipe.classes:
                raise ValueError(f"row {row}: score {score!r} is none of {', '.join(map(str, recipe.classes))}")
        self.recipe, self.texts, self.names = recipe, list(dict.fromkeys(texts)), sorted(set(aspects))
        place = {text: number for number, text in enumerate(self.texts)}
        self.text = np.array([place[text] for text in texts])
        self.aspect = np.array([self.names.index(aspect) for aspect in aspects])
        self.code = np.array([recipe.classes.index(score) for score in scores])
        self.group = np.array([str(group) for group in groups])

    def check(self, folds: Sequence[tuple[Any, Any]]) -> None:
        """Refuse folds that would leak or leave rows out."""
        tested = np.concatenate([np.asarray(test) for _, test in folds])
        if not np.array_equal(np.sort(tested), np.arange(len(self.text))):
            raise ValueError(f"the folds test {len(tested)} rows of {len(self.text)}: each must be tested exactly once")
        for number, (train, test) in enumerate(folds):
            if shared := set(self.group[train]) & set(self.group[test]):
                raise ValueError(f"fold {number}: the question {min(shared)[:60]!r} is on both sides")
            if lacking := set(self.aspect[test]) - set(self.aspect[train]):
                raise ValueError(f"fold {number}: {self.names[min(lacking)]} occurs in no training row")

    def key(self, train: np.ndarray, test: np.ndarray) -> str:
        """Content key of a fold: all that its predictions depend on, and nothing of the test rows' scores."""
        name = base_location(self.recipe.base) + (f"@{self.recipe.revision}" if self.recipe.revision else "")
        rows = [(self.texts[self.text[i]], self.names[self.aspect[i]], self.group[i]) for i in (*train, *test)]
        about = self.recipe.as_dict() | {"base": model_files(name).digest}
        return fingerprint_of(VERSION, about, rows, self.code[train].tolist(), len(train))

    def inner_split(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows to fit on and rows to choose by: questions apart, aspects and scores spread evenly."""
        strata = self.aspect[rows] * len(self.recipe.classes) + self.code[rows]
        if np.bincount(strata).max() < self.recipe.n_inner:
            strata = self.code[rows]  # too few rows to spread the scores of each aspect
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class")  # a rare score may miss one side
            split = grouped_folds(strata, self.group[rows], self.recipe.n_inner, self.recipe.seed)
        fitting, held = split[0]
        return rows[fitting], rows[held]

    def weights(self, rows: np.ndarray) -> Floats:
        """One weight per row: the classes of an aspect count alike, and the mean is 1 in each aspect."""
        weight = np.ones(len(rows))
        for aspect in np.unique(self.aspect[rows]):
            own = self.aspect[rows] == aspect
            counts = np.bincount(self.code[rows][own], minlength=len(self.recipe.classes))
            weight[own] = own.sum() / (np.count_nonzero(counts) * counts[self.code[rows][own]])
        return weight


class Rater(torch.nn.Module):
    """Upper blocks with a softmax head per aspect, the heads fitted to the untouched encoder.

    ``rows``: what may be learnt from; ``ridge``: inverse strength of the penalty on the heads' fit.
    """

    def __init__(self, base: SplitEncoder, items: "Items", rows: np.ndarray, ridge: float) -> None:
        super().__init__()
        self.base, self.items, self.rows, self.recipe = base, items, rows, items.recipe
        torch.manual_seed(self.recipe.seed)
        self.upper = self.tunable(base.copy())
        pooled = base.pooled[np.unique(items.text[rows])]
        self.centre, self.spread = pooled.mean(0), pooled.std(0) + 1e-6
        n_heads, n_classes = len(items.names), len(self.recipe.classes)
        self.head = torch.nn.Parameter(torch.zeros(n_heads, n_classes, base.encoder.width))
        self.bias = torch.nn.Parameter(torch.full((n_heads, n_classes), -4.0))  # of a class that training lacks
        self.fit_heads(ridge)

    def tunable(self, upper: torch.nn.Module) -> torch.nn.Module:
        """Free the blocks' own weights, or freeze them and put LoRA beside."""
        recipe = self.recipe
        upper.requires_grad_(recipe.r < 0)
        if recipe.r > 0:
            from peft import LoraConfig, inject_adapter_in_model

            config = LoraConfig(r=recipe.r, lora_alpha=recipe.lora_alpha, target_modules=list(recipe.target_modules))
            upper = inject_adapter_in_model(config, upper).eval()
        return upper

    @torch.no_grad()
    def fit_heads(self, ridge: float) -> None:
        """Penalised logistic regression on the standardised embeddings of the untouched encoder, head by head."""
        X = ((self.base.pooled - self.centre) / self.spread).numpy()
        for aspect in np.unique(self.items.aspect[self.rows]):
            own = self.rows[self.items.aspect[self.rows] == aspect]
            codes = np.unique(self.items.code[own])
            if len(codes) == 1:
                self.bias[aspect, codes] = 0.0
                continue
            fit = LogisticRegression(C=ridge, class_weight="balanced", max_iter=1000)
            fit.fit(X[self.items.text[own]], self.items.code[own])
            two = len(codes) == 2  # then scikit-learn keeps one direction, of the second class
            coef = np.concatenate([-fit.coef_, fit.coef_]) / 2 if two else fit.coef_
            bias = np.concatenate([-fit.intercept_, fit.intercept_]) / 2 if two else fit.intercept_
            self.head[aspect, codes] = torch.tensor(coef, dtype=torch.float32)
            self.bias[aspect, codes] = torch.tensor(bias, dtype=torch.float32)

    def logits(self, texts: Sequence[int], rows: np.ndarray) -> torch.Tensor:
        """Logits of rows whose texts are among ``texts``, shape (n_rows, n_classes)."""
        with self.base.computing():
            pooled = self.upper(*self.base.batch(texts))
        place = {text: number for number, text in enumerate(texts)}
        states = ((pooled - self.centre) / self.spread)[[place[text] for text in self.items.text[rows].tolist()]]
        aspects = torch.from_numpy(self.items.aspect[rows])
        return (self.head[aspects] * states[:, None]).sum(-1) + self.bias[aspects]

    def run(self, rate: float, epochs: int, held: np.ndarray | None = None) -> Iterator[dict[str, Any]]:
        """Train for some epochs of the recipe's schedule; yields a row after each, with scores of ``held`` if given."""
        recipe, weight = self.recipe, np.zeros(len(self.items.text))
        weight[self.rows] = self.items.weights(self.rows)
        texts = np.unique(self.items.text[self.rows])
        by_text = {text: self.rows[self.items.text[self.rows] == text] for text in texts}
        trained = [parameter for parameter in self.parameters() if parameter.requires_grad]
        optimiser = torch.optim.AdamW(trained, lr=rate, weight_decay=recipe.weight_decay)
        n_steps = -(-len(texts) // recipe.batch_size)
        for epoch in range(epochs):
            order = np.random.default_rng([recipe.seed, epoch]).permutation(texts)
            losses, hits = [], []
            for number in range(n_steps):
                step = epoch * n_steps + number
                optimiser.param_groups[0]["lr"] = rate * share_of_rate(step, n_steps * recipe.epochs, recipe.warmup)
                drawn = order[number * recipe.batch_size : (number + 1) * recipe.batch_size]
                loss, hit = self.gradients(drawn, by_text, weight)
                torch.nn.utils.clip_grad_norm_(trained, 1.0)
                optimiser.step()
                optimiser.zero_grad(set_to_none=True)
                losses.append(loss)
                hits.extend(hit)
            row = {"epoch": epoch + 1, "train": float(np.mean(losses)), "train_accuracy": float(np.mean(hits))}
            yield row | (self.evaluate(held) if held is not None else {})

    def gradients(
        self, drawn: np.ndarray, by_text: Mapping[int, np.ndarray], weight: np.ndarray
    ) -> tuple[float, list[bool]]:
        """Add up the gradients of one step, longest texts first: its loss, and which rows were right."""
        total, loss, hits = sum(len(by_text[text]) for text in drawn), 0.0, []
        for texts in self.base.batches(drawn.tolist()):
            rows = np.concatenate([by_text[text] for text in texts])
            logits, code = self.logits(texts, rows), torch.from_numpy(self.items.code[rows])
            losses = torch.nn.functional.cross_entropy(logits, code, reduction="none")
            part = (losses * torch.from_numpy(weight[rows]).float()).sum() / total
            part.backward()
            loss += part.item()
            hits.extend((logits.argmax(1) == code).tolist())
        return loss, hits

    @torch.no_grad()
    def predict(self, rows: np.ndarray) -> Floats:
        """Class probabilities of rows, shape (n_rows, n_classes)."""
        found = np.zeros((len(rows), len(self.recipe.classes)))
        for texts in self.base.batches(np.unique(self.items.text[rows]).tolist()):
            own = np.flatnonzero(np.isin(self.items.text[rows], texts))
            found[own] = torch.softmax(self.logits(texts, rows[own]).double(), 1).numpy()
        return found

    def evaluate(self, rows: np.ndarray) -> dict[str, float]:
        """``validation`` and ``accuracy`` of rows that were held out."""
        p, code = self.predict(rows), self.items.code[rows]
        return {"validation": ranked_probability_score(p, code), "accuracy": float((p.argmax(1) == code).mean())}


def share_of_rate(step: int, n_steps: int, warmup: float) -> float:
    """Factor on the learning rate: linear warm-up over a share of the steps, then linear decay to zero.

    >>> [share_of_rate(step, 10, 0.2) for step in (0, 1, 2, 9)]
    [0.5, 1.0, 1.0, 0.125]
    """
    rising = max(1, round(warmup * n_steps))
    return min((step + 1) / rising, (n_steps - step) / max(1, n_steps - rising))
