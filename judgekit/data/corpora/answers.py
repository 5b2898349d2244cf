"""Questions with single responses, by name: what a judge may learn relevance from.

No file of a test set is among the sources; whether a question also stands in a test set is for `judgekit.data.cleaning`
to find.
"""

from functools import partial

from judgekit.data.corpora import cobbler, rated, worked
from judgekit.data.corpora.pairs import corpus_hashes, load_corpus
from judgekit.data.corpora.preferred import preferred_responses
from judgekit.data.sources import load_named, source_hashes


def load_preferred(name):
    """The better responses of a corpus of pairs, and a report."""
    return preferred_responses(load_corpus(name))


# Corpora of pairs whose better response is worth having by itself, also where the pair is not trained on.
PREFERRED = ("dpo_en", "dpo_zh", "oasst_zh", "medicalgpt", "kto_mix")

# Name -> loader; a loader returns (list of Response, report: dict of str to int).
ANSWERS = {
    "autoj_single": rated.load_autoj_single,
    "halueval": rated.load_halueval,
    "shepherd": rated.load_shepherd,
    "medical_safety": rated.load_medical_safety,
    "kto_en": rated.load_kto_en,
    "flask": worked.load_flask,
    "biggen": worked.load_biggen,
    "gsm8k_train": worked.load_gsm8k_train,
    "math_train": worked.load_math_train,
    "writer_summaries": worked.load_writer_summaries,
    "critiquellm_train": worked.load_critiquellm_train,
    "cobbler": cobbler.load,
    **{name: partial(load_preferred, name) for name in PREFERRED},
}


def load_answers_with_report(name):
    """The single responses of a source, and counts of what was skipped or is odd.

    Parameters
    ----------
    name : str
        A key of `ANSWERS`.

    Returns
    -------
    responses : list of Response
        Item ids are unique.
    report : dict of str to int
        Always ``items`` and ``empty_responses``; ``skipped_...`` for what was left out.

    Raises
    ------
    KeyError
        If there is no such source; the message lists those there are.
    DataError
        If a file cannot be had, or a row is malformed (names file, row and field).
    """
    return load_named("answers", ANSWERS, name)


def answer_hashes(name):
    """The provenance of a source of single responses: name to SHA-256 of the files it is read from.

    Raises
    ------
    KeyError
        If there is no such source.
    """
    if name in PREFERRED:
        return corpus_hashes(name)
    files = {key: (file,) for key, file in (rated.FILES | worked.FILES).items()} | {"cobbler": cobbler.FILES}
    return source_hashes(files[name])
