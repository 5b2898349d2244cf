"""Corpora of preference pairs, by name."""

from functools import partial

from judgekit.data.corpora import (
    alpaca_cross,
    alpaca_eval,
    autoj_rated,
    chatbot_arena,
    finegrained_rlhf,
    gsm8k_solutions,
    hh_harmless,
    hub,
    kto_mix,
    llamafactory,
    llmzoo,
    medicalgpt,
    newsroom,
    summ_pairwise,
    vicuna_blog,
)
from judgekit.data.sources import load_named, source_hashes

# Name -> loader; a loader returns (list of PreferencePair, report: dict of str to int).
CORPORA = {
    "alpaca_eval": alpaca_eval.load,
    "alpaca_cross": alpaca_cross.load,
    "autoj_rated": autoj_rated.load,
    "chatbot_arena": chatbot_arena.load,
    "finegrained_rlhf": finegrained_rlhf.load,
    "hh_harmless": hh_harmless.load,
    "summ_pairwise": summ_pairwise.load,
    "newsroom": newsroom.load,
    "dpo_en": partial(llamafactory.load_dpo, "dpo_en"),
    "dpo_zh": partial(llamafactory.load_dpo, "dpo_zh"),
    "oasst_zh": llamafactory.load_oasst_zh,
    "medicalgpt": medicalgpt.load,
    "kto_mix": kto_mix.load,
    "gsm8k_solutions": gsm8k_solutions.load,
    "vicuna_blog": vicuna_blog.load,
    "llmzoo": llmzoo.load,
}

# Large sets that are not in a mirror as it is published: read from the hub when they are named.
HUB_CORPORA = {name: partial(hub.load_hub_corpus, name) for name in hub.SETS}


def load_corpus(name):
    """The pairs of a corpus.

    Parameters
    ----------
    name : str
        A key of `CORPORA` or of `HUB_CORPORA`.

    Returns
    -------
    list of PreferencePair
        Item ids are unique.

    Raises
    ------
    KeyError
        If there is no such corpus; the message lists those there are.
    DataError
        If a file cannot be had, or a row is malformed (names file, row and field).
    """
    return load_corpus_with_report(name)[0]


def load_corpus_with_report(name):
    """The pairs of a corpus, and counts of what was skipped or is odd.

    Returns
    -------
    pairs : list of PreferencePair
    report : dict of str to int
        Always ``items`` and ``empty_responses`` (pairs with at least one empty response); ``skipped_...`` for
        what was left out.
    """
    return load_named("corpus", CORPORA | HUB_CORPORA, name)


def corpus_hashes(name):
    """The provenance of a corpus: name to SHA-256 of the files it is read from.

    A set read from the hub is entered as ``hub:<owner>/<name>``, with its commit in place of a hash.

    Raises
    ------
    KeyError
        If there is no such corpus.
    """
    if name in HUB_CORPORA:
        return hub.hub_provenance(name)
    modules = (
        *(alpaca_cross, alpaca_eval, autoj_rated, chatbot_arena, finegrained_rlhf, gsm8k_solutions, hh_harmless),
        *(kto_mix, llmzoo, medicalgpt, newsroom, summ_pairwise, vicuna_blog),
    )
    module = {module.__name__.rpartition(".")[2]: module for module in modules}.get(name)
    if module is None:
        return source_hashes([llamafactory.FILES[name]])
    return source_hashes(module.files() if hasattr(module, "files") else module.FILES)
