"""Sets that are read from the Hugging Face hub: pinned by commit and SHA-256 like every other file."""

import os
from dataclasses import dataclass

from judgekit import paths
from judgekit.sources.errors import DataError
from judgekit.sources.fetching import is_pinned_content, retrieve
from judgekit.sources.rows import Row

HUB = "https://huggingface.co"


@dataclass(frozen=True, slots=True)
class HubSplit:
    """One split of a hub set: a parquet file.

    Attributes
    ----------
    file : str
        Path inside the set's repository.
    sha256 : str
        Of the file, lower-case hexadecimal.
    rows : int
        Rows it holds.
    """

    file: str
    sha256: str
    rows: int


@dataclass(frozen=True, slots=True)
class HubSet:
    """A set on the Hugging Face hub.

    Attributes
    ----------
    name : str
        ``owner/name`` on the hub.
    revision : str
        Full commit hash.
    bytes : int
        Size of all its files together.
    splits : dict of str to HubSplit
    licence, description : str
    """

    name: str
    revision: str
    bytes: int
    splits: dict[str, HubSplit]
    licence: str
    description: str

    def url(self, split):
        """Where a split's file is downloaded from; ``HF_ENDPOINT`` replaces the host, as in the hub's own library."""
        endpoint = os.environ.get("HF_ENDPOINT", "").strip() or HUB
        return f"{endpoint.rstrip('/')}/datasets/{self.name}/resolve/{self.revision}/{self.splits[split].file}"


HUB_SETS = {
    "mt_bench_human_judgments": HubSet(
        name="lmsys/mt_bench_human_judgments",
        revision="f7d2896d2cc5d80f8b55c2bbc722613555233c25",
        bytes=1388888,
        splits={
            "human": HubSplit(
                "data/human-00000-of-00001-25f4910818759289.parquet",
                "4877bc46a40929f4082c3c79593700fb897b1d6c7f4c473032694a01322f5769",
                3355,
            ),
            "gpt4_pair": HubSplit(
                "data/gpt4_pair-00000-of-00001-c0b431264a82ddc0.parquet",
                "57068327ffb5f8fddb15fedbbfe40b26fe862da2326331e5cf64a42320a00e71",
                2400,
            ),
        },
        licence="CC-BY-4.0",
        description="MT-bench: all human votes and GPT-4's votes, with both conversations",
    )
}


def read_hub_rows(hub_set, split, progress=True):
    """The rows of one split of a hub set, from a verified copy that is downloaded first where need be.

    Parameters
    ----------
    hub_set : HubSet
    split : str
        A key of ``hub_set.splits``.
    progress : bool, default True
        Show a progress bar (on stderr) while downloading.

    Returns
    -------
    list of Row

    Raises
    ------
    DataError
        If the file cannot be had, is not the pinned content, or holds another number of rows than it should. A
        partial download is never left under the file's name.
    """
    import datasets

    pinned = hub_set.splits[split]
    name = f"{hub_set.name}[{split}]"
    folder = paths.data_cache() / "hub" / hub_set.name
    path = folder / pinned.file.rsplit("/", 1)[-1]
    if not (path.is_file() and is_pinned_content(path, pinned.sha256)):
        retrieve(name, hub_set.url(split), pinned.sha256, path, progress)
    # The table is memory-mapped from below the same folder, so that nothing is written outside the project's cache.
    table = datasets.Dataset.from_parquet(str(path), cache_dir=str(folder / "tables"))
    if len(table) != pinned.rows:
        raise DataError(f"{name}: {path} has {len(table)} rows, not {pinned.rows}; delete it and fetch it again")
    return [Row(values, name, number) for number, values in enumerate(table)]
