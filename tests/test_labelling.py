"""The labelling page without a browser: who sees what, what a vote becomes, and which requests are refused."""

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from html.parser import HTMLParser

import numpy as np
import pytest
from labelling_setting import Client, calm, hostile
from requests import HTTPError
from starlette.testclient import TestClient

from judgekit.data.sample import load_sample
from judgekit.data.votes import Votes
from judgekit.people.labelling import Labelling, agreement_with_others, label_all
from judgekit.people.labelling.app import LARGEST_BODY, MOST_STEPS, create_app, rendered
from judgekit.people.labelling.session import Session, StaleTicket, fewest_votes_first, shown_order
from judgekit.people.labelling.votefile import read_lines, read_votes
from judgekit.records import PreferencePair, Turn

HOST = "http://127.0.0.1"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "votes.jsonl"


@pytest.fixture
def session(path):
    with closing(Session(calm(), path, ["ann", "bob"])) as made:
        yield made


@pytest.fixture
def page(path):
    with Labelling(calm(), path, ["ann", "bob"]) as running:
        yield running


@pytest.fixture
def app(session):
    return create_app(session)


def browser_of(app, annotator="ann"):
    """A browser of sorts that has opened an annotator's link."""
    made = TestClient(app, base_url=HOST, raise_server_exceptions=True)
    assert made.get(app.state.link(annotator)).status_code == 200
    return made


def seen_of(path, *texts, instructions="", **fields):
    """What the page shows of one pair."""
    with closing(Session([PreferencePair("1", "own", *texts, **fields)], path, "ann", "file")) as session:
        return browser_of(create_app(session, instructions=instructions)).get("/a/ann/now").json()


def say(session, choice, annotator="ann"):
    shown = session.now(annotator)
    return shown["pair"], session.vote(annotator, shown["ticket"], choice)


def test_a_vote_is_filed_in_the_items_own_order_with_what_was_shown(session, path):
    for _ in range(20):
        shown, new = say(session, "first")
        vote = read_lines(path)[-1]
        own = session.pairs[vote.item_id]
        first_is_a = shown.response_a == own.response_a
        assert new and (vote.shown, vote.label) == (("ab", "A") if first_is_a else ("ba", "B"))
    assert {vote.shown for vote in read_lines(path)} == {"ab", "ba"}
    assert session.now("ann")["pair"] is None and len(session.votes().items) == 20


def test_sides_differ_between_annotators_and_items_and_are_remembered():
    names, items = ("ann", "bob"), [f"i{n}" for n in range(400)]
    shown = {name: [shown_order(3, name, item) == "ab" for item in items] for name in names}
    assert shown == {name: [shown_order(3, name, item) == "ab" for item in items] for name in names}
    for name in names:
        assert 160 < sum(shown[name]) < 240
    assert 160 < sum(a == b for a, b in zip(*shown.values(), strict=True)) < 240
    assert shown["ann"] != [shown_order(4, "ann", item) == "ab" for item in items]


def test_a_session_goes_on_where_it_was_and_undo_goes_back_vote_by_vote(path):
    session = Session(calm(), path, "ann", seed=5)
    seen = [say(session, "first")[0] for _ in range(3)]
    waiting = session.now("ann")["pair"]
    session.close()
    session = Session(calm(), path, "ann", seed=5)
    assert session.now("ann")["progress"]["done"] == 3 and session.now("ann")["pair"] == waiting not in seen
    for expected in reversed(seen):
        assert session.undo("ann", session.now("ann")["ticket"])
        assert session.now("ann")["pair"] == expected
    assert not session.undo("ann", session.now("ann")["ticket"]) and session.votes().items == ()
    session.close()


def test_a_replayed_vote_is_filed_once(session):
    ticket = session.now("ann")["ticket"]
    with pytest.raises(StaleTicket):
        session.vote("bob", ticket, "first")
    with pytest.raises(ValueError, match="choice 'A'"):
        session.vote("ann", ticket, "A")
    assert session.vote("ann", ticket, "first") and not session.vote("ann", ticket, "first")
    with pytest.raises(StaleTicket, match="voted on this pair already"):
        session.vote("ann", ticket, "second")
    assert len(session.file.lines) == 1
    session.undo("ann", session.now("ann")["ticket"])
    with pytest.raises(StaleTicket, match="older pair"):
        session.vote("ann", ticket, "first")
    assert session.votes().items == ()


def test_orders(path):
    for order, annotator in (("file", "ann"), ("random", "bob"), ("random", "cat")):
        with closing(Session(calm(), path, annotator, order)) as session:
            seen = [say(session, "tie", annotator)[0].question for _ in range(20)]
        assert (seen == [f"Question {n}?" for n in range(20)]) == (order == "file") and len(set(seen)) == 20


def test_an_order_of_ones_own_gets_votes_on_all_items(path, monkeypatch):
    asked = []

    def order(votes):
        asked.append(votes)
        return [votes.items[7], votes.items[3]]

    monkeypatch.setattr("judgekit.people.labelling.session.REFRESH", 2)
    with closing(Session(calm(), path, ["ann", "bob"], order)) as session:
        seen = [say(session, "tie")[0].question for _ in range(4)]
    assert seen == ["Question 7?", "Question 3?", "Question 0?", "Question 1?"]
    assert [int(votes.given.sum()) for votes in asked] == [0, 2]
    assert all(len(votes.items) == 20 and votes.clusters[3] == "p3" for votes in asked)


@pytest.mark.parametrize("bad", [lambda votes: 1 / 0, lambda votes: ["nobody"], lambda votes: None])
def test_an_order_that_fails_is_told_and_loses_no_vote(path, bad, monkeypatch):
    monkeypatch.setattr("judgekit.people.labelling.session.REFRESH", 1)
    with closing(Session(calm(3), path, "ann", bad)) as session:
        for _ in range(3):
            assert "order could not be computed" in session.now("ann")["trouble"]
            say(session, "first")
    assert len(read_votes(path).items) == 3


@pytest.mark.parametrize(
    ("pairs", "annotators", "order", "message"),
    [
        ([], "ann", "file", "no pairs"),
        (calm(), [], "file", "no annotator"),
        (calm(), "ann\r\nSet-Cookie: x", "file", "annotator"),
        (calm(), ["ann", "bob", "ann"], "file", "annotator 'ann' is named twice"),
        (calm() + calm(), "ann", "file", "also stands"),
        (calm(), "ann", "best", "order 'best'"),
    ],
)
def test_bad_beginnings(path, pairs, annotators, order, message):
    with pytest.raises(ValueError, match=message):
        Session(pairs, path, annotators, order)
    assert not path.exists()


def test_votes_on_other_texts_under_the_same_ids_are_refused(session, path):
    pair, _ = say(session, "first")
    session.close()
    others = [one if one.question != pair.question else one.swapped() for one in calm()]
    with pytest.raises(ValueError, match="when it had other texts: give the pairs ids that stay"):
        Session(others, path, "ann")
    Session(calm(), path, "ann").close()


def test_agreement_comes_late_and_moves_in_steps(path):
    session = Session(calm(45), path, ["ann", "bob"])
    while session.now("bob")["pair"] is not None:
        say(session, "tie", "bob")
    found = []
    for n in range(45):
        found.append(session.now("ann")["agreement"])
        say(session, "tie" if n else "first")
    assert found[:20] == [None] * 20 and found[20].n == 20 and found[20].value == 19 / 20
    assert [found[n].n for n in (29, 30, 39, 40)] == [20, 30, 30, 40]
    before = session.now("ann")["agreement"]
    for _ in range(6):
        session.undo("ann", session.now("ann")["ticket"])
    assert session.now("ann")["agreement"] is before
    for _ in range(6):
        say(session, "first")
    assert session.now("ann")["agreement"] is before, "voting again must not tell what the others said"
    session.close()


def test_agreement_counts_shared_items_only():
    codes = np.full((40, 3), -1)
    codes[:30, 0], codes[:20, 1], codes[10:40, 2] = 0, 0, 1
    found = agreement_with_others(Votes([f"i{n}" for n in range(40)], ("ann", "bob", "cat"), codes), "ann")
    assert found.value == 20 / 40 and found.n == 40
    assert agreement_with_others(Votes(["i"], ("ann",), [[0]]), "ann") is None
    assert agreement_with_others(Votes(["i"], ("ann",), [[0]]), "zoe") is None


def test_nothing_tells_who_wrote_what_or_what_anybody_thinks(page):
    with Client(page.link()) as client:
        seen = []
        while client.now["pair"] is not None:
            seen.append(json.dumps(client.now))
            client.act("vote", choice="tie")
    secrets = ("model-x", "model-y", "secret", "earlier-annotator", "label", '"p3"')
    assert not [secret for secret in secrets if any(secret in text for text in seen)]
    assert sum("Reference 3." in text for text in seen) == 1


def test_a_vote_that_cannot_be_written_is_not_confirmed(page, path):
    import resource

    with Client(page.link()) as client:
        client.act("vote", choice="first")
        before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, limits[1]))
            with pytest.raises(HTTPError, match="Not stored") as refused:
                client.act("vote", choice="first")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert refused.value.response.status_code == 507 and path.read_bytes() == before
        client.act("vote", choice="first")
        assert client.now["progress"]["done"] == 2


def test_skipped_pairs_come_back_at_the_end_and_undo_once_all_is_done(page):
    with Client(page.link()) as client:
        skipped, seen = [], []
        for number in (1, 2):
            skipped.append(client.now["pair"])
            assert client.act("skip")["progress"]["skipped"] == number
        while client.now["pair"] is not None:
            seen.append(client.now["pair"])
            client.act("vote", choice="tie")
        assert seen[-2:] == skipped and len({pair["question"]["raw"] for pair in seen}) == 20
        with pytest.raises(HTTPError, match="older pair"):
            client.act("vote", choice="tie")
        assert client.act("undo")["pair"] == seen[-1]


MINDS = {"short": len, "long": lambda text: -len(text), "alphabet": str, "zoe": str, "tie": lambda text: 0}


def of_mind(annotator, first, second):
    """What an annotator says who sees two texts."""
    one, other = map(MINDS[annotator], (first, second))
    return "first" if one < other else "second" if one > other else "tie"


def voter(annotator):
    return lambda shown: of_mind(annotator, shown["first"]["raw"], shown["second"]["raw"])


@pytest.mark.parametrize("order", ["random", fewest_votes_first])
def test_what_annotators_mean_at_the_same_time_is_filed_once_whichever_response_was_first(path, monkeypatch, order):
    monkeypatch.setattr("judgekit.people.labelling.session.REFRESH", 1)
    pairs = load_sample("sample_natural")[:15]
    for at_most, confirmed in ((6, 6), (None, 9)):  # the page is stopped half-way
        with Labelling(pairs, path, list(MINDS), order=order) as page, ThreadPoolExecutor(len(MINDS)) as pool:
            voting = [pool.submit(label_all, page.link(name), voter(name), at_most) for name in MINDS]
            assert [one.result() for one in voting] == [confirmed] * len(MINDS)
    labels = {"first": "A", "second": "B", "tie": "tie"}
    meant = {(p.item_id, who): labels[of_mind(who, p.response_a, p.response_b)] for p in pairs for who in MINDS}
    assert {(row.task, row.worker): row.label for row in read_votes(path).long().itertuples()} == meant
    assert len(read_lines(path)) == len(meant) and {line.shown for line in read_lines(path)} == {"ab", "ba"}


def forged(app, path, method="POST", address="/a/ann/vote", headers=None, cookie=True, body=None):
    """A request with the right ticket and everything else as given; the reply, after a look that no vote was filed."""
    browser = browser_of(app)
    ticket = browser.get("/a/ann/now").json()["ticket"]
    if not cookie:
        browser.cookies.clear()
    content = json.dumps({"ticket": ticket, "choice": "first"}).encode() if body is None else body
    headers = {"content-type": "application/json"} | (headers or {})
    reply = browser.request(method, address, content=content if method == "POST" else None, headers=headers)
    assert reply.status_code == 200 or read_lines(path) == []
    return reply


HOSTS = ["evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example"]
FOREIGN = {  # header to the status of a request with such a value
    "host": (400, [*HOSTS, "", "a b", "127.0.0.1:x", "127.0.0.1/x", "[::1"]),
    "origin": (403, ["http://evil.example", "null", "http://127.0.0.1:8888"]),
    "sec-fetch-site": (403, ["cross-site", "same-site"]),
    "content-type": (415, ["text/plain", "application/x-www-form-urlencoded"]),
}
NOWHERE = ("/static/..%2f..%2fapp.py", "/static/../../app.py", "/votes.jsonl")
TOKENS = ("0" * 64, "%ff%00")
NOT_THEIRS = ("/a/..%2f..%2fetc/now", "/a/ann%0d%0aSet-Cookie:x/?token=x", *(f"/a/ann/?token={t}" for t in TOKENS))


def test_a_good_request_is_taken(app, path):
    for host in ("127.0.0.1:8000", "localhost"):
        assert browser_of(app).get("/a/ann/", headers={"host": host}).status_code == 200
    good = {"origin": HOST, "sec-fetch-site": "same-origin"}
    assert forged(app, path, headers=good).json()["said"] == "Stored: 1 of 20."


@pytest.mark.parametrize(
    ("status", "change"),
    [
        *((status, {"headers": {name: value}}) for name, (status, values) in FOREIGN.items() for value in values),
        (403, {"headers": {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}}),
        (403, {"cookie": False}),
        (403, {"cookie": False, "headers": {"cookie": "labelling=x; a=b"}}),
        (403, {"address": "/a/bob/vote"}),
        (403, {"address": "/a/nobody/vote"}),
        (404, {"address": "/a/ann/delete"}),
        (405, {"method": "GET"}),
        (413, {"body": b" " * (LARGEST_BODY + 1)}),
        *((400, {"body": body}) for body in (b"", b"[]", b"\xff", b"[" * 4000, b'{"ticket": 1, "choice": "first"}')),
        (409, {"body": b'{"ticket": "guess", "choice": "first"}'}),
        *((404, {"method": "GET", "address": address}) for address in NOWHERE),
        *((403, {"method": "GET", "address": address}) for address in NOT_THEIRS),
        (403, {"method": "GET", "address": "/a/ann/now", "cookie": False}),
    ],
)
def test_forged_and_foreign_requests_are_refused(app, path, status, change):
    also = (404,) if "%2f" in change.get("address", "") else ()
    assert forged(app, path, **change).status_code in (status, *also)


def test_one_annotators_link_opens_no_other(app):
    link, client = app.state.link("ann"), TestClient(app, base_url=HOST)
    assert client.get(link.replace("/ann/", "/bob/")).status_code == 403
    cookie = client.get(link).headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie and "path=/a/ann/" in cookie
    with pytest.raises(KeyError):
        app.state.link("nobody")


@pytest.mark.parametrize("header", ["Origin: http://evil.example", "Accept: */*"])
def test_a_body_without_an_end_is_not_read_for_ever(page, header):
    with socket.create_connection(("127.0.0.1", page.port), timeout=10) as stranger:
        stranger.sendall(f"POST /a/ann/vote HTTP/1.1\r\nHost: 127.0.0.1\r\n{header}\r\n".encode())
        stranger.sendall(b"Transfer-Encoding: chunked\r\n\r\n")
        with pytest.raises(OSError):
            for _ in range(10_000):
                stranger.sendall(b"1000\r\n" + b"x" * 4096 + b"\r\n")


def test_connections_that_ask_for_nothing_keep_nobody_out(tmp_path, monkeypatch):
    """Seventy of them; before, sixty-four were enough to give everybody else 503 for good."""
    monkeypatch.setattr("judgekit.people.labelling.server._WAITED", 1)
    head = b"POST /a/ann/vote HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    starts = (b"", head[:20], head, head + b"Content-Length: 100\r\n\r\n{")
    with Labelling(calm(), tmp_path / "v.jsonl", "ann") as page, ExitStack() as opened:
        address = ("127.0.0.1", page.port)
        silent = [opened.enter_context(socket.create_connection(address, timeout=10)) for _ in range(70)]
        for n, one in enumerate(silent):
            one.sendall(starts[n % len(starts)])
        with Client(page.link()) as client:
            assert client.act("vote", choice="first")["pair"] is not None
        for one in silent:
            with suppress(ConnectionResetError):
                assert one.recv(1000)[:12] in (b"", b"HTTP/1.1 403", b"HTTP/1.1 400")  # nothing was answered as asked


def test_every_reply_has_the_headers(app):
    browser = browser_of(app)
    replies = [browser.get(address) for address in ("/a/ann/", "/a/ann/now", "/static/page.js", "/none")]
    replies.append(browser.get("/a/ann/now", headers={"host": "evil.example"}))
    replies.append(browser.get("/a/ann/now", headers={"origin": "http://evil.example"}))
    replies.append(browser.post("/a/ann/vote", content=b" " * (LARGEST_BODY + 1)))
    assert [reply.status_code for reply in replies] == [200, 200, 200, 404, 400, 403, 413]
    for reply in replies:
        policy = reply.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'") and "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy and reply.headers["x-frame-options"] == "DENY"
        assert reply.headers["x-content-type-options"] == "nosniff" and reply.headers["cache-control"] == "no-store"
        assert reply.headers["referrer-policy"] == "no-referrer"


def test_a_notebook_may_frame_it_and_nobody_else(session):
    headers = browser_of(create_app(session, framed=True)).get("/a/ann/").headers
    assert headers["content-security-policy"].endswith("frame-ancestors http://localhost:* http://127.0.0.1:*")
    assert "x-frame-options" not in headers


class Tags(HTMLParser):
    """The elements and attributes that HTML really has, as a browser would see them."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes = set(), set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_hostile_markdown_becomes_text():
    made = rendered(hostile("http://canary.example"))
    found = Tags()
    found.feed(made)
    drawn = {"math", "mrow", "mi", "mn", "msup"}
    assert found.tags <= {"p", "br", "span", "div", "pre", "code", "table", "thead", "tbody", "tr", "th", "td"} | drawn
    assert found.attributes <= {"class", "dir", "tabindex", "xmlns", "display"}
    assert "<table>" in made and "{{7+7}}" in made and "👩‍👩‍👧" in made


@pytest.mark.parametrize(
    "latex",
    [
        r"\text{<script>alert(1)</script>}",
        r"\text{&lt;img src=x onerror=alert(1)&gt;}",
        r"\href{javascript:alert(1)}{x}",
        r"\style{position:fixed}{x}\class{said}{x}\color{white}{x}",
        r"\unicode{x3c}img src=x\unicode{x3e}",
    ],
)
def test_a_formula_is_a_drawing_and_nothing_else(latex):
    """The converter writes what stands in a text into the page as it is; a link and a style are attributes."""
    found = Tags()
    found.feed(rendered(f"\\({latex}\\)"))
    assert found.tags <= {"p", "math", "mrow", "mtext", "mi", "mo", "mstyle"} and "math" in found.tags
    assert found.attributes == {"xmlns", "display"}


def test_hostile_brackets_take_no_time():
    start = time.monotonic()
    for text in ("[", "![", "[a](", "*a", "`", "> ", "<http://", "_a ", "|a", "\\(", "$a", "$x$ ", "\\[\\frac{\\]"):
        rendered(text * (MOST_STEPS // len(text)))
    assert time.monotonic() - start < 60  # a minute for the brackets alone without the limit


TABLE = "|a" * 256 + "\n" + "|-" * 256 + "\n" + "a\n" * 256 + "\n"  # short rows, which are filled up with cells
SLOW = {
    "tables that are filled up": TABLE * 30,
    "quotes of many levels": ">" * 90 + "a\n" * 40_000,
    "brackets before marks": "[ " * 400 + "> " * 20_000,
    "a text of 8 MiB": "*a " * (2**23 // 3),
}


@pytest.mark.parametrize("slow", SLOW)
def test_a_text_that_takes_long_is_shown_as_it_is_written(path, slow):
    """Of the three first, each took from five seconds to two minutes."""
    start = time.process_time()
    pair = seen_of(path, "**Q**", SLOW[slow], "**b**")["pair"]
    assert time.process_time() - start < 3
    assert all('<pre class="plain">' in pair[name]["html"] for name in ("question", "first", "second"))


def test_turns_are_bounded_together(path):
    turns = (Turn(TABLE[:600] + "a\n" * 50, TABLE[:600], "b"),) * 40
    assert "plain" in seen_of(path, "**Q**", "a", "b", turns=turns)["pair"]["question"]["html"]


def test_instructions_are_markdown_that_does_nothing(path):
    for given, shown in {"**Right** <script>x()</script>": "<strong>Right</strong> &lt;script&gt;", "": ""}.items():
        told = seen_of(path, "Q", "a", "b", instructions=given)["instructions"]
        assert shown in told and "<script" not in told and bool(told) == bool(given)


@pytest.mark.parametrize("mark", [">", "- ", "> 1. "])
def test_nothing_is_left_out_however_deep_it_is_nested(path, mark):
    """The parser leaves out what stands below a hundred levels: annotators saw an empty list."""
    for levels in (3, 200):
        pair = seen_of(path, "Q", mark * levels + "the end", "b")["pair"]
        made = pair["first"]["html"] + pair["second"]["html"]
        assert "the end" in made and (levels == 200) == ("plain" in made)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("**b** `c`", "<strong>b</strong> <code>c</code>"),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
        ("[see](https://x.example)", '<span class="link">see</span> <span class="address">(https://x.example)</span>'),
        ("[x](javascript:alert)", "<p>[x](javascript:alert)</p>"),
        ("one\ntwo", "one<br>\ntwo"),
        ("![alt](https://x.example/a.png)", "[picture: alt (https://x.example/a.png)]"),
        ("[a [b](https://x.example)](https://y.example)", "(https://x.example)"),
        (r"it is \(\frac12\), then", "it is <math"),
        (r"\[a^2\] and more", 'display="block"><mrow><msup><mi>a</mi><mn>2</mn></msup></mrow></math> and more'),
        ("$x_1$, $$y$$", "<msub><mi>x</mi><mn>1</mn></msub>"),
        ("from $5 to $6, US$7 or 8$", "from $5 to $6, US$7 or 8$"),
        (r"`\(x\)`", r"<code>\(x\)</code>"),
        (r"\(\phantom{hidden}\) \(}{\)", r"<code>\(\phantom{hidden}\)</code>"),
        ("", "(empty)"),
        (" \n", "(empty)"),
        ("\udc00\x00", "?\ufffd"),
        ("```py x\nif a < b: pass\n```", '<span class="language">py</span>'),
        ("*" * MOST_STEPS + "<i>", "&lt;i&gt;"),
        ("[" * 5_000 + "<i>", "&lt;i&gt;"),
    ],
)
def test_texts_are_rendered(text, inside):
    assert inside in rendered(text)
