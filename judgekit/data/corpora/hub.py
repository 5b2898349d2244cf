"""Large preference sets for those with a network: HelpSteer3, UltraFeedback, SHP, Skywork, PandaLM and JudgeLM train.

None is used in the results shipped here. They are read from the Hugging Face hub, or from a local file in its form.

Where the field names come from: the dataset cards of nvidia/HelpSteer3 (preference scores from -3, response 1 much
better, to 3), HuggingFaceH4/ultrafeedback_binarized, stanfordnlp/SHP and Skywork/Skywork-Reward-Preference-80K-v0.2;
PandaLM's README (section "Train data", with an example row); JudgeLM's own preprocessing (question_body,
answer1_body, answer1_model_id, score).
"""

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from judgekit.data import paths
from judgekit.data.loading import Loaded, chat_of, dialogue_fields, turned_pair
from judgekit.data.sources import DataError, Row
from judgekit.records import PreferencePair, label_of_gap

SUFFIXES = {".json": "json", ".jsonl": "json", ".parquet": "parquet"}
STRENGTH = 0.15  # HelpSteer3: probability per step of preference, so that the strongest is 0.95
SCORE_SLOPE = 0.5  # log-odds per point of a score from 1 to 10
MOST_SURE = 0.95  # a ratio of votes says no more than this


@dataclass(frozen=True, slots=True)
class HubCorpus:
    """A corpus on the Hugging Face hub (its ``train`` split), or a file to fetch by hand where ``repo`` is None."""

    repo: str | None  # ``owner/name``
    licence: str  # as its card states it
    description: str  # also where to get the file when there is no repository
    config: str | None = None  # the hub's name for the part that is read
    split: str = "train"


SETS = {
    "helpsteer3": HubCorpus(
        "nvidia/HelpSteer3",
        "CC-BY-4.0",
        "people's preferences with strengths, many tasks and languages",
        config="preference",
    ),
    "ultrafeedback": HubCorpus(
        "HuggingFaceH4/ultrafeedback_binarized",
        "MIT",
        "the best of four models' responses against another, by GPT-4's scores",
        split="train_prefs",
    ),
    "shp": HubCorpus("stanfordnlp/SHP", "Reddit's terms (see the card)", "Reddit answers, by votes"),
    "skywork": HubCorpus(
        "Skywork/Skywork-Reward-Preference-80K-v0.2", "those of its sources", "a curated mixture for reward models"
    ),
    "pandalm_train": HubCorpus(
        None,
        "none stated",
        "gpt-3.5-turbo's comparisons for PandaLM: its README (github.com/WeOpenML/PandaLM) links the file",
    ),
    "judgelm_train": HubCorpus("BAAI/JudgeLM-100K", "CC-BY-NC-4.0", "GPT-4's scores for JudgeLM"),
}


def load_hub_corpus(name: str, revision: str = "main", path: str | Path | None = None) -> Loaded:
    """The pairs of one of `SETS`, from ``path`` where given, and a report."""
    return pairs_from_rows(name, read_corpus_rows(name, revision, path))


def pairs_from_rows(name: str, rows: Iterable[Row]) -> Loaded:
    """Pairs and report of the rows of a set; rows whose two dialogues differ make no pair."""
    pairs = [PAIR_FROM_ROW[name](row) for row in rows]
    kept = [pair for pair in pairs if pair is not None]
    return kept, {"rows": len(pairs), "skipped_different_dialogues": len(pairs) - len(kept)}


# --- reading


def read_corpus_rows(name: str, revision: str = "main", path: str | Path | None = None) -> list[Row]:
    """The rows of a corpus: of a JSON, JSON-lines or Parquet file, else of one in the mirror, else of the hub.

    A branch is resolved to its commit. DataError, which says where the set is to be found, if it cannot be had.
    """
    import datasets

    corpus, file = SETS[name], _local_file(name) if path is None else Path(path)
    options: dict[str, Any] = {"cache_dir": str(paths.data_cache() / "hub" / name)}
    if file is None:
        repo = _checked_repo(name)
        where, what = f"{repo}[{corpus.split}]", [repo, corpus.config]
        options |= {"split": corpus.split, "revision": resolved_commit(repo, revision)}
    else:
        where, what = file.name, [_kind_of(file)]
        options |= {"split": "train", "data_files": str(file)}
    try:
        table = datasets.load_dataset(*what, **options)
    except Exception as error:  # of whichever library failed: to read, to download, to build the table
        raise DataError(f"{name}: cannot be read ({error}); {_remedy(name)}") from error
    return [Row(values, where, number) for number, values in enumerate(table)]


def _local_file(name: str) -> Path | None:
    """A copy in the mirror, ``raw/<name>/<name>`` with one of the known endings."""
    mirror = paths.data_mirror()
    found = [] if mirror is None else [mirror / "raw" / name / f"{name}{suffix}" for suffix in SUFFIXES]
    return next((path for path in found if path.is_file()), None)


def _kind_of(path: Path) -> str:
    """The reader for a local file."""
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    if path.suffix not in SUFFIXES:
        raise DataError(f"{path}: ends with none of {', '.join(SUFFIXES)}")
    return SUFFIXES[path.suffix]


def _checked_repo(name: str) -> str:
    """The repository on the hub, or an error that says where the file is to be had."""
    repo = SETS[name].repo
    if repo is None:
        raise DataError(f"{name}: is not on the hub; {_remedy(name)}")
    return repo


def _remedy(name: str) -> str:
    """What to do about a corpus that cannot be read."""
    first = "" if SETS[name].repo is None else "check the connection, or "
    return (
        f"{first}put it into a data mirror as raw/{name}/{name}.jsonl (or .json, .parquet) "
        f"and set JUDGEKIT_DATA; {SETS[name].description}"
    )


@lru_cache
def resolved_commit(repo: str, revision: str) -> str:
    """The commit that a revision of a hub set stands for, asked once per process; DataError without an answer."""
    import huggingface_hub

    try:
        return str(huggingface_hub.HfApi().dataset_info(repo, revision=revision).sha)
    except Exception as error:  # the network's errors are those of an HTTP library that the hub's may exchange
        raise DataError(f"{repo}: revision {revision!r} could not be looked up ({error})") from error


def hub_provenance(name: str) -> dict[str, str]:
    """The SHA-256 of the local file, or the commit on the hub, under a name that says which."""
    path = _local_file(name)
    if path is not None:
        return {f"{name}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()}
    repo = _checked_repo(name)
    return {f"hub:{repo}": resolved_commit(repo, "main")}


# --- one pair of each set


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _helpsteer3(row: Row) -> PreferencePair:
    """People's single preferences are the votes, and the overall one gives the strength."""
    strength = -_checked_strength(row, row.whole("overall_preference"), "overall_preference")
    single = row.checked_list("individual_preference", dict, "preferences")
    scores = [_checked_strength(row, vote.get("score"), "individual_preference") for vote in single]
    return turned_pair(
        row,
        "helpsteer3",
        **dialogue_fields(chat_of(row, "context", "user")),
        response_a=row.text("response1"),
        response_b=row.text("response2"),
        subset=row.text("domain"),
        label=label_of_gap(strength),
        votes={str(number): label_of_gap(-score) for number, score in enumerate(scores)},
        soft_label=0.5 + STRENGTH * strength,
        label_kind="human",
    )


def _checked_strength(row: Row, value: Any, field: str) -> int:
    """A preference from -3 (response 1 is much better) to 3."""
    if isinstance(value, bool) or not isinstance(value, int) or not -3 <= value <= 3:
        raise row.error(field, f"holds {value!r}, not a whole number from -3 to 3")
    return value


def _chat_pair(row: Row, name: str, **fields: Any) -> PreferencePair | None:
    """One pair of ``chosen`` and ``rejected`` dialogues, the chosen response as A; None where the dialogues differ."""
    chosen, rejected = (chat_of(row, field, "assistant") for field in ("chosen", "rejected"))
    if chosen[:-1] != rejected[:-1]:
        return None
    texts = {"response_a": chosen[-1][1], "response_b": rejected[-1][1], **dialogue_fields(chosen[:-1])}
    return turned_pair(row, name, **texts, **fields)


def _ultrafeedback(row: Row) -> PreferencePair | None:
    """Equal scores are a tie, and the gap of two scores gives the soft label."""
    gap = row.number_of("score_chosen") - row.number_of("score_rejected")
    fields = {"label": label_of_gap(gap), "soft_label": _sigmoid(SCORE_SLOPE * gap), "label_kind": "gpt-4"}
    return _chat_pair(row, "ultrafeedback", **fields)


def _skywork(row: Row) -> PreferencePair | None:
    """Labelled by its sources: models mostly, people in part."""
    return _chat_pair(row, "skywork", subset=row.text("source"), label="A", label_kind="model")


def _shp(row: Row) -> PreferencePair:
    """The share of votes, where the later comment got more, gives the soft label."""
    better = row.code("labels", {1: "A", 0: "B"})
    ratio = row.number_of("score_ratio")
    if ratio < 1:
        raise row.error("score_ratio", f"is {ratio}, below 1")
    sure = min(ratio / (1 + ratio), MOST_SURE)
    return turned_pair(
        row,
        "shp",
        *(row.text("history"), row.text("human_ref_A"), row.text("human_ref_B")),
        item_id=f"{row.text('post_id')}:{row.text('c_root_id_A')}-{row.text('c_root_id_B')}",
        subset=row.text("domain"),
        cluster_id=row.text("post_id"),
        label=better,
        soft_label=sure if better == "A" else 1 - sure,
        label_kind="human",
    )


def _pandalm(row: Row) -> PreferencePair:
    """Labelled by gpt-3.5-turbo."""
    inputs, outputs = row.inner("inputs"), row.inner("outputs")
    return turned_pair(
        row,
        "pandalm_train",
        *(inputs.joined("instruction", "input"), inputs.text("response1"), inputs.text("response2")),
        reference=outputs.text("reference_response"),
        label=outputs.code("evaluation_result", {"1": "A", "2": "B", "Tie": "tie"}),
        label_kind="model",
    )


def _judgelm(row: Row) -> PreferencePair:
    """Scored from 1 to 10 by GPT-4."""
    first, second = row.checked_list("score", (int, float), "scores", n=2)
    return turned_pair(
        row,
        "judgelm_train",
        *(row.text("question_body"), row.text("answer1_body"), row.text("answer2_body")),
        model_a=row.text("answer1_model_id"),
        model_b=row.text("answer2_model_id"),
        label=label_of_gap(first - second),
        soft_label=_sigmoid(SCORE_SLOPE * (first - second)),
        label_kind="gpt-4",
    )


PAIR_FROM_ROW = {
    "helpsteer3": _helpsteer3,
    "ultrafeedback": _ultrafeedback,
    "shp": _shp,
    "skywork": _skywork,
    "pandalm_train": _pandalm,
    "judgelm_train": _judgelm,
}
