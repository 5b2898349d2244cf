"""Judges by name: ``provider/model``."""

from pathlib import Path

from judgekit.judges.base import Judge, Request, request_key, request_of, verdict_of
from judgekit.judges.baseline import RULES, MajorityClass, RuleJudge
from judgekit.paths import PRETRAINED

__all__ = ["Judge", "Request", "UnknownJudge", "load_judge", "request_key", "request_of", "verdict_of"]


ASKED = ("openai", "hf", "vllm", "layers")  # providers of models that are asked by a strategy, with settings


class UnknownJudge(ValueError):
    """The name says no judge that is here; the message lists those that are."""


def shipped():
    """Names of the judges that need nothing but the installed package."""
    encoders = sorted(path.parent.name for path in PRETRAINED.glob("*/judge.json"))
    rules = [*RULES, "features", "majority_class"]
    probes = sorted(path.parent.name for path in PRETRAINED.glob("probes/*/ties.json"))
    return (
        [f"encoder/{name}" for name in encoders]
        + [f"probe/{name}" for name in probes]
        + [f"baseline/{rule}" for rule in rules]
    )


def load_judge(name, folder=None, label=None, settings=None):
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
    settings : dict of str to object, optional
        For ``openai/<model>``, ``hf/<model>``, ``vllm/<model>`` and ``layers/<model>``: fields of the ``Settings`` of
        the module.

    Returns
    -------
    Judge

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
        return load_encoder(name, model, folder)
    if provider == "probe" and model:
        return load_probe_judge(name, model, folder)
    if provider == "own":
        from judgekit.judges.own import load_own

        try:
            return load_own(model)
        except (LookupError, TypeError) as unknown:
            raise UnknownJudge(str(unknown)) from None
    if provider == "replay":
        from judgekit.judges.replay import load_replay

        return load_replay(name)
    if provider == "openai":
        from judgekit.judges.openai import load_openai

        return load_openai(model, settings)
    if provider == "hf":
        from judgekit.judges.hf import load_hf

        return load_hf(model, settings)
    if provider == "vllm":
        from judgekit.judges.vllm import load_vllm

        return load_vllm(model, settings)
    if provider == "layers":
        from judgekit.judges.layered import load_layered

        return load_layered(model, settings)
    models = "hf/<model>, vllm/<model>, layers/<model> and openai/<model>"
    known = f"{', '.join(shipped())}, encoder/<folder>, probe/<folder>, {models}, own/<registered>"
    raise UnknownJudge(f"no judge is called {name!r}; there are {known}")


def load_encoder(name, model, folder):
    """An encoder judge from the given folder, the shipped ones, or a path in its name."""
    candidates = [Path(folder)] if folder else [PRETRAINED / model, Path(model)]
    for candidate in candidates:
        if (candidate / "judge.json").is_file():
            from judgekit.judges.encoder import EncoderJudge

            return EncoderJudge(candidate, name=name)
    looked = " and ".join(str(candidate) for candidate in candidates)
    raise UnknownJudge(f"no judge is called {name!r}: no judge.json in {looked}; shipped are {', '.join(shipped())}")


def load_probe_judge(name, model, folder):
    """A probe judge from the given folder, the shipped ones, or a path in its name."""
    candidates = [Path(folder)] if folder else [PRETRAINED / "probes" / model, Path(model)]
    for candidate in candidates:
        if (candidate / "ties.json").is_file():
            from judgekit.judges.probe import ProbeJudge

            return ProbeJudge(candidate, name=name)
    looked = " and ".join(str(candidate) for candidate in candidates)
    raise UnknownJudge(f"no judge is called {name!r}: no ties.json in {looked}; shipped are {', '.join(shipped())}")
