"""What judging would take, before anything is sent."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from judgekit.judges.base import Request
from judgekit.judges.generative import estimated_tokens, exchanged
from judgekit.judges.pacing import Budget
from judgekit.prompts import PromptError, PromptTooLong, Strategy

Calls = dict[object, tuple[int, int]]  # prompt to (tokens in, most tokens out)


@dataclass(frozen=True, slots=True)
class Forecast:
    """Calls, tokens and cost of a run.

    ``impossible`` requests cannot be put by this strategy (no reference, too long): they fail without a call. ``calls``
    are made for certain, ``most_calls`` at most (a synthesis is asked for only where orders disagree); repeated
    attempts are not counted, nor the trial of a server that may hold replies to a choice (two calls). ``tokens_in`` is
    estimated for ``most_calls``, rather too high, and ``most_tokens_out`` if every completion is as long as it may be.
    ``most_cost`` is None where no prices are declared.
    """

    requests: int
    impossible: int
    calls: int
    most_calls: int
    tokens_in: int
    most_tokens_out: int
    most_cost: float | None

    def __str__(self) -> str:
        calls = f"{self.calls:,}" if self.calls == self.most_calls else f"{self.calls:,} to {self.most_calls:,}"
        cost = "; no prices declared" if self.most_cost is None else f"; at most {self.most_cost:,.4f} at these prices"
        lost = f" ({self.impossible:,} cannot be asked)" if self.impossible else ""
        return (
            f"{self.requests:,} verdicts{lost}: {calls} calls, about {self.tokens_in:,} tokens in, "
            f"at most {self.most_tokens_out:,} out{cost}"
        )


def forecast(
    strategy: Strategy,
    requests: Sequence[Request],
    max_tokens: Callable[[str], int],
    limit: int | None,
    budget: Budget,
) -> Forecast:
    """A `Forecast` for requests that a strategy puts.

    ``max_tokens`` gives a call's longest completion, ``limit`` is the longest prompt in characters, and the budget
    knows the prices.
    """
    certain: Calls = {}
    possible: Calls = {}
    impossible = 0
    for request in requests:
        try:
            sure, perhaps = _calls_of(strategy, request, max_tokens, limit)
        except (PromptError, PromptTooLong):
            impossible += 1
            continue
        certain |= sure
        possible |= perhaps
    every = [*certain.values(), *possible.values()]
    tokens_in, tokens_out = sum(tokens for tokens, _ in every), sum(tokens for _, tokens in every)
    cost = None if None in budget.prices else budget.cost(tokens_in, tokens_out)
    return Forecast(len(requests), impossible, len(certain), len(every), tokens_in, tokens_out, cost)


def _calls_of(
    strategy: Strategy, request: Request, max_tokens: Callable[[str], int], limit: int | None
) -> tuple[Calls, Calls]:
    """Calls that a request makes for certain, and perhaps."""
    blank = dict.fromkeys(("given", "exchanged"), "")
    certain: Calls = {}
    perhaps: Calls = {}
    written: list[str] = []  # calls whose completions the next one shows
    for call in strategy.calls:
        views: list[tuple[Request, str | None]] = [(request, None)]
        if strategy.kind == "single":
            views = [(request, "first"), (request, "second")]
        elif strategy.flow == "swap" and call.name == "verdict":
            views = [(request, None), (exchanged(request), None)]
        shown_before = ["verdict", "verdict"] if call.name == "synthesis" else written
        added = sum(map(max_tokens, shown_before))
        for shown, side in views:
            prompt = strategy.render(call.name, shown, side=side, earlier=blank, limit=limit)
            key = tuple((message["role"], message["content"]) for message in prompt.messages)
            own = (estimated_tokens(prompt.messages) + added, max_tokens(call.name))
            (perhaps if call.name == "synthesis" else certain)[key] = own
        blank[call.name] = ""
        written.append(call.name)
    return certain, perhaps
