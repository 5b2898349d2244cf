"""Samples in, rated samples out: the one call that rates a list or a file of responses."""

import json
from pathlib import Path

from judgekit.pairfile import read_response_rows
from judgekit.rating.rater import Rater, load_rater
from judgekit.results.files import replaced

RESPONSE_FIELDS = ("response", "prediction")
TOTAL, EXPECTED = "total_score", "total_expected"


class SampleError(ValueError):
    """A sample cannot be rated; the message names its place and field."""


def evaluate_samples(
    samples, probe="gsm8k-binary", batch_size=64, top_percent=1.0, output_path=None, reader=None, shown=False
):
    """Rate responses on several aspects with saved probes.

    Parameters
    ----------
    samples : list of dict, or path
        Each with ``question`` and ``response`` (or ``prediction``); other fields are carried along. Or a file of them:
        JSON lines, or a JSON list.
    probe : str, path or Rater
        ``gsm8k-binary``, ... (`judgekit.rating.rater_names`), or a folder (`judgekit.rating.save_rater`).
    batch_size : int
        Samples per step.
    top_percent : float
        Share in (0, 1] that is kept, best first: ``int(n * top_percent)`` samples, by ``total_expected``, then by
        ``total_score``, then in the order given. 1 keeps all, in the order given.
    output_path : path, optional
        Where to write the result: JSON lines where the name ends in ``.jsonl``, else a JSON list.
    reader : judgekit.representations.reader.StateReader, optional
        The model, where it is loaded already.
    shown : bool
        Whether a bar shows.

    Returns
    -------
    list of dict
        Copies of the samples with one whole number per aspect, ``total_score`` (their sum) and ``total_expected``
        (the sum of expected classes: what ranks, since whole totals tie). The samples given are not changed.

    Raises
    ------
    SampleError
        If a sample lacks a field, has one of another type, or has one that would be overwritten.
    judgekit.rating.rater.RaterError, judgekit.probes.saved.ProbeError
        If the probes cannot be had or used.
    ValueError
        If ``top_percent`` is not in (0, 1].
    """
    if not 0 < top_percent <= 1:
        raise ValueError(f"top_percent={top_percent}: a share above 0 and up to 1")
    rater = probe if isinstance(probe, Rater) else load_rater(probe)
    if isinstance(samples, str | Path):
        samples = [row.fields for row in read_response_rows(samples, reserved=added_fields(rater))]
    texts = [texts_of(sample, place, rater) for place, sample in enumerate(samples)]
    rated = rated_samples(samples, texts, rater, batch_size, reader, shown)
    if top_percent < 1:
        rated = best(rated, top_percent)
    if output_path is not None:
        write_samples(rated, output_path)
    return rated


def added_fields(rater):
    """Fields that rating adds to a sample."""
    return (*rater.aspects, TOTAL, EXPECTED)


def texts_of(sample, place, rater):
    """Question and response of a sample after a look at it."""
    if not isinstance(sample, dict):
        raise SampleError(f"sample {place}: is {type(sample).__name__}, not a dict")
    if clash := [name for name in added_fields(rater) if name in sample]:
        raise SampleError(f"sample {place}: field {clash[0]!r} is there already and would be overwritten")
    given = [name for name in RESPONSE_FIELDS if name in sample]
    if len(given) != 1:
        said = "neither is there" if not given else "both are there"
        raise SampleError(f"sample {place}: field 'response' or 'prediction' is needed, {said}")
    for name in ("question", given[0]):
        if not isinstance(sample.get(name), str):
            said = f"is {type(sample[name]).__name__}, not text" if name in sample else "is missing"
            raise SampleError(f"sample {place}: field {name!r} {said}")
    return sample["question"], sample[given[0]]


def rated_samples(samples, texts, rater, batch_size=64, reader=None, shown=False, kept=None):
    """Copies of samples with their ratings."""
    rated = []
    for sample, (classes, expected) in zip(
        samples, rater.rate(texts, reader, batch_size, shown, kept) if texts else (), strict=True
    ):
        totals = {TOTAL: sum(classes.values()), EXPECTED: round(sum(expected.values()), 6)}
        rated.append(dict(sample) | {aspect: classes[aspect] for aspect in rater.aspects} | totals)
    return rated


def best(rated, share):
    """The best share of rated samples, best first: by expected total, where there is one, then by total."""

    def rank(place):
        row = rated[place]
        total = float("-inf") if row[TOTAL] is None else row[TOTAL]  # a model may have given none
        return -row.get(EXPECTED, total), -total, place

    return [rated[place] for place in sorted(range(len(rated)), key=rank)[: int(len(rated) * share)]]


def write_samples(rated, path):
    """Write samples: JSON lines or a JSON list, by the name."""
    lines = Path(path).suffix == ".jsonl"
    text = "".join(json.dumps(row) + "\n" for row in rated) if lines else json.dumps(rated, indent=1) + "\n"
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
