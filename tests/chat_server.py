"""A real HTTP server that talks like an OpenAI-compatible one, and fails on purpose.

Started in a thread by the tests; nothing here knows judgekit. The model judges by a rule: of the two responses the one
that holds the word ``right`` is better, so that every verdict can be checked against its pair.
"""

import json
import random
import re
import select
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "sk-test-0123456789abcdefghij"
FAULTS = ("429", "500", "hang", "cut", "broken_json", "empty_choices", "wrong_schema", "twice")
ANSWER = re.compile(r"\[(?:The Start of Assistant ([AB])'s Answer|Start of Output \(([ab])\))\]\n+(.*?)\n+\[", re.S)


def better(messages):
    """Which response of the last message is right: A, B, or C for a tie."""
    found = {(one or other).upper(): "right" in text for one, other, text in ANSWER.findall(messages[-1]["content"])}
    if found.get("A") == found.get("B"):
        return "C"
    return "A" if found.get("A") else "B"


def completion_of(body):
    """What the rule-bound model says, in the format that the system message asks for."""
    system, letter = body["messages"][0]["content"], better(body["messages"])
    if '"Rating: [[5]]"' in system:
        return f"Rating: [[{9 if 'right' in body['messages'][-1]['content'] else 3}]]"
    if '"[[A]]"' in system:
        return f"One quotes [[{'A' if letter == 'B' else 'B'}]].\n\n[[{letter}]]"
    if '"marks_a"' in system:
        return json.dumps({"marks_a": {"x": 5}, "marks_b": {"x": 1}, "verdict": {"C": "tie"}.get(letter, letter)})
    if "one of the letters" in system:
        return letter
    if "Output (a)" in system or "outputs" in system:
        return {"A": "Output (a) is better.", "B": "Output (b) is better.", "C": "It is a tie."}[letter]
    return "Some text."


class ChatServer:
    """The server's state, and what was asked of it.

    ``plan``: from the text of the last message and the number of this attempt (0, 1, ...) to a fault or None.
    ``asked``, ``answered``: how often each text came, and how often a good reply to it was written to the end.
    """

    def __init__(self, plan=None, hang=5.0, respond=None):
        self.plan = plan or (lambda text, attempt: None)
        self.hang, self.respond = hang, respond
        self.asked, self.answered = Counter(), Counter()
        self.bodies, self.headers, self.most_at_once, self.at_once = [], [], 0, 0
        self.lock = threading.Lock()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/v1"


def faults_at(rate, seed=0):
    """A plan: each fault strikes the first attempt on that share of the texts."""

    def plan(text, attempt):
        if attempt:
            return None
        draw = random.Random(f"{seed}:{text}").random() / rate
        return FAULTS[int(draw)] if draw < len(FAULTS) else None

    return plan


def handler_of(server):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet, or every reply waits for a delayed acknowledgement

        def log_message(self, *_):
            pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = body["messages"][-1]["content"]
            with server.lock:
                attempt = server.asked[text]
                server.asked[text] += 1
                server.bodies.append(body)
                server.headers.append(dict(self.headers))
                server.at_once += 1
                server.most_at_once = max(server.most_at_once, server.at_once)
            try:
                self.answer(body, text, server.plan(text, attempt))
            except OSError:  # the client went away
                self.close_connection = True
            finally:
                with server.lock:
                    server.at_once -= 1

        def answer(self, body, text, fault):
            if self.headers["Authorization"] != f"Bearer {KEY}":
                said = {"error": {"message": f"Incorrect API key provided: {self.headers['Authorization']}"}}
                return self.write(401, said)
            if fault == "429":
                said = {"error": {"message": f"Too many requests with {KEY}"}}
                return self.write(429, said, {"Retry-After": "0.02"})
            if fault == "500":
                return self.write(500, {"error": {"message": f"trace: Authorization: Bearer {KEY}"}})
            if fault == "hang":
                select.select([self.connection], [], [], server.hang)  # until the client has had enough
                self.close_connection = True
                return None
            good = server.respond(body, text) if server.respond else good_reply(body)
            if isinstance(good, tuple):
                return self.write(*good)
            if fault == "cut":
                raw = json.dumps(good).encode()
                self.start(200, len(raw))
                self.wfile.write(raw[: len(raw) // 2])
                self.wfile.flush()
                self.close_connection = True
                return None
            if fault == "broken_json":
                return self.write(200, json.dumps(good)[:-7])
            if fault == "empty_choices":
                return self.write(200, good | {"choices": []})
            if fault == "wrong_schema":
                return self.write(200, {"result": {"text": "[[A]]", "choices": "[[A]]"}})
            self.write(200, good, twice=fault == "twice")
            with server.lock:
                server.answered[text] += 1
            return None

        def start(self, status, length, more=()):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(length))
            for name, value in dict(more).items():
                self.send_header(name, value)
            self.end_headers()

        def write(self, status, content, more=(), twice=False):
            raw = (content if isinstance(content, str) else json.dumps(content)).encode()
            for _ in range(2 if twice else 1):
                self.start(status, len(raw), more)
                self.wfile.write(raw)
            self.wfile.flush()

    return Handler


def good_reply(body, text=None, logprobs=None):
    text = completion_of(body) if text is None else text
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"} | ({"logprobs": logprobs} if logprobs else {})
    counted = sum(len(m["content"].split()) for m in body["messages"])
    return {"choices": [choice], "usage": {"prompt_tokens": counted, "completion_tokens": len(text.split())}}


class Threads(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def handle_error(self, request, client_address):
        """A client that was killed is no news."""


@contextmanager
def running(server):
    """Serve on a free port until the block ends."""
    with Threads(("127.0.0.1", 0), handler_of(server)) as http:
        server.port = http.server_address[1]
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
