"""Train the encoder judge: LoRA on a small encoder, heads on top, resumable and seeded.

Every step's batch and dropout are a function of (seed, step) alone, so a run that was interrupted and resumed sees
the very same steps as one that was not.
"""

import hashlib
import json
import math
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from judgekit.davidson import outcome_probabilities
from judgekit.judges.encoder import FORMAT
from judgekit.judges.encoder_model import ScoreHeads, TextEncoder, quiet_peft
from judgekit.progress import progress_bar
from judgekit.results import git_state
from judgekit.training.batches import Sampler, Texts
from judgekit.training.files import forget_location, store_half, write_json
from judgekit.training.losses import davidson_loss, gate_loss
from judgekit.training.negatives import draw_quads, mine_neighbours
from judgekit.training.targets import check_disjoint, data_hash, sources_with_ties, target_of

CHECKPOINT = "checkpoint.safetensors"
TRAINING = "training.json"
VERSION = 1  # of what a step does: raise it, and finished judges are trained again


def train_encoder(recipe, train, shares, validation, folder, start=None, progress=True):
    """Train an encoder judge, or return at once when the folder holds the finished judge of this recipe and data.

    Parameters
    ----------
    recipe, train, shares, validation, folder, start
        See `EncoderTrainer`.
    progress : bool

    Returns
    -------
    dict
        The run as ``training.json`` keeps it: recipe, history, the step that was kept, trainable parameters, seconds.
    """
    identity = identity_of(recipe, data_hash(train, shares, validation), start)
    finished = Path(folder) / TRAINING
    if finished.is_file():
        training = json.loads(finished.read_text(encoding="utf-8"))
        if {key: training.get(key) for key in identity} == identity:
            return training
    trainer = EncoderTrainer(recipe, train, shares, validation, folder, start)
    trainer.run(progress)
    return trainer.finish()


def identity_of(recipe, data_key, start):
    """What a finished judge or a checkpoint must share with a run to be taken for its own (as JSON gives it back).

    The starting weights count by six digits: they are fitted anew each time, and float noise must not cost a training.
    """
    parts = {name: np.round(np.asarray(value, float), 6).tolist() for name, value in (start or {}).items()}
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    identity = {"version": VERSION, "recipe": asdict(recipe), "data": data_key, "start": digest}
    return json.loads(json.dumps(identity))


class EncoderTrainer:
    """One training run.

    Parameters
    ----------
    recipe : EncoderRecipe
    train : list of PreferencePair
    shares : dict of str to float
        See `Sampler`.
    validation : dict of str to list of PreferencePair
        Validation sets; none of their prompts may be in ``train``.
    folder : path
        Where the checkpoint and the finished judge go.
    start : dict of str to array, optional
        A fitted surface-feature judge (`judgekit.training.features.fit_features`): the heads start from it.

    Raises
    ------
    ValueError
        If a validation prompt is also a training prompt.
    """

    def __init__(self, recipe, train, shares, validation, folder, start=None):
        self.recipe, self.folder, self.start = recipe, Path(folder), start
        self.folder.mkdir(parents=True, exist_ok=True)
        check_disjoint(train, validation)
        torch.manual_seed(recipe.seed)
        self.encoder = TextEncoder(recipe.base, recipe.revision, trainable=bool(recipe.r))
        self.neighbours = mine_neighbours(train, TextEncoder(recipe.base, recipe.revision))
        self.held_out = mine_neighbours(
            [pair for pairs in validation.values() for pair in pairs], TextEncoder(recipe.base, recipe.revision)
        )
        self.add_adapter()
        self.heads = ScoreHeads(self.encoder.width, recipe.hidden)
        if start is not None:
            self.start_from(start)
        self.texts = Texts(self.encoder, recipe)
        self.sampler = Sampler(train, shares)
        self.tied = sources_with_ties(train) | sources_with_ties(
            [pair for pairs in validation.values() for pair in pairs]
        )
        self.validation = validation
        self.data_key = data_hash(train, shares, validation)
        self.optimiser = torch.optim.AdamW(self.parameter_groups(), betas=(0.9, 0.98))
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimiser, self.rate)
        self.step, self.history, self.seconds = 0, [], 0.0
        self.best = None

    # ------------------------------------------------------------ parts

    def add_adapter(self):
        """Freeze the base model and put LoRA on it."""
        for parameter in self.encoder.model.parameters():
            parameter.requires_grad_(False)
        if self.recipe.r:
            from peft import LoraConfig, get_peft_model

            depth = self.encoder.model.config.num_hidden_layers
            config = LoraConfig(
                r=self.recipe.r,
                lora_alpha=self.recipe.lora_alpha,
                target_modules=list(self.recipe.target_modules),
                layers_to_transform=list(range(max(0, depth - self.recipe.layers), depth)),
                task_type="FEATURE_EXTRACTION",
            )
            with quiet_peft():
                self.encoder.model = get_peft_model(self.encoder.model, config)
        # No dropout inside the encoder: attention dropout takes the processor off its fast path, at four times the
        # cost of a step. The text head keeps its own.
        self.encoder.model.eval()

    def start_from(self, parts):
        """Copy a fitted surface-feature judge into the heads."""
        names = {
            "feature_mean": "mean",
            "feature_scale": "scale",
            "feature_weight": "weight",
            "pair_mean": "pair_mean",
            "pair_scale": "pair_scale",
            "tie_weight": "tie_weight",
            "tie_bias": "tie_bias",
        }
        with torch.no_grad():
            for own, given in names.items():
                getattr(self.heads, own).copy_(torch.as_tensor(np.asarray(parts[given]), dtype=torch.float32))

    def trainable(self):
        """Name to parameter, for everything that is trained."""
        named = [("encoder." + n, p) for n, p in self.encoder.model.named_parameters() if p.requires_grad]
        return dict(named + [("heads." + n, p) for n, p in self.heads.named_parameters()])

    def parameter_groups(self):
        """Adapter, text head and scalars with their own learning rates and decay."""
        parameters = self.trainable()
        text = [p for n, p in parameters.items() if n.startswith("heads.text_head")]
        other = [p for n, p in parameters.items() if n.startswith("heads.") and "text_head" not in n]
        adapter = [p for n, p in parameters.items() if n.startswith("encoder.")]
        groups = [
            {"params": adapter, "lr": self.recipe.lr, "weight_decay": self.recipe.weight_decay},
            {"params": text, "lr": self.recipe.head_lr, "weight_decay": 10 * self.recipe.weight_decay},
            {"params": other, "lr": self.recipe.head_lr, "weight_decay": 0.0},
        ]
        return [group for group in groups if group["params"]]

    def rate(self, step):
        """Learning-rate factor in [0, 1]: linear warm-up, linear decay."""
        warmup = max(1, round(self.recipe.warmup * self.recipe.steps))
        return min((step + 1) / warmup, max(0.0, (self.recipe.steps - step) / max(1, self.recipe.steps - warmup)))

    # ------------------------------------------------------------ one step

    def embed(self, keys):
        """Embeddings of (kind, text) keys, as a dict; sorted by length into chunks that waste little padding."""
        keys = sorted(set(keys), key=lambda key: (len(self.texts.token_ids(*key)), key))
        vectors = {}
        chunks = np.array_split(np.arange(len(keys)), max(1, math.ceil(len(keys) / 24)))
        with torch.autocast("cpu", torch.bfloat16, enabled=self.recipe.bf16):
            for chunk in chunks:
                part = [keys[i] for i in chunk]
                vectors.update(zip(part, self.encoder.embed([self.texts.token_ids(*key) for key in part]), strict=True))
        return vectors

    def score(self, vectors, cells):
        """Scores and gate logits of (question, response) cells."""
        questions = torch.stack([vectors["question", question] for question, _ in cells])
        responses = torch.stack([vectors["response", response] for _, response in cells])
        features = torch.from_numpy(np.stack([self.texts.features(*cell) for cell in cells]))
        return self.heads(questions, responses, features)

    def losses(self, pairs, quads):
        """Mean losses of a batch: preference, gate, neighbour (tensors)."""
        cells = [(p.asked, text) for p in pairs for text in (p.response_a, p.response_b)]
        on = [cell for q1, r1, q2, r2 in quads for cell in ((q1, r1), (q2, r2))]
        off = [cell for q1, r1, q2, r2 in quads for cell in ((q1, r2), (q2, r1))]
        wanted = [("question", q) for q, _ in cells + on] + [("response", r) for _, r in cells + on]
        vectors = self.embed(wanted)
        scores, gates = self.score(vectors, cells + on + off)
        n, m = len(cells), len(on)
        likeness = [self.texts.likeness(p.asked, p.response_a, p.response_b) for p in pairs]
        preference = davidson_loss(
            scores[0:n:2] - scores[1:n:2],
            self.heads.log_nu(torch.from_numpy(np.stack(likeness))),
            torch.tensor([target_of(p) for p in pairs]),
            torch.tensor([p.benchmark in self.tied for p in pairs]),
        )
        if not quads:
            return preference, gates.sum() * 0, gates.sum() * 0
        gate = gate_loss(gates[n : n + m], gates[n + m :])
        neighbour = torch.nn.functional.softplus(scores[n + m :] - scores[n : n + m]).mean()
        return preference, gate, neighbour

    def train_step(self):
        """One optimiser step; its batch and dropout depend on (seed, step) alone."""
        rng = np.random.default_rng([self.recipe.seed, self.step])
        torch.manual_seed(self.recipe.seed * 1_000_003 + self.step)
        self.heads.train()
        pairs = self.sampler.draw(rng, self.recipe.pairs_per_step)
        quads = draw_quads(self.neighbours, rng, self.recipe.quads_per_step)
        preference, gate, neighbour = self.losses(pairs, quads)
        loss = preference.mean() + self.recipe.gate_weight * gate + self.recipe.neighbour_weight * neighbour
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(self.trainable().values()), 1.0)
        self.optimiser.step()
        self.scheduler.step()
        self.step += 1
        return {"loss": loss.item(), "preference": preference.mean().item(), "gate": gate.item()}

    # ------------------------------------------------------------ validation

    @torch.no_grad()
    def validate(self):
        """Loss and accuracy on every validation set, and of the gate on held-out neighbours.

        Returns
        -------
        dict of str to float
            ``<set>.loss``, ``<set>.accuracy`` (three-way where the set has ties), ``neighbours.loss``,
            ``neighbours.accuracy`` (a question's own response above its neighbour's) and ``loss``, the mean that the
            kept state minimises.
        """
        self.heads.eval()
        scores = {}
        for name, pairs in self.validation.items():
            rows = [self.validate_batch(pairs[i : i + 32]) for i in range(0, len(pairs), 32)]
            scores[f"{name}.loss"], scores[f"{name}.accuracy"] = np.concatenate(rows).mean(0).tolist()
        quads = draw_quads(self.held_out, np.random.default_rng(self.recipe.seed), 64)
        if quads:
            on = [cell for q1, r1, q2, r2 in quads for cell in ((q1, r1), (q2, r2))]
            off = [cell for q1, r1, q2, r2 in quads for cell in ((q1, r2), (q2, r1))]
            vectors = self.embed([("question", q) for q, _ in on] + [("response", r) for _, r in on])
            own, other = self.score(vectors, on)[0], self.score(vectors, off)[0]
            scores["neighbours.loss"] = torch.nn.functional.softplus(other - own).mean().item()
            scores["neighbours.accuracy"] = (own > other).float().mean().item()
        scores["loss"] = float(np.mean([value for key, value in scores.items() if key.endswith(".loss")]))
        return scores

    def validate_batch(self, pairs):
        """Loss and hit of each pair, shape (n_pairs, 2)."""
        cells = [(p.asked, text) for p in pairs for text in (p.response_a, p.response_b)]
        vectors = self.embed([("question", q) for q, _ in cells] + [("response", r) for _, r in cells])
        scores, _ = self.score(vectors, cells)
        difference = scores[0::2] - scores[1::2]
        likeness = [self.texts.likeness(p.asked, p.response_a, p.response_b) for p in pairs]
        log_nu = self.heads.log_nu(torch.from_numpy(np.stack(likeness)))
        tied = torch.tensor([p.benchmark in self.tied for p in pairs])
        target = torch.tensor([target_of(p) for p in pairs])
        loss = davidson_loss(difference, log_nu, target, tied)
        never = torch.full_like(log_nu, -torch.inf)  # where annotators could not tie, neither may the judge
        outcomes = outcome_probabilities(difference.numpy(), torch.where(tied, log_nu, never).numpy())
        hits = outcomes.argmax(1) == target.numpy().argmax(1)
        return np.column_stack([loss.numpy(), hits])

    # ------------------------------------------------------------ the run

    def run(self, progress=True):
        """Train to the end, resuming from a checkpoint of the same recipe and data; returns the history.

        Returns
        -------
        list of dict
            One row per validation: step, training losses since the last, validation scores, seconds.
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
                    bar.set_postfix(validation=f"{self.history[-1]['loss']:.3f}")
        return self.history

    def record(self, since):
        """Validate, keep the best state, write the checkpoint."""
        row = {"step": self.step, "seconds": self.seconds}
        if since:
            row |= {f"train.{key}": float(np.mean([s[key] for s in since])) for key in since[0]}
        row |= self.validate()
        self.history.append(row)
        if self.best is None or row["loss"] < self.best["loss"]:
            state = {name: p.detach().clone() for name, p in self.trainable().items()}
            self.best = {"loss": row["loss"], "step": self.step, "state": state}
        self.write_checkpoint()

    # ------------------------------------------------------------ files

    def identity(self):
        """What a checkpoint must share with a run to be continued by it."""
        return identity_of(self.recipe, self.data_key, self.start)

    def write_checkpoint(self):
        """Everything needed to go on, in one file that is replaced in one step."""
        tensors = {f"now.{name}": p.detach().contiguous() for name, p in self.trainable().items()}
        tensors |= {f"best.{name}": p.contiguous() for name, p in self.best["state"].items()}
        for name, parameter in self.trainable().items():
            for key, value in self.optimiser.state.get(parameter, {}).items():
                tensors[f"optimiser.{key}.{name}"] = torch.as_tensor(value).float().contiguous().clone()
        meta = {
            "identity": self.identity(),
            "step": self.step,
            "seconds": self.seconds,
            "history": self.history,
            "best": {key: self.best[key] for key in ("loss", "step")},
        }
        temporary = self.folder / (CHECKPOINT + ".part")
        save_file(tensors, temporary, metadata={"json": json.dumps(meta)})
        temporary.replace(self.folder / CHECKPOINT)

    def resume(self):
        """Continue from the folder's checkpoint if it is of this recipe and data; otherwise start afresh."""
        path = self.folder / CHECKPOINT
        if not path.is_file():
            return
        with safe_open(path, "pt") as file:
            meta = json.loads(file.metadata()["json"])
        if meta["identity"] != self.identity():
            return
        tensors = load_file(path)
        parameters = self.trainable()
        with torch.no_grad():
            for name, parameter in parameters.items():
                parameter.copy_(tensors[f"now.{name}"])
                moments = {
                    k: tensors[f"optimiser.{k}.{name}"]
                    for k in ("step", "exp_avg", "exp_avg_sq")
                    if f"optimiser.{k}.{name}" in tensors
                }
                if moments:
                    self.optimiser.state[parameter] = moments
        self.best = {**meta["best"], "state": {name: tensors[f"best.{name}"] for name in parameters}}
        self.step, self.history, self.seconds = meta["step"], meta["history"], meta["seconds"]
        self.scheduler.last_epoch = self.step
        for group, base in zip(self.optimiser.param_groups, self.scheduler.base_lrs, strict=True):
            group["lr"] = base * self.rate(self.step)

    def finish(self):
        """Write the judge of the best state; returns its configuration.

        Weights are stored in 16 bits: the judge that is scored is the judge that is shipped.
        """
        with torch.no_grad():
            for name, parameter in self.trainable().items():
                parameter.copy_(self.best["state"][name])
        if self.recipe.r:
            self.encoder.model.save_pretrained(self.folder / "adapter")
            store_half(self.folder / "adapter" / "adapter_model.safetensors")
            forget_location(self.folder / "adapter", self.recipe.base)
        heads = {
            name: (value.half() if "text_head" in name else value).contiguous()
            for name, value in self.heads.state_dict().items()
        }
        save_file(heads, self.folder / "heads.safetensors")
        config = {
            "format": FORMAT,
            "base": self.recipe.base,
            "revision": self.recipe.revision,
            "adapter": bool(self.recipe.r),
            "hidden": self.recipe.hidden,
            "max_question_tokens": self.recipe.max_question_tokens,
            "max_response_tokens": self.recipe.max_response_tokens,
        }
        training = {
            **self.identity(),
            "code": git_state(),
            "trainable_parameters": sum(parameter.numel() for parameter in self.trainable().values()),
            "best_step": self.best["step"],
            "seconds": self.seconds,
            "history": self.history,
        }
        write_json(self.folder / "judge.json", config)
        write_json(self.folder / TRAINING, training)  # last: a folder with it holds a finished judge
        (self.folder / CHECKPOINT).unlink(missing_ok=True)
        return training
