"""Sets that are read from the Hugging Face hub: pinned by commit and SHA-256 like every other file."""

import os
from dataclasses import dataclass

from judgekit.data import paths
from judgekit.data.sources.fetching import retrieve
from judgekit.data.sources.registry import DataError
from judgekit.data.sources.rows import Row


@dataclass(frozen=True, slots=True)
class HubSplit:
    """One split of a hub set: a Parquet file inside the set's repository, its SHA-256 and its number of rows."""

    file: str
    sha256: str
    rows: int


@dataclass(frozen=True, slots=True)
class HubSet:
    """A set on the Hugging Face hub; ``name`` is ``owner/name``, ``revision`` a full commit hash."""

    name: str
    revision: str
    bytes: int  # of all its files together
    splits: dict[str, HubSplit]
    licence: str
    description: str

    def url(self, split: str) -> str:
        """Where a split's file is downloaded from; ``HF_ENDPOINT`` replaces the host, as in the hub's own library."""
        import huggingface_hub

        endpoint = os.environ.get("HF_ENDPOINT", "").strip() or "https://huggingface.co"
        options = {"repo_type": "dataset", "revision": self.revision, "endpoint": endpoint.rstrip("/")}
        return huggingface_hub.hf_hub_url(self.name, self.splits[split].file, **options)


HUB_SETS = {
    "mt_bench_human_judgments": HubSet(
        name="lmsys/mt_bench_human_judgments",
        revision="f7d2896d2cc5d80f8b55c2bbc722613555233c25",
        bytes=1388888,
        splits={
            "human": HubSplit(
                "data/human-00000-of-00001-25f4910818759289.parquet",
                "4877bc46a40929f4082c3e79593700fb897b1d6c7f4c473032694a01322f5769",
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


def read_hub_rows(hub_set: HubSet, split: str, progress: bool = True) -> list[Row]:
    """The rows of one split of a hub set, from a verified copy; DataError if it cannot be had or is not as pinned."""
    import pyarrow.parquet

    pinned = hub_set.splits[split]
    name = f"{hub_set.name}[{split}]"
    path = paths.data_cache() / "hub" / hub_set.name / pinned.file.rsplit("/", 1)[-1]
    retrieve(name, hub_set.url(split), pinned.sha256, hub_set.bytes, path, progress)
    table = pyarrow.parquet.read_table(path)
    if len(table) != pinned.rows:
        raise DataError(f"{name}: {path} has {len(table)} rows, not {pinned.rows}; delete it and fetch it again")
    return [Row(values, name, number) for number, values in enumerate(table.to_pylist())]
