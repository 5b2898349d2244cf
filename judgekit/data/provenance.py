"""What results were made with: versions, the machine and the commit."""

import os
import platform
import re
import subprocess
import time
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from judgekit.data import paths

LIBRARIES = "torch transformers peft trl vllm tokenizers datasets datasketch numpy pandas scipy scikit-learn matplotlib"
# What can change a result. The report's text and the results of other notebooks cannot.
CODE = ("judgekit", "notebooks", "params", "pyproject.toml", "requirements.lock", "requirements-torch.lock")


def versions() -> dict[str, str]:
    """Versions of Python, this package and the libraries that decide results, where installed."""
    installed = {"python": platform.python_version()}
    for name in ("judgekit", *LIBRARIES.split()):
        with suppress(metadata.PackageNotFoundError):
            installed[name] = metadata.version({"judgekit": "judgekit-notebooks"}.get(name, name))
    return installed


def machine() -> dict[str, Any]:
    """Processor, its cores that this process may use, MiB of memory, and system: what timings depend on."""
    import psutil

    info = Path("/proc/cpuinfo")
    names = re.findall(r"(?m)^model name\s*: *(.*)", info.read_text(errors="replace")) if info.is_file() else []
    return {
        "processor": names[0].strip() if names else platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_mb": psutil.virtual_memory().total // 2**20,
        "system": platform.system(),
    }


def process_age() -> float:
    """Seconds since this process, a notebook's kernel for example, was started."""
    import psutil

    return time.time() - psutil.Process().create_time()


def git_state(also: tuple[str, ...] = ()) -> dict[str, Any]:
    """The last commit that changed the code (or ``also``), and whether it was changed since; None outside a checkout.

    So what is made again from the same code is made at the same commit, whatever was committed beside it.
    """
    with suppress(OSError, subprocess.SubprocessError):  # no checkout at all, no git, no repository
        root = paths.project_root()
        around = Path(_git(root, "rev-parse", "--show-toplevel"))
        if around.resolve() == root.resolve():  # else another repository holds this folder
            code = [name for name in (*CODE, *also) if (root / name).exists()]
            changes = _git(root, "status", "--porcelain", "--", *code)
            return {"git": _git(root, "log", "-1", "--format=%H", "--", *code) or None, "dirty": bool(changes)}
    return {"git": None, "dirty": None}


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "--no-optional-locks", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout.strip()
