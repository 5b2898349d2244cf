"""The floors of judgekit: a module imports only from floors below, and importing the package stays cheap."""

import ast
import subprocess
import sys

from judgekit.data.paths import PACKAGE

ROOMS = """
    records stats data models prompts inside judges scoring training bias people figures studies report cli __main__
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


def modules_of(node):
    """Dotted names of what an import statement imports; none of another node."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    assert not node.level, "relative imports hide where a name comes from"
    return [f"{node.module}.{alias.name}" for alias in node.names]


def upward(part, source):
    """Imports of a part that do not come from a floor below it."""
    names = [name.split(".") for node in ast.walk(ast.parse(source)) for name in modules_of(node)]
    others = {name[1] for name in names if name[0] == "judgekit" and len(name) > 1} - {"__version__", part}
    return sorted(other for other in others if FLOOR[other] > FLOOR[part])


def test_the_tree_has_the_rooms_and_no_others():
    assert sorted(ROOMS) == PARTS


def test_every_room_imports_from_the_rooms_above_it():
    seen = {(part_of(path), other) for path in SOURCES for other in upward(part_of(path), path.read_text("utf-8"))}
    assert seen == UPWARD


LIGHT = """
    bias.attacks bias.planted data.benchmarks data.corpora inside.rating people.active people.alt_test
    people.calibration.maps people.consensus people.labelling people.labelling.votefile people.ppi people.ranking
    report report.workflow scoring studies.label_errors
""".split()


def test_heavy_libraries_load_inside_judges_and_training_only():
    program = "\n".join(["import sys", *(f"import judgekit.{name}" for name in LIGHT), "print(*sys.modules)"])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {name.partition(".")[0] for name in done.stdout.split()} & set(HEAVY)


def dangers(source):
    """What would execute or trust a file from elsewhere."""
    nodes = list(ast.walk(ast.parse(source)))
    imports = {name.split(".")[0] for node in nodes for name in modules_of(node)}
    found = sorted(imports & {"pickle", "cPickle", "dill", "joblib", "shelve", "marshal"})
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        name, keywords = ast.unparse(node.func), {key.arg: ast.unparse(key.value) for key in node.keywords}
        loader = [keywords.get("Loader", ""), *map(ast.unparse, node.args[1:])]
        if (
            keywords.get("trust_remote_code", "False") != "False"
            or (name in ("yaml.load", "yaml.load_all") and not any("Safe" in word for word in loader))
            or name in ("yaml.unsafe_load", "yaml.full_load", "eval", "exec", "os.system")
            or (name == "torch.load" and keywords.get("weights_only") != "True")
            or "True" in (keywords.get("shell"), keywords.get("allow_pickle"))
        ):
            found.append(ast.unparse(node))
    return found


DANGEROUS = """
import pickle
from pickle import loads
AutoModel.from_pretrained(name, trust_remote_code=True)
AutoModel.from_pretrained(name, trust_remote_code=trusted)
yaml.load(text)
yaml.load(text, Loader=yaml.Loader)
torch.load(path)
np.load(path, allow_pickle=True)
subprocess.run(line, shell=True)
"""
SAFE = "yaml.safe_load(text)\nyaml.load(text, Loader=yaml.SafeLoader)\nmodel.eval()"


def test_no_file_from_elsewhere_is_executed():
    assert [line for line in DANGEROUS.strip().splitlines() if not dangers(line)] == [] == dangers(SAFE)
    found = {str(path.relative_to(PACKAGE)): dangers(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert not {path: what for path, what in found.items() if what}
