"""Single responses put as prompts that ask for a score, and what every layer says of them."""

from dataclasses import dataclass

from judgekit.prompts import PromptError, PromptTooLong


@dataclass(frozen=True, slots=True)
class Shown:
    """What a prompt shows of a response: the fields that `judgekit.prompts.Strategy.render` reads.

    Attributes
    ----------
    question, first : str
    second : str
        Empty: a score is asked for one response.
    reference : str or None
    turns : tuple of (question, first, second)
    """

    question: str
    first: str
    second: str = ""
    reference: str | None = None
    turns: tuple = ()


def shown_of(item):
    """What is shown of a `judgekit.records.Response`."""
    turns = tuple((turn.question, turn.response_a, turn.response_b) for turn in item.turns)
    return Shown(item.question, item.response, reference=item.reference, turns=turns)


def verbatim(items):
    """Conversations whose one message is the item's question, as it stands: for sets that come as whole prompts."""
    return [[{"role": "user", "content": item.question}] for item in items]


def room_for(reader, plan, max_new_tokens=None):
    """Tokens that a prompt may have beside what follows it; None where the model knows no limit."""
    said = len(plan.forced) + max(map(len, plan.paths)) + (max_new_tokens or 0)
    return None if reader.room is None else reader.room - said


def conversation(strategy, shown, limit=None, measure=None, side="first"):
    """The messages that ask for a score, with the reference where the prompt has a place for it.

    Parameters
    ----------
    strategy : judgekit.prompts.Strategy
        Of `judgekit.prompts.rubrics.score_prompt`.
    shown : Shown
        Or a `judgekit.judges.Request`.
    limit, measure, side
        As for `judgekit.prompts.Strategy.render`.

    Returns
    -------
    judgekit.prompts.Prompt
    """
    referred = shown.reference is not None and any(call.name == "with_reference" for call in strategy.calls)
    more = {} if measure is None else {"measure": measure}
    return strategy.render("with_reference" if referred else "verdict", shown, side=side, limit=limit, **more)


def read_scores(reader, strategy, items, scores, normed=False, max_new_tokens=None, progress=False):
    """Logits of the scores of single responses, at every layer.

    Parameters
    ----------
    reader : judgekit.inside.layers.reading.LayerReader
    strategy : judgekit.prompts.Strategy
        Of `judgekit.prompts.rubrics.score_prompt`, with the same scale.
    items : sequence of judgekit.records.Response
    scores : sequence of int
    normed : bool
    max_new_tokens : int, optional
        Let the model write first (`judgekit.inside.layers.reading.LayerReader.logits`); needed by ``reasoning``.
    progress : bool
        Whether to show bars.

    Returns
    -------
    array, shape (n_items, n_layers + 1, n_scores)

    Raises
    ------
    judgekit.prompts.PromptError
        Names the item that is too long for the model even when it is cut.
    """
    plan = reader.plan(scores, strategy.said["score"])
    limit, asked = room_for(reader, plan, max_new_tokens), []
    for item in items:
        try:
            asked.append(list(conversation(strategy, shown_of(item), limit, reader.tokens.size).messages))
        except PromptTooLong as long:
            raise PromptError(f"{item.where}: {long}") from None
    return reader.logits(asked, plan, normed, max_new_tokens=max_new_tokens, progress=progress)
