"""Judges by name: ``provider/model``, or a name of one's own that a run declares in ``params/<run>/judges.yaml``."""

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from judgekit.data import paths
from judgekit.data.declared import read_declared
from judgekit.judges.base import Judge, Request, request_key, request_of, verdict_of
from judgekit.judges.baseline import RULES, MajorityClass, RuleJudge

__all__ = ["Judge", "Request", "UnknownJudge", "load_judge", "request_key", "request_of", "verdict_of"]

DECLARED = "judges.yaml"
ASKED = {"openai": "OpenAIJudge", "hf": "HFJudge", "vllm": "VLLMJudge"}  # take settings
ASKED |= {"layers": "LayeredJudge", "reward": "RewardJudge"}
# Provider to class, the file that says that a folder holds one, and the folder that holds these folders.
_TRAINED = {"encoder": ("EncoderJudge", "judge.json", ""), "probe": ("ProbeJudge", "ties.json", "probes")}
_TRAINED["blend"] = ("BlendJudge", "blend.json", "blend")
_OWN = "judgekit.judges"  # entry points of installed packages; no file is executed because a name points at it
_LOADED: dict[str, dict[str, str]] = {}  # run to name to fingerprint: what its results will say they were judged with


class UnknownJudge(ValueError):
    """The name says no judge that is here; the message lists those that are."""


class DeclaredJudge(BaseModel):
    """What stands behind a declared name; ``{models}`` in it is the folder of the models that the run trained."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str  # provider/model
    folder: str | None = None
    settings: dict[str, Any] | None = None


def shipped_judges() -> list[str]:
    """Names of the judges that come with the package; those on language models need a base that is fetched."""
    names = [f"baseline/{rule}" for rule in (*RULES, "features", "majority_class")]
    trained = [(provider, file, parent) for provider, (_, file, parent) in _TRAINED.items()]
    for provider, file, parent in (*trained, *((one, "training.json", one) for one in ("reward", "hf"))):
        names += sorted(f"{provider}/{path.parent.name}" for path in (paths.PRETRAINED / parent).glob(f"*/{file}"))
    return names


def load_judge(
    name: str,
    folder: str | Path | None = None,
    label: str | None = None,
    settings: Mapping[str, object] | None = None,
    run: str | None = None,
) -> Judge:
    """The judge of a name, ``provider/model``; UnknownJudge lists the known ones.

    ``folder``: where a trained judge's files are, when not where the name says. ``label``: what
    ``baseline/majority_class`` always gives. ``settings``: fields of the ``Settings`` in the module of the provider.
    ``run``: judge with what this run declares by this name, or trained, and remember the judge's fingerprint for the
    run's results. Unavailable where a model, a setting, or the environment of an ``openai/`` judge is wrong.

    >>> load_judge("baseline/longer").judge([Request("Hi?", "Hello there.", "Hello.")])[0].verdict
    'first'
    """
    if run is not None:
        if one := declared_judges(run).get(name):
            judge = load_judge(one.name, one.folder, label, one.settings)
        else:
            judge = load_judge(name, folder or model_of_run(name, run), label, settings)
        judge.name = name  # not what a declared one, or one whose verdicts are tracked, is called elsewhere
        _LOADED.setdefault(run, {})[judge.name] = judge.fingerprint
        return judge
    provider, _, model = name.partition("/")
    if folder and provider not in (*_TRAINED, "replay") and name != "baseline/features":
        raise UnknownJudge(f"{name} takes no folder; encoder/, probe/, blend/ and replay/ do; hf/<folder> says it")
    if provider in ASKED:
        return _found("generative", "load_asked")(asked_kind(provider), model, settings)
    if settings:
        raise UnknownJudge(f"{name} takes no settings; openai/, hf/, vllm/, layers/ and reward/<model> do")
    if provider in _TRAINED and model:
        return _trained(name, folder)
    if name == "baseline/features":
        return _found("surface", "FeaturesJudge")(folder or paths.PRETRAINED / "features")
    if provider == "baseline" and model in RULES:
        return RuleJudge(model)
    if name == "baseline/majority_class":
        if label is None:
            raise UnknownJudge(f"{name} always gives one label: state which with label='A', 'B' or 'tie'")
        return MajorityClass(label)
    if provider == "replay":
        return _found("replay", "TrackedJudge")(folder) if folder else _found("replay", "load_replay")(name)
    if provider == "own":
        return _own(name)
    others = (*(f"{kind}/<folder>" for kind in _TRAINED), *(f"{kind}/<model>" for kind in ASKED), "own/<registered>")
    raise UnknownJudge(f"no judge is called {name!r}; {paths.known_names(name, shipped_judges(), *others)}")


def declared_judges(run: str) -> dict[str, DeclaredJudge]:
    """Judges by the name that a run's notebooks give them, their slug; DeclaredError names the faulty entry."""
    return read_declared(run, DECLARED, DeclaredJudge, models=str(paths.run_folder(run, "models")))


def model_of_run(name: str, run: str) -> Path | None:
    """The folder of a run's own model of a judge's name (of ``replay/<slug>``, its file of verdicts), or None."""
    provider, _, model = name.partition("/")
    if provider == "replay" and paths.NAME.fullmatch(model):
        file = paths.run_folder(run, "data") / f"asked_{model}.parquet"
        return file if file.is_file() else None
    if provider not in _TRAINED and name != "baseline/features":
        return None
    folder = paths.run_folder(run, "models") / _TRAINED.get(provider, ("",))[-1] / model
    return folder if folder.is_dir() else None  # a training that was not finished is refused, not passed over


def judges_of_run(run: str) -> dict[str, str]:
    """Fingerprint by name of the judges that this process loaded for a run."""
    return dict(_LOADED.get(run, {}))


def asked_kind(provider: str) -> Any:
    """The class of the judges of a provider that takes settings, one of `ASKED`."""
    return _found(provider, ASKED[provider])


def _found(module: str, what: str) -> Any:
    """A class or function of a provider's module, which is imported when it is wanted."""
    return getattr(import_module(f"judgekit.judges.{module}"), what)


def _trained(name: str, folder: str | Path | None) -> Judge:
    """A trained judge from the first folder that holds its file."""
    provider, _, model = name.partition("/")
    kind, file, parent = _TRAINED[provider]
    folders = [Path(folder)] if folder else [paths.PRETRAINED / parent / model, Path(model)]
    if places := [place for place in folders if (place / file).is_file()]:
        return _found(provider, kind)(places[0], name)
    looked, known = " and ".join(map(str, folders)), paths.known_names(name, shipped_judges())
    raise UnknownJudge(f"no judge is called {name!r}: no {file} in {looked}; {known}")


def _own(name: str) -> Judge:
    """The judge that an installed package registers under a name; UnknownJudge without one, or where it is no judge."""
    points = {f"own/{point.name}": point for point in entry_points(group=_OWN)}
    if name not in points:
        said = f"no installed package registers a judge {name.removeprefix('own/')!r} under {_OWN}"
        raise UnknownJudge(f"{said}; registered: {', '.join(sorted(points)) or 'none'}")
    origin = f"{name} ({points[name].value})"
    try:
        judge = points[name].load()()
    except Exception as wrong:  # code of the user's, which may fail in any way
        raise UnknownJudge(f"the judge {origin} cannot be loaded: {type(wrong).__name__}: {wrong}") from wrong
    if missing := [part for part in (*Judge.__annotations__, "judge") if not hasattr(judge, part)]:
        raise UnknownJudge(f"the judge {origin} has no {missing[0]!r} (judgekit.judges.Judge)")
    for part, kind in Judge.__annotations__.items():
        if not isinstance(value := getattr(judge, part), kind):
            raise UnknownJudge(f"the judge {origin}: {part!r} is {value!r:.80}, not {kind.__name__}")
    return judge
