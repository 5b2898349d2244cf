"""The registry, the mirror and the download: only pinned content is ever read, and every failure says what to do."""

import gzip
import hashlib
import re
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from judgekit.data import paths, sources
from judgekit.data.sources import DataError, Source, fetching
from judgekit.data.sources.fetching import fetch_all, read_bytes
from judgekit.data.sources.rows import Row, read_rows

CONTENT = b'[{"question": "2 + 2?", "label": 1}]\n' * 1000


def pinned(path, content=CONTENT, repo="owner/repo", host="github"):
    """A `Source` record of authored content; `path` is what the test server is asked for."""
    return Source(
        name=f"authored/{path}",
        source="authored",
        mirror_path=f"raw/authored/{path}",
        repo=repo,
        commit="c0ffee" if repo else None,
        path_in_repo=path if repo else None,
        sha256=hashlib.sha256(content).hexdigest(),
        bytes=len(content),
        licence="MIT",
        split="train",
        description="authored for a test",
        host=host,
    )


# --- the registry


def test_registry_records_are_complete_and_pinned():
    records = sources.sources()
    assert len({record.name for record in records}) == len(records) > 1500
    for record in records:
        assert re.fullmatch(r"[0-9a-f]{64}", record.sha256), record.name
        assert record.bytes > 0 and record.licence and record.description, record.name
        assert record.split in ("test", "train", "judge-outputs", "meta"), record.name
        if record.repo is not None:
            assert re.fullmatch(r"[0-9a-f]{40}", record.commit), record.name
            hub, github = "https://huggingface.co/datasets/{}/resolve/{}/", "https://raw.githubusercontent.com/{}/{}/"
            start = (hub if record.host == "hub" else github).format(record.repo, record.commit)
            assert record.url.startswith(start) and not {" ", ","} & set(record.url)


def test_lookup_by_family_and_name():
    assert {record.source for record in sources.sources("pandalm")} == {"pandalm"}
    assert list(sources.source_hashes(["pandalm/testset-v1.json"])) == ["pandalm/testset-v1.json"]
    with pytest.raises(DataError, match=r"pandalm/nothing\.json"):
        sources.find_source("pandalm/nothing.json")
    chosen = fetching.expand(["pandalm", "pandalm/testset-v1.json", "gsm8k/test.jsonl"])
    assert [record.name for record in chosen] == [*sources.source_names("pandalm/*"), "gsm8k/test.jsonl"]
    with pytest.raises(DataError, match="no such file"):
        fetching.expand(["nothing"])


@pytest.mark.realdata
def test_every_file_of_the_mirror_is_the_pinned_one():
    assert len(fetch_all(progress=False)) == sum(source.host != "hub" for source in sources.sources()) > 1500


# --- the mirror


@pytest.fixture
def authored_mirror(tmp_path, monkeypatch):
    """A mirror folder of our own; returns a function that puts a file into it."""
    monkeypatch.setattr(paths, "data_mirror", lambda: tmp_path)

    def put(path, content):
        file = tmp_path / "raw" / "authored" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return file

    return put


def test_files_of_a_mirror_read_alike_in_whatever_packing(authored_mirror):
    authored_mirror("plain.json", CONTENT)
    authored_mirror("packed.json.gz", gzip.compress(CONTENT))
    assert read_bytes(pinned("plain.json")) == read_bytes(pinned("packed.json")) == CONTENT
    blob = gzip.compress(CONTENT)  # gzip upstream: hashed as it is and read unpacked
    authored_mirror("blob.jsonl.gz", blob)
    assert read_bytes(pinned("blob.jsonl.gz", blob)) == CONTENT


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("absent.json", None, r"absent\.json: not in the mirror .* unset JUDGEKIT_DATA"),
        ("altered.json", CONTENT[:-1], r"altered\.json: .* not the pinned content"),
        ("longer.json", CONTENT + b" ", r"longer\.json: .* not the pinned content"),
        ("short.json.gz", gzip.compress(CONTENT)[:-20], r"short\.json: .* damaged or cut short"),
        ("nogzip.json.gz", CONTENT, r"nogzip\.json: .* damaged or cut short"),
    ],
)
def test_missing_altered_and_truncated_files_of_a_mirror(authored_mirror, name, content, words):
    source = pinned(name.removesuffix(".gz"))
    if content:
        file = authored_mirror(source.path_in_repo, CONTENT)
        assert read_bytes(source) == CONTENT  # what was right once is looked at again
        file.unlink()
        authored_mirror(name, content)
    with pytest.raises(DataError, match=f"authored/{words}"):
        read_bytes(source)
    with pytest.raises(DataError, match=rf"1 of 1 files could not be had:\nauthored/{words}"):
        fetch_all([source], progress=False)


def test_a_bomb_is_refused_before_it_is_unpacked(authored_mirror):
    """1 GiB of 1 MiB, whether the mirror packed it or upstream did."""
    packed, length = gzip.compress(bytes(2**20), 9) * 1024, len(CONTENT)
    for name in ("bomb.json.gz", "blob.jsonl.gz"):
        authored_mirror(name, packed)
    mirrored, upstream = pinned("bomb.json"), pinned("blob.jsonl.gz", packed)
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=rf"bomb\.json: .* \(more than {length} bytes, {length} expected"):
            read_bytes(mirrored)
        with pytest.raises(DataError, match=r"blob\.jsonl\.gz: unpacks to more than"):
            read_bytes(upstream)
        assert tracemalloc.get_traced_memory()[1] < 2**29
    finally:
        tracemalloc.stop()


# --- the download


class Upstream(BaseHTTPRequestHandler):
    """Serves authored files; the name asked for says how it misbehaves."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        name = self.path.rsplit("/", 1)[-1]
        self.server.asked.append(self.path)
        self.server.ranges.append(self.headers["Range"])
        if name.startswith("absent"):
            self.send_error(404)
            return
        content = b"something else" if name.startswith("wrong") else self.server.content
        start = int((self.headers["Range"] or "=0-").strip("bytes=-")) if name.startswith("resumed") else 0
        content = content[start:]
        self.send_response(206 if start else 200)
        if not name.startswith(("unsized", "endless")):
            self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        if name.startswith("endless"):
            while not self.wfile.closed:
                self.wfile.write(bytes(2**20))
        # A connection that ends in mid-file, with and without a length the client could compare.
        once = name.startswith(("resumed", "again")) and len(self.server.asked) == 1
        self.wfile.write(content[: len(content) // 2] if once or name.startswith(("cut", "unsized")) else content)
        if once and "held" in name:
            self.rfile.read(1)  # until the client is gone
        self.close_connection = True

    def log_message(self, *_):
        """Be quiet."""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """No mirror, an empty cache."""
    monkeypatch.setattr(paths, "data_mirror", lambda: None)
    monkeypatch.setattr(paths, "data_cache", lambda: tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path


@pytest.fixture
def upstream(cache, monkeypatch):
    """A local server in upstream's place; ``upstream.asked`` lists the paths asked for."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as server:
        server.asked, server.ranges, server.content = [], [], CONTENT
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("JUDGEKIT_UPSTREAM", f"http://127.0.0.1:{server.server_port}/")
        yield server
        server.shutdown()


def cached_files(cache):
    return sorted(file.name for file in cache.rglob("*") if file.is_file())


def test_download_is_pinned_verified_and_kept(upstream, cache, capfd):
    source = pinned("a folder/good,1.json")
    path = cache / "raw" / "authored" / "a folder" / "good,1.json"
    assert read_bytes(source) == path.read_bytes() == CONTENT
    assert upstream.asked == ["/owner/repo/c0ffee/a%20folder/good%2C1.json"]
    assert "%" in capfd.readouterr().err  # the progress bar
    assert read_bytes(source) == CONTENT and len(upstream.asked) == 1
    path.write_bytes(CONTENT[:100])  # a damaged copy is replaced
    assert read_bytes(source) == CONTENT and cached_files(cache) == ["good,1.json"]


@pytest.mark.parametrize("name", ["cut.json", "unsized.json", "wrong.json", "absent.json", "endless.json"])
def test_a_bad_download_is_one_clear_error_and_leaves_nothing(upstream, cache, name):
    with pytest.raises(DataError, match=rf"authored/{name}: .*(JUDGEKIT_DATA)"):
        read_bytes(pinned(name))
    assert cached_files(cache) == []


@pytest.mark.parametrize("name", ["resumed.json", "again.json"])
def test_a_cut_download_goes_on_where_it_ended(upstream, cache, name):
    """Where the server gives ranges; another sends the whole again, which is not added to the half."""
    assert read_bytes(pinned(name)) == CONTENT
    assert upstream.ranges == [None, f"bytes={fetching.PACKET}-"]
    assert cached_files(cache) == [name]


def kill_download(source, cache):
    """Start the download of a file in a process of its own, and kill it when something is there."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom judgekit.data.sources.fetching import Source, retrieve\n"
        "path = Path(sys.argv[1])\n"
        "values = ['n', 'n', 'n', 'r', 'c', path.name, sys.argv[2], int(sys.argv[3]), 'MIT', 'train', '']\n"
        "retrieve(Source(*values), path, False)"
    )
    given = cache / source.mirror_path, source.sha256, str(source.bytes)
    process = subprocess.Popen([sys.executable, "-c", code, *given])
    while not any(file.stat().st_size for file in cache.rglob("*") if file.is_file()):
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()


def test_a_killed_download_leaves_nothing_that_is_taken_for_whole(upstream, cache):
    kill_download(replace(pinned("endless.json"), sha256="0" * 64, bytes=2**40), cache)
    assert "endless.json" not in cached_files(cache)
    with pytest.raises(DataError):
        read_bytes(pinned("endless.json"))


@pytest.mark.parametrize(("name", "damaged"), [("resumed.held", False), ("again.held", False), ("resumed.held", True)])
def test_a_killed_download_goes_on_and_leaves_a_file_like_others(upstream, cache, name, damaged):
    """At 83ba5504 it began anew, its temporary file stayed for good, and nobody else could read what was downloaded."""
    kill_download(pinned(name), cache)
    (left,) = (file for file in cache.rglob("*") if file.is_file())
    if damaged:
        left.write_bytes(b"x" * 100)
    start = left.stat().st_size
    assert name != left.name and read_bytes(pinned(name)) == CONTENT
    assert upstream.ranges == [None, f"bytes={start}-"] + [None] * damaged and cached_files(cache) == [name]
    (cache / "plain").touch()
    assert (cache / pinned(name).mirror_path).stat().st_mode == (cache / "plain").stat().st_mode


def test_a_mirror_only_file_without_a_mirror(cache):
    with pytest.raises(DataError, match="exists only in a data mirror; set JUDGEKIT_DATA"):
        read_bytes(pinned("alone.json", repo=None))


def test_fetch_all_tries_everything_and_then_lists_the_failures(upstream, cache, capfd):
    with pytest.raises(DataError, match="2 of 3 files") as caught:
        fetch_all([pinned("absent.json"), pinned("good.json"), pinned("wrong.json")])
    assert "authored/absent.json" in str(caught.value) and "authored/wrong.json" in str(caught.value)
    assert cached_files(cache) == ["good.json"]
    assert "100%" in capfd.readouterr().err


def test_rows_on_the_hub_are_downloaded_verified_and_kept(upstream, cache, monkeypatch):
    path = cache / "made.parquet"
    pq.write_table(pa.Table.from_pylist([{"n": 1, "turns": [{"role": "user"}]}, {"n": 2, "turns": []}]), path)
    upstream.content = path.read_bytes()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{upstream.server_port}/")
    source = pinned("data/good.parquet", upstream.content, host="hub")
    for _ in range(2):
        rows = read_rows(source)
        assert [row.whole("n") for row in rows] == [1, 2] and rows[1].where == "authored/data/good.parquet:1"
        assert rows[0].get("turns") == [{"role": "user"}]
    assert upstream.asked == ["/datasets/owner/repo/resolve/c0ffee/data/good.parquet"]


# --- rows


def test_rows_of_lists_and_lines(authored_mirror):
    text = '{"a": "x\u2028y"}\n\n{"a": "z"}\n'
    content = text.encode()
    authored_mirror("rows.jsonl", content)
    rows = read_rows(pinned("rows.jsonl", content))
    assert [(row.text("a"), row.where) for row in rows] == [
        ("x\u2028y", "authored/rows.jsonl:0"),
        ("z", "authored/rows.jsonl:1"),
    ]
    content = b'[{"a": 1}]'
    authored_mirror("rows.json", content)
    assert read_rows(pinned("rows.json", content))[0].whole("a") == 1


@pytest.mark.parametrize(("file", "text", "line"), [("f.jsonl", b'{"a": 1}\n{"a": ', ":1"), ("f.json", b"[", "")])
def test_malformed_files_are_named(authored_mirror, file, text, line):
    authored_mirror(file, text)
    with pytest.raises(DataError, match=re.escape(f"{file}{line}: is not JSON")):
        read_rows(pinned(file, text))


def test_fields_of_a_wrong_type_are_named():
    """The kinds that no set of test_benchmarks.py or test_corpora.py holds."""
    row = Row({"n": True, "o": []}, "f.json", 4)
    with pytest.raises(DataError, match=r"f\.json:4: field 'n' is bool, not a whole number"):
        row.whole("n")
    with pytest.raises(DataError, match=r"f\.json:4: field 'o' is list, not an object"):
        row.inner("o")
