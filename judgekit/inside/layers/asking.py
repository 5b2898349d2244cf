"""Single responses put as prompts that ask for a score, and what every layer says of them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from judgekit.prompts import PromptError, PromptTooLong

if TYPE_CHECKING:
    from judgekit.inside.layers.reading import LayerReader
    from judgekit.models.one_pass import Plan
    from judgekit.prompts import Prompt, Strategy
    from judgekit.records import Response
    from judgekit.stats import Floats


@dataclass(frozen=True, slots=True)
class Shown:
    """What a prompt shows of a response: the fields that `judgekit.prompts.Strategy.render` reads.

    ``second``: empty, since a score is asked for one response. ``turns``: of (question, first, second).
    """

    question: str
    first: str
    second: str = ""
    reference: str | None = None
    turns: tuple = ()


def shown_of(item: "Response") -> Shown:
    """What is shown of a response."""
    turns = tuple((turn.question, turn.response_a, turn.response_b) for turn in item.turns)
    return Shown(item.question, item.response, reference=item.reference, turns=turns)


def verbatim(items: "Iterable[Response]") -> list[list[dict[str, str]]]:
    """Conversations whose one message is the item's question, as it stands: for sets that come as whole prompts."""
    return [[{"role": "user", "content": item.question}] for item in items]


def room_for(reader: "LayerReader", plan: "Plan", max_new_tokens: int | None = None) -> int | None:
    """Tokens that a prompt may have beside what follows it; None where the model knows no limit."""
    said = len(plan.forced) + max(map(len, plan.paths)) + (max_new_tokens or 0)
    return None if reader.room is None else reader.room - said


def conversation(
    strategy: "Strategy",
    shown: Any,
    limit: int | None = None,
    measure: Callable[[Any], int] | None = None,
    side: str = "first",
) -> "Prompt":
    """The messages that ask for a score, with the reference where the prompt has a place for it.

    ``strategy``: of `judgekit.prompts.rubrics.score_prompt`. ``shown``: a `Shown`, or a `judgekit.judges.Request`.
    ``limit``, ``measure``, ``side``: as for `judgekit.prompts.Strategy.render`.
    """
    referred = shown.reference is not None and any(call.name == "with_reference" for call in strategy.calls)
    more: dict[str, Any] = {} if measure is None else {"measure": measure}
    return strategy.render("with_reference" if referred else "verdict", shown, side=side, limit=limit, **more)


def read_scores(
    reader: "LayerReader",
    strategy: "Strategy",
    items: "Iterable[Response]",
    scores: Sequence[int],
    normed: bool = False,
    max_new_tokens: int | None = None,
    progress: bool = False,
) -> "Floats":
    """Logits of the scores of single responses, at every layer, shape (n_items, n_layers + 1, n_scores).

    ``strategy``: of `judgekit.prompts.rubrics.score_prompt`, with the same scale. ``max_new_tokens``: let the model
    write first (`judgekit.inside.layers.reading.LayerReader.logits`); needed by ``reasoning``. PromptError names the
    item that is too long for the model even when it is cut.
    """
    plan = reader.plan(scores, strategy.said["score"])
    limit, asked = room_for(reader, plan, max_new_tokens), []
    for item in items:
        try:
            asked.append(list(conversation(strategy, shown_of(item), limit, reader.tokens.size).messages))
        except PromptTooLong as long:
            raise PromptError(f"{item.where}: {long}") from None
    return reader.logits(asked, plan, normed, max_new_tokens=max_new_tokens, progress=progress)
