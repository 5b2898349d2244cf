"""Train the encoder judge: surface features for quality, an encoder tuned by LoRA for relevance, a gate for both.

The preference part is fitted on all training pairs; the encoder learns which response was meant for which question, but
for the calibration part, on which the gate is fitted: these questions are new to it. The wrong response of `neighbours`
may be a training question's, though, and ``lead`` often sees that very question: it stands among the others.

A step's batch is a function of (seed, step) alone, so a resumed run sees the same steps as an unbroken one. Style
predicts nothing in the contrast: each response is right for its own question and wrong for all others.
"""

import hashlib
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save_file

from judgekit.data.files import replaced, write_json
from judgekit.data.progress import progress_bar
from judgekit.data.provenance import git_state
from judgekit.judges.encoder import FORMAT, OTHERS, PARAPHRASE, WEIGHTS
from judgekit.models.encoder import PACKAGED_BASES, Sequences, TextEncoder, computing_in_bf16
from judgekit.models.files import break_seal, quiet, seal, settle_adapter
from judgekit.training.bank import AnswerBank, Embedder, draw_questions
from judgekit.training.constructed import KINDS, OFF_TOPIC
from judgekit.training.features import fit_features, rounded_parts
from judgekit.training.gate import Reader, choose_share, compare_gates, fit_gates, joined
from judgekit.training.mixture import Material, base_key, source_weights

CHECKPOINT = "checkpoint.pt"
_TRAINING = "training.json"
_GATES = (0.02, 0.05, 0.1, 0.15, 0.25)  # shares of misleading pairs that are tried
_PROGRESS = ("step", "seconds", "history", "best")  # of a trainer, kept in its checkpoint
VERSION = 2  # of what a step does: raise it, and finished encoders are trained again
_CUT = (12, 40)  # tokens that a cut response keeps
_BATCHES = 8  # of validation
_CHUNK = 16  # texts per forward pass in training: sorted by length, so little padding is computed
_PER_KIND = 500  # validation questions per kind of constructed pair


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


def base_encoder(recipe: RelevanceRecipe) -> TextEncoder:
    """The recipe's base model, untrained."""
    return TextEncoder(recipe.base, recipe.revision)


def load_encoder(recipe: RelevanceRecipe, folder: str | Path) -> TextEncoder:
    """The trained encoder of a folder that `train_relevance` finished; the base model where nothing was trained."""
    if recipe.r < 0:
        return TextEncoder(str(Path(folder) / "model"))
    return TextEncoder(recipe.base, recipe.revision, Path(folder) / "adapter" if recipe.r else None)


def linear_rate(step: int, n_steps: int, warmup: float) -> float:
    """Factor on the learning rate in [0, 1]: linear warm-up over a share of the steps, then linear decay to zero.

    >>> [linear_rate(step, 10, 0.2) for step in (0, 1, 2, 9)]
    [0.5, 1.0, 1.0, 0.125]
    """
    rising = max(1, round(warmup * n_steps))
    return min((step + 1) / rising, max(0.0, (n_steps - step) / max(1, n_steps - rising)))


def contrastive_loss(
    questions: torch.Tensor, responses: torch.Tensor, log_scale: torch.Tensor, paraphrases: torch.Tensor, both: bool
) -> torch.Tensor:
    """Cross-entropy of finding a question's own response among the batch's, and (``both``) a response's question.

    ``questions``, ``responses``: unit embeddings, shape (n, width); ``paraphrases``: questions that mean the same,
    neither right nor wrong, shape (n, n).
    """
    cosines = (questions @ responses.T * log_scale.exp()).masked_fill(paraphrases, -torch.inf)
    own = torch.arange(len(questions))
    loss = torch.nn.functional.cross_entropy(cosines, own)
    return (loss + torch.nn.functional.cross_entropy(cosines.T, own)) / 2 if both else loss


def train_relevance(
    recipe: RelevanceRecipe,
    bank: AnswerBank,
    train: np.ndarray,
    validation: np.ndarray,
    folder: str | Path,
    progress: bool = True,
) -> dict[str, Any]:
    """The run of the trained encoder, as ``training.json`` has it; at once where the folder holds the finished one."""
    finished = Path(folder) / _TRAINING
    if finished.is_file():
        training = json.loads(finished.read_text(encoding="utf-8"))
        if identity_of(recipe, bank, train, validation).items() <= training.items():
            return training
    trainer = RelevanceTrainer(recipe, bank, train, validation, folder)
    trainer.run(progress)
    return trainer.finish()


def identity_of(recipe: RelevanceRecipe, bank: AnswerBank, train: np.ndarray, validation: np.ndarray) -> dict[str, Any]:
    """What a finished encoder or a checkpoint must share with a run to be taken for its own (as JSON gives it back)."""
    digest = hashlib.sha256()
    for part in (train, validation):
        for i in part:
            digest.update(json.dumps([bank.questions[i], bank.responses[i], bank.sources[i]]).encode())
        digest.update(b"|")
    own = asdict(recipe) | {"base": base_key(recipe.base)}
    return json.loads(json.dumps({"version": VERSION, "recipe": own, "data": digest.hexdigest()}))


class RelevanceTrainer:
    """A training run on some questions of the bank, the state chosen on others; checkpoint and adapter in a folder."""

    def __init__(
        self, recipe: RelevanceRecipe, bank: AnswerBank, train: np.ndarray, validation: np.ndarray, folder: str | Path
    ) -> None:
        self.recipe, self.bank, self.folder = recipe, bank, Path(folder)
        self.train, self.validation = np.asarray(train), np.asarray(validation)
        if shared := set(self.train.tolist()) & set(self.validation.tolist()):
            raise ValueError(f"{len(shared)} validation questions are also training questions")
        if min(len(self.train), len(self.validation)) < 2:
            raise ValueError("relevance needs at least two questions to learn from, and two to validate on")
        self.folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(recipe.seed)
        self.encoder = base_encoder(recipe)
        self._make_trainable()
        self.log_scale = torch.nn.Parameter(torch.tensor(math.log(recipe.scale)))
        self._token_ids = cache(self.encoder.token_ids)
        weights = [parameter for name, parameter in self.trainable().items() if name != "scale"]
        self.rates = recipe.lr, 25 * recipe.lr
        groups: list[Any] = [{"params": weights, "lr": self.rates[0], "weight_decay": recipe.weight_decay}]
        groups.append({"params": [self.log_scale], "lr": self.rates[1], "weight_decay": 0.0})
        self.optimiser = torch.optim.AdamW(groups, betas=(0.9, 0.98))
        self.step, self.seconds = 0, 0.0
        self.history: list[dict[str, Any]] = []
        self.best: Any = None  # until the first validation
        self.identity = identity_of(recipe, bank, self.train, self.validation)

    def _make_trainable(self) -> None:
        """Freeze the base model; put LoRA on its topmost layers, or free them themselves."""
        model, recipe = self.encoder.model, self.recipe
        model.requires_grad_(False)
        depth = model.config.num_hidden_layers
        topmost = list(range(max(0, depth - recipe.layers), depth))
        if recipe.r > 0:
            from peft import LoraConfig, get_peft_model

            given: dict[str, Any] = {name: getattr(recipe, name) for name in ("r", "lora_alpha")}
            given |= {"target_modules": list(recipe.target_modules), "layers_to_transform": topmost}
            with quiet():
                self.encoder.model = get_peft_model(model, LoraConfig(task_type="FEATURE_EXTRACTION", **given))
        elif recipe.r < 0:
            for i in topmost:
                model.encoder.layer[i].requires_grad_(True)
        # No dropout: attention dropout takes the processor off its fast path, at four times the cost of a step.
        self.encoder.model.eval()

    def trainable(self) -> dict[str, torch.nn.Parameter]:
        """Name to parameter, for everything that is trained."""
        return {n: p for n, p in self.encoder.model.named_parameters() if p.requires_grad} | {"scale": self.log_scale}

    def _embed(self, id_lists: Sequences) -> torch.Tensor:
        """Unit embeddings, shape (n, width), with gradients; sorted by length into chunks."""
        order = sorted(range(len(id_lists)), key=lambda i: len(id_lists[i]))
        chunks = [[id_lists[i] for i in order[start : start + _CHUNK]] for start in range(0, len(order), _CHUNK)]
        with computing_in_bf16("cpu", self.recipe.bf16):
            vectors = torch.cat([self.encoder.embed(chunk).float() for chunk in chunks])
        return torch.nn.functional.normalize(vectors[np.argsort(order)], dim=-1)

    def _loss(self, part: np.ndarray, rng: np.random.Generator, cut: bool = True) -> torch.Tensor:
        """Contrastive loss of a batch of questions, with a response each, as ``rng`` draws them from a part."""
        recipe, bank = self.recipe, self.bank
        drawn = draw_questions(bank, part, rng, recipe.questions_per_step, recipe.group)
        questions = [self._token_ids(bank.questions[i], recipe.max_question_tokens) for i in drawn]
        responses = []
        for i in drawn:
            text = bank.responses[i][rng.integers(len(bank.responses[i]))]
            ids = self._token_ids(text, recipe.train_response_tokens)
            responses.append(ids[: int(rng.integers(*_CUT))] if cut and rng.random() < recipe.cut_share else ids)
        vectors = self._embed(questions + responses)
        own = torch.from_numpy(bank.vectors[drawn] @ bank.vectors[drawn].T)
        paraphrases = (own > PARAPHRASE) & ~torch.eye(len(drawn), dtype=torch.bool)
        halves = vectors[: len(drawn)], vectors[len(drawn) :]
        return contrastive_loss(*halves, self.log_scale, paraphrases, recipe.loss == "both")

    def train_step(self) -> float:
        """One optimiser step; its batch depends on (seed, step) alone."""
        loss = self._loss(self.train, np.random.default_rng([self.recipe.seed, self.step]))
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(self.trainable().values()), 1.0)
        for group, rate in zip(self.optimiser.param_groups, self.rates, strict=True):
            group["lr"] = rate * linear_rate(self.step, self.recipe.steps, self.recipe.warmup)
        self.optimiser.step()
        self.step += 1
        return loss.item()

    @torch.no_grad()
    def validate(self) -> float:
        """Mean contrastive loss of the same batches of held-out questions each time."""
        draws = [np.random.default_rng([7, number]) for number in range(_BATCHES)]
        return float(np.mean([self._loss(self.validation, rng, cut=False).item() for rng in draws]))

    def run(self, progress: bool = True) -> None:
        """Train to the end, resuming from a checkpoint; ``history`` gets a row per validation."""
        self.resume()
        with progress_bar(self.recipe.steps, "training", "step", progress, initial=self.step) as bar:
            if not self.history:
                self._record([])
            since = []
            while self.step < self.recipe.steps:
                started = time.perf_counter()
                since.append(self.train_step())
                self.seconds += time.perf_counter() - started
                bar.update()
                if self.step % self.recipe.eval_every == 0 or self.step == self.recipe.steps:
                    self._record(since)
                    since = []
                    bar.set_postfix(validation=f"{self.history[-1]['validation']:.3f}")

    def _record(self, since: Sequence[float]) -> None:
        """Validate, keep the best state, and write all that is needed to go on, in one step."""
        row = {"step": self.step, "seconds": self.seconds, "train": float(np.mean(since)) if since else None}
        self.history.append(row | {"validation": (loss := self.validate())})
        if self.best is None or loss < self.best["validation"]:
            kept = {name: p.detach().clone() for name, p in self.trainable().items()}
            self.best = {"validation": loss, "step": self.step, "state": kept}
        state = {name: getattr(self, name) for name in ("identity", *_PROGRESS)}
        state |= {"now": self.trainable(), "optimiser": self.optimiser.state_dict()}
        with replaced(self.folder / CHECKPOINT) as temporary:
            torch.save(state, temporary)

    def resume(self) -> None:
        """Continue from the folder's checkpoint if it is of this recipe and data; otherwise start afresh."""
        path = self.folder / CHECKPOINT
        state = torch.load(path, weights_only=True) if path.is_file() else {}
        if state.get("identity") == self.identity:
            vars(self).update({name: state[name] for name in _PROGRESS})
            self._copy(state["now"])
            self.optimiser.load_state_dict(state["optimiser"])

    @torch.no_grad()
    def _copy(self, state: Mapping[str, torch.Tensor]) -> None:
        for name, parameter in self.trainable().items():
            parameter.copy_(state[name])

    def finish(self) -> dict[str, Any]:
        """Write the adapter (in 16 bits) or the model of the best state, and ``training.json``, which is returned."""
        self._copy(self.best["state"])
        break_seal(self.folder)
        (self.folder / _TRAINING).unlink(missing_ok=True)  # of an encoder that this one takes the place of
        if self.recipe.r > 0:
            self.encoder.model.half().save_pretrained(self.folder / "adapter")
            _, base = PACKAGED_BASES.get(self.recipe.base, ("", self.recipe.base))
            settle_adapter(self.folder / "adapter", base)
        elif self.recipe.r < 0:
            self.encoder.model.save_pretrained(self.folder / "model")
            self.encoder.tokenizer.save_pretrained(self.folder / "model")
        training = {
            **self.identity,
            "code": git_state(),
            "trainable_parameters": sum(parameter.numel() for parameter in self.trainable().values()),
            "best_step": self.best["step"],
            "seconds": self.seconds,
            "history": self.history,
        }
        write_json(self.folder / _TRAINING, training)  # last: a folder with it holds a finished encoder
        (self.folder / CHECKPOINT).unlink(missing_ok=True)
        return training


def train_encoder(recipe: RelevanceRecipe, material: Material, folder: str | Path) -> dict[str, Any]:
    """Train an encoder judge and write its folder, with the checkpoint on the way there.

    Gives ``relevance`` (the run of `train_relevance`), ``gates`` (table of `compare_gates`), ``share`` (of misleading
    pairs, chosen of them), ``fitted`` (all gates by share), ``quality`` (the preference part), ``reader``, and
    ``tables`` (of validation pairs, by set or kind). ValueError if no misleading pair can be constructed.
    """
    quality = fit_features(material.features, weight=source_weights(material.train, material.shares), l2=0.01)
    relevance = train_relevance(recipe, material.bank, material.parts["train"], material.parts["validation"], folder)
    reader = reader_of(material, recipe, quality, Embedder(load_encoder(recipe, folder), recipe.bf16))
    fitted = fit_gates(material, reader, _GATES, recipe.seed)
    ordinary = {name: reader.table(pairs) for name, pairs in material.validation.items()}
    constructed = {kind: material.constructed("validation", [kind], 2, _PER_KIND) for kind in KINDS}
    kinds = {kind: reader.table(pairs) for kind, pairs in constructed.items() if pairs}
    misleading = joined([table for kind, table in kinds.items() if kind in OFF_TOPIC])
    comparison = compare_gates(fitted, ordinary, misleading, seed=recipe.seed)
    share = choose_share(comparison)
    save_encoder(recipe, reader, fitted.get(share), folder)
    report = {"relevance": relevance, "gates": comparison, "share": share, "fitted": fitted, "quality": quality}
    return report | {"reader": reader, "tables": ordinary | kinds}


def reader_of(
    material: Material, recipe: RelevanceRecipe, quality: dict[str, Any], embedder: Embedder, n_others: int = 4096
) -> Reader:
    """What makes tables; ``n_others``: training questions that relevance is measured against, the same each time."""
    chosen = np.random.default_rng(0).permutation(material.parts["train"])[:n_others]
    others = [material.bank.questions[i] for i in np.sort(chosen)]
    embedded = embedder.embed(others, recipe.max_question_tokens)
    vectors = np.array([embedded[question] for question in others], np.float16)
    return Reader(quality, embedder, vectors, material.tied, recipe.max_question_tokens, recipe.max_response_tokens)


def save_encoder(recipe: RelevanceRecipe, reader: Reader, parts: Mapping[str, Any] | None, folder: str | Path) -> None:
    """Write ``judge.json`` and the other questions: with the adapter, the judge. No parts leave the gate open."""
    rounded: dict[str, Any] = {"relevance": None, "gate": None}
    for part, fitted in (parts or {}).items():
        rounded[part] = {name: np.round(value, 6).tolist() for name, value in fitted.items()}
    config = {
        "format": FORMAT,
        "base": recipe.base,
        "revision": recipe.revision,
        "trained": {0: "nothing", 1: "adapter", -1: "model"}[int(np.sign(recipe.r))],
        "max_question_tokens": recipe.max_question_tokens,
        "max_response_tokens": recipe.max_response_tokens,
        **rounded,
        **rounded_parts(reader.quality),
    }
    Path(folder).mkdir(parents=True, exist_ok=True)
    break_seal(folder)
    save_file({"vectors": reader.others}, Path(folder) / OTHERS)
    write_json(Path(folder) / "judge.json", config)
    seal(folder, (*WEIGHTS, OTHERS))
