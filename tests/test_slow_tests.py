"""Of the slow tests, those of what has changed run after the others, as long as there is time."""

import subprocess
import sys
from pathlib import Path

from test_docs_moved import FIRST

HERE = Path(__file__).parent


def chosen(*options):
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *options, "test_stats.py"]
    return subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)


def test_slow_tests_of_changed_folders_are_chosen():
    listed = chosen("--collect-only", "--changed-since", FIRST)
    assert listed.returncode == 0, listed.stdout
    names = {line.partition("[")[0] for line in listed.stdout.splitlines() if "::" in line}
    assert names and all("cover" in name for name in names)  # the simulations, and no quick test


def test_no_slow_test_is_started_when_time_is_up():
    done = chosen("--minutes", "0", "-m", "slow")
    assert done.returncode == 0 and " passed" not in done.stdout and "no time is left" in done.stdout, done.stdout
