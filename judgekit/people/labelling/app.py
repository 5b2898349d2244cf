"""The page as a Starlette application: empty for everybody, pairs and votes for who has an annotator's link.

Texts of strangers become HTML that does nothing: Markdown without HTML, links without targets, pictures not loaded;
formulas become MathML, which browsers draw by themselves.
The content security policy is the second wall; this is the first.
"""

import re
import secrets
from collections.abc import Callable
from functools import lru_cache
from html import escape, unescape
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree.ElementTree import tostring

from latex2mathml.converter import convert_to_element
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from judgekit.people.labelling.session import Session, StaleTicket
from judgekit.records import PreferencePair, Turn

PAGE = Path(__file__).with_name("page")
MOST_STEPS = 80_000  # of the parser, some ten microseconds each: what takes more is shown as it is written
# \(...\), \[...\], $$...$$, and $...$ where no money is meant; bounded, so that reading stays quick.
_FORMULA = re.compile(
    r"\\\((.{1,2000}?)\\\)|\\\[(.{1,2000}?)\\\]|\$\$(.{1,2000}?)\$\$|(?<![\w$])\$(?!\s)([^$\n]{1,200}?)(?<!\s)\$(?![\w$])",
    re.S,
)
_DRAWN = (  # elements of a formula; what leads somewhere or holds anything else is none
    "math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover mtable mtr mtd "
    "mstyle menclose mmultiscripts mprescripts"
).split()
_KEPT = ("xmlns", "display", "stretchy", "fence", "linethickness", "notation", "mathvariant", "accent")  # attributes
_SPECIAL = re.compile(r"[^\w ]|_")  # what may end a run of plain text
LARGEST_BODY = 16_384  # bytes; a vote takes a hundred, a comment of 2,000 characters up to 8,000
# Another name means that a foreign one was pointed at this machine (DNS rebinding). A tunnel may end at another port.
_HOSTS = ("127.0.0.1", "localhost")
_HEADERS = {
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors "
)
_NOTEBOOK = "http://localhost:* http://127.0.0.1:*"  # its own address has a port that this server cannot know
_OLD_LINK = "This link is not one of this server: use the link that it printed last."
_NO_COOKIE = "This page has no session with the server that runs now: open the link that it printed last."


def create_app(session: Session, framed: bool = False, instructions: str = "") -> Starlette:
    """The labelling page; ``framed``: whether a notebook on this machine may show it in a frame; ``instructions``:
    Markdown that stands in the help in place of its own first words.

    ``app.state.link(annotator)``: the address, from the root, that an annotator opens for as long as the app lives.
    """
    page = _Page(session, rendered(instructions) if instructions.strip() else "")
    routes = [
        Mount("/static", StaticFiles(directory=PAGE)),
        Route("/a/{annotator}/", page.page, methods=["GET"]),
        Route("/a/{annotator}/now", page.now, methods=["GET"]),
        Route("/a/{annotator}/{action}", page.act, methods=["POST"]),
    ]
    headers = _HEADERS | {"content-security-policy": _POLICY + (_NOTEBOOK if framed else "'none'")}
    headers |= {} if framed else {"x-frame-options": "DENY"}

    async def guarded(request: Request, call_next: RequestResponseEndpoint) -> Response:
        refusal = _refusal(request)
        reply = await call_next(request) if refusal is None else PlainTextResponse(refusal[1], refusal[0])
        reply.headers.update(headers)
        if reply.status_code >= 400:
            reply.headers["connection"] = "close"  # nobody reads what of its body is still to come
        return reply

    middleware = [
        Middleware(BaseHTTPMiddleware, dispatch=guarded),
        Middleware(TrustedHostMiddleware, allowed_hosts=_HOSTS, www_redirect=False),
        Middleware(RequestBodyLimitMiddleware, max_body_size=LARGEST_BODY),
    ]
    app = Starlette(routes=routes, middleware=middleware)
    app.router.redirect_slashes = False
    app.state.link = page.link
    return app


def _refusal(request: Request) -> tuple[int, str] | None:
    """Status and sentence for a request that no page of ours sends, or None."""
    own = f"http://{request.headers.get('host', '')}"
    if request.method not in ("GET", "POST"):
        return 405, "GET and POST only."
    if any(origin != own for origin in request.headers.getlist("origin")):
        return 403, "The request comes from another page."
    # The empty page itself may be opened from anywhere: it holds nothing, and votes come from it alone.
    opened = request.method == "GET" and request.headers.get("sec-fetch-mode") == "navigate"
    if request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none") and not opened:
        return 403, "The request comes from another site."
    return None


class _Action(BaseModel):
    """What the page sends; ``choice`` and ``comment`` with a vote alone."""

    ticket: str
    choice: str = ""
    comment: str = ""


class _Page:
    """Addresses, cookies and replies around a `Session`."""

    def __init__(self, session: Session, instructions: str) -> None:
        self.session, self.instructions = session, instructions
        self._tokens = {annotator: secrets.token_urlsafe() for annotator in session.annotators}
        # Browsers send one cookie to all ports of a machine: two servers must not share a name.
        self._cookie = f"labelling_{secrets.token_hex(4)}"

    def link(self, annotator: str) -> str:
        """The address that an annotator opens, from the root; KeyError if there is no such annotator."""
        return f"/a/{quote(annotator)}/?token={self._tokens[annotator]}"

    def _annotator(self, request: Request, token: str | None, refusal: str = _NO_COOKIE) -> str:
        """The annotator of an address, if the token is theirs."""
        annotator: str = request.path_params["annotator"]
        own = self._tokens.get(annotator)
        if own is None or not secrets.compare_digest((token or "").encode(), own.encode()):
            raise HTTPException(403, refusal)
        return annotator

    async def page(self, request: Request) -> Response:
        """The empty page; with the link's token it gets the cookie that everything else asks for."""
        reply = FileResponse(PAGE / "page.html")
        if "token" in request.query_params:
            annotator = self._annotator(request, request.query_params["token"], _OLD_LINK)
            path = f"/a/{quote(annotator)}/"
            reply.set_cookie(self._cookie, self._tokens[annotator], path=path, httponly=True, samesite="strict")
        return reply

    def now(self, request: Request) -> Response:
        return self._shown(self._annotator(request, request.cookies.get(self._cookie)))

    async def act(self, request: Request) -> Response:
        """A vote, a skip or an undo."""
        annotator = self._annotator(request, request.cookies.get(self._cookie))
        action = request.path_params["action"]
        if action not in ("vote", "skip", "undo"):
            raise HTTPException(404, "There is no such page.")
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise HTTPException(415, "JSON only.")
        try:
            sent = _Action.model_validate_json(await request.body())
        except ValidationError:
            raise HTTPException(400, "The request has no ticket, or what it has is no text.") from None
        return await run_in_threadpool(self._done, annotator, action, sent.ticket, sent.choice, sent.comment)

    def _done(self, annotator: str, action: str, ticket: str, choice: str, comment: str) -> Response:
        """The reply to an action; it is sent after the vote is on disk."""
        try:
            if action == "vote":
                new = self.session.vote(annotator, ticket, choice, comment)
                message = "Stored: {done} of {of}." if new else "This vote was stored already."
            elif action == "skip":
                self.session.skip(annotator, ticket)
                message = "Skipped: it comes back at the end."
            else:
                undone = self.session.undo(annotator, ticket)
                message = "Your last vote is taken back." if undone else "Nothing to take back."
        except StaleTicket as stale:
            return self._shown(annotator, 409, str(stale))
        except ValueError as error:
            raise HTTPException(400, str(error)) from None
        except OSError as error:
            return self._shown(annotator, 507, f"Not stored: {error.strerror or 'the file could not be written'}.")
        return self._shown(annotator, 200, message)

    def _shown(self, annotator: str, status: int = 200, message: str = "") -> Response:
        """The present pair as JSON: texts only, nothing that tells who wrote them or what anybody thinks of them."""
        now = self.session.now(annotator)
        pair, agreement, trouble = now["pair"], now["agreement"], now["trouble"]
        if agreement is not None:
            now["agreement"] = {"percent": str(agreement), "interval": agreement.interval, "n": agreement.n}
        if pair is not None:
            parts = [(each.question, each.response_a, each.response_b) for each in (*pair.turns, pair)]
            show = as_written if is_slow("\n\n".join(chain(*parts, [pair.reference or ""]))) else rendered
            turns = [_texts(turn, show) | {"shared": turn.response_a == turn.response_b} for turn in pair.turns]
            reference = None if pair.reference is None else _text(pair.reference, show)
            now["pair"] = _texts(pair, show) | {"turns": turns, "reference": reference}
        now["trouble"] = trouble and visible(trouble)
        now["said"] = message.format(**now["progress"]) if status == 200 else message
        return JSONResponse(now | {"annotator": annotator, "instructions": self.instructions}, status)


def _texts(shown: PreferencePair | Turn, show: Callable[[str], str]) -> dict[str, Any]:
    """Question and responses; sides are first and second as they are shown."""
    texts = {"question": shown.question, "first": shown.response_a, "second": shown.response_b}
    return {name: _text(text, show) for name, text in texts.items()}


def _text(written: str, show: Callable[[str], str]) -> dict[str, str]:
    return {"raw": visible(written), "html": show(written)}


def is_slow(text: str) -> bool:
    """Whether the parser may take more steps than `MOST_STEPS`: one for a character, and more where it reads a line
    once for each level of quotes, fills up rows of a table, or looks for the end of every bracket."""
    steps = len(text)
    for part in text.replace("\r", "\n").split("\n\n") if steps <= MOST_STEPS else ():  # where each of these ends
        lines = part.split("\n")
        steps += 2 * len(lines) * max(line.count("|") + line.count(">") for line in lines)
        steps += part.count("[") * len(_SPECIAL.findall(part)) // 16
    return steps > MOST_STEPS


def as_written(text: str) -> str:
    """A text as HTML that shows every character of it."""
    return f'<pre class="plain">{escape(visible(text))}</pre>' if text.strip() else '<p class="empty">(empty)</p>'


@lru_cache(maxsize=256)
def rendered(text: str) -> str:
    """Markdown as HTML without scripts, handlers, styles, frames, forms, addresses or pictures."""
    if not text.strip() or is_slow(text):
        return as_written(text)
    tokens = _PARSER.parse(visible(text))
    if any(token.level >= _PARSER.options.maxNesting - 1 for token in tokens):  # what is nested deeper is left out
        return as_written(text)
    return str(_PARSER.renderer.render(tokens, _PARSER.options, {}))


def visible(text: str) -> str:
    """A text that can be sent: lone surrogates and NUL, which no page can show, become a mark."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")


def formula(latex: str, display: str) -> str:
    """LaTeX as MathML; ValueError where it holds what is not drawn, or any error of a reader that strangers feed."""
    root = convert_to_element(latex, display=display)
    for element in root.iter():
        if element.tag not in _DRAWN:
            raise ValueError(f"<{element.tag}>")
        for name in set(element.attrib) - set(_KEPT):
            del element.attrib[name]
        element.text = unescape(element.text or "")  # the converter writes entities; here they are escaped once, below
    return tostring(root, encoding="unicode")


def _formula_rule(state: StateInline, silent: bool) -> bool:
    """A formula at this place of a text."""
    if not (found := _FORMULA.match(state.src, state.pos)):
        return False
    if not silent:
        token = state.push("formula", "math", 0)
        token.content, token.markup = found[found.lastindex or 0], found[0]
        token.info = "block" if found.lastindex in (2, 3) else "inline"
    state.pos = found.end()
    return True


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:
        return url.lower().startswith(("http://", "https://"))


class _Renderer(RendererHTML):
    """The elements that would load something, lead somewhere or carry a style."""

    def link_open(self, tokens: Any, idx: int, options: Any, env: Any) -> str:
        return '<span class="link">'

    def link_close(self, tokens: Any, idx: int, options: Any, env: Any) -> str:
        """Where the link would have led, as text, unless its own text says so."""
        depth, start = 1, idx
        while depth:
            start -= 1
            depth += {"link_close": 1, "link_open": -1}.get(tokens[start].type, 0)
        if tokens[start].markup == "autolink":
            return "</span>"
        return f'</span> <span class="address">({escape(str(tokens[start].attrGet("href")))})</span>'

    def image(self, tokens: Any, idx: int, options: Any, env: Any) -> str:
        """A picture is not loaded: asking for it would tell its owner that somebody reads this."""
        source = escape(str(tokens[idx].attrGet("src")))
        return f'<span class="picture">[picture: {escape(tokens[idx].content)} ({source})]</span>'

    def fence(self, tokens: Any, idx: int, options: Any, env: Any) -> str:
        """A block of code; its language is a word above it, never an attribute."""
        language = (tokens[idx].info.split(maxsplit=1) or [""])[0][:30]
        caption = f'<span class="language">{escape(language)}</span>' if language else ""
        code = escape(tokens[idx].content)
        return f'<div class="code">{caption}<pre tabindex="0"><code dir="ltr">{code}</code></pre></div>\n'

    def formula(self, tokens: Any, idx: int, options: Any, env: Any) -> str:
        """A formula, or what is written in its place where it cannot be read."""
        try:
            return formula(tokens[idx].content, tokens[idx].info)
        except Exception:
            return f"<code>{escape(tokens[idx].markup)}</code>"

    def th_open(self, tokens: Any, idx: int, options: Any, env: Any) -> str:
        """A cell of a table without its alignment, which would be an inline style."""
        return f"<{tokens[idx].tag}>"

    td_open = th_open


_PARSER = _Parser(
    "default", {"html": False, "linkify": False, "typographer": False, "breaks": True}, renderer_cls=_Renderer
)
_PARSER.inline.ruler.before("escape", "formula", _formula_rule)
