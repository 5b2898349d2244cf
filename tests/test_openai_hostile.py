"""openai/ judges against servers whose replies never end, burst, trickle or break off: an error row, soon and small."""

import socket
import threading
import time
import tracemalloc
import zlib
from contextlib import closing, suppress
from functools import cache, partial

import pytest
from chat_server import KEY, good_reply

MIB = 2**20
MOST_SENT = 256 * MIB  # an endless reply ends here for a client that reads on and on
HEAD = "HTTP/1.1 {}\r\nContent-Type: application/json\r\nConnection: close\r\n{}\r\n"


def send(peer, *headers, body=(), status="200 OK"):
    """Head and body of a reply, piece by piece."""
    peer.sendall(HEAD.format(status, "".join(f"{header}\r\n" for header in headers)).encode())
    for piece in body:
        peer.sendall(piece)


def endless(peer, closing_, status="200 OK"):
    send(peer, body=(b" " * MIB for _ in range(MOST_SENT // MIB)), status=status)


@cache
def packed():
    """Blanks as gzip, a thousandth of their size."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return b"".join([*(packer.compress(b" " * MIB) for _ in range(MOST_SENT // MIB)), packer.flush()])


def bomb(peer, closing_):
    raw = packed()
    assert len(raw) < 300_000
    send(peer, "Content-Encoding: gzip", f"Content-Length: {len(raw)}", body=[raw])


def trickle(peer, closing_):
    send(peer)
    while not closing_.wait(0.05):
        peer.sendall(b" ")


def half_closed(peer, closing_, silent=False):
    if not silent:
        send(peer, "Content-Length: 1000", body=[b'{"choices": ['])
    peer.shutdown(socket.SHUT_WR)
    closing_.wait(5)


@pytest.fixture
def judged(judge_file, monkeypatch):
    """Judge one pair in one order against a server that answers so: row, standard error, seconds, peak of bytes.

    It is judged twice, and the second time is measured: from its start, all that Python allocates for the command, the
    client and the server. What the first imports and packs (75 MiB, at a fifth of the speed) is no cost of a reply.
    """
    closing_ = threading.Event()

    def serve(listener, answer):
        while not closing_.is_set():
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=reply, args=(peer, answer), daemon=True).start()

    def reply(peer, answer):
        with closing(peer), suppress(OSError):  # the client may have had enough
            peer.recv(2**16)
            answer(peer, closing_)

    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def run(answer):
            threading.Thread(target=serve, args=(listener, answer), daemon=True).start()
            monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{listener.getsockname()[1]}/v1")
            monkeypatch.setenv("OPENAI_API_KEY", KEY)
            settings = [part for name in ("timeout=8", "attempts=2", "backoff=0.01") for part in ("--set", name)]
            if answer is trickle:
                settings[1] = "timeout=1"
            judge_file("openai/tiny", "--order", "ab", *settings)
            tracemalloc.start()
            started = time.monotonic()
            code, (row,), said = judge_file("openai/tiny", "--order", "ab", *settings)
            seconds, (_, peak) = time.monotonic() - started, tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert code == 3
            return row, said, seconds, peak

        yield run
        closing_.set()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (endless, "the reply is longer than 16 MiB"),
        (partial(endless, status="400 Bad Request"), "the reply is longer than 16 MiB"),
        (bomb, "the reply is longer than 16 MiB"),
        (trickle, "no answer within 1 s"),
        (half_closed, "the connection failed"),
        (partial(half_closed, silent=True), "the connection failed"),
    ],
)
def test_a_hostile_reply_is_an_error_row_within_bounded_memory_and_time(judged, answer, reason):
    row, said, seconds, peak = judged(answer)
    assert (row["verdict"], row["status"]) == (None, "error") and reason in said
    assert peak < 64 * MIB and seconds < 20, "four times the longest reply that is read"


def test_a_count_of_tokens_that_no_reply_has_is_not_believed(serve, judge_file):
    def respond(body, _):
        reply = good_reply(body, "[[A]]")
        return reply | {"usage": {"prompt_tokens": 10**400, "completion_tokens": -1}}

    serve(respond=respond)
    code, (row,), _ = judge_file("openai/m", *(f"--set={name}=1" for name in ("max_cost", "price_in", "price_out")))
    assert (code, row["status"]) == (0, "ok")
