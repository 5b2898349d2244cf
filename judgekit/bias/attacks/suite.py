"""What a judge is attacked with."""

from dataclasses import dataclass, field, replace
from typing import Any

from judgekit.bias.attacks.pairs import worse_side
from judgekit.bias.attacks.search import SearchBudget
from judgekit.bias.tampering import CONTROLS, EDITS, tampered
from judgekit.records import PreferencePair


@dataclass(frozen=True)
class Suite:
    """A list of attacks."""

    edits: tuple[str, ...] = tuple(EDITS)  # names of `judgekit.bias.tampering.EDITS`, or of its controls
    part: str = "tested"  # whose wordings they use; or "trained"
    search: SearchBudget | None = field(default_factory=SearchBudget)  # one attack more, or None for no search
    seed: int = 0  # of the wordings drawn

    def __post_init__(self) -> None:
        if unknown := [name for name in self.edits if name not in EDITS | CONTROLS]:
            raise KeyError(f"no edit {unknown[0]!r}; there are {', '.join(EDITS)}")
        if not self.edits and self.search is None:
            raise ValueError("a suite without attacks")

    def attacked(self, pair: PreferencePair, name: str) -> PreferencePair:
        """The pair with its worse response tampered with."""
        worse = worse_side(pair)
        text: Any = tampered(name, pair.asked, getattr(pair, worse), self.part, self.seed)
        return replace(pair, **{worse: text})
