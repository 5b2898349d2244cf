"""``reward/<model>``: a reward model run here, which gives each response a score; the higher score wins.

One that ships (``reward/smollm2-135m``), a folder, a name on the hub, or an adapter on either, with a head for one
score. A model that was trained here reads the question as a prompt and the response as the reply to it, any other the
chat as its own template writes it.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from judgekit.inside.saved_probes import ProbeError, TieModel, read_json
from judgekit.judges.base import Judge, Request
from judgekit.judges.generative import SIDES
from judgekit.judges.hf import LoadedSettings, computing
from judgekit.judges.surface import reply_of
from judgekit.models.causal import move_in
from judgekit.models.chat_tokens import ChatTokenizer
from judgekit.models.encoder import padded, token_batches
from judgekit.models.files import config_and_tokenizer, load_network, model_files, positions_of
from judgekit.records import Reply, fingerprint_of
from judgekit.stats import outcome_probabilities

_REMEMBERED = 100_000  # scores of responses, by what was read
Chat = tuple[int, ...]  # token ids


@dataclass(frozen=True, kw_only=True)
class Settings(LoadedSettings):
    """How a ``reward/`` judge reads: `judgekit.judges.hf.LoadedSettings`, and what follows."""

    max_tokens: PositiveInt | None = None  # of a chat, by default what its positions hold; a response is cut at its end
    ties: str | None = None  # file of a tie model; by default ``ties.json`` of the folder, and without one no ties


class RewardJudge(Judge):
    """A judge that compares the scores of a reward model; ``score_first`` and ``score_second`` are kept.

    Unavailable where there is no such model, it has no head for one score, or a weight is missing.
    """

    provider = "reward"
    example = "a model: smollm2-135m, a folder, or a name such as Skywork/Skywork-Reward-V2-Qwen3-0.6B"
    settings_kind = Settings
    batch_size = 64

    def __init__(self, model: str, settings: Settings | None = None) -> None:
        self.settings = settings = settings or Settings()
        self.files = files = model_files(model, "SEQ_CLS")
        config, tokenizer = config_and_tokenizer(files, model)
        self.name = f"reward/{model}"
        folder = Path(files.adapter or files.base)
        self.trained_here = (folder / "training.json").is_file()
        self.tokens = ChatTokenizer(tokenizer, opened=self.trained_here)
        self.pad, end = tokenizer.pad_token_id, tokenizer.eos_token_id
        if self.pad is None:  # scores are read at the last other token: no chat ends with it, unless training had it so
            others = () if self.trained_here else (tokenizer.unk_token_id, *tokenizer.all_special_ids)
            self.pad = next((token for token in others if token not in (None, end)), end)
        self.limit = min([n for n in (settings.max_tokens, positions_of(config)) if n], default=None)
        file = Path(settings.ties) if settings.ties else folder / "ties.json"
        self.ties = read_json(file, TieModel, ProbeError) if settings.ties or file.is_file() else None
        self.device, self.dtype, self.batch_tokens = computing(settings)
        self.fingerprint = fingerprint_of(
            "reward", 1, files.digest, self.trained_here, self.limit, self.ties and asdict(self.ties)
        )
        self.decoding = json.dumps({"dtype": self.dtype})
        self.engine: Any = None
        self._scores: dict[int, float] = {}  # by the hash of a chat

    def load(self) -> None:
        """Read the weights, if that has not been done."""
        if self.engine is None:
            from transformers import AutoModelForSequenceClassification

            kind, files = AutoModelForSequenceClassification, self.files
            options = {"num_labels": 1, "dtype": getattr(torch, self.dtype)}
            network = load_network(kind, files.base, files.revision, files.adapter, **options)
            network.config.pad_token_id = self.pad
            self.engine = move_in(network.eval(), self)

    @torch.inference_mode()
    def score(self, chats: Sequence[Chat]) -> list[float]:
        """The score of each chat, higher is better; read once where it occurs again, in batches by padded length."""
        self.load()
        if len(self._scores) > _REMEMBERED:
            self._scores.clear()
        unread = {chat: len(chat) for chat in chats if hash(chat) not in self._scores}
        for batch in token_batches(unread, self.batch_tokens):
            ids, mask = padded(batch, self.pad, self.engine.device)
            logits = self.engine(input_ids=ids, attention_mask=mask).logits[:, 0]
            self._scores |= zip(map(hash, batch), logits.double().tolist(), strict=True)
        return [self._scores[hash(chat)] for chat in chats]

    def judge(self, requests: Sequence[Request]) -> list[Reply]:
        """Score both responses of each request, each with its question alone, and compare."""
        started = time.perf_counter()
        chats = [[self.tokens.scored_ids(request.chat(side), self.limit) for side in SIDES] for request in requests]
        scores = iter(self.score([ids for both in chats for ids, _ in both]))
        replies = []
        for request, both in zip(requests, chats, strict=True):
            reply = self._reply(next(scores), next(scores))
            if request.first != request.second and both[0] == both[1] and both[0][1]:
                why = f"the {len(both[0][0])} tokens that are read of both are the same: what differs was cut off"
                reply = Reply(None, status="error", raw=why)
            replies.append(replace(reply, truncated=sum(cut for _, cut in both)))
        taken = (time.perf_counter() - started) / max(1, len(requests))
        return [replace(reply, seconds=taken) for reply in replies]

    def _reply(self, first: float, second: float) -> Reply:
        if not np.isfinite([first, second]).all():
            return Reply(None, status="error", raw="scores that are no numbers: damaged weights?")
        margin = first - second
        outcomes = outcome_probabilities(margin, -np.inf) if self.ties is None else self.ties.probabilities(margin)
        return reply_of(outcomes, first, second)
