"""``blend/<name>``: the encoder judge, its preference part weighed together with other judges.

Davidson's model takes the difference ``w_0 (s_1 - s_2) + sum_k w_k m_k``: ``s`` is the score of surface features, and
``m_k`` the log-odds by which judge ``k`` prefers the first response. The encoder judge's gate stands before the result,
unchanged. A folder holds ``blend.json``: the weights, and the encoder judge's folder, beside that of blends.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from judgekit.data.files import write_json
from judgekit.judges import load_judge
from judgekit.judges.base import Judge, Request
from judgekit.judges.encoder import EncoderJudge
from judgekit.records import Reply, fingerprint_of
from judgekit.stats import Floats, outcome_probabilities

_FILE = "blend.json"
_CERTAIN = 1e-6  # probabilities nearer to 0 are taken for this


@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Blend:
    """What is weighed together."""

    encoder: str  # folder of the encoder judge, by name
    features: float  # weight of the difference of the two scores
    members: dict[str, float]  # judge to the weight of its log-odds
    tie_bias: float = 0.0  # added to the features' log tie parameter
    about: dict[str, Any] = field(default_factory=dict)  # what the weights were fitted on


def save_blend(blend: Blend, folder: str | Path) -> None:
    """Write a judge's folder."""
    write_json(Path(folder) / _FILE, asdict(blend))


def lead_of(replies: Sequence[Reply]) -> Floats:
    """Log-odds by which replies prefer the first response; ValueError where one has no probabilities."""
    for reply in replies:
        if reply.p_first is None or reply.p_second is None:
            raise ValueError(f"a member of the blend gave no probabilities: {reply.raw or reply.status}")
    given = np.array([(reply.p_first, reply.p_second) for reply in replies], float)
    first, second = np.log(np.clip(given, _CERTAIN, 1)).T  # where a tie is certain, too: neither leads
    return np.asarray(first - second)


class BlendJudge(EncoderJudge):
    """Several judges behind one gate; ValueError where a folder holds no blend, or a member cannot be loaded."""

    batch_size = 64  # as the members that are language models have it

    def __init__(self, folder: str | Path, name: str | None = None) -> None:
        folder = Path(folder)
        try:
            self.blend = Blend(**json.loads((folder / _FILE).read_text(encoding="utf-8")))
        except (TypeError, ValueError) as wrong:
            raise ValueError(f"{folder / _FILE}: no blend ({wrong})") from None
        super().__init__(folder.parent.parent / self.blend.encoder, name or f"blend/{folder.name}")
        self.members: dict[str, Judge] = {member: load_judge(member) for member in self.blend.members}
        own = asdict(self.blend) | {"encoder": self.fingerprint, "about": None}
        parts = [(member, judge.fingerprint, judge.decoding) for member, judge in self.members.items()]
        self.fingerprint = fingerprint_of("blend", 1, own, parts)

    def load(self) -> None:
        """Read the weights of members that have not read theirs."""
        for member in self.members.values():
            getattr(member, "load", lambda: None)()

    def preferences(self, requests: Sequence[Request], scores: Floats) -> Floats:
        difference = self.blend.features * (scores[:, 0] - scores[:, 1])
        for member, weight in self.blend.members.items():
            difference = difference + weight * lead_of(self.members[member].judge(list(requests)))
        return outcome_probabilities(difference, scores[:, 2] + self.blend.tie_bias)
