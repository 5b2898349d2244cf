"""The one loader of weights: safetensors alone, no code of the model's own, and never a weight that no file gave."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from judgekit.models.errors import Unavailable

ADAPTER_WEIGHTS = "adapter_model.safetensors"
_UNREAD = "pooler."  # BERT's head for sentence pairs, which many files leave out: states and embeddings do not pass it
_SHOWN = 3


@contextmanager
def quiet_peft() -> Iterator[None]:
    """Hide one warning: PEFT still reads an attribute that transformers is about to rename."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is_gradient_checkpointing.*", category=FutureWarning)
        yield


@contextmanager
def _quiet_transformers() -> Iterator[None]:
    from transformers.utils import logging

    logging.disable_progress_bar()  # a judge has a bar of its own
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()  # its table of missing weights: what it lists is refused below
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)


def load_network(
    kind: Any,
    location: str | Path,
    revision: str | None = None,
    adapter: str | Path | None = None,
    *,
    merge: bool = True,
    trainable: bool = False,
    new: tuple[str, ...] = (),
    **options: Any,
) -> Any:
    """A model of one of transformers' ``Auto`` classes, with the adapter merged into it or, without ``merge``, on it.

    ``new``: parameters that may be missing because training starts them (the head of a reward model). ``options`` are
    ``from_pretrained``'s. Unavailable where a weight of the model or of the adapter is in no file, or where a reward
    model is to be read as a causal one: both would leave weights random, and verdicts with them.
    """
    own = _adapter_tensors(adapter) if adapter is not None else set()
    fixed = {"use_safetensors": True, "trust_remote_code": False, "output_loading_info": True}
    try:
        with _quiet_transformers():
            model, report = kind.from_pretrained(location, revision=revision, **fixed, **options)
    except (RuntimeError, SafetensorError) as damaged:  # tensors of another shape; a file that was cut off
        raise Unavailable(f"{location} cannot be loaded: {' '.join(str(damaged).split())[:300]}") from None
    missing = {name for name in report["missing_keys"] if not any(tensor.endswith(f".{name}") for tensor in own)}
    unused = report["unexpected_keys"]
    made_for = (model.config.architectures or [""])[0]
    of_reward = made_for.endswith("ForSequenceClassification") or "score.weight" in unused
    if of_reward and kind.__name__ == "AutoModelForCausalLM":
        raise Unavailable(f"{_weights_file(location)}: a reward model ({made_for}), not a causal language model")
    _refuse(_weights_file(location), {n for n in missing - set(new) if not n.startswith(_UNREAD)}, unused)
    if adapter is None:
        return model
    from peft import PeftModel, get_peft_model_state_dict

    with quiet_peft():
        model = PeftModel.from_pretrained(model, adapter, is_trainable=trainable)
    wanted = set(get_peft_model_state_dict(model, save_embedding_layers=False))
    _refuse(Path(adapter) / ADAPTER_WEIGHTS, wanted - own, own - wanted)
    return model.merge_and_unload() if merge else model


def _adapter_tensors(folder: str | Path) -> set[str]:
    path = Path(folder) / ADAPTER_WEIGHTS
    if not path.is_file():
        raise Unavailable(f"{folder}: {ADAPTER_WEIGHTS} is missing")
    with safe_open(path, framework="pt") as file:
        return set(file.keys())


def _weights_file(location: str | Path) -> Path | str:
    """The file that holds a folder's weights, or lists those that do; a name on the hub stays as it is."""
    names = ("model.safetensors", "model.safetensors.index.json")
    return next((path for name in names if (path := Path(location) / name).is_file()), location)


def _refuse(file: Path | str, missing: Iterable[str], unused: Iterable[str]) -> None:
    if missing := sorted(missing):
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        instead = f"; it has {min(unused)}, which the model does not know" if unused else ""
        raise Unavailable(f"{file}: weights are missing: {', '.join(missing[:_SHOWN])}{more}{instead}")
