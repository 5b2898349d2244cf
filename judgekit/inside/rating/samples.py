"""Samples in, rated samples out: the one call that rates a list or a file of responses."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgekit.data.files import replaced
from judgekit.data.pairfile import ResponseRow, checked_responses, read_response_rows
from judgekit.inside.rating.rater import Rater, load_rater

if TYPE_CHECKING:
    from judgekit.models.states import StateReader

TOTAL, EXPECTED = "total_score", "total_expected"


def evaluate_samples(
    samples: Sequence[dict[str, Any]] | str | Path,
    probe: str | Path | Rater = "gsm8k-binary",
    batch_size: int = 64,
    top_percent: float = 1.0,
    output_path: Path | str | None = None,
    reader: "StateReader | None" = None,
    shown: bool = False,
) -> list[dict[str, Any]]:
    """Copies of samples with one whole number per aspect, ``total_score`` and ``total_expected``, by saved probes.

    The totals are the sum of the numbers and the sum of expected classes: the latter ranks, since whole totals tie.

    ``samples``: each with ``question`` and ``response`` (or ``prediction``), other fields are carried along; or a file
    of them, JSON lines or a JSON list.
    ``probe``: ``gsm8k-binary``, ... (`judgekit.inside.rating.rater_names`), or a folder of
    `judgekit.inside.rating.save_rater`.
    ``top_percent``: share in (0, 1] that is kept, best first: ``int(n * top_percent)`` samples, by ``total_expected``,
    then by ``total_score``, then in the order given; 1 keeps all, in the order given.
    ``output_path``: where the result is written: JSON lines where the name ends in ``.jsonl``, else a JSON list.
    ``reader``: the model, where it is loaded already.

    PairFileError where a sample lacks a field, has one of another type, or has one that would be overwritten (names
    place and field); RaterError and ProbeError where the probes cannot be had or used; ValueError where ``top_percent``
    is not in (0, 1].
    """
    if not 0 < top_percent <= 1:
        raise ValueError(f"top_percent={top_percent}: a share above 0 and up to 1")
    rater = probe if isinstance(probe, Rater) else load_rater(probe)
    read: Any = read_response_rows if isinstance(samples, str | Path) else checked_responses
    rated = rated_rows(read(samples, added_fields(rater)), rater, batch_size, reader, shown)
    if top_percent < 1:
        rated = best(rated, top_percent)
    if output_path is not None:
        write_samples(rated, Path(output_path))
    return rated


def added_fields(rater: Rater) -> tuple[str, ...]:
    """Fields that rating adds to a sample."""
    return (*rater.aspects, TOTAL, EXPECTED)


def rated_rows(
    rows: Sequence[ResponseRow],
    rater: Rater,
    batch_size: int = 64,
    reader: "StateReader | None" = None,
    shown: bool = False,
    kept: Any = None,
) -> list[dict[str, Any]]:
    """Copies of the fields of rows with their ratings; ``kept`` as for `judgekit.inside.rating.rater.Rater.rate`."""
    rated = []
    ratings = rater.rate([(row.question, row.response) for row in rows], reader, batch_size, shown, kept)
    for row, (classes, expected) in zip(rows, ratings, strict=True):
        totals = {TOTAL: sum(classes.values()), EXPECTED: round(sum(expected.values()), 6)}
        rated.append(row.fields | {aspect: classes[aspect] for aspect in rater.aspects} | totals)
    return rated


def best(rated: Sequence[dict[str, Any]], share: float) -> list[dict[str, Any]]:
    """The best share of rated samples, best first: by expected total, where there is one, then by total."""

    def rank(place: int) -> tuple[float, float, int]:
        row = rated[place]
        total = float("-inf") if row[TOTAL] is None else row[TOTAL]  # a model may have given none
        return -row.get(EXPECTED, total), -total, place

    return [rated[place] for place in sorted(range(len(rated)), key=rank)[: int(len(rated) * share)]]


def write_samples(rated: Sequence[dict[str, Any]], path: Path) -> None:
    """Write samples: JSON lines or a JSON list, by the name."""
    lines = Path(path).suffix == ".jsonl"
    text = "".join(json.dumps(row) + "\n" for row in rated) if lines else json.dumps(rated, indent=1) + "\n"
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
