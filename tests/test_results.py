"""judgekit.results: what a notebook may save, how it is written, and what is refused."""

import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest

from judgekit import paths, results
from judgekit.results import (
    Excerpt,
    Number,
    Stacked,
    load_data,
    save_data,
    save_figure,
    save_results,
    save_table,
    slug,
    unique_slugs,
)


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "project_root", lambda: tmp_path)
    return tmp_path


def test_row_is_the_contract():
    expected = {"value": 0.611, "text": "61.1", "low": 0.58, "high": 0.64, "interval": "58.0-64.0", "n": 999}
    assert Number(0.611, 0.58, 0.64, 999, ".1%").row() == expected


@pytest.mark.parametrize(
    ("arguments", "text", "interval"),
    [
        ({"value": 1234}, "1,234", None),
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


@pytest.mark.parametrize("arguments", [{"value": "0.5"}, {"value": True}, {"value": 0.5, "n": 1.5}])
def test_wrong_types_are_refused(arguments):
    with pytest.raises(TypeError):
        Number(**arguments)


def test_results_file(project):
    path = save_results("sample", "40_x", {"b.c": Number(1), "a.b": Number(0.5)}, {"set": "00ff"}, 3.14159)
    assert path == project / "outputs/sample/results/40_x.json"
    document = json.loads(path.read_text())
    assert list(document["numbers"]) == ["a.b", "b.c"] and document["schema"] == 1 and document["run"] == "sample"
    provenance = document["provenance"]
    assert provenance["data"] == {"set": "00ff"} and provenance["seconds"] == 3.1
    assert provenance["git"] is None and provenance["dirty"] is None
    assert {"python", "numpy"} <= set(provenance["versions"])
    assert provenance["machine"]["processor"] and provenance["machine"]["cores"] >= 1
    assert provenance["machine"]["memory_mb"] > 100
    assert path.read_text().endswith("}\n") and [p.name for p in path.parent.iterdir()] == ["40_x.json"]


def test_unchanged_result_is_an_unchanged_file():
    path = save_results("sample", "40_x", {"a.b": Number(0.5)}, seconds=1)
    before = path.read_bytes()
    save_results("sample", "40_x", {"a.b": Number(0.5)}, seconds=2)
    assert path.read_bytes() == before
    save_results("sample", "40_x", {"a.b": Number(0.25)}, seconds=2)
    assert path.read_bytes() != before


def test_clean_commit_replaces_a_dirty_one(monkeypatch):
    def at(commit, dirty):
        monkeypatch.setattr(results.files, "git_state", lambda: {"git": commit, "dirty": dirty})
        path = save_results("sample", "40_x", {"a.b": Number(0.5)})
        return json.loads(path.read_text())["provenance"]["git"]

    assert [at("one", True), at("two", True), at("three", False), at("four", False)] == ["one", "one", "three", "three"]


def test_two_owners_of_a_key_is_an_error_that_names_both():
    save_results("sample", "40_x", {"a.b": Number(0.5)}, variant="one")
    with pytest.raises(ValueError, match=r"a\.b is owned by 40_x-one\.json already; 41_y\.json"):
        save_results("sample", "41_y", {"a.b": Number(0.5)})
    save_results("laptop", "41_y", {"a.b": Number(0.5)})  # another run has keys of its own
    assert results.load_results("sample")["a.b"]["notebook"] == "40_x-one"


@pytest.mark.parametrize("key", ["a", "a.b.c.d.e.f", "A.b", "a..b", "a.b-c", "a.b ", "", ".a", "a.é"])
def test_malformed_keys_are_refused(key):
    with pytest.raises(ValueError, match="key"):
        save_results("sample", "40_x", {key: Number(0.5)})


def test_other_mistakes_of_saving():
    with pytest.raises(TypeError, match="wrap it"):
        save_results("sample", "40_x", {"a.b": 0.5})
    with pytest.raises(ValueError, match="no numbers"):
        save_results("sample", "40_x", {})
    with pytest.raises(ValueError, match="name"):
        save_results("sample", "../x", {"a.b": Number(0.5)})


def test_reading_makes_no_folder(project):
    assert results.load_results("laptop") == {} and not (project / "outputs").exists()


def test_broken_file_is_named(project):
    path = save_results("sample", "40_x", {"a.b": Number(0.5)})
    path.write_text("{")
    with pytest.raises(ValueError, match=r"40_x\.json is not a results file"):
        results.load_results("sample")


def test_slugs():
    assert slug("encoder/minilm") == "minilm"
    assert slug("hf/Qwen/Qwen3-4B@main+adapters/x") == "qwen3_4b"
    assert slug("replay/gpt-4-vanilla-norules") == "gpt_4_vanilla_norules"
    names = ["hf/Qwen/Qwen3-4B", "hf/Qwen/Qwen3-4B@main+x"]
    with pytest.raises(ValueError, match="share the slug 'qwen3_4b'"):
        unique_slugs(names)
    assert unique_slugs(names, {names[1]: "qwen3_4b_dpo"}) == {names[0]: "qwen3_4b", names[1]: "qwen3_4b_dpo"}
    with pytest.raises(ValueError, match="do not take part"):
        unique_slugs(names, {"hf/other": "x"})
    with pytest.raises(ValueError, match="slug"):
        unique_slugs(["a/中"])


def test_table():
    table = pd.DataFrame(
        {
            ("", "judge"): ["a_b", "[A] & 中"],
            ("P", "accuracy"): [Number(0.5, 0.4, 0.6, 10, ".1%"), Number(0.25, -0.1, 0.5, 10, ".1%")],
            ("P", "nll"): [0.5, math.nan],
        }
    )
    path = save_table("sample", "t", table, best={("P", "accuracy"): "max", ("P", "nll"): "min"})
    tex, markdown = path.read_text(), path.with_suffix(".md").read_text()
    assert r"\multicolumn{2}{c}{P}" in tex and r"\cmidrule(lr){2-3}" in tex and "{@{}lrr@{}}" in tex
    assert r"a\_b & \textbf{50.0 (40.0–60.0)} & \textbf{0.500} \\" in tex
    assert r"[A] \& \unitext{中} & 25.0 (\ensuremath{-}10.0 to 50.0) & – \\" in tex
    assert r"| a\_b | **50.0 (40.0–60.0)** | **0.500** |" in markdown


def test_table_of_excerpts_and_sections():
    rows = [{"set": s, "text": Excerpt("x\ny|z" * 9, 9), "n": 1000} for s in ("one", "one", "two")]
    path = save_table("sample", "t", rows, sections="set", align={"text": "p{5cm}"})
    tex = path.read_text()
    assert tex.count(r"\multicolumn{2}{@{}l}{\textit{") == 2 and "{@{}p{5cm}r@{}}" in tex and "1,000" in tex
    assert r"\cutmark" in tex and r"x y\|z" in path.with_suffix(".md").read_text()


def test_two_lines_in_a_cell():
    rows = [{"judge": "x_1", "a": Stacked("57.0 [h]", "47–67"), "b": Number(-0.25, -0.5, 0.1, spec=".1%")}]
    path = save_table("sample", "stacked", rows, stacked=True)
    tex, markdown = path.read_text(), path.with_suffix(".md").read_text()
    assert r"57.0 [h]\\[-1pt]{\scriptsize 47–67}\end{tabular}" in tex
    assert (
        r"\ensuremath{-}25.0\\[-1pt]{\scriptsize \ensuremath{-}50.0 to 10.0}" in tex
        and r"\begin{tabular}{@{}lrr@{}}" in tex
    )
    assert r"| 57.0 \[h\] (47–67) | −25.0 (−50.0 to 10.0) |" in markdown
    one_line = save_table("sample", "beside", rows[:1]).read_text()
    assert r"\ensuremath{-}25.0 (\ensuremath{-}50.0 to 10.0)" in one_line


def test_ties_as_printed_are_all_bold():
    rows = [{"v": Number(0.50001, spec=".1%")}, {"v": Number(0.50002, spec=".1%")}, {"v": Number(0.4, spec=".1%")}]
    assert save_table("sample", "t", rows, best={"v": "max"}).read_text().count("textbf") == 2


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ([], {}, "empty"),
        ([{"a": 1}, {"b": 1}], {}, "row 1"),
        ([{"a": 1}], {"best": {"b": "max"}}, "no column 'b'"),
        ([{"a": 1}], {"best": {"a": "most"}}, "'max' or 'min'"),
    ],
)
def test_bad_tables_are_refused(rows, options, words):
    with pytest.raises(ValueError, match=words):
        save_table("sample", "t", rows, **options)


def test_unchanged_figure_is_an_unchanged_file():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    def draw():
        figure, ax = plt.subplots()
        ax.plot([0, 1], [1, 0], marker="o")
        path = save_figure(ax, "sample", "f")
        plt.close(figure)
        return path.read_bytes(), path.with_suffix(".png").read_bytes()

    assert draw() == draw()


def test_an_unchanged_table_is_an_unchanged_file_in_any_process(monkeypatch):
    frame = pd.DataFrame({"item_id": ["1", "2"], "split": ["train", "validation"]})
    contents = []
    for process in (7, 4242):
        monkeypatch.setattr("os.getpid", lambda process=process: process)
        contents.append(save_data("test", "some_split", frame).read_bytes())
    assert contents[0] == contents[1]
    assert load_data("test", "some_split").astype(str).equals(frame)
