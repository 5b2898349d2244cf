"""The page on this machine: in front of a command, or behind a notebook."""

import contextlib
import socket
import threading
import time

from judgekit.labelling.app import create_app

PATIENCE = 20  # seconds for a server to come up or go down


def listening(port=0):
    """A socket on 127.0.0.1; port 0 is any free one.

    Raises
    ------
    OSError
        If the port is taken.
    """
    # asyncio sends small replies at once only where the protocol is named: 40 ms a vote otherwise.
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(("127.0.0.1", port))
    except BaseException:
        made.close()
        raise
    return made


def server_of(app):
    """A quiet uvicorn server of an application: no websockets, no foreign headers, no name of its own."""
    import uvicorn

    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=64,
        timeout_graceful_shutdown=3,
    )
    return uvicorn.Server(config)


class Labelling:
    """A labelling page that runs in the background of this process.

    Made by `show` and `start`. As a context manager it stops at the end.

    Attributes
    ----------
    desk : judgekit.labelling.desk.Desk
    port : int
    """

    def __init__(self, app, port=0):
        self.app, self.desk = app, app.state.desk
        try:
            self.socket = listening(port)
        except BaseException:
            self.desk.close()
            raise
        self.port, self.server = self.socket.getsockname()[1], server_of(app)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]}, daemon=True)
        self.thread.start()
        deadline = time.monotonic() + PATIENCE
        while not self.server.started:
            if time.monotonic() > deadline or not self.thread.is_alive():
                self.stop()
                raise RuntimeError("the labelling page did not come up")
            time.sleep(0.01)

    def link(self, annotator=None, host="127.0.0.1"):
        """The address that an annotator opens; without a name the first annotator's."""
        annotator = next(iter(self.desk.seats)) if annotator is None else annotator
        return f"http://{host}:{self.port}{self.app.state.link(annotator)}"

    def votes(self):
        """The votes so far: judgekit.votes.Votes."""
        return self.desk.votes()

    def stop(self):
        """End the server and give the file of votes free; all votes are in it. A second call does nothing."""
        self.server.should_exit = True
        self.thread.join(PATIENCE)
        with contextlib.suppress(OSError):
            self.socket.close()
        self.desk.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def start(pairs, path, annotators, *, order="random", seed=0, refresh=10, port=0, framed=False):
    """Start the page in the background.

    Parameters
    ----------
    pairs, path, annotators, order, seed, refresh, framed
        As for `judgekit.labelling.create_app`.
    port : int
        0 is any free one.

    Returns
    -------
    Labelling
        With ``.link(annotator)``, ``.votes()`` and ``.stop()``.
    """
    app = create_app(pairs, path, annotators, order=order, seed=seed, refresh=refresh, framed=framed)
    return Labelling(app, port)


def show(pairs, path, annotators, *, order="random", seed=0, refresh=10, port=0, host="localhost", height=760):
    """Show the page inside a notebook.

    Parameters
    ----------
    pairs, path, annotators, order, seed, refresh, port
        As for `start`; the first annotator's page is shown.
    host : {"localhost", "127.0.0.1"}
        What stands in the notebook's own address: a browser keeps the page's cookie back where the two differ.
    height : int
        Pixels.

    Returns
    -------
    Labelling
    """
    from IPython.display import HTML, IFrame, display

    page = start(pairs, path, annotators, order=order, seed=seed, refresh=refresh, port=port, framed=True)
    links = [f'<a href="{page.link(name, host)}" target="_blank" rel="noopener">{name}</a>' for name in page.desk.seats]
    display(IFrame(page.link(host=host), "100%", height), HTML(f"In a tab of its own: {', '.join(links)}"))
    return page
