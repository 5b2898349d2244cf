"""Models of annotators, fitted by crowd-kit: Dawid-Skene, one-coin Dawid-Skene, GLAD and MACE."""

import warnings
from contextlib import contextmanager

import numpy as np

from judgekit.people.consensus.found import Consensus
from judgekit.people.consensus.majority import class_shares


def dawid_skene(votes, one_coin=False, n_iter=100):
    r"""Every annotator has a confusion matrix; labels and matrices are found together by EM.

    Parameters
    ----------
    votes : Votes
    one_coin : bool
        One rate of right votes per annotator, errors spread evenly: far fewer parameters.
    n_iter : int
        Iterations at most.

    Returns
    -------
    Consensus
        The skill of an annotator is its expected rate of right votes, :math:`\sum_k p_k e_{kk}`.

    Notes
    -----
    :math:`P(z_i = k) \propto p_k \prod_j e_{j, k, y_{ij}}`. Dawid and Skene (1979), Applied Statistics 28; one coin:
    Zhang et al. (2016), JMLR 17. With few votes per annotator the matrices are fitted to noise and the posterior is
    close to zero or one.
    """
    from crowdkit.aggregation import DawidSkene, OneCoinDawidSkene

    table = numbered(votes)
    with without_warnings():
        model = (OneCoinDawidSkene if one_coin else DawidSkene)(n_iter=n_iter).fit(table.frame)
    share = model.priors_ / model.priors_.sum()
    errors = model.errors_.fillna(0.0)
    right = dict.fromkeys(range(len(table.workers)), 0.0)
    for (worker, said), column in errors.iterrows():
        right[worker] += float(share[said] * column[said])
    return consensus_of("dawid_skene_one_coin" if one_coin else "dawid_skene", votes, table, model.probas_, right)


def glad(votes, n_iter=30):
    r"""Annotators have a skill and items a difficulty.

    Parameters
    ----------
    votes : Votes
    n_iter : int
        EM iterations at most.

    Returns
    -------
    Consensus
        The skill of an annotator is GLAD's :math:`\alpha_j`.

    Notes
    -----
    :math:`P(y_{ij} = z_i) = 1 / (1 + e^{-\alpha_j \beta_i})`. Whitehill et al. (2009), NIPS 22; priors
    :math:`N(1, 1)` on :math:`\alpha_j` and :math:`\log \beta_i`.
    """
    from crowdkit.aggregation import GLAD

    table = numbered(votes)
    with without_warnings():
        model = GLAD(n_iter=n_iter, silent=True).fit(table.frame)
    return consensus_of("glad", votes, table, model.probas_, model.alphas_.to_dict())


def mace(votes, seed=0, n_iter=50):
    r"""Annotators know the label or spam: a rate of knowing for each, and what it says when it does not.

    Parameters
    ----------
    votes : Votes
    seed : int
        Of the start.
    n_iter : int

    Returns
    -------
    Consensus
        The skill of an annotator is the (geometric posterior mean, not normalised) rate of knowing.

    Notes
    -----
    Hovy et al. (2013), NAACL-HLT; variational Bayes. crowd-kit 1.4.2 draws every restart from the same seed, so that
    restarts are copies and one is asked for; and it keeps counts in the order of names but reads them in the order of
    first votes, so that annotators and classes change places unless the two orders are one: `numbered` sees to that.
    """
    from crowdkit.aggregation import MACE

    table = numbered(votes)
    with without_warnings():
        model = MACE(n_restarts=1, n_iter=n_iter, random_state=seed).fit(table.frame)
    return consensus_of("mace", votes, table, model.probas_, dict(enumerate(model.spamming_[:, 1])))


class numbered:
    """Votes in crowd-kit's form, everything named by the number of its first appearance.

    Attributes
    ----------
    frame : pandas.DataFrame
        Columns task, worker, label: whole numbers from 0.
    tasks, workers, labels : array of int
        Row, column and class of `Votes` that each number stands for.

    Raises
    ------
    ValueError
        If there are no votes.
    """

    def __init__(self, votes):
        import pandas as pd

        rows, columns = np.nonzero(votes.given)
        if not len(rows):
            raise ValueError("no votes: there is nothing to agree on")
        parts = {"task": rows, "worker": columns, "label": votes.codes[rows, columns]}
        coded = {name: pd.factorize(values) for name, values in parts.items()}
        self.frame = pd.DataFrame({name: codes for name, (codes, _) in coded.items()})
        self.tasks, self.workers, self.labels = (coded[name][1] for name in parts)


@contextmanager
def without_warnings():
    """Without pandas' announcements to crowd-kit of what the next version will drop."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        yield


def consensus_of(method, votes, table, posterior, skill):
    """crowd-kit's answer under our keys: items without votes get the shares of the classes.

    Parameters
    ----------
    posterior : pandas.DataFrame
        Numbers of tasks by numbers of labels.
    skill : dict of int to float
        By number of worker.
    """
    values = np.tile(class_shares(votes), (len(votes.items), 1))
    rows = table.tasks[posterior.index.to_numpy(int)]
    values[rows] = 0.0
    values[np.ix_(rows, table.labels[posterior.columns.to_numpy(int)])] = posterior.to_numpy(float)
    values /= values.sum(1, keepdims=True)
    named = {votes.annotators[table.workers[int(worker)]]: float(value) for worker, value in skill.items()}
    return Consensus(method, votes.items, votes.classes, values, values.argmax(1), named)
