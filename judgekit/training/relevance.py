"""Teach an encoder which response was meant for which question: LoRA, contrastive, resumable and seeded.

Every step's batch is a function of (seed, step) alone, so a run that was interrupted and resumed sees the very same
steps as one that was not. Style predicts nothing here: each response of a batch is the right one for its own question
and a wrong one for all others.
"""

import hashlib
import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from judgekit.data.progress import progress_bar
from judgekit.data.provenance import git_state
from judgekit.judges.gate import PARAPHRASE
from judgekit.models.encoder import TextEncoder, computing_in_bf16
from judgekit.models.files import break_seal
from judgekit.models.loading import quiet_peft
from judgekit.training.bank import AnswerBank, draw_questions
from judgekit.training.files import settle_config, store_half, write_json
from judgekit.training.losses import contrastive_loss
from judgekit.training.recipe import RelevanceRecipe

CHECKPOINT = "checkpoint.safetensors"
TRAINING = "training.json"
VERSION = 2  # of what a step does: raise it, and finished encoders are trained again
CUT = (12, 40)  # tokens that a cut response keeps
CHUNK = 16  # texts per forward pass in training: sorted by length, so little padding is computed


def train_relevance(
    recipe: RelevanceRecipe,
    bank: AnswerBank,
    train: np.ndarray,
    validation: np.ndarray,
    folder: str | Path,
    progress: bool = True,
) -> dict[str, Any]:
    """The run of the trained encoder; at once, when the folder holds the finished one of this recipe and data.

    As ``training.json`` keeps it: recipe, history, the step that was kept, trainable parameters, seconds.
    """
    identity = identity_of(recipe, bank, train, validation)
    finished = Path(folder) / TRAINING
    if finished.is_file():
        training = json.loads(finished.read_text(encoding="utf-8"))
        if {key: training.get(key) for key in identity} == identity:
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
    identity = {"version": VERSION, "recipe": asdict(recipe), "data": digest.hexdigest()}
    return json.loads(json.dumps(identity))


class RelevanceTrainer:
    """One training run; the folder gets its checkpoint and the finished adapter.

    ``train``, ``validation``: questions of the bank to learn from, and to choose the state by.
    ValueError if a question stands in both parts, or a part holds fewer than two questions.
    """

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
        self.encoder = TextEncoder(recipe.base, recipe.revision, trainable=True)
        self.make_trainable()
        self.log_scale = torch.nn.Parameter(torch.tensor(math.log(recipe.scale)))
        self.ids: dict[Any, Any] = {}
        self.optimiser = torch.optim.AdamW(self.parameter_groups(), betas=(0.9, 0.98))
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimiser, self.rate)
        self.step, self.seconds = 0, 0.0
        self.history: list[dict[str, Any]] = []
        self.best: Any = None  # until the first validation
        self.identity = identity_of(recipe, bank, self.train, self.validation)

    # ------------------------------------------------------------ parts

    def make_trainable(self) -> None:
        """Freeze the base model; put LoRA on its topmost layers, or free them themselves."""
        model, recipe = self.encoder.model, self.recipe
        for parameter in model.parameters():
            parameter.requires_grad_(False)
        depth = model.config.num_hidden_layers
        topmost = range(max(0, depth - recipe.layers), depth)
        if recipe.r > 0:
            from peft import LoraConfig, get_peft_model

            config = LoraConfig(
                r=recipe.r,
                lora_alpha=recipe.lora_alpha,
                target_modules=list(recipe.target_modules),
                layers_to_transform=list(topmost),
                task_type="FEATURE_EXTRACTION",
            )
            with quiet_peft():
                self.encoder.model = get_peft_model(model, config)
        elif recipe.r < 0:
            for i in topmost:
                for parameter in model.encoder.layer[i].parameters():
                    parameter.requires_grad_(True)
        # No dropout: attention dropout takes the processor off its fast path, at four times the cost of a step.
        self.encoder.model.eval()

    def trainable(self) -> dict[str, torch.nn.Parameter]:
        """Name to parameter, for everything that is trained."""
        return {n: p for n, p in self.encoder.model.named_parameters() if p.requires_grad} | {"scale": self.log_scale}

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Weights with decay, the scale without and faster."""
        weights = [p for n, p in self.trainable().items() if n != "scale"]
        groups = [
            {"params": weights, "lr": self.recipe.lr, "weight_decay": self.recipe.weight_decay},
            {"params": [self.log_scale], "lr": 25 * self.recipe.lr, "weight_decay": 0.0},
        ]
        return [group for group in groups if group["params"]]

    def rate(self, step: int) -> float:
        """Learning-rate factor in [0, 1]: linear warm-up, linear decay."""
        warmup = max(1, round(self.recipe.warmup * self.recipe.steps))
        return min((step + 1) / warmup, max(0.0, (self.recipe.steps - step) / max(1, self.recipe.steps - warmup)))

    # ------------------------------------------------------------ one step

    def token_ids(self, text: str, limit: int) -> list[int]:
        """Token ids of a text, computed once."""
        if (text, limit) not in self.ids:
            self.ids[text, limit] = self.encoder.token_ids(text, limit)
        return self.ids[text, limit]

    def embed(self, id_lists: Sequence[Sequence[int]]) -> torch.Tensor:
        """Unit embeddings, shape (n, width), with gradients; sorted by length into chunks."""
        order = sorted(range(len(id_lists)), key=lambda i: len(id_lists[i]))
        vectors: list[Any] = [None] * len(id_lists)
        with computing_in_bf16("cpu", self.recipe.bf16):
            for start in range(0, len(order), CHUNK):
                chunk = order[start : start + CHUNK]
                for i, vector in zip(chunk, self.encoder.embed([id_lists[i] for i in chunk]).float(), strict=True):
                    vectors[i] = vector
        return torch.nn.functional.normalize(torch.stack(vectors), dim=-1)

    def loss(self, indices: Sequence[int], rng: np.random.Generator, cut: bool = True) -> torch.Tensor:
        """Contrastive loss of some questions of the bank, with a response each that ``rng`` draws."""
        recipe = self.recipe
        questions = [self.token_ids(self.bank.questions[i], recipe.max_question_tokens) for i in indices]
        responses = []
        for i in indices:
            text = self.bank.responses[i][rng.integers(len(self.bank.responses[i]))]
            ids = self.token_ids(text, recipe.train_response_tokens)
            if cut and rng.random() < recipe.cut_share:
                ids = ids[: int(rng.integers(*CUT))]
            responses.append(ids)
        vectors = self.embed(questions + responses)
        own = torch.from_numpy(self.bank.vectors[indices] @ self.bank.vectors[indices].T)
        paraphrases = (own > PARAPHRASE) & ~torch.eye(len(indices), dtype=torch.bool)
        halves = vectors[: len(indices)], vectors[len(indices) :]
        return contrastive_loss(*halves, self.log_scale, paraphrases, recipe.loss == "both")

    def train_step(self) -> float:
        """One optimiser step; its batch depends on (seed, step) alone."""
        rng = np.random.default_rng([self.recipe.seed, self.step])
        drawn = draw_questions(self.bank, self.train, rng, self.recipe.questions_per_step, self.recipe.group)
        loss = self.loss(drawn, rng)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(self.trainable().values()), 1.0)
        self.optimiser.step()
        self.scheduler.step()
        self.step += 1
        return loss.item()

    @torch.no_grad()
    def validate(self, batches: int = 8) -> float:
        """Mean contrastive loss of the same batches of held-out questions each time."""
        losses = []
        for number in range(batches):
            rng = np.random.default_rng([7, number])
            drawn = draw_questions(self.bank, self.validation, rng, self.recipe.questions_per_step, self.recipe.group)
            losses.append(self.loss(drawn, rng, cut=False).item())
        return float(np.mean(losses))

    # ------------------------------------------------------------ the run

    def run(self, progress: bool = True) -> list[dict[str, Any]]:
        """The history, after training to the end, resuming from a checkpoint of the same recipe and data.

        One row per validation: step, seconds, train (mean loss since the last row), validation (loss).
        """
        self.resume()
        with progress_bar(self.recipe.steps, "training", "step", progress, initial=self.step) as bar:
            if not self.history:
                self.record([])
            since = []
            while self.step < self.recipe.steps:
                started = time.perf_counter()
                since.append(self.train_step())
                self.seconds += time.perf_counter() - started
                bar.update()
                if self.step % self.recipe.eval_every == 0 or self.step == self.recipe.steps:
                    self.record(since)
                    since = []
                    bar.set_postfix(validation=f"{self.history[-1]['validation']:.3f}")
        return self.history

    def record(self, since: Sequence[float]) -> None:
        """Validate, keep the best state, write the checkpoint."""
        row = {"step": self.step, "seconds": self.seconds, "train": float(np.mean(since)) if since else None}
        row["validation"] = self.validate()
        self.history.append(row)
        if self.best is None or row["validation"] < self.best["validation"]:
            state = {name: p.detach().clone() for name, p in self.trainable().items()}
            self.best = {"validation": row["validation"], "step": self.step, "state": state}
        self.write_checkpoint()

    def write_checkpoint(self) -> None:
        """Everything needed to go on, in one file that is replaced in one step."""
        tensors = {f"now.{name}": p.detach().contiguous() for name, p in self.trainable().items()}
        tensors |= {f"best.{name}": p.contiguous() for name, p in self.best["state"].items()}
        for name, parameter in self.trainable().items():
            for key, value in self.optimiser.state.get(parameter, {}).items():
                tensors[f"optimiser.{key}.{name}"] = torch.as_tensor(value).float().contiguous().clone()
        meta = {
            "identity": self.identity,
            "step": self.step,
            "seconds": self.seconds,
            "history": self.history,
            "best": {key: self.best[key] for key in ("validation", "step")},
        }
        temporary = self.folder / (CHECKPOINT + ".part")
        save_file(tensors, temporary, metadata={"json": json.dumps(meta)})
        temporary.replace(self.folder / CHECKPOINT)

    def resume(self) -> None:
        """Continue from the folder's checkpoint if it is of this recipe and data; otherwise start afresh."""
        path = self.folder / CHECKPOINT
        if not path.is_file():
            return
        with safe_open(path, "pt") as file:
            meta = json.loads(file.metadata()["json"])
        if meta["identity"] != self.identity:
            return
        tensors, parameters = load_file(path), self.trainable()
        with torch.no_grad():
            for name, parameter in parameters.items():
                parameter.copy_(tensors[f"now.{name}"])
                moments = {key: f"optimiser.{key}.{name}" for key in ("step", "exp_avg", "exp_avg_sq")}
                if moments["step"] in tensors:
                    self.optimiser.state[parameter] = {key: tensors[where] for key, where in moments.items()}
        self.best = {**meta["best"], "state": {name: tensors[f"best.{name}"] for name in parameters}}
        self.step, self.history, self.seconds = meta["step"], meta["history"], meta["seconds"]
        self.scheduler.last_epoch = self.step
        for group, base in zip(self.optimiser.param_groups, self.scheduler.base_lrs, strict=True):
            group["lr"] = base * self.rate(self.step)

    def finish(self) -> dict[str, Any]:
        """Write the adapter (or the model) of the best state and ``training.json``, which is returned.

        An adapter is stored in 16 bits: what is scored is what is shipped.
        """
        with torch.no_grad():
            for name, parameter in self.trainable().items():
                parameter.copy_(self.best["state"][name])
        break_seal(self.folder)
        if self.recipe.r > 0:
            self.encoder.model.save_pretrained(self.folder / "adapter")
            store_half(self.folder / "adapter" / "adapter_model.safetensors")
            settle_config(self.folder / "adapter", self.recipe.base)
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
        write_json(self.folder / TRAINING, training)  # last: a folder with it holds a finished encoder
        (self.folder / CHECKPOINT).unlink(missing_ok=True)
        return training


def base_encoder(recipe: RelevanceRecipe) -> TextEncoder:
    """The recipe's base model, untrained."""
    return TextEncoder(recipe.base, recipe.revision)


def load_encoder(recipe: RelevanceRecipe, folder: str | Path) -> TextEncoder:
    """The trained encoder of a folder that `train_relevance` finished; the base model where nothing was trained."""
    folder = Path(folder)
    if recipe.r > 0:
        return TextEncoder(recipe.base, recipe.revision, folder / "adapter")
    return TextEncoder(str(folder / "model")) if recipe.r < 0 else base_encoder(recipe)
