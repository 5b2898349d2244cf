"""The page as a Starlette application: empty for everybody, pairs and votes for who holds an annotator's link."""

import hashlib
import hmac
import json
import secrets
from pathlib import Path
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from judgekit.labelling.desk import Desk, Stale
from judgekit.labelling.guards import Guard
from judgekit.labelling.rendering import rendered, visible

PAGE = Path(__file__).with_name("page")
KINDS = {"page.js": "text/javascript", "page.css": "text/css"}


def create_app(pairs, path, annotators, *, order="random", seed=0, refresh=10, framed=False):
    """The labelling page.

    Parameters
    ----------
    pairs : list of PreferencePair, or Desk
        With a desk, the other arguments but ``framed`` are not used.
    path, annotators, order, seed, refresh
        As for `judgekit.labelling.desk.Desk`.
    framed : bool
        Whether a notebook on this machine may show it in a frame.

    Returns
    -------
    starlette.applications.Starlette
        ``app.state.desk`` is its `Desk`; ``app.state.link(annotator)`` the address, from the root, that an annotator
        opens. The links are good for as long as the application lives.
    """
    desk = pairs if isinstance(pairs, Desk) else Desk(pairs, path, annotators, order, seed, refresh)
    return Page(desk).application(framed)


class Page:
    """Addresses, cookies and replies around a `Desk`."""

    def __init__(self, desk):
        self.desk, self.secret = desk, secrets.token_bytes(32)
        # Browsers send one cookie to all ports of a machine: two servers must not share a name.
        self.cookie = f"labelling_{secrets.token_hex(4)}"

    def application(self, framed):
        """The application with its routes."""
        routes = [
            Route("/static/{name}", static, methods=["GET"]),
            Route("/a/{annotator}/", self.page, methods=["GET"]),
            Route("/a/{annotator}/now", self.now, methods=["GET"]),
            Route("/a/{annotator}/{action}", self.act, methods=["POST"]),
        ]
        app = Starlette(routes=routes, middleware=[Middleware(Guard, framed=framed)])
        app.router.redirect_slashes = False
        app.state.desk, app.state.link = self.desk, self.link
        return app

    def token(self, annotator):
        """What proves that somebody was given this annotator's link."""
        return hmac.new(self.secret, annotator.encode(), hashlib.sha256).hexdigest()

    def link(self, annotator):
        """The address that an annotator opens, from the root.

        Raises
        ------
        KeyError
            If nobody is called so.
        """
        if annotator not in self.desk.seats:
            raise KeyError(f"no annotator is called {annotator!r:.80}")
        return f"/a/{quote(annotator)}/?token={self.token(annotator)}"

    def admitted(self, request, token):
        """The annotator of an address, if the token is theirs; None otherwise."""
        annotator = request.path_params["annotator"]
        fits = hmac.compare_digest((token or "").encode(), self.token(annotator).encode())
        return annotator if fits and annotator in self.desk.seats else None

    async def page(self, request):
        """The empty page; with the link's token it gets the cookie that everything else asks for."""
        reply = Response((PAGE / "page.html").read_bytes(), media_type="text/html; charset=utf-8")
        if "token" in request.query_params:
            annotator = self.admitted(request, request.query_params["token"])
            if annotator is None:
                return told(403, "This link is not one of this server: use the link that it printed last.")
            place = f"/a/{quote(annotator)}/"
            token = self.token(annotator)
            reply.set_cookie(self.cookie, token, path=place, httponly=True, samesite="strict")
        return reply

    async def now(self, request):
        """The present pair."""
        annotator = self.admitted(request, request.cookies.get(self.cookie))
        if annotator is None:
            return refused()
        return await run_in_threadpool(self.shown, annotator)

    async def act(self, request):
        """A vote, a skip or an undo."""
        annotator = self.admitted(request, request.cookies.get(self.cookie))
        if annotator is None:
            return refused()
        action = request.path_params["action"]
        if action not in ("vote", "skip", "undo"):
            return told(404, "There is no such page.")
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return told(415, "JSON only.")
        try:
            given = json.loads(await request.body())
            ticket, choice = given["ticket"], given["choice"] if action == "vote" else ""
        except (ValueError, KeyError, TypeError, RecursionError):
            return told(400, "The request has no ticket, or no choice.")
        if not isinstance(ticket, str) or not isinstance(choice, str):
            return told(400, "Ticket and choice are texts.")
        return await run_in_threadpool(self.done, annotator, action, ticket, choice)

    def done(self, annotator, action, ticket, choice):
        """The reply to what was asked for; it is sent after the vote is on disk."""
        try:
            if action == "vote":
                new = self.desk.vote(annotator, ticket, choice)
                said = "Stored: {done} of {of}." if new else "This vote was stored already."
            elif action == "skip":
                self.desk.skip(annotator, ticket)
                said = "Skipped: it comes back at the end."
            else:
                said = "Your last vote is taken back." if self.desk.undo(annotator, ticket) else "Nothing to take back."
        except Stale as stale:
            return self.shown(annotator, 409, str(stale))
        except ValueError as bad:
            return told(400, str(bad))
        except OSError as full:
            reason = full.strerror or "the file could not be written"
            return self.shown(annotator, 507, f"Not stored: {reason}.")
        return self.shown(annotator, 200, said)

    def shown(self, annotator, status=200, said=""):
        """The present pair as JSON: texts only, nothing that tells who wrote them or what anybody thinks of them."""
        now = self.desk.now(annotator)
        agreement = now["agreement"]
        found = {
            "said": said.format(**now["progress"]) if status == 200 else said,
            "annotator": annotator,
            "ticket": now["ticket"],
            "pair": None if now["pair"] is None else texts_of(now["pair"]),
            "progress": now["progress"],
            "agreement": None
            if agreement is None
            else {"percent": str(agreement), "interval": agreement.interval, "n": agreement.n},
            "trouble": now["trouble"] and visible(now["trouble"]),
        }
        return JSONResponse(found, status_code=status)


def texts_of(pair):
    """The texts of a pair, each as written and as HTML; sides are first and second as they are shown."""
    turns = [
        {"question": text(turn.question), "first": text(turn.response_a), "second": text(turn.response_b)}
        | {"shared": turn.response_a == turn.response_b}
        for turn in pair.turns
    ]
    return {
        "turns": turns,
        "question": text(pair.question),
        "first": text(pair.response_a),
        "second": text(pair.response_b),
        "reference": None if pair.reference is None else text(pair.reference),
    }


def text(written):
    """A text as written and as safe HTML."""
    return {"raw": visible(written), "html": rendered(written)}


async def static(request):
    """One of the page's own files: two names, no paths."""
    name = request.path_params["name"]
    if name not in KINDS:
        return told(404, "There is no such page.")
    return Response((PAGE / name).read_bytes(), media_type=KINDS[name])


def refused():
    """The reply to who has no cookie, or one of an earlier server."""
    return told(403, "This page has no session with the server that runs now: open the link that it printed last.")


def told(status, sentence):
    """A sentence as a reply."""
    return PlainTextResponse(sentence, status_code=status)
