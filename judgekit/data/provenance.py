"""What results were made with: versions, the machine and the commit."""

import os
import platform
import subprocess
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from judgekit.data import paths

LIBRARIES = (
    "torch transformers peft trl vllm tokenizers datasets datasketch numpy pandas scipy scikit-learn matplotlib".split()
)
# What can change a result. The report's text and the results of other notebooks cannot.
CODE = ("judgekit", "notebooks", "params", "pyproject.toml", "requirements.lock")


def versions() -> dict[str, str]:
    """Versions of Python, this package and the libraries that decide results, where installed."""
    installed = {"python": platform.python_version()}
    for name, distribution in [("judgekit", "judgekit-notebooks"), *((library, library) for library in LIBRARIES)]:
        try:
            installed[name] = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return installed


def machine() -> dict[str, Any]:
    """Processor, its cores that this process may use, MiB of memory, and system: what timings depend on."""
    import psutil

    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8", errors="replace").splitlines() if info.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "cores": cores,
        "memory_mb": psutil.virtual_memory().total // 2**20,
        "system": platform.system(),
    }


def process_age() -> float:
    """Seconds since this process, a notebook's kernel for example, was started."""
    import psutil

    return time.time() - psutil.Process().create_time()


def git_state() -> dict[str, Any]:
    """The commit the code is at, and whether the code differs from it; both None outside a git checkout."""
    try:
        root = paths.project_root()
        if Path(_git(root, "rev-parse", "--show-toplevel")).resolve() != root.resolve():
            return {"git": None, "dirty": None}  # a copy inside some other repository
        code = [name for name in CODE if (root / name).exists()]
        return {"git": _git(root, "rev-parse", "HEAD"), "dirty": bool(_git(root, "status", "--porcelain", "--", *code))}
    except (OSError, subprocess.SubprocessError):  # no checkout at all, no git, no repository
        return {"git": None, "dirty": None}


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "--no-optional-locks", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout.strip()
