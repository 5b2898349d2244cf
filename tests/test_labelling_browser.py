"""The labelling page in a real browser: keys, a killed server, hostile texts, two annotators, and how it looks."""

import json
import os
import shutil
import signal
import socket
import time
from dataclasses import replace

import pytest
from labelling_setting import calm, command, hostile, write_pairs

from judgekit.people.labelling import Labelling
from judgekit.people.labelling.votefile import read_lines, read_votes
from judgekit.records import PreferencePair, Turn

DRIVER, BROWSER = shutil.which("chromedriver"), shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    not (DRIVER and BROWSER), reason="needs Chromium and chromedriver: setup/chromium.sh installs them"
)
ESCAPE = "\ue00c"  # the key, as WebDriver names it
SEEN = 0.3  # seconds: the page takes no key before a pair could be seen


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,900"):
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def value_of(browser, expression):
    """What a JavaScript expression is in the page."""
    return browser.execute_script(f"return {expression}")


def wait(browser, condition):
    """Until a JavaScript expression is true."""
    deadline = time.monotonic() + 20
    while not value_of(browser, condition):
        assert time.monotonic() < deadline, f"{condition}; the page says {shown(browser, 'said')!r}"
        time.sleep(0.02)


def shown(browser, name):
    return value_of(browser, f"document.getElementById({name!r}).innerText")


def opened(browser, link):
    browser.get(link)
    wait(browser, "now !== null && !busy")
    time.sleep(SEEN)


def press(browser, key, moves=True):
    """Hit a key; where it asks the server for something, wait for the next page."""
    from selenium.webdriver.common.action_chains import ActionChains

    ticket = value_of(browser, "now.ticket")
    ActionChains(browser).send_keys(key).perform()
    if moves:
        wait(browser, f"!busy && now.ticket !== {json.dumps(ticket)}")
        time.sleep(SEEN)


@pytest.mark.skipif(os.name == "nt", reason="kills as POSIX does")
def test_twenty_pairs_by_keys_with_the_server_killed_half_way(browser, tmp_path):
    pairs_file, votes, filed = write_pairs(tmp_path / "pairs.jsonl"), tmp_path / "votes.jsonl", {}

    def label(keys):
        for key in keys:
            question = shown(browser, "question")
            first = shown(browser, "first")
            press(browser, key)
            assert question not in filed
            side = {"1": "first", "a": "first", "2": "second", "b": "second"}.get(key)
            filed[question] = side and ("A" if ("response a" in first.lower()) == (side == "first") else "B")

    with command(pairs_file, votes, "--annotator", "ann") as (process, links):
        opened(browser, links["ann"])
        assert "token" not in browser.current_url
        label("12abt01b2a")
        process.send_signal(signal.SIGKILL)
        process.wait()
        press(browser, "1", moves=False)
        wait(browser, "document.getElementById('said').innerText.includes('not stored')")
        assert len(read_lines(votes)) == 10
    with command(pairs_file, votes, "--annotator", "ann") as (process, links):
        opened(browser, links["ann"])
        assert "10 of 20" in shown(browser, "progress")
        label("b2a10tba21")
        assert "All pairs are labelled" in shown(browser, "end")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    lines = read_lines(votes)
    assert len(lines) == 20 and len({vote.item_id for vote in lines}) == 20 and len(filed) == 20
    for vote in lines:
        expected = filed[f"Question {vote.item_id.removeprefix('own-')}?"]
        assert vote.label == (expected or "tie")


@pytest.fixture
def canary():
    """A port that nobody should connect to."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


def test_hostile_texts_run_nothing_and_ask_for_nothing(browser, canary, tmp_path):
    address = f"http://127.0.0.1:{canary.getsockname()[1]}"
    texts = hostile(address)
    pair = PreferencePair("</script>", "b", texts, texts, "calm", reference=texts)
    with Labelling([pair], tmp_path / "votes.jsonl", "ann") as page:
        opened(browser, page.link())
        for key in ("f", "r", "r"):
            press(browser, key, moves=False)
            time.sleep(0.3)
        assert value_of(browser, "window.ran") is None
        inside = "#asked script, #sides script" + "".join(
            f", main {tag}" for tag in "iframe img style a svg form".split()
        )
        assert value_of(browser, f"document.querySelectorAll('{inside}, main [style]').length") == 0
        assert "<script>window.ran = 1</script>" in shown(browser, "question")
        assert "{{7+7}} ${7+7}" in shown(browser, "question")
        assert value_of(browser, "getComputedStyle(document.body).display") == "flex"
        asked = value_of(browser, "performance.getEntriesByType('resource').map(e => e.name)")
        assert asked and all(name.startswith(f"http://127.0.0.1:{page.port}/") for name in asked)
        browser.execute_script(f"fetch('{address}/tried').catch(() => 0)")  # the policy holds even if a script ran
        script = "const s = document.createElement('script'); s.text = 'window.ran = 2'; document.body.append(s)"
        browser.execute_script(script)
        time.sleep(0.5)
        assert value_of(browser, "window.ran") is None
        with pytest.raises(BlockingIOError):  # nobody waits there
            canary.accept()
        press(browser, "0")
        assert read_votes(tmp_path / "votes.jsonl").items == ("</script>",)


def test_undo_skip_raw_text_and_reference(browser, tmp_path):
    texts = [(f"i{n}", "b", f"**Bold** {n}?", "*a*", "*b*") for n in range(5)]
    pairs = [PreferencePair(*own, reference=f"Reference {n}.") for n, own in enumerate(texts)]
    with Labelling(pairs, tmp_path / "votes.jsonl", "ann", order="file") as page:
        opened(browser, page.link())
        assert shown(browser, "question") == "Bold 0?"
        press(browser, "r", moves=False)
        assert shown(browser, "question") == "**Bold** 0?"
        press(browser, "f", moves=False)
        assert "Reference 0." in shown(browser, "reference-box")
        press(browser, "1")
        assert shown(browser, "question") == "**Bold** 1?"
        assert value_of(browser, "document.getElementById('reference-box').hidden"), "hidden for each pair anew"
        press(browser, "r", moves=False)
        press(browser, "s")
        assert shown(browser, "question") == "Bold 2?" and "1 skipped" in shown(browser, "progress")
        press(browser, "u")
        assert shown(browser, "question") == "Bold 0?" and "0 of 5" in shown(browser, "progress")
        assert "taken back" in shown(browser, "said")
        for _ in range(4):
            press(browser, "t")
        assert shown(browser, "question") == "Bold 1?"
    assert [vote.label is None for vote in read_lines(tmp_path / "votes.jsonl")] == [False, True, *[False] * 4]


def test_both_bad_and_a_comment_are_filed_with_the_vote_and_letters_of_a_comment_are_no_votes(browser, tmp_path):
    with Labelling(calm(3), tmp_path / "votes.jsonl", "ann", order="file") as page:
        opened(browser, page.link())
        press(browser, "c", moves=False)
        press(browser, "absx 12, <b>neither</b> adds up", moves=False)
        assert value_of(browser, "now.progress.done") == 0
        press(browser, ESCAPE, moves=False)
        press(browser, "x")
        assert value_of(browser, "document.getElementById('comment').value") == ""
        press(browser, "t")
        press(browser, "c", moves=False)
        press(browser, "clear", moves=False)
        browser.execute_script("document.querySelector('[data-choice=first]').click()")
        wait(browser, "!busy && now.progress.done === 3")
    first, second, third = read_lines(tmp_path / "votes.jsonl")
    assert (first.label, first.both_bad, first.comment) == ("tie", True, "absx 12, <b>neither</b> adds up")
    assert (second.label, second.both_bad, second.comment) == ("tie", False, "")
    assert third.label in ("A", "B") and third.comment == "clear"


def test_a_comment_comes_back_with_a_vote_that_is_taken_back_and_with_a_pair_that_was_skipped(browser, tmp_path):
    def commented():
        return value_of(browser, "document.getElementById('comment').value")

    with Labelling(calm(2), tmp_path / "votes.jsonl", "ann", order="file") as page:
        opened(browser, page.link())
        for words, keys in (("of the first", "1"), ("of the second", "s")):
            press(browser, "c", moves=False)
            press(browser, words, moves=False)
            press(browser, ESCAPE, moves=False)
            press(browser, keys)
        assert commented() == "of the second"  # the only pair left
        press(browser, "u")
        assert commented() == "of the first"
        press(browser, "2")
        assert commented() == "of the second"
        press(browser, "0")
        assert commented() == ""
    kept = [vote.comment for vote in read_lines(tmp_path / "votes.jsonl") if vote.label is not None]
    assert kept == ["of the first", "of the first", "of the second"]


def test_escape_closes_the_help_and_is_no_vote(browser, tmp_path):
    pairs, hidden = [PreferencePair(f"i{n}", "b", f"q{n}", "a", "b") for n in range(2)], "byId('help').hidden"
    with Labelling(pairs, tmp_path / "votes.jsonl", "ann", order="file") as page:
        opened(browser, page.link())
        press(browser, "h", moves=False)
        assert not value_of(browser, hidden)
        press(browser, ESCAPE, moves=False)
        assert value_of(browser, hidden) and shown(browser, "question") == "q0"
        press(browser, ESCAPE, moves=False)
        assert value_of(browser, hidden), "it opens nothing"
        assert not read_lines(tmp_path / "votes.jsonl")
        press(browser, "1")
    assert len(read_lines(tmp_path / "votes.jsonl")) == 1


def test_a_key_held_down_or_with_control_is_no_vote(browser, tmp_path):
    with Labelling(calm(), tmp_path / "votes.jsonl", "ann") as page:
        opened(browser, page.link())
        for init in ({"key": "1", "repeat": True}, {"key": "1", "ctrlKey": True}, {"key": "q"}):
            browser.execute_script(f"document.dispatchEvent(new KeyboardEvent('keydown', {json.dumps(init)}))")
        twice = "document.dispatchEvent(new KeyboardEvent('keydown', {key: '1'}));"
        browser.execute_script(twice * 2)
        wait(browser, "!busy && now.progress.done === 1")
        browser.execute_script(twice)  # at once, before the next pair could be seen
        time.sleep(0.5)
        assert len(read_lines(tmp_path / "votes.jsonl")) == 1


def test_two_annotators_in_two_tabs_of_one_browser(browser, tmp_path):
    with Labelling(calm(), tmp_path / "votes.jsonl", ["ann", "bob"]) as page:
        opened(browser, page.link("ann"))
        first = browser.current_window_handle
        browser.switch_to.new_window("tab")
        opened(browser, page.link("bob"))
        press(browser, "1")
        press(browser, "2")
        browser.switch_to.window(first)
        assert shown(browser, "who") == "ann"
        press(browser, "0")
        browser.refresh()
        opened(browser, browser.current_url)
        assert "1 of 20" in shown(browser, "progress")
        browser.switch_to.new_window("tab")
        opened(browser, page.link("ann"))  # a second tab of the same annotator
        press(browser, "1")
        browser.switch_to.window(first)
        press(browser, "2")  # this tab is a pair behind: it is told, and the vote is not misfiled
        assert "already" in shown(browser, "said")
        assert page.votes().given.sum(0).tolist() == [2, 2]
        assert [vote.annotator for vote in read_lines(tmp_path / "votes.jsonl")] == ["bob", "bob", "ann", "ann"]


LONG = "\n\n".join(f"{n}. A paragraph of a very long response, which scrolls inside its column." for n in range(80))
CODE = """The sum of a list, with a *loop*:

```python
def total(numbers):
    result = 0
    for number in numbers:  # one after another, and this comment makes the line long enough to scroll sideways
        result += number
    return result
```

| input | output |
|---|---|
| `[1, 2]` | 3 |
| `[]` | 0 |
"""


@pytest.mark.parametrize(
    ("width", "height", "scheme"), [(1280, 900, "light"), (1280, 900, "dark"), (390, 844, "light")]
)
def test_how_it_looks(browser, tmp_path, width, height, scheme):
    browser.get_log("browser")  # what the tests before this one had blocked
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    question = "How do I add up the numbers of a list in Python, and what comes out for an empty one?"
    turns = (Turn("Is Python a snake?", "Also **that**.", "A language, mostly."),) if scheme == "dark" else ()
    one = PreferencePair("i", "b", question, CODE, LONG, reference="`sum(numbers)`", turns=turns)
    pairs = [replace(one, item_id=f"i{n}") for n in range(6)]
    with Labelling(pairs, tmp_path / "votes.jsonl", "ann") as page:
        opened(browser, page.link())
        for key in "1210":
            press(browser, key)
        if scheme == "dark":
            press(browser, "f", moves=False)
        assert value_of(browser, "document.documentElement.scrollWidth <= window.innerWidth")
        assert width < 640 or value_of(browser, "document.documentElement.scrollHeight <= window.innerHeight")
        longer = "[...document.querySelectorAll('.scroll')].some(e => e.scrollHeight > e.clientHeight + 100)"
        assert value_of(browser, longer), "long responses scroll inside their columns"
        buttons = "[...document.querySelectorAll('button')]"
        hidden = "r => r.right > innerWidth + 1 || r.bottom > innerHeight + 1 || r.width < 20"
        hidden = f"{buttons}.map(b => b.getBoundingClientRect()).filter({hidden}).length"
        assert value_of(browser, hidden) == 0, "every button is in sight"
        named = f"{buttons}.every(b => b.innerText.trim() && b.hasAttribute('aria-keyshortcuts'))"
        assert value_of(browser, named)
        errors = [entry["message"] for entry in browser.get_log("browser") if "favicon" not in entry["message"]]
        assert not [line for line in errors if "Content Security" in line or "Uncaught" in line]
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
