"""A causal judge of one's own training as an ordinary judge: asked in either order, stored, attacked.

For models whose tokenizer has tokens for whole passages of the prompt (`judgekit.training.causal_tiny`): ``hf/`` takes
every text of a prompt for plain text and cannot ask those.
"""

from collections.abc import Sequence
from pathlib import Path

import torch

from judgekit.judges.base import Request
from judgekit.judges.features import reply_of
from judgekit.models.files import check_seal, digests_of
from judgekit.records import PreferencePair, Reply, fingerprint_of
from judgekit.training.causal_base import load_trained, trained_recipe
from judgekit.training.causal_judging import probabilities_of
from judgekit.training.causal_recipe import recipe_of

FILES = ("model.safetensors", "tokenizer.json", "training.json")


class TrainedCausalJudge:
    """The judge of a training folder (`judgekit.training.causal_run`), read from one pass.

    ``name`` is ``causal/<folder name>`` by default. FileNotFoundError if the folder holds no finished training.
    """

    decoding = "{}"
    batch_size = 256
    sees_item = False

    def __init__(self, folder: str | Path, name: str | None = None) -> None:
        folder = Path(folder)
        if missing := [file for file in FILES if not (folder / file).is_file()]:
            raise FileNotFoundError(f"{folder}: no finished training here ({missing[0]} is missing)")
        self.name = name or f"causal/{folder.name}"
        digests = digests_of(folder, FILES)
        check_seal(folder, digests)
        self.recipe = recipe_of(trained_recipe(folder))
        model, self.tokenizer = load_trained(folder)
        self.model = model.to("cuda" if torch.cuda.is_available() else "cpu")
        self.fingerprint = fingerprint_of("causal", 1, digests)

    def judge(self, requests: Sequence[Request]) -> list[Reply]:
        """Probabilities of first, second and tie for each request, as it is shown."""
        if not requests:
            return []
        shown = [PreferencePair(str(k), "asked", r.asked, r.first, r.second) for k, r in enumerate(requests)]
        return [reply_of(p) for p in probabilities_of(self.model, self.tokenizer, self.recipe, shown)]
