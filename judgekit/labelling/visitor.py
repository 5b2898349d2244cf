"""The page without a browser: what a script, a test or a simulated annotator sees and does."""

import http.client
import json
from urllib.parse import urlsplit


class Refused(Exception):
    """The server said no; the message is its own.

    Attributes
    ----------
    status : int
    """

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Visitor:
    """One annotator's session over HTTP.

    Parameters
    ----------
    link : str
        As the server printed it.

    Attributes
    ----------
    now : dict
        What the page shows: ``ticket``, ``pair`` (None when all is done), ``progress``, ``agreement``, ``said``.

    Raises
    ------
    Refused
        If the link is not good (any more).
    """

    def __init__(self, link):
        parts = urlsplit(link)
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
        self.place = parts.path
        opened = self.ask("GET", f"{parts.path}?{parts.query}")
        self.cookie = (opened.getheader("set-cookie") or "").partition(";")[0]
        self.now = self.answer("GET", "now")

    def ask(self, method, address, body=None, headers=None):
        """One request; the reply's body is in ``reply.text``."""
        self.connection.request(method, address, body, headers or {})
        reply = self.connection.getresponse()
        reply.text = reply.read().decode("utf-8")
        if reply.status != 200:
            said = reply.text
            if reply.getheader("content-type", "").startswith("application/json"):
                self.now = json.loads(said)
                said = self.now["said"]
            raise Refused(reply.status, said.strip())
        return reply

    def answer(self, method, action, **given):
        """One request with the session's cookie; what the page then shows."""
        headers = {"cookie": self.cookie, "content-type": "application/json"}
        self.now = json.loads(self.ask(method, self.place + action, json.dumps(given) if given else None, headers).text)
        return self.now

    def vote(self, choice):
        """Vote for what is shown "first" or "second", or "tie"; the vote is on disk when this returns."""
        return self.answer("POST", "vote", ticket=self.now["ticket"], choice=choice)

    def skip(self):
        """Put this pair off."""
        return self.answer("POST", "skip", ticket=self.now["ticket"])

    def undo(self):
        """Take the last vote back."""
        return self.answer("POST", "undo", ticket=self.now["ticket"])

    def close(self):
        """End the connection."""
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def label_all(link, decide, at_most=None):
    """Vote on pair after pair, as an annotator whose mind is a function.

    Parameters
    ----------
    link : str
        As the server printed it.
    decide : callable
        Gets what is shown (texts under ``question``, ``first``, ``second``, each with ``raw``) and returns "first",
        "second" or "tie".
    at_most : int, optional

    Returns
    -------
    int
        Votes that the server confirmed.
    """
    confirmed = 0
    with Visitor(link) as visitor:
        while visitor.now["pair"] is not None and confirmed != at_most:
            visitor.vote(decide(visitor.now["pair"]))
            confirmed += 1
    return confirmed
