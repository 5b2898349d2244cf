"""judgekit.report: what a notebook may save, how it is written, and what is refused."""

import json
import math
import subprocess
import warnings
from shutil import copytree

import numpy as np
import pandas as pd
import pytest

from judgekit import report as results
from judgekit.data import paths
from judgekit.data.provenance import git_state
from judgekit.judges import load_judge
from judgekit.judges.names import slug, unique_slugs
from judgekit.report import Stacked, escaped, load_data, save_data, save_frame, save_results, save_table, shown_table
from judgekit.report.results import check_inputs
from judgekit.stats import Number


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "project_root", lambda: tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "text", "interval"),
    [
        ({"value": 0.5}, "0.500", None),
        ({"value": -0.0001, "low": -0.002, "high": 0.001, "spec": ".1%"}, "0.0", "-0.2 to 0.1"),
        ({"value": 12, "low": 10.5, "high": 13.25}, "12", "10.5-13.2"),
        ({"value": np.float32(0.25), "low": np.float64(0), "high": np.int64(1), "spec": ".0%"}, "25", "0-100"),
        ({"value": 0.9, "low": 0.1, "high": 0.5}, "0.900", "0.100-0.500"),
        ({"value": 3e-7, "spec": ".0e"}, "3e-07", None),
    ],
)
def test_text_is_formatted_once(arguments, text, interval):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        number = Number(**arguments)
    assert (str(number), number.interval) == (text, interval)
    assert all(type(v) in (int, float, str, type(None)) for v in number.row().values())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"value": math.nan}, "NaN"),
        ({"value": np.inf}, "no results"),
        ({"value": None}, "None"),
        ({"value": 0.5, "low": 0.6, "high": 0.4}, "above"),
        ({"value": 0.5, "low": 0.4}, "half an interval"),
        ({"value": 0.5, "low": math.nan, "high": 1.0}, "low is nan"),
        ({"value": 61.1, "spec": ".1%"}, r"rates are kept in \[0, 1\]"),
        ({"value": 0.5, "n": -1}, "n is -1"),
        ({"value": 0.5, "spec": "d"}, "Unknown format code"),
    ],
)
def test_bad_numbers_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        Number(**arguments)


def test_results_file(project):
    path = save_results("sample", "40_x", {"b.c": Number(1), "a.b": Number(0.5)}, {"set": "00ff"})
    assert path == project / "outputs/sample/results/40_x.json"
    document = json.loads(path.read_text())
    assert list(document["numbers"]) == ["a.b", "b.c"] and document["schema"] == 1 and document["run"] == "sample"
    provenance = document["provenance"]
    assert provenance["data"] == {"set": "00ff"} and provenance["seconds"] > 0
    assert provenance["git"] is None and provenance["dirty"] is None
    assert {"python", "numpy"} <= set(provenance["versions"])
    assert provenance["machine"]["processor"] and provenance["machine"]["cores"] >= 1
    assert provenance["machine"]["memory_mb"] > 100
    assert path.read_text().endswith("}\n") and [p.name for p in path.parent.iterdir()] == ["40_x.json"]


def test_unchanged_result_is_an_unchanged_file(monkeypatch):
    path = save_results("sample", "40_x", {"a.b": Number(0.5)})
    before = path.read_bytes()
    monkeypatch.setattr("judgekit.report.results.process_age", lambda: 1e6)
    save_results("sample", "40_x", {"a.b": Number(0.5)})
    assert path.read_bytes() == before
    save_results("sample", "40_x", {"a.b": Number(0.25)})
    assert path.read_bytes() != before


def test_a_result_is_of_the_last_commit_that_changed_the_code(project):
    def commit(name, text):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(text)
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        for arguments in (["add", "."], [*who, "commit", "-q", "-m", name]):
            subprocess.run(["git", "-C", project, *arguments], check=True)
        return git_state()

    subprocess.run(["git", "init", "-q", project], check=True)
    assert git_state() == {"git": None, "dirty": None}, "nothing is committed"
    first = commit("judgekit/x.py", "x = 1")
    path = save_results("sample", "40_x", {"a.b": Number(0.5)})
    assert commit("docs/page.md", "text") == first, "a text changes no result"
    made = path.read_bytes()
    save_results("sample", "40_x", {"a.b": Number(0.5)})
    assert path.read_bytes() == made
    second = commit("judgekit/x.py", "x = 2")
    assert second["git"] != first["git"] and git_state(("docs",)) == second
    save_results("sample", "40_x", {"a.b": Number(0.5)})
    assert json.loads(path.read_text())["provenance"]["git"] == second["git"], "the same number, of today's code"
    (project / "judgekit/x.py").write_text("x = 3")
    assert git_state()["dirty"] is True


def test_two_owners_of_a_key_is_an_error_that_names_both():
    save_results("sample", "40_x", {"a.b": Number(0.5)}, variant="one")
    with pytest.raises(ValueError, match=r"a\.b is owned by 40_x-one\.json already; 41_y\.json"):
        save_results("sample", "41_y", {"a.b": Number(0.5)})
    save_results("laptop", "41_y", {"a.b": Number(0.5)})  # another run has keys of its own
    assert results.load_results("sample")["a.b"]["notebook"] == "40_x-one"


CROSSFITTED = ["scores.pandalm.crossfit_log_odds.accuracy", "jury.pandalm.all.crossfit_logistic.accuracy"]


@pytest.mark.parametrize("key", ["a", "a.b.c.d.e.f", "A.b", "a..b", "a.é", *CROSSFITTED])
def test_malformed_keys_are_refused(key):
    with pytest.raises(ValueError, match="key"):
        save_results("sample", "40_x", {key: Number(0.5)})


def test_broken_file_is_named(project):
    path = save_results("sample", "40_x", {"a.b": Number(0.5)})
    path.write_text("{")
    with pytest.raises(ValueError, match=r"40_x\.json is not a results file"):
        results.load_results("sample")


def test_slugs():
    assert slug("hf/Qwen/Qwen3-4B@main+adapters/x#letter") == slug("hf/Qwen/Qwen3-4B#letter") == "qwen3_4b_letter"
    assert slug("openai/gpt-4o#prompts/short.txt") == slug("openai/gpt-4o#short.txt") == "gpt_4o_short_txt"
    names = ["hf/Qwen/Qwen3-4B", "hf/Qwen/Qwen3-4B@main+x"]
    with pytest.raises(ValueError, match="share the slug 'qwen3_4b'"):
        unique_slugs(names)
    assert unique_slugs(names, {names[1]: "qwen3_4b_dpo"}) == {names[0]: "qwen3_4b", names[1]: "qwen3_4b_dpo"}
    with pytest.raises(ValueError, match="do not take part"):
        unique_slugs(names, {"hf/other": "x"})
    with pytest.raises(ValueError, match="slug"):
        unique_slugs(["a/中"])


def test_tables_print_names():
    rows = [{"set": "autoj", "judge": "gpt_4", "source": "dpo_en"}, {"set": "file:my_own.jsonl", "judge": "x_y"}]
    markdown = save_table("sample", "t", rows, sections="set").with_suffix(".md").read_text().replace("\\", "")
    assert shown_table("sample", "t").data.replace("\\", "") == markdown  # as a notebook shows it
    assert "| *Auto-J* |" in markdown and "| GPT-4 | DPO-en |" in markdown
    assert "*file:my_own.jsonl*" in markdown and "| x y |" in markdown, "a file is named as it is"


@pytest.mark.parametrize("index", [True, False])
def test_frames_are_shown_without_html_of_a_data_set(index):
    frame = pd.DataFrame({"<i>": ["<img src=x>", None], "n": [0.12345, 2]}, index=["<b>", "y"])
    html = escaped(frame, {"<i>": str.upper}, index=index, precision=3, na_rep="none").to_html()
    assert not any(tag in html for tag in ("<i>", "<img", "<IMG", "<b>")) and "&LT;IMG" in html and "0.123" in html
    assert ("&lt;b&gt;" in html) == index


def test_table():
    table = pd.DataFrame(
        {
            ("", "kind"): ["a_b", "[A] & 中"],
            ("P", "accuracy"): [Number(0.5, 0.4, 0.6, 10, ".1%"), Number(0.25, -0.1, 0.5, 10, ".1%")],
            ("P", "nll"): [0.5, math.nan],
        }
    )
    path = save_table("sample", "t", table, best=[("P", "accuracy"), ("P", "nll")])
    tex, markdown = path.read_text(), path.with_suffix(".md").read_text()
    assert r"\multicolumn{2}{c}{P}" in tex and r"\cmidrule(lr){2-3}" in tex and "{@{}lrr@{}}" in tex
    assert r"a\_b & \textbf{50.0 (40.0–60.0)} & \textbf{0.500} \\" in tex
    assert r"[A] \& \unitext{中} & 25.0 (\ensuremath{-}10.0 to 50.0) & – \\" in tex
    assert r"| a\_b | **50.0 (40.0–60.0)** | **0.500** |" in markdown


def test_p_values_are_printed_alike_whatever_the_format_of_their_table_is():
    rows = [{"judge": f"judge {p}", "p (Holm)": p, "pairs": 0.25} for p in (1.0, 0.0318, 0.0005, 3e-38)]
    path = save_table("sample", "tested", rows, spec=".2g")
    cells = [line.split(" | ")[1:] for line in path.with_suffix(".md").read_text().splitlines()[2:]]
    assert cells == [[p, "0.25 |"] for p in ("1.000", "0.032", "0.001", "<0.001")]
    assert r"judge 3e-38 & \ensuremath{<}0.001 & 0.25 \\" in path.read_text()


def test_a_rule_that_wins_is_not_bold():
    rows = [{"who": who, "right": Number(n, spec=".0%")} for who, n in (("rule", 0.9), ("one", 0.6), ("other", 0.6))]
    text = save_table("sample", "t", rows, best=["right"], plain=["rule"]).with_suffix(".md").read_text()
    assert "| rule | 90 |" in text and "| one | **60** |" in text and "| other | **60** |" in text


def test_table_of_sections():
    rows = [{"set": s, "text": "x\ny|z", "n": 1000} for s in ("one", "one", "two")]
    path = save_table("sample", "t", rows, sections="set", align={"text": "p{5cm}"})
    tex = path.read_text()
    assert tex.count(r"\multicolumn{2}{@{}l}{\textit{") == 2 and "{@{}p{5cm}r@{}}" in tex and "1,000" in tex
    assert "x y" in tex and r"x y\|z" in path.with_suffix(".md").read_text()


def test_two_lines_in_a_cell():
    rows = [{"judge": "minilm", "a": Stacked("57.0 [h]", "47–67"), "b": Number(-0.25, -0.5, 0.1, spec=".1%")}]
    path = save_table("sample", "stacked", rows, stacked=True)
    tex, markdown = path.read_text(), path.with_suffix(".md").read_text()
    assert r"57.0 [h]\\[-1pt]{\scriptsize 47–67}\end{tabular}" in tex and r"\begin{tabular}{@{}lrr@{}}" in tex
    assert r"\ensuremath{-}25.0\\[-1pt]{\scriptsize \ensuremath{-}50.0 to 10.0}" in tex
    assert r"| 57.0 \[h\] (47–67) | −25.0 (−50.0 to 10.0) |" in markdown
    assert r"\relax MiniLM (ours) &" in tex and "| MiniLM (ours) |" in markdown, "judges by display names"
    one_line = save_table("sample", "beside", [*rows, {"judge": "longer"}], sections="judge").read_text()
    assert r"\textit{longer response (characters)}" in one_line
    assert r"\ensuremath{-}25.0 (\ensuremath{-}50.0 to 10.0)" in one_line


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ([], {}, "empty"),
        ([{"a": 1}], {"sections": "b"}, "no column 'b'"),
    ],
)
def test_bad_tables_are_refused(rows, options, words):
    with pytest.raises(ValueError, match=words):
        save_table("sample", "t", rows, **options)


def flips():
    """Estimates as a group-by gives them: a row for each set and judge, key columns in the index."""
    index = pd.MultiIndex.from_tuples(
        [("pandalm", "encoder/minilm"), ("pandalm", "replay/gpt-3.5"), ("autoj", "encoder/minilm")],
        names=["set", "judge"],
    )
    columns = {"value": [0.25, 0.125, 0.5], "low": [0.2, 0.1, np.nan], "high": [0.3, 0.2, np.nan]}
    return pd.DataFrame(columns | {"n": [200, 200, 40]}, index=index)


def test_a_frame_gives_keys_to_quote(project):
    numbers = save_frame("sample", "position", flips(), key="position.{set}.{judge}.flip_rate", spec=".1%")
    assert numbers["position.pandalm.minilm.flip_rate"] == Number(0.25, 0.2, 0.3, 200, ".1%")
    assert numbers["position.autoj.minilm.flip_rate"] == Number(0.5, n=40, spec=".1%")
    assert list(numbers)[1] == "position.pandalm.gpt_3_5.flip_rate"
    save_results("sample", "40_position_bias", numbers)
    assert results.load_results("sample")["position.pandalm.minilm.flip_rate"]["interval"] == "20.0-30.0"
    lines = (project / "outputs/sample/data/position.csv").read_text().splitlines()
    assert lines[:2] == ["set,judge,value,low,high,n", "pandalm,encoder/minilm,0.25,0.2,0.3,200"]
    pd.testing.assert_frame_equal(load_data("sample", "position"), flips().reset_index())


@pytest.mark.parametrize(
    ("frame", "key", "words"),
    [
        (flips(), "position.{set}.{order}.flip_rate", "frame position has no column 'order'"),
        (flips().drop(columns="value"), "position.{set}.{judge}.flip_rate", "has no column 'value'"),
        (flips(), "position.{set}.flip_rate", "two rows have the key 'position.pandalm.flip_rate'"),
        (flips().assign(value=np.nan), "position.{set}.{judge}.flip_rate", "NaN"),
        (flips(), "{judge}", "key 'minilm': write study"),
        (flips(), "scores.{set}_repro.{judge}.accuracy", "nobody labelled"),
    ],
)
def test_bad_frames_are_refused(project, frame, key, words):
    with pytest.raises(ValueError, match=words):
        save_frame("sample", "position", frame, key)
    assert not (project / "outputs").exists()


def test_a_judge_is_one_model_in_a_run(monkeypatch):
    loaded = {"encoder/minilm": "aa11"}
    monkeypatch.setattr("judgekit.report.results.judges_of_run", lambda run: dict(loaded))
    path = save_results("sample", "30_x", {"a.b": Number(0.5)})
    assert json.loads(path.read_text())["provenance"]["judges"] == {"encoder/minilm": "aa11"}
    loaded["baseline/longer"] = "00"
    save_results("sample", "31_y", {"a.c": Number(0.5)})
    check_inputs("sample")
    loaded["encoder/minilm"] = "bb22"
    with pytest.warns(UserWarning, match=r"'encoder/minilm' has fingerprint bb22 in 11_z and aa11 in 30_x"):
        save_results("sample", "11_z", {"a.d": Number(0.5)})
    with pytest.raises(ValueError, match="one name of run sample is two models"):
        check_inputs("sample")
    save_results("laptop", "11_z", {"a.d": Number(0.5)})  # another run
    check_inputs("laptop")
    save_results("laptop", "12_w", {"a.e": Number(0.5)}, data={"autoj/x.jsonl": "ab"})
    with pytest.warns(UserWarning, match=r"'autoj/x.jsonl' has fingerprint ab in 12_w and cd in 13_v: .* two contents"):
        save_results("laptop", "13_v", {"a.f": Number(0.5)}, data={"autoj/x.jsonl": "cd"})


def test_a_run_judges_with_its_own_model(project):
    shipped = load_judge("baseline/features", run="sample")
    own = paths.run_folder("sample", "models", "features")
    copytree(paths.PRETRAINED / "features", own, dirs_exist_ok=True)
    parts = json.loads((own / "features.json").read_text())
    parts["parts"]["tie_bias"] += 1.0
    (own / "features.json").write_text(json.dumps(parts))
    assert load_judge("baseline/features", run="sample").fingerprint != shipped.fingerprint
    assert load_judge("baseline/features").fingerprint == shipped.fingerprint


def test_an_unchanged_table_is_an_unchanged_file_in_any_process(monkeypatch):
    ids = ["001", "2\r", "3\r\n4", "\r5\n"]  # no numbers, and in one piece
    keys = ["012345678901", "123456789e12"] * 2
    frame = pd.DataFrame({"item_id": ids, "training": keys, "split": ["train", "validation"] * 2})
    contents = []
    for process in (7, 4242):
        monkeypatch.setattr("os.getpid", lambda process=process: process)
        contents.append(save_data("test", "some_split", frame).read_bytes())
    assert contents[0] == contents[1]
    assert load_data("test", "some_split").equals(frame)


def test_texts_come_back_as_texts_and_numbers_as_numbers():
    """At 29757e73 a column of numbers that lacked one came back as text."""
    frame = pd.DataFrame({"model": ["NA", "None", ""], "p": [0.5, None, 0.25], "n": [1, 2, 3], "note": ["", "", ""]})
    save_data("test", "some", frame)
    pd.testing.assert_frame_equal(load_data("test", "some"), frame)
