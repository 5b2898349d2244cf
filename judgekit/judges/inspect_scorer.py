"""A judge of pairs as a scorer of Inspect (inspect-ai), which finds it by the name ``judgekit/preferred``."""

import math
from typing import Any

import anyio
from inspect_ai.scorer import Score, mean, scorer, stderr

from judgekit.judges import load_judge
from judgekit.judges.base import Request

_ONE_AT_A_TIME = anyio.CapacityLimiter(1)  # judges are not made for threads
_WORTH = {"first": 1.0, "tie": 0.5, "second": 0.0}


@scorer(metrics=[mean(), stderr()])
def preferred(name: str = "encoder/minilm") -> Any:
    """Whether an answer is preferred to the target of its sample: 1, 0, or 0.5 where a judge ties or follows the order.

    ``name``: of the judge, which is asked in both orders. A sample with a reply that cannot be read is not scored.
    """
    judge = load_judge(name)

    async def score(state: Any, target: Any) -> Score:
        shown = Request(state.input_text, state.output.completion, target.text)
        asked = [shown, shown.exchanged()]
        first, second = await anyio.to_thread.run_sync(judge.judge, asked, limiter=_ONE_AT_A_TIME)
        value = (_WORTH.get(str(first.verdict), math.nan) + 1 - _WORTH.get(str(second.verdict), math.nan)) / 2
        return Score(value=value, answer=state.output.completion, explanation=f"{first.verdict}, {second.verdict}")

    return score
