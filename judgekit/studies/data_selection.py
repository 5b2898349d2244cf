"""Small judges that learn from labelled pairs, and what they see of these."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from judgekit.inside.probes import FAMILIES, make_probe
from judgekit.judges.surface import scores_of
from judgekit.models.states import StateReader
from judgekit.records import SWAPPED, PreferencePair
from judgekit.stats import Array, Floats, outcome_probabilities
from judgekit.training.features import FeatureTable, feature_table, fit_features

LIMIT = 128  # tokens that small judges read of a response
_L2 = 0.01  # of the surface features, as in the recipe of the encoder judge


@dataclass(frozen=True)
class Views:
    """Pairs labelled A or B, with all that scorers and students read of them."""

    pairs: list[PreferencePair]
    features: FeatureTable
    # Of A less of B, shape (n_pairs, 2 * width): mean states of the responses, and their products with the question's.
    # Exchanging the responses changes the sign and nothing else.
    states: Floats
    relevance: Floats  # cosine of question and response, of A less of B, shape (n_pairs,)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def prefers_a(self) -> npt.NDArray[np.bool_]:
        """Whether the label is A, shape (n_pairs,)."""
        return np.array([pair.label == "A" for pair in self.pairs])

    @property
    def questions(self) -> list[str]:
        """What is asked, by pair."""
        return [pair.asked for pair in self.pairs]

    @property
    def clusters(self) -> list[str]:
        """The prompt of each pair."""
        return [pair.cluster for pair in self.pairs]

    def of(self, rows: Array) -> "Views":
        """The views of some of the pairs (positions, or a mask)."""
        rows = np.arange(len(self))[rows]
        pairs = [self.pairs[i] for i in rows]
        return Views(pairs, self.features.of(rows), self.states[rows], self.relevance[rows])

    def exchanged(self, where: Array) -> "Views":
        """The same pairs with the other label where a mask says so; the responses stay where they are."""
        turned = [replace(pair, label=SWAPPED[pair.label], soft_label=None) for pair in self.pairs]
        pairs = [new if flip else old for new, old, flip in zip(turned, self.pairs, where, strict=True)]
        target = self.features.target
        target = np.where(np.asarray(where)[:, None], target[:, [1, 0, 2]], target)
        return replace(self, pairs=pairs, features=replace(self.features, target=target))


def view(pairs: Sequence[PreferencePair], reader: StateReader, known: dict[str, Floats]) -> Views:
    """Pairs as small judges see them; ValueError where there is none, or one is not labelled A or B.

    ``reader``: an encoder that no label of the pool went into; ``known``: mean states of its last layer, at unit
    length, by text, which is added to: each text is read once.
    """
    if not pairs:
        raise ValueError("no pairs to look at")
    if undecided := [pair for pair in pairs if pair.label not in ("A", "B")]:
        raise ValueError(f"{undecided[0].where}: the label is {undecided[0].label!r}; only A or B can be selected")
    texts = dict.fromkeys(text for pair in pairs for text in (pair.asked, *pair.responses))
    if missing := [text for text in texts if text not in known]:
        read = reader.read(missing, ("mean",), [reader.n_layers - 1])["mean"][:, 0]
        known |= dict(zip(missing, read / np.linalg.norm(read, axis=1, keepdims=True), strict=True))
    sides = zip(*((pair.asked, *pair.responses) for pair in pairs), strict=True)
    question, a, b = (np.array([known[text] for text in side]) for side in sides)
    gaps = np.concatenate([a - b, question * (a - b)], axis=1)
    likeness = [(question * side).sum(1).astype(float) for side in (a, b)]
    return Views(list(pairs), feature_table(pairs, frozenset()), gaps, likeness[0] - likeness[1])


Judge = Callable[[Views], Floats]  # views to the probability of A, shape (n_pairs,)


def _learn_features(views: Views, weight: Array, seed: int) -> Judge:
    """The surface-feature judge; the fit is convex and needs no seed."""
    parts = fit_features(views.features, weight=weight, l2=_L2)

    def p_a(seen: Views) -> Floats:
        score_a, score_b, _ = scores_of(parts, seen.features.a, seen.features.b, seen.features.pair)
        return outcome_probabilities(score_a - score_b, -np.inf)[:, 0]

    return p_a


def _learn_probe(views: Views, weight: Array, seed: int) -> Judge:
    """The pairwise probe on states of the untrained encoder, in its family's usual setting; seed of the projection."""
    probe = make_probe("pair_logistic", FAMILIES["pair_logistic"].usual, seed=seed)
    probe.fit(views.states, views.prefers_a, classify__sample_weight=weight)
    return lambda seen: probe.predict_proba(seen.states)[:, 1]


LEARNERS: dict[str, Callable[[Views, Array, int], Judge]] = {"features": _learn_features, "probe": _learn_probe}
