"""Training data for probes: a model's responses are collected, and a teacher rates them; every reply is kept."""

import json
import random
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, StrictStr

from judgekit.data.pairfile import Id, checked
from judgekit.data.pairfile.lines import Place, kind_of, records
from judgekit.data.progress import progress_bar
from judgekit.inside.aspects import Aspect, load_aspects, rubric, shown_response
from judgekit.judges.completions import ChatModel, load_chat_model
from judgekit.judges.generative import Messages
from judgekit.prompts.files import fill, template_of
from judgekit.prompts.parsing import read_objects, reply_part
from judgekit.prompts.texts import LONE_SURROGATE
from judgekit.records import Reply, fingerprint_of
from judgekit.scoring.store import VerdictStore

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ADDED = ("total_score", "ratings", "teacher")  # fields of a rated row, beside one for each aspect
_SYSTEM = dict(template_of("teacher.txt")[1])["system"]  # what a teacher is told, with fields
# In JSON, a back-slash begins one of these; in LaTeX, which teachers quote, it begins anything.
_BACK_SLASH = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')


def replies_to(
    model: ChatModel,
    asked: Sequence[Messages | None],
    store: VerdictStore,
    sample: int = 0,
    progress: bool = True,
    unit: str = "reply",
) -> list[Reply]:
    """Replies to messages (None: nothing to ask), in order; ``raw`` is the text.

    What the store holds is not asked again, and what is put twice is asked once. Every reply is kept when it comes;
    failed calls (status ``error``) too, but they are asked again. Status ``skipped``: no call was made, because the
    prompt is too long or there was nothing to ask; ``raw`` is then the reason.
    """
    keys = [
        said if said is None else fingerprint_of(*([one["role"], one["content"]] for one in said)) for said in asked
    ]
    put = {key: messages for key, messages in zip(keys, asked, strict=True) if key and messages}
    replies: dict[str | None, Reply] = {None: Reply(None, status="skipped", raw="there is nothing to ask about")}
    replies.update(store.get(model.fingerprint, model.decoding, put, sample))
    reasons = {key: model.refusal(messages) for key, messages in put.items() if key not in replies}
    replies |= {key: Reply(None, status="skipped", raw=why) for key, why in reasons.items() if why}
    waiting = [key for key, why in reasons.items() if not why]
    bar = progress_bar(len(waiting), model.name, unit, shown=progress and len(waiting) > 1)
    stream: Any = model.replies([put[key] for key in waiting], sample)
    with bar, closing(stream):
        for finished in stream:
            fresh = {waiting[position]: reply for position, reply in finished.items()}
            store.put(model.fingerprint, model.decoding, fresh, sample)
            replies.update(fresh)
            bar.update(len(fresh))
    return [replies[key] for key in keys]


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text


def _options(value: Any) -> Any:
    if not isinstance(value, list):
        raise ValueError(f"is {kind_of(value)}, not a list of texts")
    if not 2 <= len(value) <= len(LETTERS):
        raise ValueError(f"holds {len(value)} options; from 2 to {len(LETTERS)} can be asked")
    return value


_Text = Annotated[StrictStr, AfterValidator(_not_blank)]


class Question(BaseModel):
    """A row of a question file; the same option may stand twice, as in some items of GPQA."""

    id: Id = None  # the number of the line or row where none was given
    question: _Text
    options: Annotated[list[_Text], BeforeValidator(_options)] | None = None
    reference: StrictStr | None = None  # kept beside the response and shown to nobody

    def shuffled(self, seed: int) -> list[str]:
        """The options as they are shown, in an order that seed, question and set of options alone decide.

        In the order that was given, the right one often stands first.
        """
        options = sorted(self.options or ())
        random.Random(json.dumps([seed, self.question, options])).shuffle(options)
        return options


def read_questions(path: str | Path) -> list[tuple[Place, Question]]:
    """The questions of a file with their places, each id once; PairFileError names file, line and field."""
    questions: dict[str, tuple[Place, Question]] = {}
    for place, given in records(Path(path)):
        row = checked(Question, given, place)
        row.id = place.line if row.id is None else row.id
        earlier, _ = questions.setdefault(str(row.id), (place, row))
        if earlier is not place:
            raise place.error(f"is {row.id!r:.80}, which also stands in {earlier}", "id")
    if not questions:
        raise Place(Path(path)).error("holds no questions (the file is empty, or has only a header)")
    return list(questions.values())


def collect_responses(
    questions: list[Question],
    model: ChatModel,
    store: VerdictStore,
    system: str | None = None,
    seed: int = 0,
    n_samples: int = 1,
    progress: bool = True,
) -> list[dict[str, Any]]:
    """A row for each question and sample, in the order of the questions; the fields are those that `collect` names."""
    shown = [question.shuffled(seed) for question in questions]
    texts, before = [], [{"role": "system", "content": system}] if system else []
    for question, options in zip(questions, shown, strict=True):
        lines = "\n".join(f"({letter}) {option}" for letter, option in zip(LETTERS, options, strict=False))
        text = f"{question.question}\n\n{lines}" if lines else question.question
        texts.append(LONE_SURROGATE.sub("\ufffd", text))  # a text that holds one cannot be sent
    asked = [[*before, {"role": "user", "content": text}] for text in texts]
    replies = [replies_to(model, asked, store, sample, progress, "response") for sample in range(n_samples)]
    rows = []
    for question, options, text, samples in zip(questions, shown, texts, zip(*replies, strict=True), strict=True):
        for sample, reply in enumerate(samples):
            response, error = (reply.raw, None) if reply.status == "ok" else (None, reply.raw)
            row = {"id": question.id, "sample": sample, "question": text}
            row |= {"options": options} if options else {}
            row |= {"reference": question.reference} if question.reference is not None else {}
            row |= {"response": response, "status": reply.status, "error": error, "model": model.name}
            rows.append(row | {"tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out})
    return rows


def rating_messages(aspect: Aspect, question: str, response: str) -> list[dict[str, str]]:
    """What a teacher is asked: definition and scale, the aspect's example as an earlier exchange, and the response."""
    example, shown = aspect.example, []
    if example is not None:
        rating = {"score": example.score, "justification": example.justification}
        shown = [
            {"role": "user", "content": shown_response(example.question, example.response)},
            {"role": "assistant", "content": json.dumps(rating, ensure_ascii=False)},
        ]
    asked = {"role": "user", "content": shown_response(question, response)}
    return [{"role": "system", "content": fill(_SYSTEM, rubric(aspect))}, *shown, asked]


def read_rating(text: str | None, scores: Collection[int]) -> tuple[int | None, str | None]:
    """The score in a teacher's reply and its justification; None and None where there is no clear score.

    The last JSON object with a ``score`` decides; it must be a whole number of the scale ``scores``, with a
    ``justification``, a text. Nothing is guessed: a score in words, as ``"4"``, as 4.0 or outside the scale is none,
    nor is one of two objects that differ on one line, or of one that says it twice; back-slashes stay.

    >>> read_rating('Well: {"score": 4, "justification": "The step $a \\\\cdot b$ is right."}', range(1, 6))
    (4, 'The step $a \\\\cdot b$ is right.')
    >>> read_rating('I would say 4.', range(1, 6))
    (None, None)
    """
    text = _BACK_SLASH.sub(lambda match: match[0] if match[1] else "\\\\", reply_part(text))
    objects = [(line, fields) for line, fields in read_objects(text) if fields is None or "score" in fields]
    last: list[Any] = [fields for line, fields in objects if line == objects[-1][0]]
    if not last or any(fields is None or fields != last[0] for fields in last):
        return None, None
    score, justification = last[0]["score"], last[0].get("justification")
    if type(score) is not int or score not in scores or not isinstance(justification, str):
        return None, None
    return score, justification


def rate_responses(
    responses: Iterable[Mapping[str, Any]],
    aspects: dict[str, Aspect] | str | Path,
    model: str | ChatModel,
    store: VerdictStore | str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: bool = True,
) -> list[dict[str, Any]]:
    """The responses in their order, as copies with a teacher's ratings; one call per response and aspect.

    ``responses``: ``question``, ``response`` (None: not rated), and anything else; ValueError where a field would be
    replaced. ``aspects``: by name, or what `judgekit.inside.aspects.load_aspects` takes. ``model``: ``openai/<model>``,
    ``hf/<model>``, or one that is loaded. ``store``: where every reply is kept, so that the same call goes on.

    Added: a field per aspect (the score, or None), ``total_score`` (None unless every aspect has a score), ``teacher``
    (the model), and ``ratings``: by aspect ``score``, ``justification``, ``status``, ``prompt_version``, and without a
    score ``reply`` or ``error``. Status is ``ok``; ``unparsed``: no clear score, and not asked again; ``error``: the
    call failed, and the same call asks again; ``skipped``: no response, or a prompt that is too long.
    """
    aspects = aspects if isinstance(aspects, dict) else load_aspects(aspects)
    if not aspects:
        raise ValueError("there is no aspect to rate by")
    if taken := sorted(set(aspects) & set(ADDED)):
        raise ValueError(f"no aspect can be called {taken[0]!r}: a field of every rated row is")
    rows = [dict(row) for row in responses]
    if taken := [name for row in rows for name in (*aspects, *ADDED) if name in row]:
        raise ValueError(f"field {taken[0]!r} is there already: ratings would replace it")
    teacher = load_chat_model(model, settings) if isinstance(model, str) else model
    asked = [
        None if row["response"] is None else rating_messages(aspect, row["question"], row["response"])
        for row in rows
        for aspect in aspects.values()
    ]
    with nullcontext(store) if isinstance(store, VerdictStore) else VerdictStore(store or ":memory:") as kept:
        replies = iter(replies_to(teacher, asked, kept, progress=progress, unit="rating"))
    for row in rows:
        ratings = {name: _rating_of(next(replies), aspect) for name, aspect in aspects.items()}
        scores = {name: rating["score"] for name, rating in ratings.items()}
        total = None if None in scores.values() else sum(scores.values())
        row |= {**scores, "total_score": total, "teacher": teacher.name, "ratings": ratings}
    return rows


def _rating_of(reply: Reply, aspect: Aspect) -> dict[str, Any]:
    """A reply as a rating; its ``prompt_version`` is a hash over all that a teacher is told about the aspect."""
    score, justification = read_rating(reply.raw, aspect.scores) if reply.status == "ok" else (None, None)
    status = "unparsed" if reply.status == "ok" and score is None else reply.status
    rating = {"score": score, "justification": justification, "status": status}
    rating["prompt_version"] = fingerprint_of(rating_messages(aspect, "", ""))[:16]
    return rating | {"unparsed": {"reply": reply.raw}, "ok": {}}.get(status, {"error": reply.raw})
