"""Interviews held side by side: all go on until each waits for a completion, then what they wait for is made together.

There is no event loop: an interview is a coroutine that is sent on by hand, so that this also works inside a notebook
and ends at once on Ctrl-C.
"""

from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator, Sequence
from typing import Any

Results = dict[int, Any]  # position to a result, or to the exception in place of one


class _Answer:
    """What an interview waits for: a value, or a failure."""

    def __init__(self) -> None:
        self.ready, self.result = False, None

    def settle(self, result: Any) -> None:
        """Give the value, or the exception that takes its place."""
        self.ready, self.result = True, result

    def __await__(self) -> Generator["_Answer", None, Any]:
        while not self.ready:
            yield self
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


class Rounds:
    """Puts the questions of many interviews to an engine that answers many at once.

    ``prepare(messages, call)`` gives what the engine is asked; an exception fails that interview alone.
    ``complete(questions)`` yields completions, or exceptions, by the position of the question.
    """

    def __init__(
        self, prepare: Callable[[Any, str], Any], complete: Callable[[Sequence[Any]], Iterator[Results]]
    ) -> None:
        self._prepare, self._complete = prepare, complete
        self._waiting: list[tuple[Any, _Answer]] = []
        self._known: dict[Any, _Answer] = {}

    async def ask(self, messages: Any, call: str) -> Any:
        """The completion of one question (`judgekit.judges.generative.Interview`)."""
        question, answer = self._prepare(messages, call), _Answer()
        self._waiting.append((question, answer))
        return await answer

    async def shared(self, key: Any, work: Callable[[], Awaitable[Any]]) -> tuple[Any, bool]:
        """The result of work that is done once for a key, and whether it was done now; a failure is shared, too."""
        if (answer := self._known.get(key)) is not None:
            return await answer, False
        answer = self._known[key] = _Answer()
        try:
            answer.settle(await work())
        except Exception as failure:  # whoever else waits for this must not wait for ever
            answer.settle(failure)
        return await answer, True

    def hold(self, interviews: Sequence[Coroutine[Any, None, Any]]) -> Iterator[Results]:
        """Yield the result of every interview, or the exception it ended with, by its position; each once."""
        going: dict[int, Coroutine[Any, None, Any]] = dict(enumerate(interviews))
        awaited: dict[int, _Answer] = {}
        try:
            if finished := _advance(going, awaited):
                yield finished
            while going:
                asked, self._waiting = self._waiting, []
                for completed in self._complete([question for question, _ in asked]):
                    for position, completion in completed.items():
                        asked[position][1].settle(completion)
                    if finished := _advance(going, awaited):
                        yield finished
                if not asked:
                    raise RuntimeError(f"{len(going)} interviews wait for something that nobody was asked")
        finally:
            self._waiting = []
            for interview in going.values():
                interview.close()


def _advance(going: dict[int, Coroutine[Any, None, Any]], awaited: dict[int, _Answer]) -> Results:
    """Send on every interview that does not wait any more, until all do; the results of those that ended."""
    finished: Results = {}
    while ready := [n for n in going if n not in awaited or awaited[n].ready]:
        for position in ready:
            try:
                awaited[position] = going[position].send(None)
                continue
            except StopIteration as ended:
                finished[position] = ended.value
            except Exception as failure:  # one item that fails must not cost the others
                finished[position] = failure
            del going[position]
    return finished
