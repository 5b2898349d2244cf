"""Three samples that LLaMA-Factory ships: English and Chinese chosen/rejected pairs, and Chinese OASST rankings."""

from itertools import combinations

from judgekit.data.corpora.dialogues import dialogue_fields, without_system
from judgekit.data.corpora.sides import place
from judgekit.data.sources import read_rows
from judgekit.records import PreferencePair

FILES = {
    "dpo_en": "llamafactory/dpo_en_demo.json",
    "dpo_zh": "llamafactory/dpo_zh_demo.json",
    "oasst_zh": "llamafactory/oaast_rm_zh.json",
}


def load_dpo(name):
    """The pairs of ``dpo_en`` or ``dpo_zh``, and an empty report."""
    return dpo_pairs(read_rows(FILES[name]), name)


def dpo_pairs(rows, name):
    """Pairs and report of rows with a conversation, a chosen and a rejected response.

    Raises
    ------
    DataError
        If a field is missing or of another type, or the speakers of a conversation do not alternate.
    """
    return [place(dpo_pair(row, name)) for row in rows], {}


def dpo_pair(row, name):
    """One pair with the chosen response as A."""
    return PreferencePair(
        item_id=str(row.number),
        benchmark=name,
        **dialogue_fields(conversation(row)),
        response_a=row.inner("chosen").text("value"),
        response_b=row.inner("rejected").text("value"),
        label="A",
        label_kind="model",
        source=row.where,
    )


def conversation(row):
    """Speakers and texts; a system message is put before the first question."""
    messages = [
        (message.get("from"), message.get("value")) for message in row.checked_list("conversations", dict, "messages")
    ]
    if any(not isinstance(text, str) for _, text in messages):
        raise row.error("conversations", "holds a message without text")
    messages = without_system(messages)
    expected = ["human", "gpt"] * (len(messages) // 2) + ["human"]
    if [speaker for speaker, _ in messages] != expected:
        raise row.error("conversations", "does not alternate between human and gpt, from human to human")
    return messages


def load_oasst_zh():
    """The pairs that the rankings imply, and a report."""
    return oasst_pairs(read_rows(FILES["oasst_zh"]))


def oasst_pairs(rows):
    """Pairs and report of rows with a list of responses, best first.

    Two identical responses make no pair (``skipped_identical``).

    Raises
    ------
    DataError
        If a field is missing or of another type.
    """
    pairs, identical = [], 0
    for row in rows:
        ranked = list(enumerate(row.texts("output")))
        for (better_rank, better), (worse_rank, worse) in combinations(ranked, 2):
            if better == worse:
                identical += 1
                continue
            pairs.append(place(oasst_pair(row, f"{row.number}:{better_rank}-{worse_rank}", better, worse)))
    return pairs, {"skipped_identical": identical}


def oasst_pair(row, item_id, better, worse):
    """One pair with the better response as A."""
    messages = []
    for exchange in row.checked_list("history", list, "exchanges"):
        if len(exchange) != 2 or not all(isinstance(text, str) for text in exchange):
            raise row.error("history", "holds an exchange that is not a question and an answer")
        messages += zip(("human", "gpt"), exchange, strict=True)
    messages.append(("human", row.joined("instruction", "input")))
    return PreferencePair(
        item_id=item_id,
        benchmark="oasst_zh",
        **dialogue_fields(messages),
        response_a=better,
        response_b=worse,
        label="A",
        label_kind="human",
        source=row.where,
    )
