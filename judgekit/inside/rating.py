"""Single responses rated by saved probes: several aspects from one forward pass, and a total."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from judgekit.data.files import write_json
from judgekit.data.pairfile import ResponseRow, checked_responses, read_response_rows
from judgekit.data.paths import PRETRAINED, known_names
from judgekit.data.progress import progress_bar
from judgekit.inside.aspects import NAME
from judgekit.inside.representations import array_digest, rated_text, states_for
from judgekit.inside.saved_probes import SavedProbe, load_probe, read_json, save_probe
from judgekit.records import Reply, fingerprint_of

if TYPE_CHECKING:
    from judgekit.models.states import StateReader

_CONFIG = "rater.json"
_SHIPPED = PRETRAINED / "probes"
TOTAL, EXPECTED = "total_score", "total_expected"


class RaterError(ValueError):
    """There is no such rater, or it is damaged; the message names the file and the field."""


class _Config(BaseModel):
    """The fields of ``rater.json``."""

    model_config = ConfigDict(strict=True)
    format: Literal[1]
    aspects: Annotated[list[Annotated[str, StringConstraints(pattern=NAME)]], Field(min_length=1)]
    about: dict[str, Any] = {}


@dataclass
class Rater:
    """Rates single responses on several aspects, reading each text once."""

    name: str
    probes: dict[str, SavedProbe]  # by aspect; all have the same classes and read the same model in the same way
    about: dict[str, Any] = field(default_factory=dict)  # what else a reader should know, free but JSON

    def __post_init__(self) -> None:
        if not self.probes:
            raise RaterError(f"{self.name}: a rater without probes rates nothing")
        if wrong := [aspect for aspect in self.probes if not re.fullmatch(NAME, aspect)]:
            raise RaterError(f"{self.name}: aspect {wrong[0]!r} is no lower-case name")
        if any(probe.kind == "pair_logistic" for probe in self.probes.values()):
            raise RaterError(f"{self.name}: a probe of pairs rates no single response")
        read = [asdict(probe.inputs) | {"classes": probe.classes} for probe in self.probes.values()]
        for name in ("classes", "model", "limit"):
            if len(values := {str(inputs[name]) for inputs in read}) > 1:
                raise RaterError(f"{self.name}: probes differ in {name} ({', '.join(sorted(values))})")

    @property
    def aspects(self) -> tuple[str, ...]:
        return tuple(self.probes)

    @property
    def model(self) -> str:
        """Name of the frozen model behind the probes."""
        return next(iter(self.probes.values())).inputs.model

    @cached_property
    def reader(self) -> "StateReader":
        """The frozen model behind the probes; ProbeError where it is not the one that they were fitted on."""
        from judgekit.models.states import StateReader

        probes = list(self.probes.values())
        inputs, top = probes[0].inputs, max(probe.inputs.layers[-1] for probe in probes)
        reader = StateReader(self.model, limit=inputs.limit, bf16=inputs.bf16, top=top)
        for probe in probes:
            probe.check_model(reader)
        return reader

    @property
    def fingerprint(self) -> str:
        """Hash of everything that a rating depends on, what this machine multiplies in among it."""
        from judgekit.models.encoder import device_of, native_bf16

        bf16 = {"bf16": next(iter(self.probes.values())).inputs.bf16 and native_bf16(device_of())}
        parts = {
            aspect: [probe.kind, probe.classes, asdict(probe.inputs) | bf16, *map(array_digest, probe.tensors)]
            for aspect, probe in self.probes.items()
        }
        return fingerprint_of("rater", 1, parts)

    def rate(
        self,
        texts: Sequence[tuple[str, str]],
        reader: "StateReader | None" = None,
        batch_size: int = 64,
        shown: bool = False,
        kept: Any = None,
    ) -> list[tuple[dict[str, int], dict[str, float]]]:
        """Classes and expected classes by aspect of (question, response), in their order; equal ones are rated once.

        ``kept``: a `judgekit.scoring.store.VerdictStore` where ratings are put, ``batch_size`` at once, and looked up.
        """
        wanted, rater = [rated_text(*pair) for pair in texts], self.fingerprint
        keys = {text: hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in wanted}
        stored = {} if kept is None else kept.get(rater, "{}", keys.values())
        ratings = {text: json.loads(stored[key].raw) for text, key in keys.items() if key in stored}
        # Like lengths together, whatever their place: little is padded.
        missing = sorted((text for text in keys if text not in ratings), key=lambda text: (-len(text), text))
        with progress_bar(len(keys), "rating", "response", shown, initial=len(ratings)) as bar:
            for start in range(0, len(missing), batch_size):
                batch = missing[start : start + batch_size]
                rated = self._rated_batch(batch, reader or self.reader)
                if kept is not None:
                    replies = {keys[text]: Reply(None, raw=json.dumps(rating)) for text, rating in rated.items()}
                    kept.put(rater, "{}", replies)
                ratings |= rated
                bar.update(len(batch))
        return [ratings[text] for text in wanted]

    def _rated_batch(self, batch: Sequence[str], reader: Any) -> dict[str, tuple[dict[str, Any], ...]]:
        """Classes and expected classes of some texts, by text."""
        states = states_for(self.probes, reader, batch)
        sides = [
            {aspect: getattr(probe, what)(states[aspect]).tolist() for aspect, probe in self.probes.items()}
            for what in ("predict", "expected")
        ]
        rows = [tuple({aspect: side[aspect][row] for aspect in side} for side in sides) for row in range(len(batch))]
        return dict(zip(batch, rows, strict=True))


def save_rater(rater: Rater, folder: str | Path) -> None:
    """Write a rater: its probes, each in a folder of its own, then ``rater.json``. One that is there is replaced."""
    (Path(folder) / _CONFIG).unlink(missing_ok=True)  # probes of two raters are none, where this is killed
    config = _Config(format=1, aspects=list(rater.aspects), about=rater.about)  # names that may be folders
    for aspect, probe in rater.probes.items():
        save_probe(probe, Path(folder) / aspect)
    write_json(Path(folder) / _CONFIG, config.model_dump())


def rater_names() -> list[str]:
    """Names of the raters that come with the package."""
    return sorted(path.parent.name for path in _SHIPPED.glob(f"*/{_CONFIG}"))


def load_rater(name: str | Path) -> Rater:
    """A rater that comes with the package (``gsm8k-binary``), or one in a folder that `save_rater` wrote.

    RaterError where there is none (the message lists those there are) or it is damaged, ProbeError where a probe is.
    """
    shipped = rater_names()
    folder = _SHIPPED / str(name) if str(name) in shipped else Path(name)
    if not (folder / _CONFIG).is_file():
        raise RaterError(f"no probe is called {str(name)!r}: no {_CONFIG} there; {known_names(str(name), shipped)}")
    config = read_json(folder / _CONFIG, _Config, RaterError)
    return Rater(folder.name, {aspect: load_probe(folder / aspect) for aspect in config.aspects}, config.about)


def evaluate_samples(
    samples: Sequence[dict[str, Any]] | str | Path, probe: str | Path | Rater = "gsm8k-binary", top_percent: float = 1.0
) -> list[dict[str, Any]]:
    """Copies of samples with one whole number per aspect, ``total_score`` (their sum) and ``total_expected`` (the sum
    of expected classes, which ranks: whole totals tie), by saved probes.

    ``samples``: each with ``question`` and ``response`` (or ``prediction``), other fields are carried along; or a file
    of them, JSON lines or a JSON list. ``probe``: ``gsm8k-binary``, ... (`rater_names`), or a folder of `save_rater`.
    ``top_percent``: share in (0, 1] that is kept, best first, rounded down to whole samples; 1 keeps all in order.

    PairFileError names place and field of a bad sample; RaterError and ProbeError where the probes cannot be had or
    used; ValueError where ``top_percent`` is not in (0, 1].
    """
    if not 0 < top_percent <= 1:
        raise ValueError(f"top_percent={top_percent}: a share above 0 and up to 1")
    rater = probe if isinstance(probe, Rater) else load_rater(probe)
    read: Any = read_response_rows if isinstance(samples, str | Path) else checked_responses
    rated = rated_rows(read(samples, added_fields(rater)), rater)
    return rated if top_percent == 1 else best(rated, top_percent)


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
    """Copies of the fields of rows with their ratings; ``kept`` as for `Rater.rate`."""
    ratings = rater.rate([(row.question, row.response) for row in rows], reader, batch_size, shown, kept)
    return [
        row.fields
        | {aspect: classes[aspect] for aspect in rater.aspects}
        | {TOTAL: sum(classes.values()), EXPECTED: round(sum(expected.values()), 6)}
        for row, (classes, expected) in zip(rows, ratings, strict=True)
    ]


def best(rated: Sequence[dict[str, Any]], share: float) -> list[dict[str, Any]]:
    """The best share of rated samples, best first: by expected total, where there is one, then by total."""

    def rank(row: dict[str, Any]) -> tuple[float, float]:
        total = float("-inf") if row[TOTAL] is None else row[TOTAL]  # a model may have given none
        return -row.get(EXPECTED, total), -total

    return sorted(rated, key=rank)[: int(round(len(rated) * share, 6))]  # 0.29 of 100 is 28.999...: 29
