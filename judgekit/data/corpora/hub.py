"""Large preference sets for those with a network: HelpSteer3, UltraFeedback, SHP, Skywork, PandaLM and JudgeLM train.

None is used in the results shipped here. Each function takes rows, so that it is tested on authored rows.

Notes
-----
Where the field names come from: the dataset cards of nvidia/HelpSteer3 (preference scores from -3, response 1 much
better, to 3), HuggingFaceH4/ultrafeedback_binarized, stanfordnlp/SHP and Skywork/Skywork-Reward-Preference-80K-v0.2;
PandaLM's README (section "Train data", with an example row); JudgeLM's own preprocessing (question_body,
answer1_body, answer1_model_id, score).
"""

import math

from judgekit.data.corpora.dialogues import chat_of, dialogue_fields
from judgekit.data.corpora.hub_rows import HubCorpus, corpus_provenance, read_corpus_rows
from judgekit.data.corpora.sides import place
from judgekit.data.sources import text_key
from judgekit.records import PreferencePair, label_of_gap

SETS = {
    corpus.name: corpus
    for corpus in (
        HubCorpus(
            *("helpsteer3", "nvidia/HelpSteer3", "preference", "train", "CC-BY-4.0"),
            "people's preferences with strengths, many tasks and languages",
        ),
        HubCorpus(
            *("ultrafeedback", "HuggingFaceH4/ultrafeedback_binarized", None, "train_prefs", "MIT"),
            "the best of four models' responses against another, by GPT-4's scores",
        ),
        HubCorpus(
            *("shp", "stanfordnlp/SHP", None, "train", "Reddit's terms (see the card)"),
            "Reddit answers, by votes",
        ),
        HubCorpus(
            *("skywork", "Skywork/Skywork-Reward-Preference-80K-v0.2", None, "train", "those of its sources"),
            "a curated mixture for reward models",
        ),
        HubCorpus(
            *("pandalm_train", None, None, "train", "none stated"),
            "gpt-3.5-turbo's comparisons for PandaLM: its README (github.com/WeOpenML/PandaLM) links the file",
        ),
        HubCorpus(
            *("judgelm_train", "BAAI/JudgeLM-100K", None, "train", "CC-BY-NC-4.0"),
            "GPT-4's scores for JudgeLM",
        ),
    )
}
STRENGTH = 0.15  # HelpSteer3: probability per step of preference, so that the strongest is 0.95
SCORE_SLOPE = 0.5  # log-odds per point of a score from 1 to 10
MOST_SURE = 0.95  # a ratio of votes says no more than this
PANDALM_CODES = {"1": "A", "2": "B", "Tie": "tie"}


def load_hub_corpus(name, revision=None, path=None):
    """The pairs of a hub set, and a report.

    Parameters
    ----------
    name : str
        A key of `SETS`.
    revision, path : str, optional
        See `judgekit.data.corpora.hub_rows.read_corpus_rows`.

    Raises
    ------
    DataError
        If the set cannot be had, a field is missing or of another type, or a code is unknown.
    """
    return pairs_from_rows(name, read_corpus_rows(SETS[name], revision, path))


def pairs_from_rows(name, rows):
    """Pairs and report of the rows of a set; rows whose two dialogues differ make no pair."""
    pairs = [PAIR_FROM_ROW[name](row) for row in rows]
    kept = [place(pair) for pair in pairs if pair is not None]
    return kept, {"rows": len(rows), "skipped_different_dialogues": len(rows) - len(kept)}


def hub_provenance(name):
    """Where a hub set was read from, with its commit or hash."""
    return corpus_provenance(SETS[name])


def sigmoid(x):
    """The logistic function."""
    return 1 / (1 + math.exp(-x))


def helpsteer3_pair(row):
    """One pair of HelpSteer3: people's single preferences are the votes, and the overall one gives the strength."""
    strength = -checked_strength(row, row.whole("overall_preference"), "overall_preference")
    single = row.checked_list("individual_preference", dict, "preferences")
    scores = [checked_strength(row, vote.get("score"), "individual_preference") for vote in single]
    return PreferencePair(
        item_id=str(row.number),
        benchmark="helpsteer3",
        **dialogue_fields(chat_of(row, "context", "user")),
        response_a=row.text("response1"),
        response_b=row.text("response2"),
        subset=row.text("domain"),
        label=label_of_gap(strength),
        votes={str(number): label_of_gap(-score) for number, score in enumerate(scores)},
        soft_label=0.5 + STRENGTH * strength,
        label_kind="human",
        source=row.where,
    )


def checked_strength(row, value, field):
    """A preference from -3 (response 1 is much better) to 3."""
    if isinstance(value, bool) or not isinstance(value, int) or not -3 <= value <= 3:
        raise row.error(field, f"holds {value!r}, not a whole number from -3 to 3")
    return value


def chat_pair(row, name, **fields):
    """One pair of ``chosen`` and ``rejected`` dialogues, the chosen response as A; None where the dialogues differ."""
    chosen, rejected = (chat_of(row, field, "assistant") for field in ("chosen", "rejected"))
    if chosen[:-1] != rejected[:-1]:
        return None
    return PreferencePair(
        item_id=str(row.number),
        benchmark=name,
        **dialogue_fields(chosen[:-1]),
        response_a=chosen[-1][1],
        response_b=rejected[-1][1],
        source=row.where,
        **fields,
    )


def ultrafeedback_pair(row):
    """One pair of UltraFeedback; equal scores are a tie, and the gap of two scores gives the soft label."""
    gap = row.number_of("score_chosen") - row.number_of("score_rejected")
    fields = {"label": label_of_gap(gap), "soft_label": sigmoid(SCORE_SLOPE * gap), "label_kind": "gpt-4"}
    return chat_pair(row, "ultrafeedback", **fields)


def skywork_pair(row):
    """One pair of the Skywork mixture, labelled by its sources: models mostly, people in part."""
    return chat_pair(row, "skywork", subset=row.text("source"), label="A", label_kind="model")


def shp_pair(row):
    """One pair of SHP: the share of votes, where the later comment got more, gives the soft label."""
    better = row.code("labels", {1: "A", 0: "B"})
    ratio = row.number_of("score_ratio")
    if ratio < 1:
        raise row.error("score_ratio", f"is {ratio}, below 1")
    sure = min(ratio / (1 + ratio), MOST_SURE)
    return PreferencePair(
        item_id=f"{row.text('post_id')}:{row.text('c_root_id_A')}-{row.text('c_root_id_B')}",
        benchmark="shp",
        question=row.text("history"),
        response_a=row.text("human_ref_A"),
        response_b=row.text("human_ref_B"),
        subset=row.text("domain"),
        cluster_id=row.text("post_id"),
        label=better,
        soft_label=sure if better == "A" else 1 - sure,
        label_kind="human",
        source=row.where,
    )


def pandalm_pair(row):
    """One pair of PandaLM's training data, labelled by gpt-3.5-turbo."""
    given, said = row.inner("inputs"), row.inner("outputs")
    question = given.joined("instruction", "input")
    return PreferencePair(
        item_id=str(row.number),
        benchmark="pandalm_train",
        question=question,
        response_a=given.text("response1"),
        response_b=given.text("response2"),
        cluster_id=text_key(question),
        reference=said.text("reference_response"),
        label=said.code("evaluation_result", PANDALM_CODES),
        label_kind="model",
        source=row.where,
    )


def judgelm_pair(row):
    """One pair of JudgeLM's training data, scored from 1 to 10 by GPT-4."""
    first, second = row.checked_list("score", (int, float), "scores", n=2)
    return PreferencePair(
        item_id=str(row.number),
        benchmark="judgelm_train",
        question=row.text("question_body"),
        response_a=row.text("answer1_body"),
        response_b=row.text("answer2_body"),
        cluster_id=text_key(row.text("question_body")),
        model_a=row.text("answer1_model_id"),
        model_b=row.text("answer2_model_id"),
        label=label_of_gap(first - second),
        soft_label=sigmoid(SCORE_SLOPE * (first - second)),
        label_kind="gpt-4",
        source=row.where,
    )


PAIR_FROM_ROW = {
    "helpsteer3": helpsteer3_pair,
    "ultrafeedback": ultrafeedback_pair,
    "shp": shp_pair,
    "skywork": skywork_pair,
    "pandalm_train": pandalm_pair,
    "judgelm_train": judgelm_pair,
}
