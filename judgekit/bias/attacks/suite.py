"""What a judge is attacked with."""

from dataclasses import dataclass, field, replace

from judgekit.bias.attacks.pairs import worse_side
from judgekit.bias.attacks.search import SearchBudget
from judgekit.bias.tampering import CONTROLS, EDITS, tampered


@dataclass(frozen=True)
class Suite:
    """A list of attacks.

    Attributes
    ----------
    edits : tuple of str
        Names of `judgekit.bias.tampering.EDITS`, or of its controls.
    part : {"tested", "trained"}
        Whose wordings they use.
    search : SearchBudget or None
        How far the black-box search may go, which is one attack more; None for no search.
    seed : int
        Of the wordings drawn.
    """

    edits: tuple[str, ...] = tuple(EDITS)
    part: str = "tested"
    search: SearchBudget | None = field(default_factory=SearchBudget)
    seed: int = 0

    def __post_init__(self):
        if unknown := [name for name in self.edits if name not in EDITS | CONTROLS]:
            raise KeyError(f"no edit {unknown[0]!r}; there are {', '.join(EDITS)}")
        if not self.edits and self.search is None:
            raise ValueError("a suite without attacks")

    def attacked(self, pair, name):
        """The pair with its worse response tampered with."""
        worse = worse_side(pair)
        text = tampered(name, pair.asked, getattr(pair, worse), self.part, self.seed)
        return replace(pair, **{worse: text})
