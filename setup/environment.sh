#!/usr/bin/env bash
# Make .venv with the exact versions of requirements.lock. Usage: setup/environment.sh [python]
set -euo pipefail
cd "$(dirname "$0")/.."

fits() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; }

python=${1:-}
if [ -z "$python" ]; then
  for candidate in python3 python3.13 python3.12 python3.11; do
    if fits "$candidate"; then python=$candidate; break; fi
  done
fi
if [ -z "$python" ] || ! fits "$python"; then
  echo "error: Python 3.11, 3.12 or 3.13 is needed (found: ${python:-$(python3 --version 2>&1 || echo none)}); install it or name it: make PYTHON=/path/to/python3.12 ..." >&2
  exit 2
fi

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then # Debian keeps them in a package of their own
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
  else
    echo "error: Python's venv module is missing; install it first (on Debian or Ubuntu: sudo apt-get install python3-venv)" >&2
    exit 2
  fi
fi

echo "Making .venv with $("$python" --version) and the packages of requirements.lock (a few minutes the first time) ..."
rm -f .venv/ready
"$python" -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
.venv/bin/python -m pip check --disable-pip-version-check
touch .venv/ready
