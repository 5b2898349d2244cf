"""What results were made with: versions and the commit."""

import platform
import subprocess
import time
from importlib import metadata
from pathlib import Path

from judgekit import paths

LIBRARIES = (
    "torch",
    "transformers",
    "peft",
    "trl",
    "vllm",
    "tokenizers",
    "datasets",
    "datasketch",
    "numpy",
    "pandas",
    "scipy",
    "scikit-learn",
    "matplotlib",
)
# What can change a result. The report's text and the results of other notebooks cannot.
CODE = ("judgekit", "notebooks", "params", "pyproject.toml", "requirements.lock")


def versions():
    """Versions of Python, this package and the libraries that decide results, where installed."""
    found = {"python": platform.python_version()}
    for name, distribution in [("judgekit", "judgekit-notebooks"), *((library, library) for library in LIBRARIES)]:
        try:
            found[name] = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return found


def process_age():
    """Seconds since this process, a notebook's kernel for example, was started."""
    import psutil

    return time.time() - psutil.Process().create_time()


def git_state():
    """The commit the code is at, and whether the code differs from it; both None outside a git checkout."""
    root = paths.project_root()

    def git(*arguments):
        command = ["git", "--no-optional-locks", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")).resolve() != root.resolve():
            return {"git": None, "dirty": None}  # a copy inside some other repository
        return {
            "git": git("rev-parse", "HEAD"),
            "dirty": bool(git("status", "--porcelain", "--", *(c for c in CODE if (root / c).exists()))),
        }
    except (OSError, subprocess.SubprocessError):
        return {"git": None, "dirty": None}
