"""What the tests of the labelling page share: calm pairs, texts that would like to run, the command in a process."""

import json
import re
import subprocess
import sys
from contextlib import contextmanager

import requests

from judgekit.records import PreferencePair, Turn

# The command line in a process of its own; whoever runs the tests may ignore Ctrl-C, as nohup's shells do.
INTERRUPTIBLE = [
    sys.executable,
    "-c",
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from judgekit.cli import main; sys.exit(main(sys.argv[1:]))",
]
HOSTILE = """<script>window.ran = 1</script> <img src=x onerror="window.ran = 1">
</textarea></pre></div><style>body{display:none}</style><iframe src="{canary}/frame"></iframe>

[click](javascript:window.ran=1) [data](data:text/html,<script>window.ran=1</script>) ![pixel]({canary}/pixel.png)
<{canary}/auto> <javascript:window.ran=1> {{7+7}} ${7+7} <%= 7+7 %> [vb](vbscript:x) [rel](//evil.example/x)

```"><script>window.ran=1</script>
<script>window.ran = 1</script>
```
<svg onload=window.ran=1><math><mtext></table></math>
&lt;script&gt; &#x6A;avascript: <a href="javascript:window.ran=1">a</a>

| a | b |
|:--|--:|
| <b onclick="window.ran=1">1</b> | 2 |

[ref]: javascript:window.ran=1
[ref] \u202eright to left\u202c $x^2$ 中文 עברית 👩‍👩‍👧
"""


def hostile(canary="http://127.0.0.1:9"):
    """The texts, with the address of a server that must not be asked."""
    return HOSTILE.replace("{canary}", canary)


def calm(number=20):
    """Pairs that are told apart by their texts; every other one has a reference, the first an earlier turn."""
    secret = {"subset": "secret-subset", "model_a": "model-x", "model_b": "model-y", "label": "A"}
    secret["votes"] = {"earlier-annotator": "B"}
    pairs = []
    for n in range(number):
        texts = (f"Question {n}?", f"Response a of {n}.", f"Response b of {n}.")
        more = {"cluster_id": f"p{n}", "reference": f"Reference {n}." if n % 2 else None}
        more["turns"] = (Turn("Earlier question?", "Earlier a.", "Earlier b."),) if n == 0 else ()
        pairs.append(PreferencePair(f"model-x:model-y:{n}", "secret-set", *texts, **secret, **more))
    return pairs


def write_pairs(path, number=20):
    """The calm pairs as a user's file; its path."""
    names = ("question", "response_a", "response_b", "reference")
    rows = [{"id": f"own-{n}"} | {name: getattr(pair, name) for name in names} for n, pair in enumerate(calm(number))]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@contextmanager
def command(path, votes, *more):
    """``judgekit label`` in a process of its own; yields the process (``said``: its lines so far) and the links."""
    arguments = ["label", str(path), "--votes", str(votes), *more]
    with subprocess.Popen([*INTERRUPTIBLE, *arguments], stderr=subprocess.PIPE, text=True) as process:
        try:
            links, process.said = {}, []
            while len(links) < more.count("--annotator"):
                line = process.stderr.readline()
                process.said.append(line)
                assert line, "".join(process.said)
                if found := re.search(r"(\S+): (http://127\.0\.0\.1:\d+/a/\S+)", line):
                    links[found[1]] = found[2]
            yield process, links
        finally:
            process.kill()


class Client(requests.Session):
    """One annotator's session over HTTP, by the link that the server printed; ``now`` is what the page shows."""

    def __init__(self, link):
        super().__init__()
        self.trust_env = False  # no proxy stands between this machine and itself
        self._page = link.partition("?")[0]
        self._shown(self.get(link, timeout=30))
        self._shown(self.get(self._page + "now", timeout=30))

    def _shown(self, reply):
        message = reply.text.strip()
        if reply.headers.get("content-type", "").startswith("application/json"):
            self.now = reply.json()
            message = self.now["said"]
        if not reply.ok:
            raise requests.HTTPError(message, response=reply)

    def act(self, action, **fields):
        """A "vote" (``choice``: "first", "second" or "tie"), "skip" or "undo"; what the page shows then."""
        self._shown(self.post(self._page + action, json={"ticket": self.now["ticket"], **fields}, timeout=30))
        return self.now
