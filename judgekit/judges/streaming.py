"""Asynchronous work as an ordinary generator, also where an event loop runs already (in a notebook)."""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

Put = Callable[[Any], Awaitable[None]]


def streamed(work: Callable[[Put], Awaitable[None]]) -> Iterator[list[Any]]:
    """Run ``work(put)`` in a thread with an event loop of its own; yield what it puts, at least one thing each time.

    ``await put(item)`` hands an item over and returns when the consumer comes back for more: whoever puts has one item
    at most that is not dealt with. Closing the generator cancels the work and waits for it, so an interruption loses
    at most what each of those who put had in hand, however slowly the consumer stores. What the work raised is raised
    after what it had put.
    """
    done, box = object(), queue.SimpleQueue[Any]()
    state: dict[str, Any] = {}
    started = threading.Event()

    async def run() -> None:
        state["loop"], state["task"] = asyncio.get_running_loop(), asyncio.current_task()
        started.set()

        async def put(item: Any) -> None:
            taken = state["loop"].create_future()
            box.put((item, taken))
            await taken

        await work(put)

    def target() -> None:
        try:
            with contextlib.suppress(asyncio.CancelledError):
                asyncio.run(run())
        except BaseException as failure:
            state["failure"] = failure
        finally:
            started.set()
            box.put(done)

    thread = threading.Thread(target=target, name="judging", daemon=True)
    thread.start()
    try:
        ended = False
        while not ended:
            items = [box.get()]
            with contextlib.suppress(queue.Empty):
                while True:
                    items.append(box.get_nowait())
            ended = items[-1] is done
            if items := [item for item in items if item is not done]:
                yield [item for item, _ in items]
                with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
                    state["loop"].call_soon_threadsafe(_release, [taken for _, taken in items])
    finally:
        started.wait()
        if thread.is_alive() and "loop" in state:
            with contextlib.suppress(RuntimeError):  # the loop has just ended by itself
                state["loop"].call_soon_threadsafe(state["task"].cancel)
        thread.join()
    if "failure" in state:
        raise state["failure"]


def _release(waiting: list["asyncio.Future[None]"]) -> None:
    """Let those go on who wait for their item to be dealt with; some may have been cancelled."""
    for taken in waiting:
        if not taken.done():
            taken.set_result(None)
