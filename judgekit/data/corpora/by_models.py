"""Pairs labelled by models or by what is right; each function takes the rows of its set's files."""

from collections import defaultdict
from itertools import combinations, product

from judgekit.data.corpora.answers import autoj_single
from judgekit.data.loading import Loaded, Messages, Rows, dialogue_fields, place, turned_pair, without_system
from judgekit.data.sources import Row
from judgekit.records import PreferencePair, Response, label_of_gap

SYSTEMS = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")


def dpo(rows: Rows, name: str) -> Loaded:
    """LLaMA-Factory's samples ``dpo_en`` and ``dpo_zh``: a conversation, a chosen and a rejected response."""
    return [
        _chosen(row, name, row.inner("chosen").text("value"), row.inner("rejected").text("value")) for row in rows
    ], {}


def medicalgpt(rows: Rows) -> Loaded:
    """MedicalGPT's Chinese sample: conversations as LLaMA-Factory lays them out, and two texts."""
    return [_chosen(row, "medicalgpt", row.text("chosen"), row.text("rejected")) for row in rows], {}


def _chosen(row: Row, name: str, chosen: str, rejected: str) -> PreferencePair:
    fields = dialogue_fields(_conversation(row)) | {"response_a": chosen, "response_b": rejected}
    return turned_pair(row, name, **fields, label="A", label_kind="model")


def _conversation(row: Row) -> Messages:
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


def kto_mix(rows: list[Row]) -> Loaded:
    """LLaMA-Factory's KTO mixture: every response to a prompt marked good against every one marked bad.

    ``unpaired`` responses have no counterpart.
    """
    prompts: dict[str, dict[bool, list[Row]]] = {}
    for row in rows:
        good = row.code("tag", {True: True, False: False})
        prompts.setdefault(row.text("instruction"), {True: [], False: []})[good].append(row)
    pairs = [
        turned_pair(
            good,
            "kto_mix",
            *(prompt, good.text("output"), bad.text("output")),
            item_id=f"{good.number}-{bad.number}",
            label="A",
            label_kind="model",
        )
        for prompt, marked in prompts.items()
        for good, bad in product(marked[True], marked[False])
    ]
    unpaired = sum(len(marked[True]) + len(marked[False]) for marked in prompts.values() if not all(marked.values()))
    return pairs, {"responses": len(rows), "unpaired": unpaired}


def gsm8k_solutions(rows: list[Row]) -> Loaded:
    """GSM8K: every right solution of a problem against every wrong one, by four systems."""
    pairs = []
    for row in rows:
        solutions = {system: row.inner(system) for system in SYSTEMS}
        right = [system for system in SYSTEMS if solutions[system].code("is_correct", {True: True, False: False})]
        for better, worse in product(right, [system for system in SYSTEMS if system not in right]):
            pair = turned_pair(
                row,
                "gsm8k_solutions",
                *(row.text("question"), solutions[better].text("solution"), solutions[worse].text("solution")),
                item_id=f"{row.number}:{better}:{worse}",
                reference=row.text("ground_truth"),
                model_a=better,
                model_b=worse,
                label="A",
                label_kind="objective",
            )
            pairs.append(pair)
    return pairs, {"problems": len(rows), "problems_without_pair": len(rows) - len({pair.source for pair in pairs})}


def vicuna_blog(rows: Rows) -> Loaded:
    """GPT-4's reviews of the Vicuna blog: two answers to 80 questions, each scored from 1 to 10.

    Equal scores are a tie, a negative score is a failed review (skipped). The rows are those of questions, answers and
    reviews. The questions are the Vicuna-80 test questions: cleaning against the test sets drops them.
    """
    kinds = defaultdict(list)
    for row in rows:
        kinds[row.file.split("/")[1]].append(row)
    questions = {row.whole("question_id"): row for row in kinds["question.jsonl"]}
    answers = {row.text("answer_id"): row for row in kinds["answer"]}
    pairs = []
    for row in kinds["review"]:
        scores = row.checked_list("score", (int, float), "numbers", n=2)
        if min(scores) < 0:
            continue
        question = _known(row, "question_id", questions)
        first, second = (_known(row, field, answers) for field in ("answer1_id", "answer2_id"))
        folder, name = row.file.split("/")[-2:]
        pair = turned_pair(
            row,
            "vicuna_blog",
            *(question.text("text"), first.text("text"), second.text("text")),
            item_id=f"{folder}/{name.removesuffix('.jsonl')}/{row.number}",
            subset=question.text("category"),
            cluster_id=str(question.whole("question_id")),
            model_a=first.text("model_id"),
            model_b=second.text("model_id"),
            label=label_of_gap(scores[0] - scores[1]),
            label_kind="gpt-4",
        )
        pairs.append(pair)
    return pairs, {"skipped_no_score": len(kinds["review"]) - len(pairs)}


def _known(row: Row, field: str, rows: dict) -> Row:
    """The row that a field refers to."""
    key = row.get(field)
    if not isinstance(key, (int, str)) or key not in rows:
        raise row.error(field, f"refers to {key!r}, which is not in the files")
    return rows[key]


def llmzoo(rows: list[Row]) -> Loaded:
    """LLMZoo: gpt-3.5-turbo's rankings of two to four models' answers, under five aspects; rank 1 is the best.

    Equal ranks are a tie, and two identical answers make no pair. The questions are 70 of the Vicuna-80 test questions
    and their Chinese translations: cleaning against the test sets drops them all. The pairs are here for those who do
    not test on these.
    """
    pairs, identical = [], 0
    for row in rows:
        shown = row.inner("metadata")
        answers = shown.texts("answers")
        models = shown.texts("model_ids", n=len(answers))
        ranks = row.checked_list("order", int, "ranks", n=len(answers))
        comparison, _, aspect, _ = row.file.split("/")[-4:]
        for first, second in combinations(range(len(answers)), 2):
            if answers[first] == answers[second]:
                identical += 1
                continue
            pair = turned_pair(
                row,
                "llmzoo",
                *(shown.text("question"), answers[first], answers[second]),
                item_id=f"{comparison}/{row.text('lang')}/{aspect}/{row.number}:{first}-{second}",
                subset=aspect,
                model_a=models[first],
                model_b=models[second],
                label=label_of_gap(ranks[second] - ranks[first]),
                label_kind="model",
            )
            pairs.append(pair)
    return pairs, {"reviews": len(rows), "skipped_identical": identical}


def autoj_rated(rows: Rows) -> Loaded:
    """Auto-J's training ratings as pairs: two responses to one query that GPT-4 rated from 1 to 10, each by itself."""
    return pairs_of_rated(autoj_single(rows)[0])


def pairs_of_rated(responses: list[Response]) -> Loaded:
    """Every two different responses to one query; equal ratings tie. ``alone``: responses whose query has no other."""
    groups = defaultdict(list)
    for response in responses:
        groups[response.cluster_id].append(response)
    pairs = [
        place(
            PreferencePair(
                item_id=f"{first.item_id}-{second.item_id}",
                benchmark="autoj_rated",
                question=first.question,
                response_a=first.response,
                response_b=second.response,
                cluster_id=first.cluster_id,
                label=label_of_gap((first.score or 0) - (second.score or 0)),
                label_kind="gpt-4",
                source=first.source,
            )
        )
        for group in groups.values()
        for first, second in combinations(group, 2)
        if first.response != second.response
    ]
    return pairs, {"responses": len(responses), "alone": sum(len(group) == 1 for group in groups.values())}
