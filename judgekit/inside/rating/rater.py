"""Probes that go together, one per aspect, in a folder with what they have in common."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgekit.data.files import replaced
from judgekit.data.paths import PRETRAINED
from judgekit.data.progress import progress_bar
from judgekit.inside.probes.saved import Inputs, load_probe, save_probe
from judgekit.inside.probes.study import digest
from judgekit.inside.probes.texts import rated_text
from judgekit.records import fingerprint_of

if TYPE_CHECKING:
    from judgekit.inside.representations import StateCache
    from judgekit.models.states import StateReader

FORMAT, CONFIG = 1, "rater.json"
SHIPPED = PRETRAINED / "probes"
ASPECT = re.compile(r"[a-z][a-z0-9_]*")


class RaterError(ValueError):
    """There is no such rater, or it is damaged; the message names the file and the field."""


@dataclass
class Rater:
    """Rates single responses on several aspects, reading each text once.

    ``probes``: `judgekit.inside.probes.saved.SavedProbe` by aspect; all have the same classes and read the same model
    in the same way. ``about``: what else a reader should know, free but JSON.
    """

    name: str
    probes: dict
    about: dict[str, Any] = field(default_factory=dict)
    readers: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.probes:
            raise RaterError(f"{self.name}: a rater without probes rates nothing")
        if wrong := [aspect for aspect in self.probes if not ASPECT.fullmatch(aspect)]:
            raise RaterError(f"{self.name}: aspect {wrong[0]!r} is no lower-case name")
        for field_name, values in {
            "classes": {probe.classes for probe in self.probes.values()},
            "model": {probe.inputs.model for probe in self.probes.values()},
            "limit": {probe.inputs.limit for probe in self.probes.values()},
            "bf16": {probe.inputs.bf16 for probe in self.probes.values()},
        }.items():
            if len(values) > 1:
                raise RaterError(f"{self.name}: probes differ in {field_name} ({', '.join(sorted(map(str, values)))})")
        if any(probe.kind == "pair_logistic" for probe in self.probes.values()):
            raise RaterError(f"{self.name}: a probe of pairs rates no single response")

    @property
    def aspects(self) -> tuple[str, ...]:
        """Names of the aspects."""
        return tuple(self.probes)

    @property
    def inputs(self) -> Inputs:
        """What all probes read, but for layers and pooling."""
        return next(iter(self.probes.values())).inputs

    def reader(self, device: str = "cpu", cache: "StateCache | None" = None) -> "StateReader":
        """The frozen model behind the probes, loaded once."""
        from judgekit.models.states import StateReader

        if (device, cache) not in self.readers:
            more: Any = {"limit": self.inputs.limit, "bf16": self.inputs.bf16, "device": device, "cache": cache}
            self.readers[device, cache] = StateReader(self.inputs.model, **more)
        return self.readers[device, cache]

    @property
    def fingerprint(self) -> str:
        """Hash of everything that a rating depends on."""
        parts = {
            aspect: [probe.kind, probe.classes, asdict(probe.inputs), *map(digest, probe.tensors)]
            for aspect, probe in self.probes.items()
        }
        return fingerprint_of("rater", FORMAT, parts)

    def rate(
        self,
        texts: Sequence[tuple[str, str]],
        reader: "StateReader | None" = None,
        batch_size: int = 64,
        shown: bool = False,
        kept: Any = None,
    ) -> list[tuple[dict[str, int], dict[str, float]]]:
        """Classes and expected classes by aspect of questions with responses, in the order of the texts.

        ``texts``: question and response; equal ones are rated once. ``batch_size``: texts per step, of the bar and of
        what is kept at once; the reader makes its own batches, by tokens. ``kept``: ratings that are there already by
        their text, ``get(text)``, and where new ones are kept, ``put(ratings)``.

        ProbeError where the model is not the one that the probes were fitted on; ValueError where ``batch_size`` is
        below 1.
        """
        if batch_size < 1:
            raise ValueError(f"batch_size={batch_size}: at least one text at a time")
        wanted = [rated_text(*pair) for pair in texts]
        found = {text: kept.get(text) for text in wanted} if kept is not None else {}
        # Like lengths together, whatever their place: little is padded.
        missing = sorted({text for text in wanted if found.get(text) is None}, key=lambda text: (-len(text), text))
        if missing:
            reader = reader or self.reader()
        n_distinct = len(set(wanted))
        with progress_bar(n_distinct, "rating", "response", shown, initial=n_distinct - len(missing)) as bar:
            for start in range(0, len(missing), batch_size):
                batch = missing[start : start + batch_size]
                rated = self.rated_batch(batch, reader)
                if kept is not None:
                    kept.put(rated)
                found |= rated
                bar.update(len(batch))
        return [found[text] for text in wanted]

    def rated_batch(self, batch: Sequence[str], reader: Any) -> dict[str, tuple[dict[str, Any], ...]]:
        """Classes and expected classes of some texts, by text."""
        from judgekit.inside.representations import states_for

        states = states_for(self.probes, reader, batch)
        classes = {aspect: probe.predict(states[aspect]).tolist() for aspect, probe in self.probes.items()}
        expected = {aspect: probe.expected(states[aspect]).tolist() for aspect, probe in self.probes.items()}
        return {
            text: tuple({aspect: values[aspect][row] for aspect in self.probes} for values in (classes, expected))
            for row, text in enumerate(batch)
        }


def save_rater(rater: Rater, folder: str | Path) -> None:
    """Write a rater: its probes, each in a folder of its own, then ``rater.json``. One that is there is replaced."""
    folder = Path(folder)
    for aspect, probe in rater.probes.items():
        save_probe(probe, folder / aspect)
    config = {"format": FORMAT, "aspects": list(rater.aspects), "about": rater.about}
    with replaced(folder / CONFIG) as temporary:
        temporary.write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")


def rater_names() -> list[str]:
    """Names of the raters that come with the package."""
    return sorted(path.parent.name for path in SHIPPED.glob(f"*/{CONFIG}"))


def load_rater(name: str | Path) -> Rater:
    """A rater that comes with the package (``gsm8k-binary``), or one in a folder that `save_rater` wrote.

    RaterError where there is none (the message lists those there are), or ``rater.json`` is damaged; ProbeError where a
    probe is: the message names file and field.
    """
    shipped = rater_names()
    folder = SHIPPED / str(name) if str(name) in shipped else Path(name)
    path = folder / CONFIG
    if not path.is_file():
        raise RaterError(f"no probe is called {str(name)!r}: no {CONFIG} there; shipped are {', '.join(shipped)}")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as broken:
        raise RaterError(f"{path}: not JSON ({broken})") from None
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        said = config.get("format") if isinstance(config, dict) else None
        raise RaterError(f"{path}: field 'format' is {said!r}; this version reads {FORMAT}")
    aspects, about = config.get("aspects"), config.get("about", {})
    if not (isinstance(aspects, list) and aspects and all(isinstance(a, str) and ASPECT.fullmatch(a) for a in aspects)):
        raise RaterError(f"{path}: field 'aspects' is {aspects!r}, not a list of lower-case names")
    if not isinstance(about, dict):
        raise RaterError(f"{path}: field 'about' is {about!r}, not an object")
    return Rater(folder.name, {aspect: load_probe(folder / aspect) for aspect in aspects}, about)
