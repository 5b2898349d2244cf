"""The estimate that the published procedure would give: the layer that does best on the test fold, quoted from it."""

from collections.abc import Mapping

import numpy as np
from sklearn.model_selection import train_test_split

from judgekit.inside.probes.families import FAMILIES, make_probe
from judgekit.inside.probes.heads import Head
from judgekit.inside.probes.scores import class_counts, scored, weighted_f1
from judgekit.inside.probes.selection import joined_layers
from judgekit.stats import Array


def published_estimate(
    features: Mapping[str, Array], labels: Array, head: Head, seed: int = 731, n_boot: int = 2000
) -> tuple[dict[str, tuple[float, float, float]], int]:
    """Every metric, with its interval, of the best single layer on one test fold, chosen by it; and the fold's size.

    ``features``: by kind, shape (n_items, n_layers, width). ``seed``: of the split of four to one, stratified by label
    and blind to questions; 731 in the published code.

    Not an estimate of anything: kept to show how far it lies from `inside.probes.nested` on the same items. The
    published code looks through layers and poolings, prints the report on the test fold of each, and quotes the best;
    items of one question may stand on both sides. Logistic regression on scaled features, without projection.
    """
    labels = np.asarray(labels)
    train, test = train_test_split(np.arange(len(labels)), test_size=0.2, stratify=labels, random_state=seed)
    family = head.families[0]
    best, found = -1.0, None  # type: float, Array
    for array in features.values():
        for layer in range(array.shape[1]):
            X = joined_layers(array, (layer,))
            probe = make_probe(family, FAMILIES[family].usual, None, seed).fit(X[train], labels[train])
            predicted = probe.predict(X[test])
            reached = float(weighted_f1(class_counts(labels[test], predicted, head.classes).sum(0)))
            if reached > best:
                best, found = reached, predicted
    return scored(labels[test], found, found.astype(float), np.arange(len(test)), head.classes, n_boot), len(test)
