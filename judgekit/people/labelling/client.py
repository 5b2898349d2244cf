"""The page by its link: what a script, a test or a simulated annotator sees and does, and a picture of it."""

import http.client
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit


class Refused(Exception):
    """The server's refusal in its own words; ``status`` is that of HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Client:
    """One annotator's session over HTTP, by the link that the server printed; `Refused` if that is not good any more.

    ``now`` is what the page shows: ``ticket``, ``pair`` (None when all is done), ``progress``, ``agreement``, ``said``.
    """

    def __init__(self, link: str) -> None:
        parts = urlsplit(link)
        self._connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=30)
        self._path, self._headers = parts.path, {"content-type": "application/json"}
        reply, _ = self._request("GET", f"?{parts.query}")
        self._headers["cookie"] = (reply.getheader("set-cookie") or "").partition(";")[0]
        self.now: dict[str, Any] = json.loads(self._request("GET", "now")[1])

    def _request(self, method: str, action: str, **fields: str) -> tuple[http.client.HTTPResponse, str]:
        """One request; the reply and its text."""
        body = json.dumps(fields) if fields else None
        self._connection.request(method, self._path + action, body, self._headers)
        reply = self._connection.getresponse()
        text = reply.read().decode("utf-8")
        if reply.status != 200:
            if (reply.getheader("content-type") or "").startswith("application/json"):
                self.now = json.loads(text)
                text = self.now["said"]
            raise Refused(reply.status, text.strip())
        return reply, text

    def _act(self, action: str, **fields: str) -> dict[str, Any]:
        self.now = json.loads(self._request("POST", action, ticket=self.now["ticket"], **fields)[1])
        return self.now

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


def screenshot(link: str, path: str | Path, width: int = 1280, height: int = 680, scale: float = 1.5) -> bool:
    """Save what a browser shows of a page as PNG: a window in pixels, ``scale`` pixels of the picture for each.

    Returns False where no Chromium is installed, or where it saved nothing; then an older picture stays.
    """
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        return False
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        picture = Path(folder) / "page.png"
        arguments = [
            browser,
            "--headless=new",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--no-first-run",
            f"--user-data-dir={folder}/profile",
            f"--window-size={width},{height}",
            f"--force-device-scale-factor={scale}",
            "--virtual-time-budget=5000",  # the page asks for its pair after it is loaded
            f"--screenshot={picture}",
        ]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            arguments.append("--no-sandbox")  # Chromium refuses root otherwise; the page is our own
        try:
            subprocess.run([*arguments, link], capture_output=True, timeout=60, check=False)
            shutil.copyfile(picture, path)
        except (subprocess.TimeoutExpired, FileNotFoundError):
            return False
        return True
