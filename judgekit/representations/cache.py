"""What was read of a text, on disk: one small safetensors file per text and quantity, named by its content."""

import hashlib
import warnings
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from judgekit.fingerprints import fingerprint_of
from judgekit.results.files import replaced

VERSION = 1  # of what a quantity means: raise it when the same text would give other numbers
TENSOR = "states"


def digest(array):
    """SHA-256 of an array's bytes; a safetensors file has no checksum of its own."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


class StateCache:
    """Arrays on disk, looked up by the model, the text and the quantity.

    A file takes its name only when it is complete, so an interrupted run leaves none that is half written, and two
    processes may fill one folder. A file that cannot be read, that was changed, or that belongs to another key is
    reported with a warning and counts as absent: what it held is computed and written again.

    Parameters
    ----------
    folder : path
        Made if absent. A file grows with layers times width: 10 kB for MiniLM and one pooling.

    Raises
    ------
    NotADirectoryError
        If there is a file of that name.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(f"{self.folder} is a file: hidden states are cached in a folder")

    def key(self, fingerprint, text, quantity, limit, bf16):
        """Content key of a quantity: SHA-256 over all that its value depends on.

        Parameters
        ----------
        fingerprint : str
            Of the model and its tokenizer.
        text, quantity : str
        limit : int
            Tokens read at most.
        bf16 : bool
        """
        read = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return fingerprint_of(VERSION, fingerprint, read, quantity, limit, bf16)

    def path(self, key):
        """Where the file of a key is, or would be."""
        return self.folder / key[:2] / f"{key}.safetensors"

    def get(self, key):
        """The array of a key, or None."""
        path = self.path(key)
        if not path.is_file():
            return None
        try:
            with safe_open(path, framework="numpy") as file:
                about = file.metadata() or {}
                array = file.get_tensor(TENSOR)
        except (SafetensorError, OSError) as broken:
            return self.distrust(path, f"cannot be read ({broken})")
        if about.get("key") != key:
            return self.distrust(path, "belongs to another key")
        if about.get("sha256") != digest(array):
            return self.distrust(path, "was changed after it was written")
        return array

    def distrust(self, path, reason):
        """Say why a file is not used."""
        warnings.warn(f"{path} {reason}: it is computed again", stacklevel=4)

    def put(self, key, array):
        """Keep an array under a key."""
        path = self.path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        array = np.ascontiguousarray(array)
        with replaced(path) as temporary:
            save_file({TENSOR: array}, temporary, metadata={"key": key, "sha256": digest(array)})
