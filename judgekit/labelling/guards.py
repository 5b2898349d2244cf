"""What every request must be, and what every reply says to the browser: nothing of the page knows of either."""

from urllib.parse import urlsplit

HOSTS = ("127.0.0.1", "localhost")
LARGEST_BODY = 4096  # bytes; a vote takes a hundred
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors {frames}"
)
# A notebook's own address has a port that this server cannot know.
NOTEBOOK = "http://localhost:* http://127.0.0.1:*"


class Guard:
    """Refuse requests that no page of ours sends, and add the headers that every reply has.

    Parameters
    ----------
    app : ASGI application
    framed : bool
        Whether a notebook on this machine may show the page in a frame.
    hosts : sequence of str
        Names under which this server may be asked for: another one means that a foreign name was pointed at this
        machine (DNS rebinding). Ports are not compared, so that a tunnel may end at another one.

    Notes
    -----
    400 for a foreign Host, 403 for a foreign Origin or site, 405 for other methods than GET and POST, 413 for a large
    body.
    """

    def __init__(self, app, framed=False, hosts=HOSTS):
        self.app, self.hosts = app, hosts
        self.headers = [
            (b"content-security-policy", POLICY.format(frames=NOTEBOOK if framed else "'none'").encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"cache-control", b"no-store"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"cross-origin-opener-policy", b"same-origin"),
        ]
        if not framed:
            self.headers.append((b"x-frame-options", b"DENY"))

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                return await self.app(scope, receive, send)
            return  # no websockets here
        refused = self.refusal(scope)
        if refused:
            return await self.refuse(send, *refused)
        body = await read_body(receive)
        if body is None:
            return await self.refuse(send, 413, "The request is too large.")

        sent = False

        async def replay():
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def with_headers(message):
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *self.headers]}
            await send(message)

        await self.app(scope, replay, with_headers)

    def refusal(self, scope):
        """Status and sentence for a request that no page of ours sends, or None."""
        given = {}
        for name, value in scope["headers"]:
            if name in given and name in (b"host", b"origin"):
                return 400, "A header stands twice."
            given[name] = value.decode("latin-1")
        host = given.get(b"host", "")
        if host_name(host) not in self.hosts:
            return 400, "This page answers to its own name only."
        if scope["method"] not in ("GET", "POST"):
            return 405, "GET and POST only."
        if given.get(b"origin", f"http://{host}") != f"http://{host}":
            return 403, "The request comes from another page."
        # The empty page itself may be opened from anywhere: it holds nothing, and votes come from it alone.
        site, opened = given.get(b"sec-fetch-site", "same-origin"), given.get(b"sec-fetch-mode") == "navigate"
        if site not in ("same-origin", "none") and not (opened and scope["method"] == "GET"):
            return 403, "The request comes from another site."
        length = given.get(b"content-length", "0")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            return 413, "The request is too large."
        return None

    async def refuse(self, send, status, sentence):
        """A short reply in plain text."""
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close"), *self.headers]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": sentence.encode() + b"\n"})


def host_name(host):
    """The name in a Host header, without its port; empty where it is none."""
    try:
        parts = urlsplit(f"//{host}")
        whole = parts.netloc == host and "@" not in host and parts.port != 0
    except ValueError:  # a port that is none
        return ""
    return parts.hostname if whole else ""


async def read_body(receive):
    """The body of a request, or None once it is larger than it may be."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            return None
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return body
