"""``hf/<model>``: completions of a causal model that runs here, for teachers and for those that they rate."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from judgekit.judges.generative import Messages, read_settings
from judgekit.judges.hf import HFJudge, Settings
from judgekit.models import Unavailable
from judgekit.records import Reply, fingerprint_of
from judgekit.studies.teacher.asking import FORMAT, reply_of

JUDGING = ("strategy", "policy", "mode")  # settings of a local judge that mean nothing here


class LocalEngine:
    """Completions of a causal model that runs here, by the engine of the ``hf/`` judges.

    ``model``: a folder or a name on the hub (`judgekit.models.files.model_files`); ``given``: fields of
    `judgekit.judges.hf.Settings`, values possibly as text. Unavailable where there is no such model, or a setting is
    wrong.
    """

    def __init__(self, model: str, given: Mapping[str, Any]) -> None:
        known = [item.name for item in fields(Settings) if item.name not in JUDGING]
        if unknown := sorted(set(given) - set(known)):
            raise Unavailable(f"no setting is called {unknown[0]!r}; there are {', '.join(known)}")
        self.judge = HFJudge(model, read_settings(Settings, given))
        self.settings, self.name = self.judge.settings, f"hf/{model}"
        self.call = self.judge.strategy.calls[-1].name
        self.max_tokens = self.judge.max_new_tokens(self.call)
        self.fingerprint = fingerprint_of("teacher", FORMAT, self.judge.files.digest)
        self.decoding = json.dumps(json.loads(self.judge.decoding) | {"max_new_tokens": self.max_tokens})

    def notes(self) -> list[str]:
        """What a reader should know before the model is loaded: lines of text."""
        return self.judge.notes()

    def load(self) -> None:
        """Read the weights, if that has not been done."""
        self.judge.load()

    def refusal(self, messages: Messages) -> str | None:
        """Why messages cannot be read; None where they can."""
        length, limit = self.judge.tokens.size(messages), self.judge.limit
        if limit is None or length <= limit:
            return None
        return f"the prompt has {length:,} tokens; beside the longest reply the model has room for {limit:,}"

    def stream(self, asked: Sequence[tuple[Messages, int]]) -> Iterator[dict[int, Reply]]:
        """Complete messages batch by batch, as `ServerEngine.stream` does."""
        if asked:
            self.load()
        for sample in sorted({sample for _, sample in asked}):
            places = [place for place, (_, number) in enumerate(asked) if number == sample]
            questions = [self.judge.question(asked[place][0], self.call) for place in places]
            # Each sample draws from a seed of its own: a resumed run would otherwise draw the first sample again.
            self.judge.settings = replace(self.settings, seed=self.settings.seed + sample)
            for finished in self.judge.complete(questions):
                yield {places[n]: reply_of(completion) for n, completion in finished.items()}
