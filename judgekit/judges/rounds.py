"""Interviews held side by side: all go on until each waits for a completion, then what they wait for is made together.

There is no event loop: an interview is a coroutine that is sent on by hand, so that this also works inside a notebook
and ends at once on Ctrl-C.
"""


class Answer:
    """What an interview waits for: a value, or a failure."""

    def __init__(self):
        self.ready, self.value, self.failure = False, None, None

    def settle(self, result):
        """Give the value, or the exception that takes its place."""
        self.ready = True
        if isinstance(result, Exception):
            self.failure = result
        else:
            self.value = result

    def __await__(self):
        while not self.ready:
            yield self
        if self.failure is not None:
            raise self.failure
        return self.value


class Rounds:
    """Puts the questions of many interviews to an engine that answers many at once.

    Parameters
    ----------
    prepare : callable
        ``prepare(messages, call)`` gives what the engine is asked; an exception fails that interview alone.
    complete : callable
        ``complete(questions)`` yields dictionaries from the place of a question to its completion, or to an exception.
    """

    def __init__(self, prepare, complete):
        self.prepare, self.complete = prepare, complete
        self.waiting, self.known = [], {}

    async def ask(self, messages, call):
        """The completion of one question (`judgekit.judges.generative.Interview.ask`)."""
        question, answer = self.prepare(messages, call), Answer()
        self.waiting.append((question, answer))
        return await answer

    async def shared(self, key, work):
        """The result of work that is done once for a key, and whether it was done now; a failure is shared, too."""
        if (answer := self.known.get(key)) is not None:
            return await answer, False
        answer = self.known[key] = Answer()
        try:
            answer.settle(await work())
        except Exception as failure:  # whoever else waits for this must not wait for ever
            answer.settle(failure)
        return await answer, True

    def hold(self, interviews):
        """Hold interviews to their end.

        Parameters
        ----------
        interviews : list of coroutine

        Yields
        ------
        dict of int to object
            From the place of an interview to its result, or to the exception it ended with; every place once.
        """
        open_, awaited = dict(enumerate(interviews)), {}
        try:
            if finished := self.advance(open_, awaited):
                yield finished
            while open_:
                asked, self.waiting = self.waiting, []
                for completed in self.complete([question for question, _ in asked]):
                    for place, completion in completed.items():
                        asked[place][1].settle(completion)
                    if finished := self.advance(open_, awaited):
                        yield finished
                if not asked:
                    raise RuntimeError(f"{len(open_)} interviews wait for something that nobody was asked")
        finally:
            self.waiting = []
            for interview in open_.values():
                interview.close()

    def advance(self, open_, awaited):
        """Send on every interview that does not wait any more, until all do; the results of those that ended."""
        finished, moved = {}, True
        while moved:
            moved = False
            for place in [p for p in open_ if p not in awaited or awaited[p].ready]:
                moved = True
                try:
                    awaited[place] = open_[place].send(None)
                    continue
                except StopIteration as ended:
                    finished[place] = ended.value
                except Exception as failure:  # one item that fails must not cost the others
                    finished[place] = failure
                del open_[place]
        return finished
