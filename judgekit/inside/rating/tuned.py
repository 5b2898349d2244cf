"""The tuned encoder on the material of a study: one model per set and fold, read for every head."""

import numpy as np

from judgekit.inside.probes.nested import NestedResult
from judgekit.inside.probes.selection import grouped_folds


def tuned_results(ratings, cells, folder, recipe, seed=0, method="encoder", n_outer=5):
    """Out-of-fold predictions of an encoder tuned on all aspects of a set together.

    Parameters
    ----------
    ratings : dict of str to dict of str to list of Response
        What the cells were made of.
    cells : list of judgekit.inside.probes.study.Cell
    folder : path
        Finished folds are kept here (`judgekit.training.tuned_rater`).
    recipe : dict
        Fields of `judgekit.training.tuned_recipe.TunedRecipe` beside its defaults.
    seed : int
        Of the folds.
    method : str
    n_outer : int
        Outer folds, as for `judgekit.inside.probes.study.run_study`.

    Returns
    -------
    dict of (set, aspect, head, method) to judgekit.inside.probes.nested.NestedResult
        Folds are of questions over all aspects: a response that stands under several aspects is held out of all.
    """
    from judgekit.training.tuned_rater import tuned_predictions
    from judgekit.training.tuned_readings import readings
    from judgekit.training.tuned_recipe import TunedRecipe

    found = {}
    for name in dict.fromkeys(cell.set for cell in cells):
        rows = [(item, aspect) for aspect, items in ratings[name].items() for item in items]
        scores = np.array([int(item.score) for item, _ in rows])
        groups = np.array([item.cluster for item, _ in rows])
        aspects = np.array([aspect for _, aspect in rows])
        kinds = np.unique(aspects, return_inverse=True)[1] * (scores.max() + 1) + scores  # spread evenly over folds
        folds = grouped_folds(kinds, groups, n_outer, seed)
        given = TunedRecipe(**{"seed": seed} | recipe)
        texts = [(item.question, item.response) for item, _ in rows]
        probabilities = tuned_predictions(texts, aspects, scores, groups, folds, given, folder)
        for cell in (cell for cell in cells if cell.set == name):
            part = probabilities[aspects == cell.aspect]
            predicted, ranked = readings(part, cell.head.name, given.classes)
            found[*cell.name, method] = NestedResult(predicted, ranked, np.zeros(len(part), int), [], {})
    return found
