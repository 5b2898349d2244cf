"""Sets that are read from the Hugging Face hub rather than as pinned files."""

from dataclasses import dataclass

from judgekit.sources.errors import DataError
from judgekit.sources.rows import Row


@dataclass(frozen=True, slots=True)
class HubSet:
    """A set on the Hugging Face hub.

    Attributes
    ----------
    name : str
        ``owner/name`` on the hub.
    revision : str or None
        Commit to load; None where no full commit hash is known to us, and then the row counts are the check.
    rows : dict of str to int
        Rows of each split, checked on loading.
    licence, description : str
    """

    name: str
    revision: str | None
    rows: dict[str, int]
    licence: str
    description: str

    @property
    def url(self):
        """The set's page."""
        return f"https://huggingface.co/datasets/{self.name}"


HUB_SETS = {
    "mt_bench_human_judgments": HubSet(
        name="lmsys/mt_bench_human_judgments",
        # The set's page shows its last change as commit f7d2896. The hub takes full hashes only, and the full one
        # is not known to us, so the row counts below guard against another version.
        revision=None,
        rows={"human": 3355, "gpt4_pair": 2400},
        licence="CC-BY-4.0",
        description="MT-bench: all human votes and GPT-4's votes, with both conversations",
    )
}


def read_hub_rows(hub_set, split):
    """The rows of one split of a hub set, after checking their number.

    Raises
    ------
    DataError
        If the set cannot be loaded, or has another number of rows than the version we know.
    """
    import datasets

    name = f"{hub_set.name}[{split}]"
    try:
        loaded = datasets.load_dataset(hub_set.name, split=split, revision=hub_set.revision)
    except Exception as error:  # the library raises many kinds: no network, no such split, a damaged cache
        raise DataError(
            f"{name}: could not be loaded from {hub_set.url} ({error}); check the connection and try again, "
            "or set JUDGEKIT_DATA to a data mirror"
        ) from error
    if len(loaded) != hub_set.rows[split]:
        raise DataError(
            f"{name}: has {len(loaded)} rows, not the {hub_set.rows[split]} of the version that this loader knows; "
            "pin that version's commit in judgekit/sources/hub.py, or set JUDGEKIT_DATA to a data mirror"
        )
    return [Row(values, name, number) for number, values in enumerate(loaded)]
