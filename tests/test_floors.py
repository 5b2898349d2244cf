"""The floors of judgekit: a module imports only from floors below, and importing the package stays cheap."""

import ast
import subprocess
import sys

import pytest

from judgekit.data.paths import PACKAGE

ROOMS = """
    records stats data models prompts inside judges scoring training bias people figures studies report cli
""".split()
FLOOR = {name: number for number, name in enumerate(ROOMS)}
# Upward imports of rooms whose code is still in the form of the first edition. It may only shrink.
UPWARD = {("studies", "report")}
HEAVY = ("torch", "transformers", "peft", "datasets", "trl", "vllm")
SOURCES = sorted(PACKAGE.rglob("*.py"))


def part_of(path):
    """The module or package that a file belongs to: what has a floor."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


PARTS = sorted({part_of(path) for path in SOURCES} - {"__init__"})


def imported_parts(source):
    """Parts of judgekit that a piece of Python imports, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {tuple(alias.name.split(".")) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "relative imports hide where a name comes from"
            found |= {(*node.module.split("."), alias.name) for alias in node.names}
    return {name[1] for name in found if name[0] == "judgekit" and len(name) > 1} - {"__version__"}


def upward(part, source):
    """Imports of a part that do not come from a floor below it."""
    return sorted(other for other in imported_parts(source) if other != part and FLOOR[other] > FLOOR[part])


def test_the_tree_has_the_rooms_and_no_others():
    assert sorted(ROOMS) == PARTS


def test_every_room_imports_from_the_rooms_above_it():
    seen = {(part_of(path), other) for path in SOURCES for other in upward(part_of(path), path.read_text("utf-8"))}
    assert seen == UPWARD


def modules_loaded_by(code):
    """Top-level modules that a fresh interpreter holds after running some code."""
    program = f"{code}\nimport sys\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


LIGHT = """
    bias.attacks
    bias.planted
    data.benchmarks
    data.corpora
    inside.rating
    people.active
    people.alt_test
    people.calibration.maps
    people.consensus
    people.labelling
    people.labelling.votefile
    people.ppi
    people.ranking
    report
    report.workflow
    scoring
    studies.label_errors
""".split()


def test_heavy_libraries_load_inside_judges_and_training_only():
    assert not modules_loaded_by("\n".join(f"import judgekit.{name}" for name in LIGHT)) & set(HEAVY)


def test_importing_the_package_loads_nothing_but_itself():
    assert not modules_loaded_by("import judgekit") & {"numpy", "pandas", "matplotlib", "sklearn", *HEAVY}


def calls_and_imports(source):
    """Dotted names of calls with their keyword arguments, and top-level names of imports."""
    calls, imports = [], set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            calls.append((ast.unparse(node.func), {key.arg: ast.unparse(key.value) for key in node.keywords}, node))
        elif isinstance(node, ast.Import):
            imports |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imports.add((node.module or "").split(".")[0])
    return calls, imports


def dangers(source):
    """What would execute or trust a file from elsewhere."""
    calls, imports = calls_and_imports(source)
    found = sorted(imports & {"pickle", "cPickle", "dill", "joblib", "shelve", "marshal"})
    for name, keywords, node in calls:
        if keywords.get("trust_remote_code", "False") != "False":
            found.append("trust_remote_code")
        loader = [keywords.get("Loader", ""), *map(ast.unparse, node.args[1:])]
        if name in ("yaml.load", "yaml.load_all") and not any("Safe" in word for word in loader):
            found.append(name)
        if name in ("yaml.unsafe_load", "yaml.full_load", "eval", "exec"):
            found.append(name)
        if name == "torch.load" and keywords.get("weights_only") != "True":
            found.append(name)
        if keywords.get("shell") == "True" or name == "os.system" or keywords.get("allow_pickle") == "True":
            found.append(name)
    return found


def test_no_file_from_elsewhere_is_executed():
    found = {str(path.relative_to(PACKAGE)): dangers(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert not {path: what for path, what in found.items() if what}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "AutoModel.from_pretrained(name, trust_remote_code=True)",
        "AutoModel.from_pretrained(name, trust_remote_code=trusted)",
        "yaml.load(text)",
        "yaml.load(text, Loader=yaml.Loader)",
        "torch.load(path)",
        "np.load(path, allow_pickle=True)",
        "subprocess.run(line, shell=True)",
    ],
)
def test_dangers_are_seen(source):
    assert dangers(source)


def test_safe_readers_are_no_danger():
    assert dangers("yaml.safe_load(text)\nyaml.load(text, Loader=yaml.SafeLoader)\nmodel.eval()") == []
