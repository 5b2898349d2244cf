"""The page by its link: what a script, a test or a simulated annotator sees and does."""

from collections.abc import Callable
from typing import Any, Self

import requests


class Client:
    """One annotator's session over HTTP, by the link that the server printed.

    ``now`` is what the page shows: ``ticket``, ``pair`` (None when all is done), ``progress``, ``agreement``, ``said``.
    requests.HTTPError has the server's refusal in its own words.
    """

    def __init__(self, link: str) -> None:
        self._connection, self._page = requests.Session(), link.partition("?")[0]
        self._connection.trust_env = False  # no proxy stands between this machine and itself
        self.now: dict[str, Any] = {}
        self._shown(self._connection.get(link, timeout=30))
        self._shown(self._connection.get(self._page + "now", timeout=30))

    def _shown(self, reply: requests.Response) -> dict[str, Any]:
        """What the page shows after a reply."""
        message = reply.text.strip()
        if reply.headers.get("content-type", "").startswith("application/json"):
            self.now = reply.json()
            message = self.now["said"]
        if not reply.ok:
            raise requests.HTTPError(message, response=reply)
        return self.now

    def _act(self, action: str, **fields: str) -> dict[str, Any]:
        fields["ticket"] = self.now["ticket"]
        return self._shown(self._connection.post(self._page + action, json=fields, timeout=30))

    def vote(self, choice: str) -> dict[str, Any]:
        """Vote for what is shown "first" or "second", or "tie"; the vote is on disk when this returns."""
        return self._act("vote", choice=choice)

    def skip(self) -> dict[str, Any]:
        """Put this pair off."""
        return self._act("skip")

    def undo(self) -> dict[str, Any]:
        """Take the last vote back."""
        return self._act("undo")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def label_all(link: str, decide: Callable[[dict[str, Any]], str], at_most: int | None = None) -> int:
    """Vote on pair after pair by a function, as the annotator of a link; how many votes the server confirmed.

    ``decide`` gets what is shown (texts under ``question``, ``first``, ``second``, each with ``raw``) and returns
    "first", "second" or "tie".
    """
    confirmed = 0
    with Client(link) as client:
        while client.now["pair"] is not None and confirmed != at_most:
            client.vote(decide(client.now["pair"]))
            confirmed += 1
    return confirmed
