"""Large preference sets for those with a network: HelpSteer3, UltraFeedback, SHP, Skywork, PandaLM and JudgeLM train.

None is used in the results shipped here. They are read from the Hugging Face hub, or from a local file in its form.

Where the field names come from: the dataset cards of nvidia/HelpSteer3 (preference scores from -3, response 1 much
better, to 3), HuggingFaceH4/ultrafeedback_binarized, stanfordnlp/SHP and Skywork/Skywork-Reward-Preference-80K-v0.2;
PandaLM's README (section "Train data", with an example row); JudgeLM's own preprocessing (question_body,
answer1_body, answer1_model_id, score).
"""

import hashlib
import math
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from judgekit.data import paths
from judgekit.data.loading import DataSet, Loaded, chat_of, coded, dialogue_fields, each, pairs, turned_pair
from judgekit.data.sources import DataError, Row
from judgekit.records import PreferencePair, label_of_gap

SUFFIXES = {".json": "json", ".jsonl": "json", ".parquet": "parquet"}
STRENGTH = 0.15  # HelpSteer3: probability per step of preference, so that the strongest is 0.95
SCORE_SLOPE = 0.5  # log-odds per point of a score from 1 to 10
MOST_SURE = 0.95  # a ratio of votes says no more than this
SKIPPED = "skipped_different_dialogues"
Pairs = Iterator[PreferencePair | str]


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _helpsteer3(row: Row) -> Pairs:
    """People's single preferences are the votes, and the overall one gives the strength."""
    strength = -_checked_strength(row, row.whole("overall_preference"), "overall_preference")
    single = row.checked_list("individual_preference", dict, "preferences")
    scores = [_checked_strength(row, vote.get("score"), "individual_preference") for vote in single]
    texts = {"response_a": row.text("response1"), "response_b": row.text("response2")}
    yield turned_pair(
        row,
        "helpsteer3",
        **dialogue_fields(chat_of(row, "context", "user")) | texts,
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


def _chats(row: Row, name: str, fields: Callable[[Row], dict[str, Any]]) -> Pairs:
    """One pair of ``chosen`` and ``rejected`` dialogues, the chosen response as A; none where the dialogues differ."""
    chosen, rejected = (chat_of(row, field, "assistant") for field in ("chosen", "rejected"))
    if chosen[:-1] != rejected[:-1]:
        yield SKIPPED
    else:
        texts = {"response_a": chosen[-1][1], "response_b": rejected[-1][1], **dialogue_fields(chosen[:-1])}
        yield turned_pair(row, name, **texts, **fields(row))


def _score_fields(gap: float) -> dict[str, Any]:
    """Equal scores are a tie, and the gap of two scores gives the soft label."""
    return {"label": label_of_gap(gap), "soft_label": _sigmoid(SCORE_SLOPE * gap), "label_kind": "gpt-4"}


def _ultrafeedback(row: Row) -> dict[str, Any]:
    return _score_fields(row.number_of("score_chosen") - row.number_of("score_rejected"))


def _skywork(row: Row) -> dict[str, Any]:
    """Labelled by its sources: models mostly, people in part."""
    return {"subset": row.text("source"), "label": "A", "label_kind": "model"}


def _share_of_votes(row: Row) -> float:
    """Where the later comment got more votes, their share gives the soft label."""
    ratio = row.number_of("score_ratio")
    if ratio < 1:
        raise row.error("score_ratio", f"is {ratio}, below 1")
    sure = min(ratio / (1 + ratio), MOST_SURE)
    return sure if row.code("labels", {1: True, 0: False}) else 1 - sure


_shp = pairs(
    "shp",
    ("history", "human_ref_A", "human_ref_B"),
    kind="human",
    label=coded("labels", {1: "A", 0: "B"}),
    item_id=lambda row: f"{row.text('post_id')}:{row.text('c_root_id_A')}-{row.text('c_root_id_B')}",
    subset="domain",
    cluster_id="post_id",
    soft_label=_share_of_votes,
)


def _pandalm(row: Row) -> Pairs:
    """Labelled by gpt-3.5-turbo."""
    inputs, outputs = row.inner("inputs"), row.inner("outputs")
    texts = (inputs.joined("instruction", "input"), inputs.text("response1"), inputs.text("response2"))
    label = outputs.code("evaluation_result", {"1": "A", "2": "B", "Tie": "tie"})
    fields = {"reference": outputs.text("reference_response"), "label": label, "label_kind": "model"}
    yield turned_pair(row, "pandalm_train", *texts, **fields)


def _judgelm(row: Row) -> Pairs:
    """Scored from 1 to 10 by GPT-4."""
    first, second = row.checked_list("score", (int, float), "scores", n=2)
    texts = [row.text(field) for field in ("question_body", "answer1_body", "answer2_body")]
    models = {"model_a": row.text("answer1_model_id"), "model_b": row.text("answer2_model_id")}
    yield turned_pair(row, "judgelm_train", *texts, **models, **_score_fields(first - second))


class HubCorpus(NamedTuple):
    """A corpus on the Hugging Face hub, or a file to fetch by hand where ``repo`` is None."""

    repo: str | None  # ``owner/name``
    licence: str  # as its card states it
    description: str  # also where to get the file when there is no repository
    build: Callable[[list[Row]], Loaded]
    config: str | None = None  # the hub's name for the part that is read
    split: str = "train"


CORPORA = {
    "helpsteer3": HubCorpus(
        "nvidia/HelpSteer3",
        "CC-BY-4.0",
        "people's preferences with strengths, many tasks and languages",
        each(_helpsteer3),
        config="preference",
    ),
    "ultrafeedback": HubCorpus(
        "HuggingFaceH4/ultrafeedback_binarized",
        "MIT",
        "the best of four models' responses against another, by GPT-4's scores",
        each(partial(_chats, name="ultrafeedback", fields=_ultrafeedback), SKIPPED),
        split="train_prefs",
    ),
    "shp": HubCorpus("stanfordnlp/SHP", "Reddit's terms (see the card)", "Reddit answers, by votes", _shp),
    "skywork": HubCorpus(
        "Skywork/Skywork-Reward-Preference-80K-v0.2",
        "those of its sources",
        "a curated mixture for reward models",
        each(partial(_chats, name="skywork", fields=_skywork), SKIPPED),
    ),
    "pandalm_train": HubCorpus(
        None,
        "none stated",
        "gpt-3.5-turbo's comparisons for PandaLM: its README (github.com/WeOpenML/PandaLM) links the file",
        each(_pandalm),
    ),
    "judgelm_train": HubCorpus("BAAI/JudgeLM-100K", "CC-BY-NC-4.0", "GPT-4's scores for JudgeLM", each(_judgelm)),
}


def read_corpus_rows(name: str) -> list[Row]:
    """The rows of a corpus: of a JSON, JSON-lines or Parquet file in the mirror, else of the hub at its last commit.

    DataError, which says where the set is to be found, if it cannot be had.
    """
    import datasets

    corpus, file = CORPORA[name], _local_file(name)
    options: dict[str, Any] = {"cache_dir": str(paths.data_cache() / "hub" / name), "split": corpus.split}
    what = (corpus.repo, corpus.config)
    if file is not None:
        what, options = (SUFFIXES[file.suffix], None), options | {"split": "train", "data_files": str(file)}
    else:
        options["revision"] = resolved_commit(_repo_of(name))
    try:
        table = datasets.load_dataset(*what, **options)
    except Exception as error:  # of whichever library failed: to read, to download, to build the table
        raise DataError(f"{name}: cannot be read ({error}); {_remedy(name)}") from error
    where = f"{corpus.repo}[{corpus.split}]" if file is None else file.name
    return [Row(values, where, number) for number, values in enumerate(table)]


def _local_file(name: str) -> Path | None:
    """A copy in the mirror, ``raw/<name>/<name>`` with one of the known endings."""
    mirror = paths.data_mirror()
    found = [] if mirror is None else [mirror / "raw" / name / f"{name}{suffix}" for suffix in SUFFIXES]
    return next((path for path in found if path.is_file()), None)


def _repo_of(name: str) -> str:
    """The repository on the hub, or an error that says where the file is to be had."""
    repo = CORPORA[name].repo
    if repo is None:
        raise DataError(f"{name}: is not on the hub; {_remedy(name)}")
    return repo


def _remedy(name: str) -> str:
    """What to do about a corpus that cannot be read."""
    first = "" if CORPORA[name].repo is None else "check the connection, or "
    file = f"raw/{name}/{name}.jsonl (or .json, .parquet)"
    return f"{first}put it into a data mirror as {file} and set JUDGEKIT_DATA; {CORPORA[name].description}"


@lru_cache
def resolved_commit(repo: str) -> str:
    """The last commit of a hub set, asked once per process; DataError without an answer."""
    import huggingface_hub

    try:
        return str(huggingface_hub.HfApi().dataset_info(repo, revision="main").sha)
    except Exception as error:  # the network's errors are those of an HTTP library that the hub's may exchange
        raise DataError(f"{repo}: its last commit could not be looked up ({error})") from error


def hub_provenance(name: str) -> dict[str, str]:
    """The SHA-256 of the local file, or the commit on the hub, under a name that says which."""
    path = _local_file(name)
    if path is not None:
        return {f"{name}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()}
    return {f"hub:{_repo_of(name)}": resolved_commit(_repo_of(name))}


def _load(name: str) -> Loaded:
    return CORPORA[name].build(read_corpus_rows(name))


SETS = {
    name: DataSet(partial(_load, name), partial(hub_provenance, name), corpus.build) for name, corpus in CORPORA.items()
}
