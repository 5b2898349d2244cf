"""Judges by name: ``provider/model``."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from judgekit.data.paths import PRETRAINED, run_folder
from judgekit.judges.base import Judge, Request, request_key, request_of, verdict_of
from judgekit.judges.baseline import RULES, MajorityClass, RuleJudge

__all__ = [
    "Judge",
    "Request",
    "UnknownJudge",
    "judges_of_run",
    "load_judge",
    "model_of_run",
    "request_key",
    "request_of",
    "verdict_of",
]


ASKED = ("openai", "hf", "vllm", "layers")  # providers of models that are asked by a strategy, with settings


_LOADED: dict[str, dict[str, str]] = {}  # run to name to fingerprint: what its results will say they were judged with


class UnknownJudge(ValueError):
    """The name says no judge that is here; the message lists those that are."""


def shipped() -> list[str]:
    """Names of the judges that need nothing but the installed package."""
    encoders = sorted(path.parent.name for path in PRETRAINED.glob("*/judge.json"))
    probes = sorted(path.parent.name for path in PRETRAINED.glob("probes/*/ties.json"))
    rules = [*RULES, "features", "majority_class"]
    named = {"encoder": encoders, "probe": probes, "baseline": rules}
    return [f"{provider}/{name}" for provider, names in named.items() for name in names]


def load_judge(
    name: str,
    folder: str | Path | None = None,
    label: str | None = None,
    settings: Mapping[str, object] | None = None,
    run: str | None = None,
) -> Judge:
    """The judge of a name.

    Parameters
    ----------
    name : str
        ``baseline/longer``, ``encoder/minilm``, ``encoder/<path of a trained judge>``, ``replay/pandalm-7b``,
        ``own/<name>`` (registered by an installed package: `judgekit.judges.own`), ...
    folder : path, optional
        Where a trained judge's files are, when not where the name says.
    label : {"A", "B", "tie"}, optional
        For ``baseline/majority_class``: the label it always gives.
    settings : mapping, optional
        For ``openai/<model>``, ``hf/<model>``, ``vllm/<model>`` and ``layers/<model>``: fields of the ``Settings`` of
        the module.
    run : str, optional
        Judge with the model that this run trained, where it trained one of this name (`model_of_run`), and remember
        the judge's fingerprint for the run's results (`judges_of_run`).

    Raises
    ------
    UnknownJudge
        If there is no such judge; the message lists the known ones.
    judgekit.models.errors.Unavailable
        If an ``openai/`` judge lacks its server or key in the environment, there is no such model, or a setting is
        wrong.

    Examples
    --------
    >>> load_judge("baseline/longer").judge([Request("Hi?", "Hello there.", "Hello.")])[0].verdict
    'first'
    """
    if run is not None:
        judge = load_judge(name, folder or model_of_run(name, run), label, settings)
        _LOADED.setdefault(run, {})[judge.name] = judge.fingerprint
        return judge
    provider, _, model = name.partition("/")
    if settings and provider not in ASKED:
        raise UnknownJudge(f"{name} takes no settings; openai/, hf/, vllm/ and layers/<model> do")
    if provider == "baseline" and model in RULES:
        return RuleJudge(model)
    if name == "baseline/majority_class" and label is not None:
        return MajorityClass(label)
    if name == "baseline/majority_class":
        raise UnknownJudge("baseline/majority_class always gives one label: state which with label='A', 'B' or 'tie'")
    if name == "baseline/features":
        from judgekit.judges.features import FeaturesJudge

        return FeaturesJudge(folder or PRETRAINED / "features")
    if provider == "encoder" and model:
        from judgekit.judges.encoder import EncoderJudge

        return _trained(EncoderJudge, "judge.json", name, [folder] if folder else [PRETRAINED / model, model])
    if provider == "probe" and model:
        from judgekit.judges.probe import ProbeJudge

        places = [folder] if folder else [PRETRAINED / "probes" / model, model]
        return _trained(ProbeJudge, "ties.json", name, places)
    if provider == "own":
        from judgekit.judges.own import load_own

        try:
            return load_own(model)
        except (LookupError, TypeError) as unknown:
            raise UnknownJudge(str(unknown)) from None
    if provider == "replay":
        from judgekit.judges.replay import load_replay

        return load_replay(name)
    if provider == "layers":
        from judgekit.judges.layered import load_layered

        return load_layered(model, settings)
    if provider in ASKED:
        return _asked(provider, model, settings)
    models = "hf/<model>, vllm/<model>, layers/<model> and openai/<model>"
    known = f"{', '.join(shipped())}, encoder/<folder>, probe/<folder>, {models}, own/<registered>"
    raise UnknownJudge(f"no judge is called {name!r}; there are {known}")


def model_of_run(name: str, run: str) -> Path | None:
    """The folder in which a run keeps its own model of a judge's name, or None where it trained none."""
    provider, _, model = name.partition("/")
    if provider not in ("encoder", "baseline", "probe"):
        return None
    models = run_folder(run, "models")
    folder = models / "probes" / model if provider == "probe" else models / model
    return folder if folder.is_dir() else None  # a training that was not finished is refused, not passed over


def judges_of_run(run: str) -> dict[str, str]:
    """Fingerprint by name of the judges that this process loaded for a run."""
    return dict(_LOADED.get(run, {}))


def _asked(provider: str, model: str, settings: Mapping[str, object] | None) -> Judge:
    """The judge of a model that is asked by a strategy; its module is imported when it is wanted."""
    from judgekit.judges.generative import load_asked

    if provider == "openai":
        from judgekit.judges.openai import OpenAIJudge

        return load_asked(OpenAIJudge, model, settings)
    if provider == "hf":
        from judgekit.judges.hf import HFJudge

        return load_asked(HFJudge, model, settings)
    from judgekit.judges.vllm import VLLMJudge

    return load_asked(VLLMJudge, model, settings)


def _trained(kind: Callable[..., Judge], file: str, name: str, candidates: list[Any]) -> Judge:
    """A trained judge from the first folder that holds its file."""
    folders = [Path(candidate) for candidate in candidates]
    for folder in folders:
        if (folder / file).is_file():
            return kind(folder, name=name)
    looked = " and ".join(map(str, folders))
    raise UnknownJudge(f"no judge is called {name!r}: no {file} in {looked}; shipped are {', '.join(shipped())}")
