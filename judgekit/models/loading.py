"""The one loader of weights: safetensors alone, no code of the model's own, and never a weight that no file gave."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from judgekit.models import Unavailable

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
def quiet_transformers() -> Iterator[None]:
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
    new: tuple[str, ...] = (),
    **options: Any,
) -> Any:
    """A model of one of transformers' ``Auto`` classes, with the adapter merged into it or, without ``merge``, on it.

    ``new``: parameters that may be missing because training starts them (the head of a reward model). ``options`` are
    ``from_pretrained``'s. Unavailable where a weight of the model or of the adapter is in no file, or where a reward
    model is to be read as a causal one: both would leave weights random, and verdicts with them.
    """
    own = set() if adapter is None else _adapter_tensors(Path(adapter) / ADAPTER_WEIGHTS)
    fixed = {"use_safetensors": True, "trust_remote_code": False, "output_loading_info": True}
    try:
        with quiet_transformers():
            model, report = kind.from_pretrained(location, revision=revision, **fixed, **options)
    except (RuntimeError, SafetensorError) as damaged:  # tensors of another shape; a file that was cut off
        raise Unavailable(f"{location} cannot be loaded: {' '.join(str(damaged).split())[:300]}") from None
    names = ("model.safetensors", "model.safetensors.index.json")  # a name on the hub stays as it is
    file = next((path for name in names if (path := Path(location) / name).is_file()), location)
    missing, unused = report["missing_keys"], report["unexpected_keys"]
    made_for = (model.config.architectures or [""])[0]
    of_reward = made_for.endswith("ForSequenceClassification") or "score.weight" in unused
    if of_reward and kind.__name__ == "AutoModelForCausalLM":
        raise Unavailable(f"{file}: a reward model ({made_for}), not a causal language model")
    in_adapter = {name for name in missing if any(tensor.endswith(f".{name}") for tensor in own)}
    _refuse(file, {name for name in missing - in_adapter - set(new) if not name.startswith(_UNREAD)}, unused)
    if adapter is None:
        return model
    from peft import PeftModel, get_peft_model_state_dict

    with quiet_peft():
        model = PeftModel.from_pretrained(model, adapter)
    wanted = set(get_peft_model_state_dict(model, save_embedding_layers=False))
    _refuse(Path(adapter) / ADAPTER_WEIGHTS, wanted - own, own - wanted)
    return model.merge_and_unload() if merge else model


def _adapter_tensors(path: Path) -> set[str]:
    if not path.is_file():
        raise Unavailable(f"{path.parent}: {path.name} is missing")
    with safe_open(path, framework="pt") as file:
        return set(file.keys())


def _refuse(file: Path | str, missing: set[str], unused: set[str]) -> None:
    if missing:
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        instead = f"; it has {min(unused)}, which the model does not know" if unused else ""
        raise Unavailable(f"{file}: weights are missing: {', '.join(sorted(missing)[:_SHOWN])}{more}{instead}")
