"""Training data for probes: a model's responses are collected, a teacher rates them, and sets are drawn from that."""

import json
import random
import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, StrictStr

from judgekit.data.pairfile.models import checked
from judgekit.data.pairfile.places import row_place
from judgekit.inside.aspects import Aspect, load_aspects, rubric, shown_response
from judgekit.prompts.files import fill, read_sections
from judgekit.prompts.parsing import read_objects, reply_part
from judgekit.records import Reply, fingerprint_of
from judgekit.studies.asking import Engine, Question, Store, ask_all, checked_questions, engine_of

# In JSON, a back-slash begins one of these; in LaTeX, which teachers quote, it begins anything.
_BACK_SLASH = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
_ADDED = ("total_score", "ratings", "teacher")

# ---------------------------------------------------------------- responses


def collect_responses(
    questions: Iterable[Any],
    model: str | Engine,
    store: Store = None,
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
    ``tokens_out``. A response of ``max_tokens`` tokens was cut off there.

    Parameters
    ----------
    questions
        Dictionaries with the fields of `read_questions`, or each a `Question`.
    model
        ``openai/<model>``, ``hf/<model>``, or what `load_engine` gave.
    store
        Where every response is kept when it comes: the same call goes on from there.
    settings
        Of the model: ``temperature`` (0 by default), ``max_tokens``, ``max_cost`` with prices, rates, ...
    system, seed
        A system message before every question; the seed of the order of options.
    n_samples
        Responses per question; more than one only with a temperature above 0 (ValueError).
    """
    engine = engine_of(model, settings)
    if n_samples < 1 or (n_samples > 1 and not engine.settings.temperature):
        raise ValueError(f"n_samples={n_samples}: several samples need a temperature above 0, or all are the same")
    questions = [*questions]
    if not all(isinstance(question, Question) for question in questions):
        questions = checked_questions(questions)
    before = [{"role": "system", "content": system}] if system else []
    shown = [(one, one.shuffled(seed), sample) for one in questions for sample in range(n_samples)]
    texts = [question.asked(options) for question, options, _ in shown]
    asked = [([*before, {"role": "user", "content": text}], row[2]) for text, row in zip(texts, shown, strict=True)]
    rows = []
    for row, text, reply in zip(shown, texts, ask_all(engine, asked, store, progress, "response"), strict=True):
        question, options, sample = row
        one: dict[str, Any] = {"id": question.id, "sample": sample, "question": text}
        one |= {"options": options} if options else {}
        one |= {"reference": question.reference} if question.reference is not None else {}
        one |= {"response": reply.raw if reply.status == "ok" else None, "status": reply.status}
        one |= {"error": None if reply.status == "ok" else reply.raw, "model": engine.name}
        rows.append(one | {"tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out})
    return rows


# ---------------------------------------------------------------- ratings


@cache
def _system_template() -> str:
    """What a teacher is told, with fields for an aspect."""
    text = (resources.files("judgekit.studies") / "teacher.txt").read_text(encoding="utf-8")
    return dict(read_sections(text)[1])["system"]


def rating_messages(aspect: Aspect, question: str, response: str) -> list[dict[str, str]]:
    """What a teacher is asked: definition and scale, the aspect's example as an earlier exchange, and the response.

    Question and response are made harmless as in `judgekit.inside.aspects.shown_response`.
    """
    example, shown = aspect.example, []
    if example is not None:
        rating = {"score": example.score, "justification": example.justification}
        shown = [
            {"role": "user", "content": shown_response(example.question, example.response)},
            {"role": "assistant", "content": json.dumps(rating, ensure_ascii=False)},
        ]
    asked = {"role": "user", "content": shown_response(question, response)}
    return [{"role": "system", "content": fill(_system_template(), rubric(aspect))}, *shown, asked]


def read_rating(text: str | None, scores: Collection[int]) -> tuple[int | None, str | None]:
    """The score in a teacher's reply and its justification; None and None where there is no clear score.

    The last JSON object with a ``score`` decides; it must be a whole number of the scale ``scores``, with a
    ``justification``, a text. Nothing is guessed: a score in words, as ``"4"``, as 4.0 or outside the scale is none,
    nor is one of two objects that differ on one line, or of an object that says its score twice. What a reasoning model
    thought is not its reply; back-slashes that are no JSON are back-slashes.

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


class _ResponseFields(BaseModel):
    """The fields of a response that are read; a response that was not given is null."""

    question: StrictStr
    response: StrictStr | None


def rate_responses(
    responses: Iterable[Mapping[str, Any]],
    aspects: dict[str, Aspect] | str | Path,
    model: str | Engine,
    store: Store = None,
    settings: Mapping[str, Any] | None = None,
    progress: bool = True,
) -> list[dict[str, Any]]:
    """The responses in their order, as copies with a teacher's ratings.

    The fields that are added: one per aspect (the score, or None), ``total_score`` (the sum, None unless every aspect
    has a score), ``teacher`` (the model), and ``ratings``: by aspect ``score``, ``justification``, ``status``,
    ``prompt_version``, and, without a score, ``reply`` or ``error``. Status is ``ok``; ``unparsed``: the reply holds no
    clear score, and is not asked for again; ``error``: the call failed, and the same call asks again; ``skipped``: no
    response, or a prompt that is too long.

    One call per response and aspect: scores asked for together lean on one another. The label is one model's opinion,
    and should be checked against people's on some responses.

    Parameters
    ----------
    responses
        ``question`` and ``response`` (None: it could not be collected, and is not rated), and anything else.
        `judgekit.data.pairfile.PairFileError` names position and field of what is wrong, or would be replaced.
    aspects
        By name, or what `judgekit.inside.aspects.load_aspects` takes.
    model, store, settings
        As in `collect_responses`.
    """
    aspects = aspects if isinstance(aspects, dict) else load_aspects(aspects)
    if not aspects:
        raise ValueError("there is no aspect to rate by")
    if taken := sorted(set(aspects) & set(_ADDED)):
        raise ValueError(f"no aspect can be called {taken[0]!r}: a field of every rated row is")
    rows = [_checked_response(row, n, aspects) for n, row in enumerate(responses)]
    engine = engine_of(model, settings)
    asked = [
        None if row["response"] is None else (rating_messages(aspect, row["question"], row["response"]), 0)
        for row in rows
        for aspect in aspects.values()
    ]
    replies = iter(ask_all(engine, asked, store, progress, "rating"))
    versions = {name: fingerprint_of(rating_messages(aspect, "", ""))[:16] for name, aspect in aspects.items()}
    rated = []
    for row in rows:
        ratings = {name: _rating_of(next(replies), aspect, versions[name]) for name, aspect in aspects.items()}
        scores = {name: rating["score"] for name, rating in ratings.items()}
        total = None if None in scores.values() else sum(scores.values())
        rated.append({**row, **scores, "total_score": total, "teacher": engine.name, "ratings": ratings})
    return rated


def _checked_response(row: Any, number: int, aspects: Iterable[str]) -> dict[str, Any]:
    """A response with the fields that are needed, and none that would be overwritten."""
    place = row_place("responses", number, row)
    checked(_ResponseFields, row, place)
    if taken := [name for name in (*aspects, *_ADDED) if name in row]:
        raise place.error("is there already: ratings would replace it", taken[0])
    return row


def _rating_of(reply: Reply, aspect: Aspect, version: str) -> dict[str, Any]:
    """A reply as a rating; ``version``: hash over all that a teacher is told about the aspect."""
    score, justification = read_rating(reply.raw, aspect.scores) if reply.status == "ok" else (None, None)
    status = "unparsed" if reply.status == "ok" and score is None else reply.status
    more = {"unparsed": {"reply": reply.raw}, "ok": {}}.get(status, {"error": reply.raw})
    return {"score": score, "justification": justification, "status": status, "prompt_version": version, **more}


# ---------------------------------------------------------------- sets to train and test a probe on


def balanced_probing_set(rated: Sequence[dict[str, Any]], aspect: str, seed: int = 0) -> list[dict[str, Any]]:
    """Rows with each score on an aspect as often as the rarest of them, in the order of ``rated``.

    Rows without a score are left out; ValueError where fewer than two scores occur. A balanced set says nothing about
    how often each score occurs, which a test set should: split first (`split_by_question`), balance the training side.

    >>> rated = [{"tone": 1}, {"tone": 1}, {"tone": 2}, {"tone": None}, {"tone": 2}, {"tone": 1}]
    >>> len(balanced_probing_set(rated, "tone"))
    4
    """
    rows: dict[Any, list[int]] = {}
    for position, row in enumerate(rated):
        if row[aspect] is not None:
            rows.setdefault(row[aspect], []).append(position)
    if len(rows) < 2:
        raise ValueError(f"{aspect}: {len(rows)} different scores in {len(rated)} rows; a probe needs at least two")
    rarest, draw = min(map(len, rows.values())), random.Random(f"{seed}:{aspect}")
    drawn = [position for score in sorted(rows) for position in draw.sample(rows[score], rarest)]
    return [rated[position] for position in sorted(drawn)]


def split_by_question(
    rows: Sequence[dict[str, Any]], aspect: str, test_share: float = 0.2, seed: int = 0
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Train and test rows, in the order of ``rows``, with no question on both sides.

    Questions that differ in case or white space alone are one. Scores are spread over both sides alike, as far as whole
    questions allow. ``test_share``: of the rows, in (0, 0.5]; rounded to one part of a whole number of parts.
    ValueError where there are fewer than two questions, a row has no score, or the share is none.
    """
    from sklearn.model_selection import GroupShuffleSplit, StratifiedGroupKFold  # seconds, which collecting can spare

    if not 0 < test_share <= 0.5:
        raise ValueError(f"test_share={test_share} is not in (0, 0.5]")
    scores = [row[aspect] for row in rows]
    if None in scores:
        raise ValueError(f"rows[{scores.index(None)}]: no score on {aspect}: leave such rows out before splitting")
    questions = np.array([" ".join(row["question"].casefold().split()) for row in rows])
    n_questions = len(set(questions))
    if n_questions < 2:
        raise ValueError(f"{n_questions} question in {len(rows)} rows: none is left for one of the sides")
    n_parts = min(round(1 / test_share), n_questions)
    if n_parts <= np.unique(scores, return_counts=True)[1].max():
        splitter = StratifiedGroupKFold(n_parts, shuffle=True, random_state=seed)
    else:  # no score is frequent enough to be spread over so many parts
        splitter = GroupShuffleSplit(1, test_size=test_share, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # as far as possible, as is said
        parts = [part for part in splitter.split(rows, scores, questions) if len(part[0]) and len(part[1])]
    train, test = min(parts, key=lambda part: abs(len(part[1]) / len(rows) - test_share))
    return [rows[position] for position in train], [rows[position] for position in test]
