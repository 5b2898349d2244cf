"""A model's responses to questions, collected once and kept."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgekit.records import Reply
from judgekit.scoring.store import VerdictStore
from judgekit.studies.teacher.asking import ask_all
from judgekit.studies.teacher.engines import engine_of
from judgekit.studies.teacher.questions import Question, checked_questions

if TYPE_CHECKING:
    from judgekit.studies.teacher.local import LocalEngine
    from judgekit.studies.teacher.remote import ServerEngine


def collect_responses(
    questions: Iterable[Any],
    model: "str | ServerEngine | LocalEngine",
    store: VerdictStore | str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    system: str | None = None,
    seed: int = 0,
    n_samples: int = 1,
    progress: bool = True,
) -> list[dict[str, Any]]:
    """A model's responses: one row per question and sample, in the order of the questions.

    Fields ``id``, ``sample``, ``question`` (as it was asked, options included), ``options`` (as they were shown) and
    ``reference`` where there are any, ``response`` (None where there is none), ``status`` (``ok``, ``error``: the same
    call asks again, ``skipped``: the prompt is too long), ``error`` (the reason, else None), ``model``, ``tokens_in``,
    ``tokens_out``. Every question has its rows.

    ``questions``: dictionaries with ``question``, optionally ``id``, ``options`` and ``reference``, or each a
    `Question` (`judgekit.studies.teacher.read_questions`).
    ``model``: ``openai/<model>``, ``hf/<model>``, or an engine (`judgekit.studies.teacher.load_engine`).
    ``store``: where every response is kept when it comes. The same call goes on from there: nothing that was answered
    is asked again, and what failed is.
    ``settings``: of the model: ``temperature`` (0 by default), ``max_tokens``, ``max_cost`` with prices, rates, ...
    ``system``: a system message before every question. ``seed``: of the order of options.
    ``n_samples``: responses per question; more than one only with a temperature above 0.

    A response of ``max_tokens`` tokens was cut off there. Options come in the order that `Question.shuffled` draws, and
    whoever rates the response is shown the same question: the code of the published study draws anew at every step,
    and after it has left a question out gives each later one its predecessor's response.

    `judgekit.data.pairfile.PairFileError` where a question is not what it should be; names its place and field.
    `judgekit.models.Unavailable` where there is no such model, the environment lacks something, or a setting is
    wrong. ValueError where several samples are wanted at temperature 0.
    """
    engine = engine_of(model, settings)
    if n_samples < 1 or (n_samples > 1 and not engine.settings.temperature):
        raise ValueError(f"n_samples={n_samples}: several samples need a temperature above 0, or all are the same")
    questions = [*questions]
    if not all(isinstance(question, Question) for question in questions):
        questions = checked_questions(questions)
    before = [{"role": "system", "content": system}] if system else []
    shown = [(question, question.shuffled(seed)) for question in questions for _ in range(n_samples)]
    texts = [question.asked(options) for question, options in shown]
    asked = [([*before, {"role": "user", "content": text}], n % n_samples) for n, text in enumerate(texts)]
    replies = ask_all(engine, asked, store, progress, "response")
    return [
        response_row(question, options, text, number, reply, engine.name)
        for (question, options), text, (_, number), reply in zip(shown, texts, asked, replies, strict=True)
    ]


def response_row(
    question: Question, options: Sequence[str], text: str, sample: int, reply: Reply, model: str
) -> dict[str, Any]:
    """A response as it is written."""
    good = reply.status == "ok"
    return {
        "id": question.id,
        "sample": sample,
        "question": text,
        **({"options": options} if options else {}),
        **({"reference": question.reference} if question.reference is not None else {}),
        "response": reply.raw if good else None,
        "status": reply.status,
        "error": None if good else reply.raw,
        "model": model,
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
    }
