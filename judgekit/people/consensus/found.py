"""What a consensus method returns: a label and a distribution for every item, and a skill for every annotator."""

from dataclasses import dataclass, field

import numpy as np

from judgekit.data.votes import NO_VOTE, checked_keys


@dataclass(frozen=True, slots=True, eq=False)
class Consensus:
    """Labels that a method made of votes, by item key.

    Attributes
    ----------
    method : str
        As in result keys: ``majority``, ``dawid_skene``, ...
    items : tuple of str
        Keys of the rows, those of the votes.
    classes : tuple of str
    posterior : array of float, shape (n_items, n_classes)
        Rows sum to one; what the method believes of each class.
    labels : array of int, shape (n_items,)
        Index into `classes`; -1 where the tie rule leaves an item without a label.
    skill : dict of str to float
        How good the method takes each annotator to be, on its own scale; empty where it does not say.

    Raises
    ------
    ValueError
        If an item stands twice, a shape does not fit, or a row of the posterior is no distribution.
    """

    method: str
    items: tuple[str, ...]
    classes: tuple[str, ...]
    posterior: np.ndarray
    labels: np.ndarray
    skill: dict[str, float] = field(default_factory=dict)

    def __post_init__(self):
        object.__setattr__(self, "posterior", np.asarray(self.posterior, float))
        object.__setattr__(self, "labels", np.asarray(self.labels, int))
        checked_keys(self.items, "items")
        if self.posterior.shape != (len(self.items), len(self.classes)) or self.labels.shape != (len(self.items),):
            raise ValueError(
                f"{self.method}: posterior of shape {self.posterior.shape} and {self.labels.shape[0]} labels for "
                f"{len(self.items)} items and {len(self.classes)} classes"
            )
        off = ~(np.isfinite(self.posterior).all(1) & (np.abs(self.posterior.sum(1) - 1) < 1e-6))
        if off.any():
            raise ValueError(f"{self.method}: the posterior of {self.items[int(np.argmax(off))]} is no distribution")

    @property
    def quality(self):
        """Probability of the label, shape (n_items,); the largest one where there is no label."""
        rows = np.arange(len(self.items))
        return np.where(self.labels == NO_VOTE, self.posterior.max(1), self.posterior[rows, self.labels])
