"""The environment: one set of pins, told three times and equal."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from itertools import chain

import yaml
from doc_page import tracked

from judgekit.data.paths import project_root

ROOT = project_root()


def pinned():
    """Distribution name to the versions it is pinned to (several under different markers)."""
    found = {}
    texts = [(ROOT / f"requirements{part}.lock").read_text(encoding="utf-8") for part in ("", "-torch", "-site")]
    lines = [re.sub(r" \\\n    --hash=sha256:[0-9a-f]{64}", "", text).splitlines() for text in texts]
    for line in filter(None, (line.partition("#")[0] for line in chain(*lines))):
        name, version = re.fullmatch(r"([A-Za-z0-9_.-]+)==([^ ;]+)(?: ?;.*)?", line).groups()
        found.setdefault(normal(name), set()).add(version)
    return found


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_shipped_licences_name_every_file():
    for licence in (ROOT / "judgekit" / "pretrained").glob("*/LICENSE"):
        text = licence.read_text(encoding="utf-8")
        files = [path for path in licence.parent.rglob("*") if path.is_file() and path != licence]
        unnamed = [path.name for path in files if path.relative_to(licence.parent).as_posix() not in text]
        assert not unnamed or text.startswith("The files in this folder are licensed"), (licence, unnamed)
    assert "NonCommercial" in (ROOT / "judgekit" / "pretrained" / "minilm" / "LICENSE").read_text(encoding="utf-8")


def test_a_source_distribution_holds_every_tracked_file(tmp_path):
    code = f"from setuptools import build_meta; print(build_meta.build_sdist({str(tmp_path)!r}))"
    wanted = {path.relative_to(ROOT).as_posix() for path in tracked()}
    copy = tmp_path / "checkout"  # building writes beside the sources
    for name in wanted:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).symlink_to(ROOT / name)
    subprocess.run([sys.executable, "-c", code], cwd=copy, capture_output=True, check=True)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert not wanted - held


def test_an_active_conda_environment_is_filled_as_the_other_one_is(tmp_path):
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert environment["dependencies"] == ["python >=3.11,<3.14", "pip"]
    for name, filled in (("judgekit", str(tmp_path)), ("base", ".venv")):
        active = os.environ | {"CONDA_DEFAULT_ENV": name, "CONDA_PREFIX": str(tmp_path)}
        command = ["make", "--no-print-directory", "--dry-run", "--always-make", "environment"]
        done = subprocess.run(command, cwd=ROOT, env=active, capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["setup/environment.sh", filled]


def test_no_package_but_torch_is_installed_without_its_hash(tmp_path):
    text = "".join((ROOT / f"requirements{part}.lock").read_text(encoding="utf-8") for part in ("", "-site"))
    unhashed = re.findall(r"(?m)^[^#\s][^\\\n]*$", text)
    assert not unhashed and text.count("--hash=sha256:") > text.count("==")
    assert "torch" in pinned() and "\ntorch==" not in text
    # what the script asks pip for refuses a file whose hash is another one
    options = re.search(r"pip install (.*) -r requirements.lock", (ROOT / "setup/environment.sh").read_text())[1]
    assert "--require-hashes" in options.split()
    (tmp_path / "wrong.lock").write_text(f"judged-by-its-hash==1.0 --hash=sha256:{'0' * 64}\n", encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "judged_by_its_hash-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("judged_by_its_hash-1.0.dist-info/METADATA", "Metadata-Version: 2.1\n")
    command = [sys.executable, "-m", "pip", "install", *options.split(), "--no-index", "--find-links", tmp_path]
    command += ["--target", tmp_path / "installed", "-r", tmp_path / "wrong.lock"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode and "DO NOT MATCH THE HASHES" in done.stderr


def test_lock_satisfies_pyproject():
    from packaging.requirements import Requirement

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert normal(project["name"]) != "judgekit", "which is taken"
    assert project["requires-python"] == ">=3.11,<3.14"
    # Ray, like vLLM, is installed where it is used: 600 MB that no notebook, report or other test needs.
    extras = [group for name, group in project["optional-dependencies"].items() if name != "ray"]
    wanted = project["dependencies"] + [requirement for group in extras for requirement in group]
    wanted = [line for line in wanted if not line.startswith(project["name"])]  # an extra that takes in another
    pins = pinned()  # a line that pins no exact version stops here
    assert len(pins) > 100
    for line in wanted:
        requirement = Requirement(line)
        versions = pins.get(normal(requirement.name))
        assert versions, f"{requirement.name} is not in requirements.lock"
        assert all(requirement.specifier.contains(version) for version in versions), line


def test_hooks_check_what_lint_checks():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"(?m)^lint:.*\n((?:\t.*\n)+)", makefile)[1]
    said = sorted(re.sub(r"@\$\(BIN\)/|^@", "", line.strip()).partition(" ")[0] for line in recipe.splitlines())
    hooked = sorted(hook["entry"].removeprefix("setup/tool.sh ").partition(" ")[0] for hook in hooks)
    assert said == hooked
    assert {"ruff", "mypy", "nbstripout", "codespell", "setup/large_files.sh"} == set(hooked)


def test_a_large_file_is_refused(tmp_path):
    def given(*words):
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)

    look, track = ROOT / "setup" / "large_files.sh", ("git", "add", ".")
    weights = tmp_path / "judgekit" / "pretrained" / "one" / "weights.safetensors"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(bytes(1_000_001))
    (tmp_path / "small file").write_bytes(bytes(1_000_000))
    assert given("git", "init", "-q").returncode == given(*track).returncode == given(look).returncode == 0
    (tmp_path / "large file").write_bytes(bytes(1_000_001))
    assert given(look).returncode == 0, "not tracked"
    assert given(*track).returncode == 0 and given(look).returncode == 1 and "large file" in given(look).stderr
    (tmp_path / "large file").unlink()
    assert given(look).returncode == 0, "deleted"
