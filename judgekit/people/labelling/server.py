"""The page on this machine, in front of a command or behind a notebook, and what uses it by its link."""

import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import requests

from judgekit.data.votes import Votes
from judgekit.people.labelling.session import Session
from judgekit.records import PreferencePair

_PATIENCE = 20  # seconds for a server to go down
_WAITED = 10  # seconds for a whole request
_HEIGHT = 760  # pixels of the frame in a notebook


def _punctual() -> Any:
    """uvicorn's protocol, which closes connections that send no whole request in time: it arms no timer before one."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Punctual(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.deadline = self.loop.call_later(_WAITED, self.overdue)

        def overdue(self) -> None:
            if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
                self.transport.abort()
            else:  # a request that is being answered
                self.deadline = self.loop.call_later(_WAITED, self.overdue)

        def on_response_complete(self) -> None:
            self.deadline.cancel()
            self.deadline = self.loop.call_later(_WAITED, self.overdue)
            super().on_response_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self.deadline.cancel()
            super().connection_lost(exc)

    return Punctual


class Labelling(AbstractContextManager):
    """A labelling page in the background of this process; as a context manager it stops at the end.

    Options and errors as for `Session`, ``framed`` and ``instructions`` as for `create_app`. OSError: port taken.
    """

    def __init__(
        self,
        pairs: Iterable[PreferencePair],
        path: str | Path,
        annotators: str | Iterable[str],
        port: int = 0,
        framed: bool = False,
        instructions: str = "",
        **options: Any,
    ) -> None:
        import uvicorn

        from judgekit.people.labelling.app import create_app

        self.session = Session(pairs, path, annotators, **options)
        self.app = create_app(self.session, framed, instructions)
        with ExitStack() as opened:
            opened.callback(self.session.close)
            # asyncio sends small replies at once only where the protocol is named: 40 ms a vote otherwise.
            listening = opened.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP))
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(("127.0.0.1", port))
            listening.listen()  # who asks before the server is up waits for it
            self._opened = opened.pop_all()
        self.port = listening.getsockname()[1]
        config = uvicorn.Config(
            self.app,
            http=_punctual(),
            ws="none",
            lifespan="off",
            log_level="error",
            proxy_headers=False,
            server_header=False,
            limit_concurrency=512,
            timeout_graceful_shutdown=3,
        )
        self._server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listening]}, daemon=True)
        self.thread.start()

    def link(self, annotator: str | None = None, host: str = "127.0.0.1") -> str:
        """The address that an annotator opens; without a name the first annotator's."""
        annotator = next(iter(self.session.annotators)) if annotator is None else annotator
        return f"http://{host}:{self.port}{self.app.state.link(annotator)}"

    def votes(self) -> Votes:
        return self.session.votes()

    def stop(self) -> None:
        """End the server and close the file of votes; all votes are in it. A second call does nothing."""
        self._server.should_exit = True
        self.thread.join(_PATIENCE)
        self._opened.close()

    def __exit__(self, *_: object) -> None:
        self.stop()


def show(
    pairs: Iterable[PreferencePair],
    path: str | Path,
    annotators: str | Iterable[str],
    *,
    host: str = "localhost",
    **options: Any,
) -> Labelling:
    """Show the first annotator's page inside a notebook; options as for `Labelling`. ``host``: what stands in the
    notebook's own address ("localhost" or "127.0.0.1"): a browser keeps the page's cookie back where the two differ."""
    from IPython.display import HTML, IFrame, display

    page = Labelling(pairs, path, annotators, framed=True, **options)
    names = page.session.annotators
    links = [f'<a href="{page.link(name, host)}" target="_blank" rel="noopener">{name}</a>' for name in names]
    display(IFrame(page.link(host=host), "100%", _HEIGHT), HTML(f"In a tab of its own: {', '.join(links)}"))
    return page


def label_all(link: str, decide: Callable[[dict[str, Any]], str], at_most: int | None = None) -> int:
    """Vote on pair after pair as the annotator of a link; how many votes the server confirmed. ``decide`` gets what is
    shown (texts under ``question``, ``first``, ``second``, each with ``raw``): "first", "second" or "tie". What the
    server refuses is a requests.HTTPError with its sentence."""
    page, confirmed = link.partition("?")[0], 0
    with requests.Session() as client:
        client.trust_env = False  # no proxy stands between this machine and itself
        _accepted(client.get(link, timeout=30))  # gives the cookie that everything else asks for
        now = _accepted(client.get(page + "now", timeout=30)).json()
        while now["pair"] is not None and confirmed != at_most:
            vote = {"ticket": now["ticket"], "choice": decide(now["pair"])}
            now = _accepted(client.post(page + "vote", json=vote, timeout=30)).json()
            confirmed += 1
    return confirmed


def _accepted(reply: requests.Response) -> requests.Response:
    """A reply that is no refusal."""
    if not reply.ok:
        shown = reply.headers.get("content-type", "").startswith("application/json")
        raise requests.HTTPError(reply.json()["said"] if shown else reply.text.strip(), response=reply)
    return reply
