"""What judging would take, before anything is sent."""

from dataclasses import dataclass

from judgekit.judges.completion import estimated_tokens
from judgekit.judges.generative import exchanged
from judgekit.prompts import PromptError, PromptTooLong


@dataclass(frozen=True, slots=True)
class Forecast:
    """Calls, tokens and cost of a run.

    Attributes
    ----------
    requests : int
        Verdicts wanted.
    impossible : int
        Requests that this strategy cannot put (no reference, too long): they will fail without a call.
    calls, most_calls : int
        Calls that are made for certain, and at most (a synthesis is asked for only where orders disagree). Repeated
        attempts are not counted, nor the trial of a server that may hold replies to a choice (two calls).
    tokens_in : int
        Of the prompts of ``most_calls``, estimated rather too high.
    most_tokens_out : int
        If every completion is as long as it may be.
    most_cost : float or None
        At the declared prices; None without.
    """

    requests: int
    impossible: int
    calls: int
    most_calls: int
    tokens_in: int
    most_tokens_out: int
    most_cost: float | None

    def __str__(self):
        calls = f"{self.calls:,}" if self.calls == self.most_calls else f"{self.calls:,} to {self.most_calls:,}"
        cost = "; no prices declared" if self.most_cost is None else f"; at most {self.most_cost:,.4f} at these prices"
        lost = f" ({self.impossible:,} cannot be asked)" if self.impossible else ""
        return (
            f"{self.requests:,} verdicts{lost}: {calls} calls, about {self.tokens_in:,} tokens in, "
            f"at most {self.most_tokens_out:,} out{cost}"
        )


def forecast(strategy, requests, max_tokens, limit, budget):
    """A `Forecast` for requests that a strategy puts.

    Parameters
    ----------
    strategy : judgekit.prompts.Strategy
    requests : list of Request
    max_tokens : callable
        From the name of a call to its longest completion.
    limit : int
        Longest prompt in characters.
    budget : judgekit.judges.pacing.Budget
        For the prices.
    """
    certain, possible, impossible = {}, {}, 0
    for request in requests:
        try:
            sure, perhaps = calls_of(strategy, request, max_tokens, limit)
        except (PromptError, PromptTooLong):
            impossible += 1
            continue
        certain |= sure
        possible |= perhaps
    every = [*certain.values(), *possible.values()]
    tokens_in, tokens_out = sum(tokens for tokens, _ in every), sum(tokens for _, tokens in every)
    cost = None if None in budget.prices else budget.cost(tokens_in, tokens_out)
    return Forecast(len(requests), impossible, len(certain), len(every), tokens_in, tokens_out, cost)


def calls_of(strategy, request, max_tokens, limit):
    """Calls that a request makes for certain and perhaps: prompt to (tokens in, most tokens out)."""
    blank, certain, perhaps = dict.fromkeys(("given", "exchanged"), ""), {}, {}
    for call in strategy.calls:
        views = [(request, None)]
        if strategy.kind == "single":
            views = [(request, "first"), (request, "second")]
        elif strategy.flow == "swap" and call.name == "verdict":
            views = [(request, None), (exchanged(request), None)]
        for shown, side in views:
            prompt = strategy.render(call.name, shown, side=side, earlier=blank, limit=limit)
            # What earlier calls wrote comes into the prompt too.
            added = sum(max_tokens(name) for name in earlier_of(strategy, call.name))
            key = tuple((message["role"], message["content"]) for message in prompt.messages)
            own = (estimated_tokens(prompt.messages) + added, max_tokens(call.name))
            (perhaps if call.name == "synthesis" else certain)[key] = own
        blank[call.name] = ""
    return certain, perhaps


def earlier_of(strategy, name):
    """Names of the calls whose completions a call shows."""
    if name == "synthesis":
        return ("verdict", "verdict")
    names = [call.name for call in strategy.calls]
    return names[: names.index(name)]
