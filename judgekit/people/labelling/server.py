"""The page on this machine: in front of a command, or behind a notebook."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self, cast

from judgekit.data.votes import Votes
from judgekit.people.labelling.session import Session
from judgekit.records import PreferencePair

PATIENCE = 20  # seconds for a server to come up or go down


class Labelling:
    """A labelling page (`create_app`) in the background of this process; as a context manager it stops at the end.

    OSError if the port is taken; port 0 is any free one.
    """

    def __init__(self, app: Any, port: int = 0) -> None:
        import uvicorn

        self.app, self.session = app, cast(Session, app.state.session)
        # asyncio sends small replies at once only where the protocol is named: 40 ms a vote otherwise.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind(("127.0.0.1", port))
        except BaseException:
            self._socket.close()
            self.session.close()
            raise
        self.port = self._socket.getsockname()[1]
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            log_level="error",
            proxy_headers=False,
            server_header=False,
            limit_concurrency=64,
            timeout_graceful_shutdown=3,
        )
        self._server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self.thread.start()
        deadline = time.monotonic() + PATIENCE
        while not self._server.started:
            if time.monotonic() > deadline or not self.thread.is_alive():
                self.stop()
                raise RuntimeError("the labelling page did not come up")
            time.sleep(0.01)

    def link(self, annotator: str | None = None, host: str = "127.0.0.1") -> str:
        """The address that an annotator opens; without a name the first annotator's."""
        annotator = next(iter(self.session.annotators)) if annotator is None else annotator
        return f"http://{host}:{self.port}{self.app.state.link(annotator)}"

    def votes(self) -> Votes:
        """The votes so far."""
        return self.session.votes()

    def stop(self) -> None:
        """End the server and close the file of votes; all votes are in it. A second call does nothing."""
        self._server.should_exit = True
        self.thread.join(PATIENCE)
        with contextlib.suppress(OSError):
            self._socket.close()
        self.session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(
    pairs: Iterable[PreferencePair], path: str | Path, annotators: str | Iterable[str], *, port: int = 0, **options: Any
) -> Labelling:
    """Start the page in the background; options as for `judgekit.people.labelling.app.create_app`."""
    from judgekit.people.labelling.app import create_app

    return Labelling(create_app(pairs, path, annotators, **options), port)


def show(
    pairs: Iterable[PreferencePair],
    path: str | Path,
    annotators: str | Iterable[str],
    *,
    host: str = "localhost",
    height: int = 760,
    **options: Any,
) -> Labelling:
    """Show the first annotator's page inside a notebook, ``height`` pixels high; options as for `start`.

    ``host``: "localhost" or "127.0.0.1", what stands in the notebook's own address: a browser keeps the page's cookie
    back where the two differ.
    """
    from IPython.display import HTML, IFrame, display

    page = start(pairs, path, annotators, framed=True, **options)
    names = page.session.annotators
    links = [f'<a href="{page.link(name, host)}" target="_blank" rel="noopener">{name}</a>' for name in names]
    display(IFrame(page.link(host=host), "100%", height), HTML(f"In a tab of its own: {', '.join(links)}"))
    return page
