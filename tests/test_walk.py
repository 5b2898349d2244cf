"""A language model goes through every notebook that judges, by a run's parameters alone."""

import json
import shutil
import subprocess

import pytest
import yaml
from judged_file import python_in, rows_of_pairs
from papermill import inspect_notebook
from tiny_causal import save_tiny

from judgekit.data.paths import project_root
from judgekit.data.sample import load_sample
from judgekit.judges import UnknownJudge, declared_judges, judges_of_run, load_judge

ROOT = project_root()
SET, VOTED, OWN = "sample_adversarial", "sample_natural", "file:own.jsonl"
ROWS = [{"question": f"Q{n}?", "response_a": "yes " * n, "response_b": "no", "label": "AB"[n % 2]} for n in range(1, 9)]
LISTED = ["baseline/longer", "baseline/features", "tiny"]
NOTEBOOKS = {  # what is not said here is the notebook's default
    "30_score_benchmarks": {
        "sets": [SET, VOTED, OWN],
        "judges": {"all": LISTED},
    },
    "61_calibration": {
        "sets": {SET: [SET, "label"], f"{VOTED}_votes": [VOTED, "votes"]},
        "judges": {"all": ["baseline/features", "tiny"]},
        "fitted_on": [],
        "drawn": ["tiny"],
    },
    "36_ask_language_models": {
        "models": {"tiny": "hf/TINY", "tiny_rules": "hf/TINY#rules"},  # in every way, and in one of its own
        "sets": [SET],
        "validation": {"sample_validation": 2},
    },
    "31_compare_judges": {
        "sets": [SET],
        "judges": {"all": LISTED},
        "ours": "tiny",
        "pictured": [SET],
        "drawn": ["tiny", "features", "longer"],
    },
    "34_jury_and_cascade": {"juries": {SET: {"all": LISTED}}, "cascades": {SET: [["baseline/features", "tiny"]]}},
    "40_position_bias": {"judges": {SET: ["tiny", "baseline/longer"]}, "symmetric": {}},
    "41_verbosity_bias": {
        "judges": {SET: ["tiny", "baseline/features"]},
        "slugs": {},
        "led": ["tiny"],
        "edited": [SET],
        "per_edit": 3,
    },
    "42_self_preference": {
        "against_people": {VOTED: ["tiny"]},
        "against_judges": {SET: ["tiny", "baseline/longer"]},
        "families": {"tiny": "sample_verbose", "baseline/longer": "sample_terse"},
    },
    "43_attacks": {
        "sets": {SET: 20},
        "judges": ["baseline/longer", "tiny"],
        "choosing": {"sample_validation": 6},
        "queries": 2,
        "shielded": ["baseline/longer"],
    },
    "44_domains": {"judges": {"all": ["tiny"]}, "drawn": ["tiny"], "n_permutations": 50},
    "60_human_consensus": {
        "voted": [VOTED],
        "stating": ["tiny", "baseline/features"],
        "judges": {VOTED: ["tiny"]},
        "known": [VOTED],
    },
    "62_replace_annotators": {
        "contests": {VOTED: [VOTED, "", ["tiny", "baseline/longer"]]},
        "replayed": {VOTED: "tiny"},
    },
    "63_rank_models": {"judges": {VOTED: ["tiny", "baseline/longer"]}, "draws": 50},
    "70_case_studies": {"judges": {SET: ["tiny", "encoder/minilm", "baseline/longer"]}, "attacked": {SET: 3}},
    "71_accuracy_by_size": {
        "metrics": {SET: "accuracy"},
        "drawn": ["tiny", "features"],
        "pictured": [SET],
        "baselines": ["longer"],
        "people": {SET: f"scores.{SET}.features.accuracy"},
        "ours": "tiny",
    },
}

READERS = ["baseline/longer", "baseline/features", "encoder/minilm"]
ALONE = {  # pairs of one's own and nothing else, in notebooks that no run of `judgekit new` has
    "34_jury_and_cascade": {"juries": {OWN: {"all": READERS}}, "cascades": {OWN: [READERS[1:]]}},
    "43_attacks": {"sets": {OWN: 10}, "judges": READERS, "shielded": READERS[:1]},
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of what notebooks need, whose runs disturb no other."""
    folder = tmp_path_factory.mktemp("walk")
    for name in ("judgekit", "notebooks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.ipynb_checkpoints"))
    return folder


def walk(folder, run, kind, notebooks, pairs=ROWS):
    """Results of notebooks in which a tiny model of a kind judges, declared in the run's parameters."""
    model, params = save_tiny(folder / "models" / kind, kind), folder / "params" / run
    params.mkdir(parents=True)
    settings = {"mode": "one_pass", "dtype": "float32"}
    files = {"judges": {"tiny": {"name": f"hf/{model}#letter", "settings": settings}}}
    for name, given in (NOTEBOOKS if notebooks is not ALONE else ALONE).items():
        few = {"n_boot"} & set(inspect_notebook(ROOT / "notebooks" / f"{name}.ipynb"))
        given = {"run": run} | given | dict.fromkeys(few, 50)
        files[name] = json.loads(json.dumps(given).replace("TINY", str(model)))
    for name, given in files.items():
        (params / f"{name}.yaml").write_text(yaml.safe_dump(given))
    (folder / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in pairs))
    found = {}
    for name in notebooks:
        python_in(folder, "-m", "judgekit.report.workflow", "run", name, run, OMP_NUM_THREADS="1")
        found[name] = json.loads((folder / "outputs" / run / "results" / f"{name}.json").read_text())
    return found


def test_a_language_model_is_scored_and_calibrated_by_parameters_alone(project):
    found = walk(project, "walk", "qwen3", ["30_score_benchmarks", "61_calibration", "36_ask_language_models"])
    scores = found["30_score_benchmarks"]["numbers"]
    assert scores[f"scores.{SET}.tiny.accuracy"]["n"] == scores[f"scores.{SET}.longer.accuracy"]["n"]
    assert scores["scores.own.tiny.accuracy"]["n"] == len(ROWS), "pairs of one's own are a set like any other"
    assert scores["resources.tiny.tokens_per_item"]["value"] > 100, "a model that reads, not a rule"
    assert f"calibration.{SET}.tiny.nll" in found["61_calibration"]["numbers"]
    judges = found["30_score_benchmarks"]["provenance"]["judges"]
    assert judges["tiny"] != judges["baseline/longer"]
    asked = found["36_ask_language_models"]["numbers"]
    assert {f"asked.{SET}.tiny_rules_vs_tiny.gain", "asked.templates.tiny.rules_accuracy"} <= set(asked)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["llama", "qwen2", "gemma3_text", "phi3"])
def test_a_model_of_each_architecture_goes_through_the_whole_chain(project, kind):
    found = walk(project, f"walk_{kind}", kind, NOTEBOOKS)
    asked = {name for name, one in found.items() if {"tiny", "replay/tiny"} & set(one["provenance"]["judges"])}
    assert asked == set(found) - {"71_accuracy_by_size"}, "it reads the scores of the others"
    assert f"size.{SET}.tiny_of_ceiling" in found["71_accuracy_by_size"]["numbers"]


@pytest.mark.slow
def test_notebooks_take_pairs_of_ones_own_and_nothing_else(project):
    found = walk(project, "alone", "qwen3", ALONE, rows_of_pairs(load_sample("sample_natural")[:60]))
    assert "cascade.own.features_to_minilm.gain_at_half" in found["34_jury_and_cascade"]["numbers"]
    assert "attack.minilm.mean_success" in found["43_attacks"]["numbers"]


@pytest.mark.slow
def test_a_run_of_ones_own_ends_with_its_report(project):
    rows = [
        {"id": pair.item_id, "question": pair.asked, "response_a": pair.response_a, "response_b": pair.response_b}
        | {"votes": pair.votes}
        for pair in load_sample("sample_natural")
    ]
    (project / "voted.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (project / "params").mkdir(exist_ok=True)
    shutil.copytree(ROOT / "report", project / "report", ignore=shutil.ignore_patterns("build", "*.pdf"))

    def give(*words):
        return python_in(project, "-m", *words, OMP_NUM_THREADS="1").stderr

    judges = ("--judge", "encoder/minilm", "--judge", "baseline/features")
    give("judgekit", "new", "ours", "--pairs", "voted.jsonl", *judges, "--title", "Ours & 50 % of it")
    files = sorted(path.stem for path in (project / "params" / "ours").glob("[0-9]*.yaml"))
    for name in files:
        give("judgekit.report.workflow", "run", name, "ours")
    assert "warning" not in give("judgekit.report.latex", "--run", "ours")
    text = subprocess.run(["pdftotext", project / "report" / "own.pdf", "-"], capture_output=True, text=True).stdout
    assert "Ours & 50 % of it" in text and "not run" not in text
    assert all(f"Notebook: {name}" in text for name in files)


@pytest.fixture
def declared(tmp_path, monkeypatch):
    """The file of the judges that a run declares, in a project with nothing else."""
    monkeypatch.setattr("judgekit.data.paths.project_root", lambda: tmp_path)
    monkeypatch.setattr("judgekit.judges._LOADED", {})  # what other tests loaded for a run of this name
    (tmp_path / "params" / "mine").mkdir(parents=True)
    return tmp_path / "params" / "mine" / "judges.yaml"


def test_a_declared_judge_is_loaded_by_its_name(declared, tmp_path):
    declared.write_text("ours: {name: encoder/minilm}\nlong: {name: baseline/longer, folder: '{models}/x'}\n")
    assert declared_judges("mine")["long"].folder == str(tmp_path / "outputs" / "mine" / "models" / "x")
    judge = load_judge("ours", run="mine")
    assert (judge.name, judge.fingerprint) == ("ours", load_judge("encoder/minilm").fingerprint)
    assert judges_of_run("mine") == {"ours": judge.fingerprint}
    assert declared_judges("other") == {}
    with pytest.raises(UnknownJudge, match="'ours'"):
        load_judge("ours", run="other")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1]\n", "params/mine/judges.yaml: .*dictionary"),
        ("a: {name: hf/x, speed: 2}\n", "a.speed: Extra inputs"),
        ("A/b: {name: hf/x}\n", "'A/b' cannot be a name"),
    ],
)
def test_a_faulty_declaration_is_refused(declared, text, words):
    declared.write_text(text)
    with pytest.raises(ValueError, match=words):
        load_judge("baseline/longer", run="mine")
