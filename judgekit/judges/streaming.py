"""Asynchronous work as an ordinary generator, also where an event loop runs already (in a notebook)."""

import asyncio
import contextlib
import queue
import threading


def streamed(work):
    """Run ``work`` in a thread with an event loop of its own; yield what it puts, as it comes.

    Parameters
    ----------
    work : callable
        From ``put`` to a coroutine. ``await put(item)`` hands an item over and returns when the consumer comes back for
        more: whoever puts has one item at most that is not dealt with.

    Yields
    ------
    list
        Everything put since the last time, at least one thing.

    Raises
    ------
    BaseException
        What the coroutine raised, after what it had put.

    Notes
    -----
    Closing the generator cancels the coroutine and waits for it. An interruption therefore loses at most what each of
    those who put had in hand, in flight or not yet stored, however slowly the consumer stores.
    """
    done, box, state = object(), queue.SimpleQueue(), {}
    started = threading.Event()

    async def run():
        state["loop"], state["task"] = asyncio.get_running_loop(), asyncio.current_task()
        started.set()

        async def put(item):
            taken = state["loop"].create_future()
            box.put((item, taken))
            await taken

        await work(put)

    def target():
        try:
            asyncio.run(run())
        except asyncio.CancelledError:
            pass
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
                    state["loop"].call_soon_threadsafe(release, [taken for _, taken in items])
    finally:
        started.wait()
        if thread.is_alive() and "loop" in state:
            with contextlib.suppress(RuntimeError):  # the loop has just ended by itself
                state["loop"].call_soon_threadsafe(state["task"].cancel)
        thread.join()
    if "failure" in state:
        raise state["failure"]


def release(waiting):
    """Let those go on who wait for their item to be dealt with; some may have been cancelled."""
    for taken in waiting:
        if not taken.done():
            taken.set_result(None)
